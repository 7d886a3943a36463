/*  tools/cli/crash.h - last words of a process that crashes or exits, most often in somebody's
 * step.
 *
 *  On SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT one line on stderr names the actor by its thread,
 *  the step it was at and the last committed one.  Then the signal does what it does without us.  A
 *  SIGBUS on a page of a mapped file is not among them: it becomes an error of the run (mapped.h).
 * Somebody's exit() in the middle of a run is told likewise, and the status is that of a failed
 * run.
 *
 *  There is one such state a process, because signals belong to the process.
 *
 *  Threads: arm and disarm on the main one; committed on any.
 */
#ifndef TUNDISH_TOOLS_CRASH_H
#define TUNDISH_TOOLS_CRASH_H

#include "runtime/host/session.h"

/*  Both must live until the next arm or disarm.  `session` NULL: it is about to begin or
 *  to end, and steps are not known.
 */
void tnd_crash_arm(const tnd_plan_t *plan, const tnd_session_t *session);
/*  The cursor to resume from: the number of the step that is next. */
void tnd_crash_committed(uint64_t step);
void tnd_crash_disarm(void);

#endif
