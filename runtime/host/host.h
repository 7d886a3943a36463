/*  runtime/host/host.h - the part of a run in this process: its actors, and control.
 *
 *  A host has one thread, which runs no user code.  The thread holds the control connections to its
 *  actors and, on the leader, to every other host.  It routes control messages by the plan and
 *  announces which actors are inside a work hook.  On the first host it drives the session
 *  (leader.h).
 *
 *  A run starts in four steps; the leader waits for all hosts at each:
 *  1. facts: hosts with data open it, which may take long, report progress meanwhile, and then what
 *     it contains;
 *  2. stream: all hosts derive the same schemas and create their actors;
 *  3. endpoints: all hosts report where their actors listen;
 *  4. ready.
 *  A host that reconnects repeats its reports.
 *
 *  Threads: new, wait and destroy on the caller's; drain, leave and stop on any, signal-safe; break
 *  on any. */
#ifndef TND_RUNTIME_HOST_HOST_H
#define TND_RUNTIME_HOST_HOST_H

#include "runtime/host/actor.h"

/*  Starts the thread of the host.  Errors: TND_FAILED, for example if its control port is in use. */
tnd_status_t tnd_host_new(tnd_host_t **self_p, const tnd_host_config_t *config,
                          tnd_error_t *error) TND_CHECKED;
/*  Waits until the actors of this host run, or the run has ended. */
tnd_outcome_t tnd_host_wait_running(tnd_host_t *self);
/*  On the leader: waits until the observer knows that the chain was fed so many times, or the run has
 *  ended. */
void tnd_host_wait_chain(tnd_host_t *self, uint32_t chain, uint64_t times);
/*  Whether the actors run, or ran. */
bool tnd_host_running(tnd_host_t *self);
void tnd_host_drain(tnd_host_t *self);
/*  The same, not from a signal handler: the leader logs the cause, such as " (SIGTERM from process 12)".
 *  `preempted`: it is a signal of a launcher. */
void tnd_host_drain_because(tnd_host_t *self, const char *cause, bool preempted);
/*  On the leader, after the run: whether a host was preempted, this one or another. */
bool tnd_host_is_preempted(const tnd_host_t *self);
/*  Requests the end of the run once the steps that the programs of this host have run are committed:
 *  in chain c those before steps[c]; TND_UNKNOWN: no program of this host pulls that one.  At most
 *  once. */
void tnd_host_finish(tnd_host_t *self, const uint64_t *steps);
/*  Ends this host only.  The run must not need it. */
void tnd_host_leave(tnd_host_t *self);
void tnd_host_stop(tnd_host_t *self);
/*  Makes the run fail with this reason. */
void tnd_host_break(tnd_host_t *self, const char *why);
/*  The port that other hosts connect to; 0: this is not the leader, or there are no others. */
uint32_t tnd_host_port(const tnd_host_t *self);
/*  Why the run failed or was stopped; "" if neither.  Waits for the reason if a step failed here. */
const char *tnd_host_why(tnd_host_t *self);
/*  Why the run starts again, as far as this host knows.  Valid after the run. */
void tnd_host_resumption_end(const tnd_host_t *self, tnd_resumption_end_t *end);
/*  Why the model could not be saved; "" if it was saved or no save was requested. */
void tnd_host_unsaved_why(tnd_host_t *self, char *text, size_t room);
/*  Stops the run if it has not ended, and waits for its actors, for a limited time. */
void tnd_host_join(tnd_host_t *self);
/*  Why memory was leaked because something still accesses it; "" if none was.  Valid after
 *  tnd_host_join. */
void tnd_host_leaked_why(tnd_host_t *self, char *text, size_t room);
/*  The problems with data, plugins, devices and operations of this host.  Valid after the run. */
const tnd_diagnostics_t *tnd_host_diagnostics(const tnd_host_t *self);
/*  Whether all feeders of this host have finished their last step. */
bool tnd_host_over(const tnd_host_t *self);
/*  Declares that no program will pull from the feeders of this host.  Valid once it runs. */
void tnd_host_discard(tnd_host_t *self);
/*  The statistics of an instance of this host. */
const tnd_statistics_t *tnd_host_page(const tnd_host_t *self, uint32_t instance);
/*  Stops what still runs and frees everything.  Returns false if an actor does not leave its hook:
 *  then all that it may access is leaked, including the transport's context and the plan. */
bool tnd_host_destroy(tnd_host_t **self_p);

#endif
