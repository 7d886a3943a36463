/*  runtime/host/host_control.c - the control messages of a host. */
#include "runtime/host/host_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/core/host/relay.h"
#include "runtime/data/text_payload.h"
#include "runtime/meeting/join_request.h"
#include "runtime/meeting/liveness.h"
#include "runtime/meeting/part_request.h"
#include "runtime/meeting/roster_text.h"

static const char left_out[] = "the run has started again without this process: start it again, "
                               "and it takes part from the next "
                               "start on (`tundish restart --run` asks for one)";

/*  Invalid messages of another host before the run ends. */
enum { VIOLATIONS_MAX = 16 };

/* --- routing ---------------------------------------------------------------------------------- */

static void own_message(tnd_host_t *self, const tnd_msg_t *msg);

static void send_to(tnd_host_t *self, uint32_t port, tnd_actor_id_t peer, tnd_msg_t *msg,
                    tnd_carry_t carry)
{
    /* A peer that is not connected loses the message; its return or a rewind repairs that. */
    if (tnd_hub_send(self->hub, port, peer, msg, carry) != TND_OK)
        tnd_msg_drop(msg, carry);
}

/*  Messages that are sent once and must survive the loss of a control connection. */
static void remember(tnd_host_t *self, const tnd_msg_t *msg)
{
    if (msg->kind != TND_MSG_MODEL || msg->note.number >= self->plan->chain_count)
        return;
    tnd_msg_t *model = &self->chains[msg->note.number].model;
    tnd_msg_drop(model, TND_CARRY_BUFFER);
    *model = *msg;
    model->note.payload = tnd_buffer_hold(msg->note.payload);
}

static void log_here(const tnd_host_t *self, tnd_log_level_t level, tnd_buffer_t *note)
{
    const tnd_observer_t *observer = self->config.observer;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        char actor[64];
        int used = 0;
        if (tnd_observer_wants(observer, level) && sscanf(line, "%63s %n", actor, &used) == 1 &&
            used > 0)
            observer->log(observer->context, level, self->plan->hosts[self->config.host].name,
                          actor, line + used);
    }
}

/*  Log records that the leader does not show or cannot receive. */
static bool stays_here(const tnd_host_t *self, const tnd_msg_t *msg)
{
    return msg->kind == TND_MSG_LOG &&
           (msg->note.number < TND_LOG_WARNING || !tnd_host_reaches_leader(self));
}

/*  A message for an actor here: what it says about the run is known to its host too. */
static void hand_over(tnd_host_t *self, tnd_msg_t *msg, tnd_carry_t carry)
{
    uint32_t chain = self->plan->instances[msg->to].chain;
    if (msg->kind == TND_MSG_REWIND)
        tnd_host_learn_generation(self, chain, msg->kind, msg->generation);
    if (msg->kind == TND_MSG_BOOKED && chain == 0)
        self->booked = msg->until.step;
    send_to(self, PORT_ACTORS, msg->to, msg, carry);
}

static void take_for_leader(tnd_host_t *self, tnd_msg_t *msg, tnd_carry_t carry)
{
    if (msg->kind != TND_MSG_LOOK) {
        tnd_leader_message(self->leader, msg, self->round_ns);
        return;
    }
    tnd_look_service_answered(self->looks, msg);
    tnd_msg_drop(msg, carry);
}

static void pass_on(tnd_host_t *self, uint32_t host, tnd_msg_t *msg, tnd_carry_t carry)
{
    if (msg->to == TND_LEADER && stays_here(self, msg)) {
        log_here(self, (tnd_log_level_t)msg->note.number, msg->note.payload);
        tnd_msg_drop(msg, carry);
        return;
    }
    if (msg->to == TND_LEADER)
        remember(self, msg);
    send_to(self, PORT_HOSTS, tnd_host_id(host), msg, carry);
}

void tnd_host_route(tnd_host_t *self, tnd_msg_t *msg, tnd_carry_t carry)
{
    tnd_relay_t relay = tnd_relay_of(&self->membership, self->config.host, msg->to);
    switch (relay.kind) {
    case TND_RELAY_LEADER:
        take_for_leader(self, msg, carry);
        break;
    case TND_RELAY_ACTOR:
        hand_over(self, msg, carry);
        break;
    case TND_RELAY_HOST:
        pass_on(self, relay.host, msg, carry);
        break;
    case TND_RELAY_OWN:
        own_message(self, msg);
        tnd_msg_drop(msg, carry);
        break;
    case TND_RELAY_DROP:
        tnd_msg_drop(msg, carry);
        break;
    }
}

static void spread(tnd_host_t *self, const tnd_msg_t *msg)
{
    tnd_msg_t copy;
    for (uint32_t next = 0; tnd_relay_spread(&self->membership, msg, &next, &copy);)
        tnd_host_route(self, &copy, TND_CARRY_NOTHING);
}

void tnd_host_tell_leader(tnd_host_t *self, tnd_msg_kind_t kind, uint64_t number,
                          tnd_buffer_t *note)
{
    tnd_msg_t msg = {.kind = kind, .from = tnd_host_id(self->config.host), .to = TND_LEADER};
    msg.note.number = number;
    msg.note.payload = note;
    tnd_host_route(self, &msg, note != NULL ? TND_CARRY_BUFFER : TND_CARRY_NOTHING);
}

/* --- messages --------------------------------------------------------------------------------- */

/*  A process of an earlier session, which was stopped while the others started again, ends. */
static void take_session(tnd_host_t *self, uint64_t session)
{
    if (self->session != 0 && self->session != session)
        tnd_host_settle(self, TND_OUTCOME_LOST, left_out);
    self->session = session;
    tnd_pages_join(self->pages, session);
}

static void take_busy(tnd_host_t *self, tnd_buffer_t *note)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        uint32_t instance, busy;
        uint64_t session;
        if (!tnd_host_leads(self) && sscanf(line, "session %" SCNu64, &session) == 1)
            take_session(self, session);
        else if (sscanf(line, "%" SCNu32 " %" SCNu32, &instance, &busy) == 2 &&
                 instance < self->plan->instance_count)
            __atomic_store_n(&self->busy.elsewhere[instance], (uint8_t)(busy != 0),
                             __ATOMIC_RELAXED);
    }
}

/*  Why this host has failed itself is known better here. */
static void take_outcome(tnd_host_t *self, const tnd_msg_t *msg)
{
    if (self->failure.said_ns != 0 && !tnd_host_leads(self)) {
        tnd_host_settle(self, self->failure.outcome, self->failure.why);
        return;
    }
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *why = tnd_text_payload_line(&reader);
    bool known = msg->note.number > TND_OUTCOME_NONE && msg->note.number <= TND_OUTCOME_MAX;
    tnd_host_settle(self, known ? (tnd_outcome_t)msg->note.number : TND_OUTCOME_FAILED,
                    why != NULL ? why : "");
}

static void own_message(tnd_host_t *self, const tnd_msg_t *msg)
{
    if (tnd_host_settled(self))
        return;
    switch (msg->kind) {
    case TND_MSG_STREAM:
        tnd_host_take_stream(self, msg->note.number, msg->note.payload);
        break;
    case TND_MSG_TABLE:
        tnd_host_take_table(self, msg->note.payload);
        break;
    case TND_MSG_RESTART:
        tnd_host_replace(self,
                         msg->note.number < UINT32_MAX ? (uint32_t)msg->note.number : UINT32_MAX,
                         msg->note.payload != NULL);
        break;
    case TND_MSG_BUSY:
        take_busy(self, msg->note.payload);
        break;
    case TND_MSG_TOUCH:
        tnd_host_take_touch(self, msg);
        break;
    case TND_MSG_SCALE:
        tnd_host_take_scale(self, msg);
        break;
    case TND_MSG_LOOK:
        tnd_look_service_question(self->looks, msg, tnd_clock_now());
        break;
    case TND_MSG_OUTCOME:
        take_outcome(self, msg);
        break;
    default:
        break;
    }
}

void tnd_host_tell_busy(tnd_host_t *self, uint64_t now)
{
    if (self->plan->host_count == 1 || now < self->busy.due_ns)
        return;
    self->busy.due_ns = now + self->busy.every_ns;
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    if (tnd_host_leads(self))
        fprintf(writer.stream, "session %" PRIu64 "\n", self->life);
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (tnd_host_leads(self) || self->plan->instances[i].host == self->config.host)
            fprintf(writer.stream, "%" PRIu32 " %d\n", i, tnd_host_busy(self, i) ? 1 : 0);
    tnd_buffer_t *note = tnd_text_payload_end(&writer);
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        if (h == self->config.host || (!tnd_host_leads(self) && h != 0))
            continue;
        tnd_msg_t msg = {
            .kind = TND_MSG_BUSY, .from = tnd_host_id(self->config.host), .to = tnd_host_id(h)};
        msg.note.payload = tnd_buffer_hold(note);
        tnd_host_route(self, &msg, TND_CARRY_BUFFER);
    }
    tnd_buffer_drop(&note);
}

/*  The state of a lost host's actors is unknown; if the leader is lost, that of all others. */
static void forget_busy(tnd_host_t *self, uint32_t host)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (!tnd_host_leads(self) || self->plan->instances[i].host == host)
            __atomic_store_n(&self->busy.elsewhere[i], 0, __ATOMIC_RELAXED);
}

/*  What this process says next is of the session that it knows. */
static void name_session(tnd_host_t *self)
{
    tnd_msg_t msg = {.kind = TND_MSG_BUSY, .from = tnd_host_id(self->config.host)};
    msg.to = tnd_host_id(0);
    msg.note.payload = tnd_text_payload_of("session %" PRIu64, self->session);
    send_to(self, PORT_HOSTS, tnd_host_id(0), &msg, TND_CARRY_BUFFER);
}

/*  Whether a host names another session than the one that is led here. */
static bool names_another(const tnd_host_t *self, tnd_buffer_t *note)
{
    tnd_text_payload_reader_t reader;
    uint64_t session;
    tnd_text_payload_read(&reader, note);
    const char *line = tnd_text_payload_line(&reader);
    return line != NULL && sscanf(line, "session %" SCNu64, &session) == 1 && session != self->life;
}

/*  Tells a host of an earlier session that it has ended, and hears nothing else of it. */
static void leave_out(tnd_host_t *self, uint32_t host)
{
    tnd_msg_t msg = {.kind = TND_MSG_OUTCOME, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.number = TND_OUTCOME_LOST;
    msg.note.payload = tnd_text_payload_of("%s", left_out);
    self->refused.left_out[host] = true;
    send_to(self, PORT_HOSTS, msg.to, &msg, TND_CARRY_BUFFER);
}

static void greet_leader(tnd_host_t *self, uint64_t now)
{
    tnd_leader_presence_up(&self->leader_presence, now);
    tnd_liveness_close(self->plan->liveness);
    if (self->session != 0)
        name_session(self);
    /* Messages on the previous connection may be lost. */
    tnd_host_forget_hangs(self);
    tnd_host_repeat_start(self);
    tnd_wish_repeat(&self->wishes.drain_wish);
    tnd_wish_repeat(&self->wishes.finish_wish);
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        if (self->chains[c].model.note.payload != NULL) {
            tnd_msg_t msg = self->chains[c].model;
            msg.note.payload = tnd_buffer_hold(msg.note.payload);
            send_to(self, PORT_HOSTS, tnd_host_id(0), &msg, TND_CARRY_BUFFER);
        }
}

/*  Logs that a peer was refused; the run continues without it. */
static void note_refused(tnd_host_t *self, const tnd_arrival_t *arrival, uint64_t now)
{
    uint32_t host = arrival->peer - tnd_host_id(0);
    if (host < self->plan->host_count) {
        tnd_leader_refused(self->leader, host, arrival, now);
        return;
    }
    if (arrival->is_foreign) {
        tnd_host_tell_leader(self, TND_MSG_LOG, TND_LOG_WARNING,
                             tnd_text_payload_of("control a process that asks to join was "
                                                 "refused: %s",
                                                 arrival->why));
        return;
    }
    if (self->refused.stranger_said)
        return;
    self->refused.stranger_said = true;
    tnd_host_tell_leader(self, TND_MSG_LOG, TND_LOG_WARNING,
                         tnd_text_payload_of("control %s", arrival->why));
}

static void refused(tnd_host_t *self, const char *reason)
{
    char why[512];
    snprintf(why, sizeof why, "host %s was refused by host %s, which leads: %.300s",
             self->plan->hosts[self->config.host].name, self->plan->hosts[0].name, reason);
    tnd_host_settle(self, TND_OUTCOME_LOST, why);
}

static void warn(tnd_host_t *self, const char *text)
{
    tnd_host_tell_leader(self, TND_MSG_LOG, TND_LOG_WARNING,
                         tnd_text_payload_of("control %s", text));
}

/*  Another host sent an invalid message.  Its connection ends; it may reconnect a few times. */
static void expel(tnd_host_t *self, const tnd_arrival_t *arrival, const char *why)
{
    uint32_t host = arrival->peer - tnd_host_id(0);
    char text[512];
    snprintf(text, sizeof text,
             "host %s sent an invalid message (kind %u, from actor %u to actor %u): %s",
             self->plan->hosts[host].name, (unsigned)arrival->msg.kind, arrival->msg.from,
             arrival->msg.to, why);
    warn(self, text);
    tnd_hub_disconnect_peer(self->hub, PORT_HOSTS, arrival->peer, text);
    if (++self->refused.violations[host] < VIOLATIONS_MAX)
        return;
    if (tnd_host_leads(self))
        tnd_leader_end(self->leader, TND_OUTCOME_LOST, text);
    else
        tnd_host_settle(self, TND_OUTCOME_LOST, text);
}

static void host_arrival(tnd_host_t *self, const tnd_arrival_t *arrival, uint64_t now)
{
    uint32_t host = arrival->peer - tnd_host_id(0);
    bool known = host < self->plan->host_count && host != self->config.host;
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        if (!tnd_host_leads(self))
            greet_leader(self, now);
        else if (known) {
            self->refused.left_out[host] = false;
            tnd_leader_host_up(self->leader, host, arrival->life, now);
            self->busy.due_ns = now; /* it learns the session of the run */
        }
        break;
    case TND_ARRIVAL_LOST:
        if (tnd_host_leads(self) && known) {
            tnd_leader_host_away(self->leader, host, arrival->loss, arrival->why, now);
            forget_busy(self, host);
        } else if (!tnd_host_leads(self)) {
            tnd_absence_limits_t limits = tnd_host_absence_limits(self->plan);
            tnd_leader_presence_away(&self->leader_presence, &limits, arrival->loss, now);
            snprintf(self->leader_why, sizeof self->leader_why, "%s", arrival->why);
            forget_busy(self, 0);
        }
        break;
    case TND_ARRIVAL_REFUSED:
        if (tnd_host_leads(self))
            note_refused(self, arrival, now);
        else
            refused(self, arrival->why);
        break;
    case TND_ARRIVAL_MESSAGE:
        break;
    }
}

/*  A process asks the leader for a free host. */
static void take_newcomer(tnd_host_t *self, tnd_arrival_t *arrival, uint64_t now)
{
    if (arrival->kind != TND_ARRIVAL_MESSAGE)
        return;
    tnd_msg_t answer = {.kind = TND_MSG_JOIN_REQUEST, .from = tnd_host_id(0), .to = arrival->peer};
    if (arrival->msg.kind == TND_MSG_JOIN_REQUEST && tnd_host_leads(self)) {
        char why[256];
        tnd_text_payload_reader_t reader;
        tnd_text_payload_read(&reader, arrival->msg.note.payload);
        const char *pool = tnd_text_payload_line(&reader);
        answer.note.number =
            tnd_leader_free_host(self->leader, pool != NULL ? pool : "", now, why, sizeof why);
        answer.note.payload = tnd_text_payload_of("%s", why);
        send_to(self, PORT_HOSTS, arrival->peer, &answer, TND_CARRY_BUFFER);
    } else {
        tnd_hub_disconnect_peer(self->hub, PORT_HOSTS, arrival->peer,
                                "it has no place in this run");
    }
    tnd_msg_drop(&arrival->msg, arrival->carry);
}

/*  What a process of a launcher is told that has come late: it may wait here for the next start. */
static tnd_msg_t answer_late(const tnd_host_t *self, const tnd_roster_request_t *request)
{
    const tnd_plan_t *plan = self->plan;
    const tnd_plan_host_t *leader = &plan->hosts[0];
    tnd_roster_verdict_t verdict =
        plan->met != NULL ? tnd_roster_come_late(plan->met, request) : TND_ROSTER_ELSEWHERE;
    tnd_msg_t answer = {.kind = TND_MSG_JOIN_REQUEST, .from = tnd_host_id(0)};
    char run[300];
    snprintf(run, sizeof run, "the run is under way, which %.60s on %.64s leads at %.64s:%" PRIu32,
             leader->name, plan->leader_machine, leader->address, leader->port);
    answer.note.number = TND_ROSTER_ANSWER_NO;
    if (verdict == TND_ROSTER_ELSEWHERE) {
        answer.note.number = TND_ROSTER_ANSWER_ELSEWHERE;
        answer.note.payload = tnd_text_payload_of("another run");
    } else if (verdict == TND_ROSTER_DOUBLED) {
        answer.note.payload =
            tnd_text_payload_of("two processes have rank 0: %s, and one at %s came later: start "
                                "each rank once, or give another run a TUNDISH_JOB of its own",
                                run, request->process.address);
    } else if (verdict == TND_ROSTER_SPARED) {
        answer.note.payload = tnd_text_payload_of("%s", run);
    } else if (verdict != TND_ROSTER_LATE) {
        answer.note.payload = tnd_text_payload_of(
            "rank %" PRIu32 " (%s) was started with other files or another number of processes: %s",
            request->process.rank, request->process.address, run);
    } else if (plan->restarts.run == 0) {
        answer.note.payload =
            tnd_text_payload_of("rank %" PRIu32 " (%s) came too late: %s", request->process.rank,
                                request->process.address, run);
    } else {
        answer.note.number = TND_ROSTER_ANSWER_WAIT;
        answer.note.payload =
            tnd_text_payload_of("%s: this process takes part from its next start on", run);
    }
    return answer;
}

/*  A process of the launcher that has come late. */
static void take_attendee(tnd_host_t *self, tnd_arrival_t *arrival)
{
    tnd_roster_request_t request;
    tnd_error_t error;
    if (arrival->kind != TND_ARRIVAL_MESSAGE)
        return;
    if (arrival->msg.kind == TND_MSG_JOIN_REQUEST && tnd_host_leads(self) &&
        arrival->msg.note.number == TND_ROSTER_ASKS_PART) {
        tnd_msg_t answer = tnd_part_answer(tnd_host_resume(self), &arrival->msg);
        answer.to = arrival->peer;
        send_to(self, PORT_HOSTS, arrival->peer, &answer, TND_CARRY_BUFFER);
        tnd_msg_drop(&arrival->msg, arrival->carry);
        return;
    }
    bool asks = arrival->msg.kind == TND_MSG_JOIN_REQUEST && tnd_host_leads(self) &&
                tnd_roster_request_read(&request, arrival->msg.note.payload, &error) == TND_OK;
    if (asks) {
        tnd_msg_t answer = answer_late(self, &request);
        bool waits = answer.note.number == TND_ROSTER_ANSWER_WAIT;
        answer.to = arrival->peer;
        send_to(self, PORT_HOSTS, arrival->peer, &answer, TND_CARRY_BUFFER);
        if (waits)
            tnd_host_tell_leader(
                self, TND_MSG_LOG, TND_LOG_WARNING,
                tnd_text_payload_of("control rank %" PRIu32 " (%s) waits for the next start of the "
                                    "run: `tundish restart --run` asks for one",
                                    request.process.rank, request.process.address));
    }
    tnd_msg_drop(&arrival->msg, arrival->carry);
}

/* --- inspectors ------------------------------------------------------------------------------- */

static void send_look(void *context, tnd_msg_t *msg)
{
    if (tnd_is_inspector(msg->to))
        send_to(context, PORT_HOSTS, msg->to, msg, TND_CARRY_BUFFER);
    else
        tnd_host_route(context, msg, TND_CARRY_BUFFER);
}

static void disconnect_inspector(void *context, tnd_actor_id_t inspector, const char *why)
{
    const tnd_host_t *self = context;
    tnd_hub_disconnect_peer(self->hub, PORT_HOSTS, inspector, why);
}

void tnd_host_begin_looks(tnd_host_t *self)
{
    tnd_look_config_t config = {.pages = self->pages,
                                .self = tnd_host_id(self->config.host),
                                .first_host = tnd_host_id(0),
                                .host_count = self->plan->host_count};
    tnd_look_output_t output = {
        .context = self, .send = send_look, .disconnect = disconnect_inspector};
    self->looks = tnd_look_service_new(&config, &output);
}

static void take_inspector(tnd_host_t *self, tnd_arrival_t *arrival, uint64_t now)
{
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        tnd_look_service_came(self->looks, arrival->peer, now);
        break;
    case TND_ARRIVAL_LOST:
        tnd_look_service_gone(self->looks, arrival->peer);
        break;
    case TND_ARRIVAL_REFUSED:
        break;
    case TND_ARRIVAL_MESSAGE:
        tnd_look_service_asked(self->looks, arrival->peer, &arrival->msg, now);
        tnd_msg_drop(&arrival->msg, arrival->carry);
        break;
    }
}

static bool is_left_out(const tnd_host_t *self, uint32_t host)
{
    return host < self->plan->host_count && self->refused.left_out[host];
}

void tnd_host_take_arrival(tnd_host_t *self, tnd_arrival_t *arrival, uint64_t now)
{
    self->round_ns = now;
    if (arrival->port == PORT_HOSTS && tnd_is_newcomer(arrival->peer) &&
        arrival->kind != TND_ARRIVAL_REFUSED) {
        take_newcomer(self, arrival, now);
        return;
    }
    if (arrival->port == PORT_HOSTS && tnd_is_attendee(arrival->peer)) {
        take_attendee(self, arrival);
        return;
    }
    if (arrival->port == PORT_HOSTS && tnd_is_inspector(arrival->peer)) {
        take_inspector(self, arrival, now);
        return;
    }
    if (arrival->kind != TND_ARRIVAL_MESSAGE) {
        if (arrival->port == PORT_HOSTS)
            host_arrival(self, arrival, now);
        return;
    }
    tnd_msg_t *msg = &arrival->msg;
    if (arrival->port == PORT_HOSTS && is_left_out(self, arrival->peer - tnd_host_id(0))) {
        tnd_msg_drop(msg, arrival->carry);
        return;
    }
    if (arrival->port == PORT_HOSTS) {
        const char *wrong = tnd_validator_relay(&self->membership, self->config.host,
                                                arrival->peer - tnd_host_id(0), msg);
        if (wrong != NULL) {
            expel(self, arrival, wrong);
            tnd_msg_drop(msg, arrival->carry);
            return;
        }
    }
    if (msg->kind == TND_MSG_BUSY && tnd_host_leads(self)) {
        if (names_another(self, msg->note.payload))
            leave_out(self, arrival->peer - tnd_host_id(0));
        take_busy(self, msg->note.payload);
        tnd_msg_drop(msg, arrival->carry);
    } else if (arrival->port == PORT_HOSTS &&
               !tnd_relay_speaks(&self->membership, self->config.host,
                                 arrival->peer - tnd_host_id(0), msg->from)) {
        tnd_msg_drop(msg, arrival->carry);
    } else if (msg->kind == TND_MSG_MARK && msg->to == TND_NOBODY &&
               msg->from < self->plan->instance_count) {
        spread(self, msg);
    } else {
        tnd_host_route(self, msg, arrival->carry);
    }
}
