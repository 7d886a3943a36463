/*  tools/faults/fault_run.h - one run of a graph after the other under faults, watched from
 * outside.
 *
 *  A run is `tundish up` on a stage (stage.h), a process of its own as anybody would start it.  Its
 *  steps are seen in the metrics that it writes to a pipe, its hosts are found below it by their
 *  command lines, its connections pass the relay of the stage.
 *
 *  Lifecycle: init, before other threads are made, for it holds back SIGINT and SIGTERM; begin,
 * once the stage is open; run, any number of times; fini. Threads: the main one.
 */
#ifndef TUNDISH_TOOLS_ORDEAL_H
#define TUNDISH_TOOLS_ORDEAL_H

#include <signal.h>

#include "tools/faults/fault_schedule.h"
#include "tools/faults/step_gaps.h"
#include "tools/faults/sandbox.h"

typedef enum {
    TND_FAULT_RUN_ENDED,   /* the stream, or the steps that were asked for */
    TND_FAULT_RUN_DRAINED, /* its time was over */
    TND_FAULT_RUN_BROKEN,  /* what should have gone on has not; `why` says it */
    TND_FAULT_RUN_LEFT     /* who asked for it wanted no more */
} tnd_fault_run_end_t;

/*  A fault that was done. */
typedef struct {
    tnd_fault_t fault;
    uint64_t from_ns, to_ns; /* a time without a step that begins meanwhile may be its doing */
    uint64_t next_ns;        /* the next one came, whose doing is all that follows; UINT64_MAX */
    uint64_t gap_ns;         /* the longest time between two steps that may */
    bool measured;           /* there was one */
    bool mixed;              /* others came at once */
} tnd_deed_t;

/*  What the runs were and did, all together. */
typedef struct {
    tnd_sandbox_t *stage;
    const tnd_request_t *request;
    tnd_fault_schedule_t havoc;
    uint8_t *hosts; /* TND_FAULT_* */
    tnd_deed_t *deeds;
    size_t deed_count, deed_room;
    tnd_step_gaps_t calm; /* times between steps that no fault had to do with */
    uint64_t begun_ns;    /* the first run */
    uint64_t runs;        /* begun */
    uint64_t restarts;    /* processes started again by `up` */
    uint64_t rewinds;
    uint64_t tickets;              /* issued again, as far as the runs' reports know */
    uint64_t resumes, steps_again; /* `--resume`, and steps that were done again after it */
    uint64_t unkept;               /* checkpoints that could not be written, as the run said */
    unsigned signals;              /* that came to this process */
    int signal;                    /* the last of them */
    pid_t sender;                  /* the process that sent it; 0 if unknown */
    int signal_file;
    sigset_t mask; /* of those that are started */
    char why[600];
} tnd_fault_run_t;

/*  How one of them is to be, and how it was. */
typedef struct {
    bool quiet;        /* nothing is done to it */
    uint64_t until_ns; /* it is drained then; UINT64_MAX: not */
    uint64_t steps;    /* UINT64_MAX: all that there are */
    uint64_t seen;     /* steps that it made */
    char *report;      /* what it wrote; NULL: nothing; the caller frees it */
} tnd_run_t;

void tnd_fault_run_init(tnd_fault_run_t *self, const tnd_request_t *request);
void tnd_fault_run_begin(tnd_fault_run_t *self, tnd_sandbox_t *stage, uint64_t seed);
void tnd_fault_run_fini(tnd_fault_run_t *self);
tnd_fault_run_end_t tnd_fault_run_run(tnd_fault_run_t *self, tnd_run_t *run);
/*  What a fault is, with whom it hits, such as "kill -9 of a reader". */
void tnd_fault_run_describe(const tnd_fault_run_t *self, const tnd_fault_t *fault, char *text,
                            size_t room);

#endif
