/*  runtime/log/session_log.h - delivers the log records of a session to the program that opened it.
 *
 *  The threads of the run add records and never wait.  A thread of the log delivers them, one at a
 *  time, so that a function of the program which is slow, or waits for a lock of the program's own,
 *  delays no row.  At most a fixed number of records wait; later ones are counted and reported as
 *  dropped.  Nothing is delivered before tnd_session_log_start, so that a program has time to set its
 *  function.  Without one, warnings and errors are written to stderr.
 *
 *  Threads: take on any; the others on the program's. */
#ifndef TND_RUNTIME_LOG_SESSION_LOG_H
#define TND_RUNTIME_LOG_SESSION_LOG_H

#include <tundish/tundish.h>

#include "runtime/base/status.h"

typedef struct tnd_session_log tnd_session_log_t;

/*  Errors: TND_FAILED if its thread cannot be started. */
tnd_status_t tnd_session_log_new(tnd_session_log_t **self_p, tnd_error_t *error) TND_CHECKED;
/*  Delivers what was added so far and later.  Repeated calls have no effect. */
void tnd_session_log_start(tnd_session_log_t *self);
/*  From its return on, records go to `log` only; NULL: they are dropped. */
void tnd_session_log_set(tnd_session_log_t *self, tnd_log_level_t least, tnd_log_fn *log,
                         void *user);
void tnd_session_log_take(tnd_session_log_t *self, const tnd_log_line_t *record);
/*  Delivers all records first. */
void tnd_session_log_destroy(tnd_session_log_t **self_p);

#endif
