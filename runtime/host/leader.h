/*  runtime/host/leader.h - the duties of the leader, which runs on the first host.
 *
 *  The leader holds the barriers of the start, one session machine per chain, and the reports of
 *  steps.  A process that replaces a lost one passes the same barriers while the run continues;
 *  afterwards all hosts learn the new endpoints.  Decisions are made by the machines of
 *  runtime/core/; the leader carries messages between them and the hosts.
 *
 *  Threads: the host's. */
#ifndef TND_RUNTIME_HOST_LEADER_H
#define TND_RUNTIME_HOST_LEADER_H

#include "runtime/host/host_config.h"
#include "runtime/observe/run_page.h"

typedef struct tnd_leader tnd_leader_t;

/*  What the leader calls; `send` takes the payload.  `msg->to` is an instance or a host's id. */
typedef struct {
    void *context;
    void (*send)(void *context, const tnd_msg_t *msg, tnd_carry_t carry);
    void (*end)(void *context, tnd_outcome_t outcome, const char *why);
    void (*over)(void *context, uint32_t chain); /* the observer knows its end; may be NULL */
    void (*wake)(void *context);                 /* any thread: there is work for the leader */
    /*  Whether the memory of all hosts allows that plan, of which options were changed, and, if so,
     *  how many workers with `workers: auto` may be awake there. */
    bool (*fits)(void *context, const tnd_plan_t *plan, uint32_t *workers_p, tnd_error_t *why);
    const tnd_run_record_t *record; /* shared memory for inspection, or NULL */
} tnd_leader_output_t;

tnd_leader_t *tnd_leader_new(const tnd_host_config_t *config, const tnd_leader_output_t *output,
                             uint64_t now);
void tnd_leader_destroy(tnd_leader_t **self_p);

/*  The control connection of a host is up, or was lost and may return. */
void tnd_leader_host_up(tnd_leader_t *self, uint32_t host, tnd_life_t life, uint64_t now);
void tnd_leader_host_away(tnd_leader_t *self, uint32_t host, tnd_loss_t loss, const char *why,
                          uint64_t now);
/*  The leader did not run for `away_ns`, by which the deadlines of absent hosts are extended. */
void tnd_leader_excuse(tnd_leader_t *self, uint64_t away_ns, uint64_t now);
/*  A process that connected as `host` was refused and told so.  One that is foreign does not end the
 *  wait for the host itself. */
void tnd_leader_refused(tnd_leader_t *self, uint32_t host, const tnd_arrival_t *refused,
                        uint64_t now);
/*  Reserves a free host of the range `pool` for the process that asks.  Returns its index, or
 *  UINT32_MAX and a reason. */
uint32_t tnd_leader_free_host(tnd_leader_t *self, const char *pool, uint64_t now, char *why,
                              size_t room);
/*  After the run: whether a host may still send a message, of which its statistics are the last.  A host
 *  that is away may return and must learn how the run ended, unless it was given up. */
bool tnd_leader_awaits(const tnd_leader_t *self, uint32_t host);
/*  Whether a host has not come yet, but will: it was at the meeting of the processes, or a launcher starts
 *  it. */
bool tnd_leader_is_coming(const tnd_leader_t *self, uint32_t host);
/*  Sets the streams, by chain; reports are checked against them.  Copied. */
void tnd_leader_streams(tnd_leader_t *self, const tnd_stream_t *streams);
/*  Handles a message to the leader; takes its payload. */
void tnd_leader_message(tnd_leader_t *self, const tnd_msg_t *msg, uint64_t now);
/*  Ends the run and tells every host; only the first call counts. */
void tnd_leader_end(tnd_leader_t *self, tnd_outcome_t outcome, const char *why);
/*  Ends the run because of a host: TND_OUTCOME_AGAIN if the run may start again, else TND_OUTCOME_LOST. */
void tnd_leader_end_without(tnd_leader_t *self, tnd_resumption_cause_t cause, const char *why);
/*  Why the run starts again.  Valid after the run. */
bool tnd_leader_is_preempted(const tnd_leader_t *self);
tnd_resumption_end_t tnd_leader_resumption_end(const tnd_leader_t *self);
/*  Writes the state of the run to the record. */
void tnd_leader_record(tnd_leader_t *self, uint64_t now);
/*  Performs the effects of the machines; returns when it must be called again at the latest. */
uint64_t tnd_leader_work(tnd_leader_t *self, uint64_t now);

#endif
