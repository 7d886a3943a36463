/*  runtime/life/statistics.h - what an actor counts, readable without its help.
 *
 *  One page an actor in a file that is mapped and shared: single 64-bit atomics, and one packed
 *  state word, so that a stopped or killed process never leaves a torn value.  The actor's thread
 *  writes, anybody reads.  The file lies in the user's runtime directory and is named by run, host
 *  and process.
 */
#ifndef TND_RUNTIME_LIFE_STATISTICS_H
#define TND_RUNTIME_LIFE_STATISTICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/status.h"

typedef enum {
    TND_STATE_NEW,
    TND_STATE_RUNNING, /* its thread is between hooks or in a short one */
    TND_STATE_WORKING, /* inside a work hook: cannot answer */
    TND_STATE_WAITING, /* for what `waits` says */
    TND_STATE_ENDED,
    TND_STATE_FAILED
} tnd_state_t;

/*  X(name, unit, what it counts) */
#define TND_COUNTERS(X)                                                                            \
    X(rows_in, "rows", "rows taken in")                                                            \
    X(rows_out, "rows", "rows handed on")                                                          \
    X(blocks_in, "blocks", "blocks or slices taken in")                                            \
    X(blocks_out, "blocks", "blocks or slices handed on")                                          \
    X(bytes_in, "bytes", "payload bytes taken in")                                                 \
    X(bytes_out, "bytes", "payload bytes handed on")                                               \
    X(bytes_copied, "bytes", "payload bytes copied by this actor and its links")                   \
    X(work_ns, "ns", "wall time inside work hooks")                                                \
    X(cpu_ns, "ns", "processor time of its threads")                                               \
    X(queue, "blocks", "waiting to be worked on")                                                  \
    X(credit, "blocks", "free credit or slots")                                                    \
    X(lost, "connections", "connections lost and opened again")                                    \
    X(stale, "messages", "messages dropped because they were late or double")                      \
    X(step, "steps", "the last step it had to do with")

enum { TND_WAIT_REASONS = 16 }; /* bits of TND_WAIT_* */

typedef struct {
    _Atomic uint64_t state;                     /* tnd_state_t in the low byte, waits above it */
    _Atomic uint64_t since_ns;                  /* monotonic: when that state began */
    _Atomic uint64_t progress;                  /* counts loops and rows: a frozen one is a hang */
    _Atomic uint64_t wait_ns[TND_WAIT_REASONS]; /* time waited by reason */
#define TND_COUNTER_FIELD(name, unit, text) _Atomic uint64_t name;
    TND_COUNTERS(TND_COUNTER_FIELD)
#undef TND_COUNTER_FIELD
    char actor[48];
    char kind[16];
} tnd_statistics_t;

/*  Adds to a counter of the calling thread's own actor: a plain load and store. */
static inline void tnd_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

typedef struct tnd_pages tnd_pages_t;

/*  The pages of this process: `count` actors.  The file is removed by destroy. */
tnd_status_t tnd_pages_new(tnd_pages_t **self_p, const char *run, const char *host, size_t count,
                           tnd_error_t *error) TND_CHECKED;
tnd_statistics_t *tnd_pages_at(tnd_pages_t *self, size_t index);
void tnd_pages_destroy(tnd_pages_t **self_p);

/*  Sets state and waits, and books the time of the state before. */
void tnd_statistics_state(tnd_statistics_t *self, tnd_state_t state, uint32_t waits, uint64_t now);

#endif
