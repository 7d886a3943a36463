/*  tools/report/verdict.h - what limits a run, and what is wrong with it.
 *
 *  A verdict has two parts.  The limit is the actor that bounds the rate, also in a healthy run.
 *  The faults are what is wrong, even while rows flow, most serious first.  It also has the chain of
 *  waits, from a feeder to the actor that all others wait for.
 *
 *  Threads: any.  Units: nanoseconds; shares are fractions of the time between two looks. */
#ifndef TND_TOOLS_REPORT_VERDICT_H
#define TND_TOOLS_REPORT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/report/fault.h"

/*  The state of a run; also the exit code of `tundish why`. */
typedef enum {
    TND_RUN_FLOWS = 0,
    TND_RUN_KILLED = 1,
    TND_RUN_SLOW = 10, /* rows flow, but something is wrong */
    TND_RUN_STALLED = 11,
    TND_RUN_CYCLE = 12 /* actors wait for each other */
} tnd_run_state_t;

/*  X(name, text): what bounds the rate. */
#define TND_BOUNDS(X)                                                                              \
    X(NONE, "none")                                                                                \
    X(WORK, "work")         /* of an actor */                                                      \
    X(STEP, "step")         /* of the user, on a device */                                         \
    X(PROGRAM, "program")   /* that runs between two steps */                                      \
    X(DEPTH, "depth")       /* step and batch take turns */                                        \
    X(LINK, "link")         /* between two hosts */                                                \
    X(TRANSFER, "transfer") /* of rows to a device */                                              \
    X(SAVE, "save")         /* of models */

typedef enum {
#define TND_BOUND(name, text) TND_BOUND_##name,
    TND_BOUNDS(TND_BOUND)
#undef TND_BOUND
} tnd_bound_t;

typedef struct {
    tnd_bound_t bound;
    char actor[48], host[64], device[24];
    int process;
    double share;     /* of the time that it is at work, or ready to be */
    double gain;      /* rows per second with the change that `advice` names; 0: none is known */
    char advice[192]; /* such as "a third worker of prep" */
} tnd_limit_t;

/*  An actor of the chain of waits, and what it waits for (bits of TND_WAIT_*). */
typedef struct {
    char actor[48], host[64];
    uint32_t waits;
    uint64_t since_ns;
} tnd_hop_t;

enum { TND_VERDICT_FAULTS = 16, TND_VERDICT_HOPS = 32 };

typedef struct {
    char run[64], word[64]; /* its name, and what a user writes to mean it */
    tnd_run_state_t state;
    bool flows; /* rows are fed */
    double rows_per_second;
    char sentence[1024];
    /*  The actor that limits the run or is waited for; "" and 0: unknown. */
    char actor[48], host[64], device[24];
    int process;
    tnd_limit_t limit;
    tnd_fault_t faults[TND_VERDICT_FAULTS];
    uint32_t fault_count;
    tnd_hop_t hops[TND_VERDICT_HOPS];
    uint32_t hop_count;
} tnd_verdict_t;

/*  "work", ... */
const char *tnd_bound_name(tnd_bound_t bound);

/*  Names an actor, or its device, as the limit; `device` may be NULL. */
void tnd_verdict_limit(tnd_verdict_t *self, tnd_bound_t bound, const tnd_seen_t *who,
                       const tnd_device_page_t *device, double share);
/*  Appends to the sentence. */
void tnd_verdict_say(tnd_verdict_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/*  Adds a fault in its place.  If the verdict has the same cause of the same actor, host and device,
 *  or is full of more serious ones, it is not added. */
void tnd_verdict_add(tnd_verdict_t *self, const tnd_fault_t *fault);
/*  Writes the sentence, and a line for each fault. */
void tnd_verdict_print(const tnd_verdict_t *self, FILE *out);
/*  Writes an object of a verdict as JSON, without its end, for more members. */
void tnd_verdict_json(const tnd_verdict_t *self, bool first, FILE *out);

#endif
