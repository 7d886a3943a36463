/*  runtime/core/leader.h - the leader's decisions: start, rewind, book, drain, end.
 *
 *  The leader waits for its hosts.  Hosts open their data, which may take long: start_timeout does
 *  not pass while one reports progress.  A host that stops reporting ends the run.  The leader starts the stream by the first rewind, assembles the cursor of
 *  each step from the reports of the lanes (assembly.h), and books a step once every feeder has
 *  committed it and its cursor is whole.  After a fault that workers cannot repair it rewinds: to
 *  the first step that some feeder lacks or whose cursor is not assembled, whichever is less.
 *
 *  A lost control connection is repaired in the same way: the leader rewinds when a host comes
 *  back, and feeders send again what is not booked.
 *
 *  Preprocessor, reader, batcher and reducer are restarted within their limits (members.h).  The
 *  death of a feeder, of its host's process or of the leader ends the run, with one sentence that
 *  names it and the last committed cursor.  Where a holder of parameters deals the steps
 *  (parameters/holder.h), this is true of the holder, and feeders are restarted, or the run continues
 *  without them as long as one is left: the holder is told which life is over (GONE), and its word that rows
 *  are needed again (REDO) rewinds the stream.  A host may also report that it has failed.  Steps that were
 *  reported as done before are booked first: the parts of their cursors, which are sent apart, may be on
 *  their way.  The leader waits for them for `settle_ns` at most, and not for actors that are down.
 *
 *  Each chain of a run has its own leader.  One of them may rest (tnd_leader_core_rest_at) while the stream
 *  of another is fed, once more each time: its steps follow those before, and its epochs begin at 0.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_LEADER_H
#define TND_RUNTIME_CORE_LEADER_H

#include "runtime/core/leader_state.h"
#include "runtime/core/protocol/effect.h"
#include "runtime/core/session/members.h"

/*  Why an actor is restarted (`msg.note.number` of RESTART). */
typedef enum {
    TND_LEADER_CORE_DIED,
    TND_LEADER_CORE_ASKED,    /* a user asked for it; it may work, as one that was overtaken */
    TND_LEADER_CORE_OVERTAKEN /* it lives, but was lost with its host, and others have its steps */
} tnd_leader_core_restart_t;

/*  Why a run failed. */
typedef enum {
    TND_LEADER_CORE_BROKEN,   /* none of the following */
    TND_LEADER_CORE_ABSENT,   /* a host did not come or was lost */
    TND_LEADER_CORE_UNOPENED, /* a host did not open its data */
    TND_LEADER_CORE_TOLD      /* a host has failed, and said why (tnd_leader_core_host_failed) */
} tnd_leader_core_cause_t;

typedef struct {
    const tnd_member_t *members; /* the caller keeps them alive */
    uint32_t member_count;
    const char *const *hosts;  /* names; likewise */
    const uint8_t *host_flags; /* by host: TND_HOST_*; likewise; NULL: none */
    uint32_t host_count, lanes;
    bool lanes_alike;            /* each has all rows */
    uint64_t start_timeout_ns;   /* all must be up by then, except while a host reports progress */
    uint64_t hung_after_ns;      /* a host that opens its data may report none for so long */
    uint64_t restart_timeout_ns; /* how long a lost host that the stream needs may be away */
    uint64_t settle_ns; /* how long a run that fails waits for what was done before to be booked */
    uint32_t steps_open_max; /* steps between the last booked and the last composed */
    uint64_t steps_max;      /* the run ends before this step; TND_UNKNOWN */
    uint32_t booked_every;   /* steps between two BOOKED to a feeder, which may have twice as many
                                  unbooked; 0: 1 */
    tnd_limits_t restarts;   /* of one actor or host; max 0: any death ends the run */
    /*  Of the same stream, which was fed whole before and begins again; it has no `steps_max` and does
     *  not rest. */
    uint32_t generation, cuts;
} tnd_leader_core_config_t;

typedef struct tnd_leader_core tnd_leader_core_t;

size_t tnd_leader_core_bytes(const tnd_leader_core_config_t *config);
tnd_leader_core_t *tnd_leader_core_init(void *memory, const tnd_leader_core_config_t *config,
                                        const tnd_cursor_t *from, uint64_t now);

/*  A host's control connection is up and its terms fit / the host is lost (absence.h). */
void tnd_leader_core_host_up(tnd_leader_core_t *self, uint32_t host, uint64_t now);
void tnd_leader_core_host_lost(tnd_leader_core_t *self, uint32_t host, const char *why,
                               uint64_t now);
/*  Before the start, another process has taken the place of the host's process: what the old one
 *  opened is nothing to it. */
void tnd_leader_core_host_opens_anew(tnd_leader_core_t *self, uint32_t host);
/*  Another process has taken the place of the host's process: the old one is lost, which counts
 *  towards its limit, and the new one has start_timeout to come up (host_up). */
void tnd_leader_core_host_again(tnd_leader_core_t *self, uint32_t host, const char *why,
                                uint64_t now);
/*  The user removed the host: the run does not wait for it any more.  Same as host_lost if the
 *  stream needs the host. */
void tnd_leader_core_host_left(tnd_leader_core_t *self, uint32_t host, uint64_t now);
/*  Once the stream is done: takes the next actor that died before and was to be restarted; false: there is
 *  none.  Where the stream is fed again, it is needed. */
bool tnd_leader_core_take_due(tnd_leader_core_t *self, tnd_actor_id_t *actor_p);
/*  Before any host is up: takes over, from where the stream was fed before, which actors users want replaced
 *  that are not. */
void tnd_leader_core_follow(tnd_leader_core_t *self, const tnd_leader_core_t *before);
/*  The host opens `what` of its data, and has reported progress of that so many times (opening.h) / it
 *  has opened all.  The time of a host that was started again begins with each report. */
void tnd_leader_core_host_opening(tnd_leader_core_t *self, uint32_t host, uint64_t reports,
                                  const char *what, uint64_t now);
void tnd_leader_core_host_opened(tnd_leader_core_t *self, uint32_t host, uint64_t now);
/*  The life of an actor that carries replicas without state, as its host reports it before any other actor
 *  can hear of it.  Each is later than the one before, or the run fails: a clock was set back. */
void tnd_leader_core_actor_born(tnd_leader_core_t *self, tnd_actor_id_t actor, tnd_life_t life,
                                uint64_t now);
/*  A life of an actor has begun / ended; its beginning need not have been reported.  The caller
 *  ends the previous life first. */
void tnd_leader_core_actor_up(tnd_leader_core_t *self, tnd_actor_id_t actor, uint64_t now);
/*  All actors of a host run. */
void tnd_leader_core_actors_up(tnd_leader_core_t *self, uint32_t host, uint64_t now);
void tnd_leader_core_actor_down(tnd_leader_core_t *self, tnd_actor_id_t actor, const char *why,
                                uint64_t now);
/*  The driver did not run for `away_ns` (stopped, without a processor) and received nothing: the
 *  deadlines of lost hosts are extended by it. */
void tnd_leader_core_excuse(tnd_leader_core_t *self, uint64_t away_ns);
/*  The identity of the data set, for the cursors.  Call it before the stream begins. */
void tnd_leader_core_data(tnd_leader_core_t *self, uint64_t data);
/*  Begins the stream as soon as all hosts and actors are up. */
void tnd_leader_core_go(tnd_leader_core_t *self);
/*  PART, LAST, BROKEN, HELD, REDO, COMMIT, HALT of actors, and MODEL, the last message of a feeder: if
 *  its host is lost before that, the run fails even when the stream is done. */
void tnd_leader_core_message(tnd_leader_core_t *self, const tnd_msg_t *msg, uint64_t now);
/*  Whether a feeder said that where the stream was fed before; a host that was away repeats MODEL. */
bool tnd_leader_core_is_earlier(const tnd_leader_core_t *self, const tnd_msg_t *msg);
/*  Once the stream is over: whether MODEL of a feeder is to come; TND_NOBODY: of any.  None is if the
 *  stream did not begin. */
bool tnd_leader_core_awaits_model(const tnd_leader_core_t *self, tnd_actor_id_t feeder);
/*  Whether a feeder has said MODEL of the stream as it is fed now. */
bool tnd_leader_core_has_model(const tnd_leader_core_t *self);
/*  Asks for an orderly end: TND_LEADER_CORE_DRAINING.  A run that is paused ends where it stopped. */
void tnd_leader_core_ask_drain(tnd_leader_core_t *self);
/*  Asks for a pause: no further step is started, and those that are under way finish.  Before the
 *  stream has begun, it does not begin.  Errors: the run is paused, drains or is over. */
tnd_status_t tnd_leader_core_pause(tnd_leader_core_t *self, tnd_error_t *error) TND_CHECKED;
/*  Ends a pause, also one that is not complete.  Errors: the run is not paused, or is over. */
tnd_status_t tnd_leader_core_resume(tnd_leader_core_t *self, tnd_error_t *error) TND_CHECKED;
/*  Whether a pause was asked for.  *step_p: the first step that is not started; TND_UNKNOWN: not all
 *  feeders have answered.  The pause is complete once the steps before it are booked. */
bool tnd_leader_core_is_paused(const tnd_leader_core_t *self, uint64_t *step_p);
/*  Feeders rest before this step (TND_UNKNOWN: before none), and before the first step of this epoch or of a
 *  later one (TND_ENDLESS), until it is called again.  Before the stream begins, or while it rests. */
void tnd_leader_core_rest_at(tnd_leader_core_t *self, uint64_t step, uint32_t epoch);
/*  Whether it rests: all steps before are booked, no other one is started, and it is not paused, drains or
 *  over.  It does not rest after the last step of its last epoch: it ends.  *epoch_p: of the next step, as far as that is known. */
bool tnd_leader_core_rests(const tnd_leader_core_t *self, uint32_t *epoch_p);
/*  While it rests, or before the stream begins: it ends with the last booked step, as one of so many steps. */
void tnd_leader_core_end_here(tnd_leader_core_t *self);
/*  Gives each feeder so many slots, from some step on (feeder.h).  Where it is asked again, those that
 *  could not allocate them try again.  Errors: the run drains or is over. */
tnd_status_t tnd_leader_core_ask_depth(tnd_leader_core_t *self, uint32_t depth,
                                       tnd_error_t *error) TND_CHECKED;
/*  Replaces an actor that works; that does not count as a death.  Errors: the stream has not begun or
 *  is over; the actor is a feeder; it is down. */
tnd_status_t tnd_leader_core_ask_restart(tnd_leader_core_t *self, tnd_actor_id_t actor,
                                         uint64_t now, tnd_error_t *error) TND_CHECKED;
/*  The program of a host has ended its loop after that many steps: the run ends with them
 *  (tnd_leader_core_is_finished).  The run fails if that of another host has ended after others. */
void tnd_leader_core_finish(tnd_leader_core_t *self, uint32_t host, uint64_t steps);
/*  Whether a program has ended its loop, and the steps that it has run are booked. */
bool tnd_leader_core_is_finished(const tnd_leader_core_t *self);
/*  The run has failed for this reason, at once.  Only the first reason counts. */
void tnd_leader_core_fail(tnd_leader_core_t *self, const char *why);
/*  A host has failed, and the run with it, unless it fails for another reason already; the caller keeps why.
 *  Returns false if the stream is over. */
bool tnd_leader_core_host_failed(tnd_leader_core_t *self, uint32_t host, uint64_t now);
/*  Whether the run has failed, or will once what was done before is booked. */
bool tnd_leader_core_is_failing(const tnd_leader_core_t *self);

/*  REWIND (to TND_NOBODY: all actors of the chain, with the cursor, whose digest and ledger are
 *  those of the last booked step), BOOKED, DEPTH, HALT, LIMIT and LAST (the end of the stream or of
 *  a drain) to feeders, GONE to the holder of parameters, BOOK once per step in step order (with the cursor after it), RESTART
 *  (tnd_leader_core_restart_t), OUTCOME once. */
bool tnd_leader_core_next(tnd_leader_core_t *self, uint64_t now, tnd_effect_t *effect);
uint64_t tnd_leader_core_deadline(const tnd_leader_core_t *self);

tnd_leader_core_state_t tnd_leader_core_state(const tnd_leader_core_t *self);
/*  The cursor of the last booked step; once the run is DONE at the end of the stream, including
 *  what was read after that step. */
const tnd_cursor_t *tnd_leader_core_cursor(const tnd_leader_core_t *self);
uint32_t tnd_leader_core_generation(const tnd_leader_core_t *self);
/*  Whether the stream has begun, where it is fed again for this time. */
bool tnd_leader_core_has_begun(const tnd_leader_core_t *self);
/*  Epochs that programs have ended early, in this stream and where it was fed before. */
uint32_t tnd_leader_core_cuts(const tnd_leader_core_t *self);
/*  Why the run failed, as a sentence; "" if it has not. */
const char *tnd_leader_core_why(const tnd_leader_core_t *self);
/*  Fills `hosts` with those that the run waits for; returns how many there are. */
uint32_t tnd_leader_core_missing(const tnd_leader_core_t *self, uint32_t *hosts, uint32_t room);
tnd_leader_core_cause_t tnd_leader_core_cause(const tnd_leader_core_t *self);
/*  Whether the run ends if that host, which is away, stays away. */
bool tnd_leader_core_needs(const tnd_leader_core_t *self, uint32_t host);
/*  Whether the run fails as soon as that host is lost (host_lost). */
bool tnd_leader_core_ends_with(const tnd_leader_core_t *self, uint32_t host);

#endif
