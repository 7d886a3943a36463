/*  tools/report/wait_chain.h - follows the waits of a run from a feeder to the actor that all others
 *  wait for.
 *
 *  Writes the sentence, the chain, the actor at its end, and a fault that says why it does not
 *  continue.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_WAIT_CHAIN_H
#define TND_TOOLS_REPORT_WAIT_CHAIN_H

#include "tools/report/run_view.h"
#include "tools/report/verdict.h"

/*  What a chain of waits leads to. */
typedef enum {
    TND_CHAIN_ENDS,  /* the sentence is complete */
    TND_CHAIN_WORKS, /* an actor whose calls are short, the last word of the sentence */
    TND_CHAIN_TURNS  /* its actors wait for one another at this moment: the sentence has no end */
} tnd_chain_end_t;

tnd_chain_end_t tnd_wait_chain_follow(const tnd_run_view_t *view, tnd_verdict_t *verdict);

/*  The fault of a process that was stopped or killed. */
void tnd_fault_of_process(tnd_fault_t *fault, const tnd_run_view_t *view,
                          const tnd_inspected_t *process);
/*  The fault of a device that is in a step, or writes the model of one; `hangs`: for too long. */
void tnd_fault_of_device(tnd_fault_t *fault, const tnd_run_view_t *view, const tnd_seen_t *who,
                         const tnd_device_page_t *device, bool hangs);
/*  Likewise of one that has not done a copy, or the work of a step. */
void tnd_fault_of_pending(tnd_fault_t *fault, const tnd_run_view_t *view, const tnd_seen_t *who,
                          const tnd_device_page_t *device, bool hangs);
/*  How often a host was started again, and how often it may be.  Returns `text`. */
const char *tnd_restarts_text(const tnd_host_record_t *host, char *text, size_t room);

#endif
