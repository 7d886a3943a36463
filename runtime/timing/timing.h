/*  runtime/timing/timing.h - what an actor's page has no room for, in shared memory.
 *
 *  Each actor and each device thread has histograms of how long its parts of the work take.  Each
 *  actor also has a detail: its options, the time of each of its operations, and the file that it
 *  reads.  Both follow the histories in the statistics file (run_page.h).
 *
 *  Threads: one writer per histogram and per detail, any readers. */
#ifndef TND_RUNTIME_TIMING_TIMING_H
#define TND_RUNTIME_TIMING_TIMING_H

#include <stddef.h>

#include "runtime/timing/histogram.h"

/*  X(NAME, name, what it measures) */
#define TND_ACTOR_TIMINGS(X)                                                                       \
    X(SERVICE, "service", "one unit of work: a block, a batch, a slice")                           \
    X(QUEUE, "queue_wait", "from the arrival of a block or a ticket to the work on it")            \
    X(SEND, "send_wait", "until the next actor had room")
#define TND_DEVICE_TIMINGS(X)                                                                      \
    X(STEP, "step", "the step of a replica")                                                       \
    X(REDUCE, "reduce", "for the other replicas, and the reduction itself")                        \
    X(APPLY, "apply", "what follows the reduction")                                                \
    X(BETWEEN, "between_steps", "from the end of a step to the start of the next one")

enum {
#define TND_TIMING_NUMBER(NAME, name, text) TND_TIMING_##NAME,
    TND_ACTOR_TIMINGS(TND_TIMING_NUMBER) TND_ACTOR_TIMING_COUNT
};
enum { TND_DEVICE_TIMINGS(TND_TIMING_NUMBER) TND_DEVICE_TIMING_COUNT };
#undef TND_TIMING_NUMBER

enum { TND_TIMINGS = 4 };

/*  Of an actor, or of a device thread. */
typedef struct {
    tnd_histogram_t parts[TND_TIMINGS];
} tnd_timing_t;

enum {
    TND_DETAIL_OPERATIONS = 32,
    TND_DETAIL_SAMPLE = 16, /* one block in so many is timed */
    TND_DETAIL_FILE_WORDS = 32
};

/*  An operation of a chain, over the blocks that were timed. */
typedef struct {
    char name[72];
    _Atomic uint64_t blocks, ns;
} tnd_operation_time_t;

typedef struct {
    char options[2072]; /* a line each; a longer text is cut */
    _Atomic uint64_t operation_count;
    tnd_operation_time_t operations[TND_DETAIL_OPERATIONS];
    /*  The file that was read last, and where.  Valid if `before` and `after` are equal and not 0. */
    _Atomic uint64_t before;
    _Atomic uint64_t file[TND_DETAIL_FILE_WORDS], offset, record;
    _Atomic uint64_t after;
} tnd_actor_detail_t;

/*  Sets the file that is read, at byte `offset`.  A long name loses its start. */
void tnd_actor_detail_read(tnd_actor_detail_t *self, const char *file, uint64_t record,
                           uint64_t offset);
/*  Copies the name of that file; returns false if none is known. */
bool tnd_actor_detail_file(const tnd_actor_detail_t *self, char *file, size_t room);
/*  Makes a copy safe to use: texts are terminated and printable, counts have bounds. */
void tnd_actor_detail_bound(tnd_actor_detail_t *copy);

#endif
