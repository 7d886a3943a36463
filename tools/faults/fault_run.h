/*  tools/faults/fault_run.h - runs of a graph under faults, observed from outside.
 *
 *  A run is a process `tundish up` in a sandbox (sandbox.h).  Its steps are read from the metrics
 *  that it writes to a pipe, its hosts are found by their command lines, and its connections pass
 *  the relay of the sandbox.
 *
 *  Lifecycle: init, which blocks SIGINT and SIGTERM, before other threads start; begin, once the
 *  sandbox is open; run, any number of times; fini.
 *  Threads: the main one. */
#ifndef TND_TOOLS_FAULTS_FAULT_RUN_H
#define TND_TOOLS_FAULTS_FAULT_RUN_H

#include <signal.h>

#include "tools/faults/fault_schedule.h"
#include "tools/faults/sandbox.h"
#include "tools/faults/step_gaps.h"

/*  The options of `tundish chaos`. */
typedef struct {
    tnd_load_options_t load;
    uint64_t steps;                  /* UINT64_MAX: not given */
    uint64_t seconds, minutes, seed; /* 0: not given */
    bool all, json, quiet;
} tnd_chaos_options_t;

typedef enum {
    TND_FAULT_RUN_ENDED,   /* the stream has ended, or the requested steps are done */
    TND_FAULT_RUN_DRAINED, /* its time was over */
    TND_FAULT_RUN_BROKEN,  /* it did not survive; `why` has the reason */
    TND_FAULT_RUN_LEFT     /* the user interrupted it twice */
} tnd_fault_run_end_t;

/*  A fault that was injected. */
typedef struct {
    tnd_fault_t fault;
    uint64_t from_ns, to_ns; /* a gap between steps that begins in this time may be its effect */
    uint64_t next_ns;        /* later gaps belong to the next fault, injected then; UINT64_MAX */
    uint64_t gap_ns;         /* the longest of its gaps */
    bool measured;           /* gap_ns is valid */
    bool mixed;              /* another fault was injected at the same time */
} tnd_injected_t;

/*  All runs, and the sums over them. */
typedef struct {
    tnd_sandbox_t *sandbox;
    const tnd_chaos_options_t *options;
    tnd_fault_schedule_t schedule;
    uint8_t *hosts; /* TND_FAULT_* */
    tnd_injected_t *injected;
    size_t injected_count, injected_room;
    tnd_step_gaps_t calm; /* times between steps that no fault affected */
    uint64_t begun_ns;
    uint64_t runs;     /* started */
    uint64_t restarts; /* processes that `up` restarted */
    uint64_t rewinds;
    uint64_t tickets;              /* issued again, according to the reports */
    uint64_t resumes, steps_again; /* `--resume`, and steps that were repeated after it */
    uint64_t unwritten;            /* checkpoints that could not be written */
    unsigned signals;              /* received by this process */
    int signal;                    /* the last of them */
    pid_t sender;                  /* the process that sent it; 0: unknown */
    int signal_file;
    sigset_t mask; /* of the processes that are started */
    char why[600];
} tnd_fault_run_t;

/*  What one run is to do, and what it did. */
typedef struct {
    bool quiet;        /* without faults */
    uint64_t until_ns; /* when it is drained; UINT64_MAX: never */
    uint64_t steps;    /* UINT64_MAX: all */
    uint64_t seen;     /* steps that it ran */
    char *report;      /* the text of its report; NULL: none; the caller frees it */
} tnd_run_t;

void tnd_fault_run_init(tnd_fault_run_t *self, const tnd_chaos_options_t *options);
void tnd_fault_run_begin(tnd_fault_run_t *self, tnd_sandbox_t *sandbox, uint64_t seed);
void tnd_fault_run_fini(tnd_fault_run_t *self);
tnd_fault_run_end_t tnd_fault_run_run(tnd_fault_run_t *self, tnd_run_t *run);
/*  A fault and its target: "kill -9: reader". */
void tnd_fault_run_describe(const tnd_fault_run_t *self, const tnd_fault_t *fault, char *text,
                            size_t room);

#endif
