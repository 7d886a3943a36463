/*  tools/process/process_supervisor.h - starts and restarts the isolated actors of a host.
 *
 *  Its own thread starts them.  They end with that thread, so they are killed when this process is.
 *  They join by the leader's port and learn from control how the run ends.  A process that dies too
 *  often ends the run with one sentence.
 *
 *  Lifecycle: begin, once the session is open; end, once the run has ended. */
#ifndef TND_TOOLS_PROCESS_PROCESS_SUPERVISOR_H
#define TND_TOOLS_PROCESS_PROCESS_SUPERVISOR_H

#include "runtime/host/session.h"
#include "tools/launch/run_options.h"

typedef struct tnd_process_supervisor tnd_process_supervisor_t;

/*  Whether host `host` has isolated actors. */
bool tnd_process_supervisor_wanted(const tnd_plan_t *plan, uint32_t host);
/*  Errors: TND_FAILED if the system allows no thread or descriptor. */
tnd_status_t tnd_process_supervisor_begin(tnd_process_supervisor_t **self_p,
                                          const tnd_request_t *request,
                                          const tnd_run_options_t *options, const tnd_plan_t *plan,
                                          uint32_t host, tnd_session_t *session, tnd_log_t *log,
                                          tnd_error_t *error) TND_CHECKED;
/*  The session must not be used afterwards; processes that still run are told to end. */
void tnd_process_supervisor_end(tnd_process_supervisor_t **self_p);

#endif
