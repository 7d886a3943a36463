/*  tools/launch/next_start.h - the next start of a run that has lost a host (resumption.h).
 *
 *  The process runs its program again, with the same command line and the same number.  So nothing of
 *  the session before is left, and what started it sees no end.  A variable tells the program which
 *  start this is; it is removed when it is read, so that other processes do not get it.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_LAUNCH_NEXT_START_H
#define TND_TOOLS_LAUNCH_NEXT_START_H

#include "runtime/core/session/resumption.h"
#include "tools/cli/command.h"

typedef struct {
    tnd_resumption_t resumption; /* all 0 at the first start */
    bool resumes;                /* from the newest checkpoint of the run's folder */
    bool sent;                   /* the files came from another machine (sent_run.h) */
} tnd_next_start_t;

/*  Reads what the process before has left, once.  False: this is the first start. */
bool tnd_next_start_read(tnd_next_start_t *self);

/*  Runs the program again.  Returns only if that fails, with errno. */
void tnd_next_start_run(const tnd_next_start_t *self, const tnd_request_t *request);

#endif
