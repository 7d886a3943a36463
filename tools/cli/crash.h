/*  tools/cli/crash.h - prints where a process crashed or exited, most often in a user's step.
 *
 *  On SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT one line on stderr names the actor by its thread,
 *  its step, the operation with its place in the topology, and the last committed step.  Then the signal has its default effect.  A SIGBUS on a
 *  page of a mapped file is not among them: it becomes an error of the run (mapped.h).  A call of
 *  exit() in the middle of a run is reported likewise, with the exit code of a failed run.
 *
 *  The state is global, because signals belong to the process.
 *
 *  Threads: arm and disarm on the main one; committed on any. */
#ifndef TND_TOOLS_CLI_CRASH_H
#define TND_TOOLS_CLI_CRASH_H

#include "runtime/host/session.h"

/*  Both must be valid until the next arm or disarm.  `session` is NULL while it opens or closes;
 *  steps are unknown then. */
void tnd_crash_arm(const tnd_plan_t *plan, const tnd_session_t *session);
/*  The cursor to resume from: the number of the next step. */
void tnd_crash_committed(uint64_t step);
void tnd_crash_disarm(void);

#endif
