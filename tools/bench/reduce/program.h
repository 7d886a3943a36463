/*  tools/bench/reduce/program.h - a program whose steps post values to a reducer called `mean`, with two replicas:
 *  on two devices of this process, or in two processes with one each. */
#ifndef TND_TOOLS_BENCH_REDUCE_PROGRAM_H
#define TND_TOOLS_BENCH_REDUCE_PROGRAM_H

#include <tundish/tundish.h>

#include "tools/bench/bench.h"

enum { PROGRAM_REPLICAS = 2 };

typedef struct {
    const char *feeder; /* its options */
    unsigned port;      /* of two processes; 0: one */
    bool second;        /* of them */
    uint64_t steps;
    tnd_status_t (*post)(tnd_replica_t *replica, void *user);
    tnd_status_t (*end)(tnd_replica_t *replica, void *user);
    void (*note)(void *user, uint64_t step); /* after each step */
    void *user;
} program_t;

/*  Exits with the reason if the run fails. */
void program_run(const program_t *self);

#endif
