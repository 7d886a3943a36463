/*  runtime/observe/statistics.h - counters of an actor in shared memory.
 *
 *  Each actor has one page in the file of its process (pages.h).  It consists of 64-bit atomics and one
 *  packed state word, so that a stopped or killed process never leaves a torn value.  The actor's thread
 *  writes its page (device threads their parts); any process may read it (inspection.h). */
#ifndef TND_RUNTIME_OBSERVE_STATISTICS_H
#define TND_RUNTIME_OBSERVE_STATISTICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/word.h"
#include "runtime/core/device/device_wait.h"
#include "runtime/core/protocol/role.h"
#include "runtime/core/stream/position.h"
#include "runtime/timing/counter.h"

typedef enum {
    TND_STATE_NEW,
    TND_STATE_RUNNING, /* between hooks or in a short one */
    TND_STATE_WORKING, /* inside a work hook: cannot answer */
    TND_STATE_WAITING, /* for what `waits` says */
    TND_STATE_ENDED,
    TND_STATE_FAILED
} tnd_state_t;

/*  X(name, text): what an actor that works opens, which may take long: it has no row before. */
#define TND_OPENINGS(X)                                                                            \
    X(NOTHING, "")                                                                                 \
    X(ITSELF, "opening what it needs")                                                             \
    X(MODELS, "opening the models of its step")                                                    \
    X(CHECKPOINT, "loading the models of its step from a checkpoint")

typedef enum {
#define TND_OPENING(name, text) TND_OPENS_##name,
    TND_OPENINGS(TND_OPENING)
#undef TND_OPENING
        TND_OPENING_COUNT
} tnd_opening_t;

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
    X(cpu_ns, "ns", "processor time of its thread")                                                \
    X(device_cpu_ns, "ns", "processor time of its device threads")                                 \
    X(ready_ns, "ns", "ready to run, without a processor")                                         \
    X(queue, "blocks", "waiting to be worked on")                                                  \
    X(credit, "blocks", "free credit or slots; TND_UNKNOWN: it needs none")                        \
    X(lost, "connections", "connections lost and opened again")                                    \
    X(stale, "messages", "messages dropped because they were late or double")                      \
    X(again, "tickets", "tickets issued again")                                                    \
    X(doubled, "tickets", "overdue tickets given to a second worker as well")                      \
    X(stored, "rows", "rows that a cache handed on from its store")                                \
    X(kept, "bytes", "rows in the store of a cache")                                               \
    X(kept_samples, "samples", "samples in it")                                                    \
    X(samples, "samples", "different samples of an epoch, which it may store; 0: not known")       \
    X(unkept, "samples", "samples that did not fit into it, in each epoch")                        \
    X(faults, "page faults", "by its thread that waited for a disk: no page cache had the rows")   \
    X(step, "steps", "the last step it had to do with")

enum {
    TND_HISTORY_SHARES = 9, /* times of a second of a history (run_page.h) */
    TND_WAIT_REASONS = 16,  /* bits of TND_WAIT_* */
    TND_PAGE_PEERS = 64,    /* and edges */
    TND_PAGE_DEVICES = 24,  /* device threads of an actor that a page has room for */
    TND_PAGE_FED = 4,       /* and times of steps */
    TND_PAGE_BYTES = 16384  /* no two actors share a cache line or a page; a power of two */
};

/*  What a device thread does. */
typedef enum {
    TND_DEVICE_IDLE,   /* waits for a whole step */
    TND_DEVICE_STEP,   /* the user's step */
    TND_DEVICE_REDUCE, /* for the other replicas, and the reduction itself */
    TND_DEVICE_APPLY,  /* what follows the reduction */
    TND_DEVICE_KEEP    /* the model is written to disk */
} tnd_device_state_t;

enum { TND_DEVICE_STATES = 5 };

/*  How the work of steps on a device is timed, if it is not what its thread does. */
typedef enum {
    TND_TIMED_NOT,       /* the thread computes */
    TND_TIMED_BY_DEVICE, /* by events: `work_ns` and `worked_until_ns` of its facts */
    TND_TIMED_BY_THREAD  /* rows are copied to it, and a step that returns has ended on it */
} tnd_device_timed_t;

typedef struct {
    _Atomic uint64_t state;    /* tnd_device_state_t in the low byte, the replica above it */
    _Atomic uint64_t since_ns; /* monotonic: when that began */
    _Atomic uint64_t step;     /* over the run */
    _Atomic uint64_t thread;   /* that its steps run on, as the system's tools show it */
    _Atomic uint64_t spent_ns[TND_DEVICE_STATES];
    /*  Of its thread, as read by the control thread once a second.  If steps run on the program's
     *  thread, they include what the program does between them. */
    _Atomic uint64_t cpu_ns, ready_ns;
    char name[24];
    /*  What is known of it when it is opened; 0, -1 and "": unknown. */
    char model[64], bus[32], uuid[48];
    uint64_t memory; /* bytes */
    int32_t numa_node;
    /*  Of a device that rows are copied to: bytes so far, and the time in which a copy was under way. */
    _Atomic uint64_t bytes_moved, link_ns;
    /*  What that device waits for (tnd_device_wait_t), since when, and the time of each. */
    _Atomic uint64_t wait, wait_since_ns, wait_ns[TND_DEVICE_WAITS];
    /*  A tnd_device_timed_t; and if the work of steps is timed, how long it worked, until when. */
    _Atomic uint64_t timed, work_ns, worked_until_ns;
    _Atomic uint64_t calls[6]; /* to its driver, by tnd_device_call_t */
    /*  Of one that rows are copied to: what it has not done yet, a tnd_device_pending_t in the low byte, the step above it;
     *  monotonic: since when that comes first; and the thread that asks whether it is done. */
    _Atomic uint64_t pending, pending_since_ns, copier;
} tnd_device_page_t;

typedef struct {
    _Atomic uint64_t state;      /* tnd_state_t in the low byte, waits above it */
    _Atomic uint64_t since_ns;   /* monotonic: when that state began */
    _Atomic uint64_t begun_ns;   /* monotonic: when the actor started */
    _Atomic uint64_t waiting_ns; /* monotonic: since when it waits without progress */
    _Atomic uint64_t moved;      /* its counters at that time */
    _Atomic uint64_t progress;   /* counts loops and rows: a frozen one is a hang */
    _Atomic uint64_t wait_ns[TND_WAIT_REASONS]; /* time waited by foremost reason */
#define TND_COUNTER_FIELD(name, unit, text) _Atomic uint64_t name;
    TND_COUNTERS(TND_COUNTER_FIELD)
#undef TND_COUNTER_FIELD
    _Atomic uint64_t tuning; /* of a worker: see tnd_tuning_text; 0: not `workers: auto` */
    _Atomic uint64_t asleep; /* whether it gets nothing to do for now */
    _Atomic uint64_t opens;  /* what it opens before its first row, a tnd_opening_t */
    _Atomic uint64_t thread; /* its number, as the system's tools show it */
    /*  Of a feeder. */
    _Atomic uint64_t depth;                /* slots */
    _Atomic uint64_t fed_ns[TND_PAGE_FED]; /* when its last steps were done: by blocks_out */
    _Atomic uint64_t program_ns;           /* that its program spent between calls */
    _Atomic uint64_t program_since_ns;     /* since when it does; 0: it is inside a call */
    char actor[48];
    char kind[16];
    tnd_role_t role;
    uint32_t instance, chain, lane; /* in the plan, which all hosts of the run have */
    uint32_t peer_count;
    uint32_t peers[TND_PAGE_PEERS]; /* instances at the other ends of its edges */
    bool upstream[TND_PAGE_PEERS];  /* whether it is upstream */
    _Atomic uint64_t device_count;
    tnd_device_page_t devices[TND_PAGE_DEVICES];
} tnd_statistics_t;

/*  Sets state and waits, and counts the time of the previous state.  Of several waits, only the
 *  decisive one is counted: the one whose end would let the actor continue. */
void tnd_statistics_state(tnd_statistics_t *self, tnd_state_t state, uint32_t waits, uint64_t now);
/*  An actor that works begins other work now. */
static inline void tnd_statistics_renew(tnd_statistics_t *self, uint64_t now)
{
    if ((tnd_word_read(&self->state) & 0xff) != TND_STATE_WORKING)
        return;
    tnd_count(&self->work_ns, now - tnd_word_read(&self->since_ns));
    tnd_word_write(&self->since_ns, now);
}
/*  The queue of this actor and its remaining credit. */
static inline void tnd_statistics_depth(tnd_statistics_t *self, uint64_t queue, uint64_t credit)
{
    atomic_store_explicit(&self->queue, queue, memory_order_relaxed);
    atomic_store_explicit(&self->credit, credit, memory_order_relaxed);
}
/*  A feeder's step is done. */
static inline void tnd_statistics_fed(tnd_statistics_t *self, uint64_t now)
{
    uint64_t done = atomic_load_explicit(&self->blocks_out, memory_order_relaxed);
    atomic_store_explicit(&self->fed_ns[done % TND_PAGE_FED], now, memory_order_relaxed);
    atomic_store_explicit(&self->blocks_out, done + 1, memory_order_relaxed);
}
/*  Sets what a device waits for, and counts the time of the previous wait. */
void tnd_statistics_device_wait(tnd_device_page_t *self, tnd_device_wait_t wait, uint64_t now);
/*  Sets the state of a device thread, and counts the time of the previous one. */
void tnd_statistics_device(tnd_device_page_t *self, tnd_device_state_t state, uint32_t replica,
                           uint64_t step, uint64_t now);

/*  What the device of a page has not done yet; "the copy of step 3 to sim:0" or "the work of step 3 on
 *  sim:0"; "" if nothing is pending.  Returns `text`. */
const char *tnd_device_pending_text(const tnd_device_page_t *self, char *text, size_t room);

/*  What an actor opens; "" if it opens nothing. */
const char *tnd_opening_text(const tnd_statistics_t *self);

/*  The name of a bit of TND_WAIT_* for users: "input", ...; NULL for an unknown bit. */
const char *tnd_wait_name(unsigned bit);
/*  The bit of the decisive wait; `waits` must not be 0. */
unsigned tnd_wait_foremost(uint32_t waits);

/*  X(name, meaning): how an actor spent its time.  The parts add up to the total. */
#define TND_TIMES(X)                                                                               \
    X(cpu, "computing")                                                                            \
    X(wait_in, "nothing to do: input is missing")                                                  \
    X(wait_credit, "the next actor has no room, or its own memory is full")                        \
    X(wait_order, "later rows are there, those before them are not")                               \
    X(wait_step, "the user's step runs")                                                           \
    X(wait_reduce, "other replicas have not posted yet")                                           \
    X(wait_io, "inside its work without computing: disk, page faults, sleep")                      \
    X(run_queue, "ready to run, without a processor")                                              \
    X(other, "connections, the leader, and after its end")

typedef struct {
#define TND_TIME_FIELD(name, text) uint64_t name;
    TND_TIMES(TND_TIME_FIELD)
#undef TND_TIME_FIELD
} tnd_times_t;

/*  The time of an actor's thread from its start to `now`, or to its end. */
void tnd_statistics_times(const tnd_statistics_t *self, uint64_t now, tnd_times_t *times);

/*  The time between two moments of an actor, `span_ns` apart.  No part is negative and they add up
 *  to `span_ns`, although the parts of a life are estimates that may shrink. */
void tnd_times_between(const tnd_times_t *before, const tnd_times_t *after, uint64_t span_ns,
                       tnd_times_t *window);
/*  The parts of a second of a history (run_page.h) as times that add up to `span_ns`, and back. */
void tnd_times_pack(const tnd_times_t *window, _Atomic uint64_t shares[3]);
void tnd_times_unpack(const _Atomic uint64_t shares[3], uint64_t span_ns, tnd_times_t *window);

/*  How long a device thread was in one of the states `states` (bits 1 << TND_DEVICE_*), and how long
 *  the program of a feeder was between its calls, until `now`. */
uint64_t tnd_device_spent(const tnd_device_page_t *self, uint32_t states, uint64_t now);
/*  How long a device has worked on steps, 0 if it is not `timed`, and how long it has waited for something,
 *  until `now`. */
uint64_t tnd_device_worked(const tnd_device_page_t *self, uint64_t now);
uint64_t tnd_device_waited(const tnd_device_page_t *self, tnd_device_wait_t wait, uint64_t now);
/*  What a device does: it may work on a step while its thread does nothing. */
typedef struct {
    tnd_device_state_t state;
    uint64_t replica, step, since_ns;
} tnd_device_doing_t;

tnd_device_doing_t tnd_device_doing(const tnd_device_page_t *self);
uint64_t tnd_program_spent(const tnd_statistics_t *self, uint64_t now);
/*  Adds to a packed second of a feeder the parts of it (0 to 1) that the busiest device was in its
 *  step and the program between its calls, and back. */
void tnd_feeder_shares_pack(double step, double program, _Atomic uint64_t shares[3]);
void tnd_feeder_shares_unpack(const _Atomic uint64_t shares[3], double *step_p, double *program_p);

/*  When an actor or one of its device threads last changed its state: a killed process died at most
 *  a second after the last of its actors did. */
uint64_t tnd_statistics_last(const tnd_statistics_t *self);

#endif
