/*  tools/bench/reduce/allreduce_bound.h - four processes that reduce an array of f32 again and again, by some
 *  way in plain C, and what that costs. */
#ifndef TND_TOOLS_BENCH_REDUCE_ALLREDUCE_BOUND_H
#define TND_TOOLS_BENCH_REDUCE_ALLREDUCE_BOUND_H

#include "tools/bench/bench.h"

enum { BOUND_PROCESSES = 4 };

/*  One of the processes; a way begins its own struct with it. */
typedef struct {
    float *own;
    size_t count; /* floats */
    int number;
} bound_member_t;

typedef struct {
    void (*open)(bound_member_t *self);   /* before there are processes; `count` is set */
    void (*begin)(bound_member_t *self);  /* in each; NULL: nothing */
    void (*reduce)(bound_member_t *self); /* the sum is in `own` then */
    void (*meet)(bound_member_t *self);   /* before and after what is measured; NULL: nothing */
} bound_way_t;

/*  The command line is BYTES WARM COUNT.  Prints seconds and processor seconds per reduction, and the seconds
 *  of a memcpy of as many bytes.  Returns the exit code. */
int bound_run(int argc, char **argv, const bound_way_t *way, bound_member_t *self);

/*  Ends the process if something did not work. */
void bound_check(bool worked);
/*  Zeros that all processes share, and zeros of one. */
void *bound_share(size_t bytes);
float *bound_allocate(size_t bytes);
/*  The first float of a quarter; that after the last one is the end. */
size_t bound_quarter(const bound_member_t *self, int quarter);
/*  Adds along the tree (0 + 1) + (2 + 3); `out` may be one of them. */
void bound_add(float *out, const float *const from[BOUND_PROCESSES], size_t count);

#endif
