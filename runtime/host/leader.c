/*  runtime/host/leader.c - the duties of the leader, which runs on the first host. */
#include "runtime/host/leader_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/clock.h"
#include "runtime/base/log_events.h"
#include "runtime/core/session/roster.h"

static void make_chain(tnd_leader_t *self, uint32_t index)
{
    chain_t *chain = &self->chains[index];
    const tnd_plan_t *plan = self->plan;
    uint32_t replicas = plan->chains[index].replicas;
    chain->members = tnd_allocate_zeroed(plan->instance_count, sizeof *chain->members);
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->chain != index)
            continue;
        chain->members[chain->member_count++] = (tnd_member_t){
            .id = i,
            .role = tnd_plan_role(plan, i),
            .host = instance->host,
            .lane = instance->kind->role == TND_ROLE_WORKER ? tnd_plan_is_cached(plan, i)
                                                            : instance->lane,
            .name = instance->name,
        };
    }
    chain->reports = tnd_allocate_zeroed(STEPS_OPEN, sizeof *chain->reports);
    chain->numbers =
        tnd_allocate_zeroed((size_t)STEPS_OPEN * TND_METRICS_MAX * replicas * 2, sizeof(double));
    for (size_t r = 0; r < STEPS_OPEN; r++) {
        chain->reports[r].step = TND_UNKNOWN;
        chain->reports[r].sum = chain->numbers + r * TND_METRICS_MAX * replicas * 2;
        chain->reports[r].weight = chain->reports[r].sum + (size_t)TND_METRICS_MAX * replicas;
    }
}

/*  If the checkpoints cannot be used, the run ends before it begins. */
static void open_writer(tnd_leader_t *self)
{
    if (self->plan->checkpoint == NULL || self->plan->chains[0].carriers == NULL)
        return;
    tnd_checkpoint_writer_config_t config = {
        .plan = self->plan,
        .depth = HELD_MOST,
        .ahead = TND_UNBOOKED_MOST + 1,
        .validations = &self->validations,
        .wake = self->output.wake,
        .context = self->output.context,
    };
    self->unusable.text[0] = '\0';
    if (tnd_checkpoint_writer_new(&self->writer, &config, &self->unusable) == TND_OK)
        self->unusable.text[0] = '\0';
}

/*  How many of the processes that a launcher has started the run can begin without. */
static uint32_t count_spares(const tnd_plan_t *plan)
{
    uint32_t others = 0; /* that it needs */
    if (plan->met == NULL || plan->least == 0)
        return 0;
    for (uint32_t h = 0; h < plan->host_count; h++)
        others += !plan->hosts[h].isolated && !plan->hosts[h].spare;
    others += plan->least - plan->rest_count;
    return plan->met->size > others ? plan->met->size - others : 0;
}

tnd_leader_t *tnd_leader_new(const tnd_host_config_t *config, const tnd_leader_output_t *output,
                             uint64_t now)
{
    tnd_leader_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->config = *config;
    self->config.resumption.max = (uint32_t)config->plan->restarts.run;
    self->config.resumption.spares = count_spares(config->plan);
    self->output = *output;
    self->plan = config->plan;
    self->hosts = tnd_allocate_zeroed(self->plan->host_count, sizeof *self->hosts);
    self->host_names = tnd_allocate_zeroed(self->plan->host_count, sizeof *self->host_names);
    self->pools = tnd_allocate_zeroed(self->plan->host_count, sizeof *self->pools);
    self->host_flags = tnd_allocate_zeroed(self->plan->host_count, sizeof *self->host_flags);
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        self->host_names[h] = self->plan->hosts[h].name;
        self->pools[h] = self->plan->hosts[h].pool;
        if (self->plan->hosts[h].restart == TND_RESTART_NEVER)
            self->host_flags[h] |= TND_HOST_FINAL;
        if (self->plan->hosts[h].spare)
            self->host_flags[h] |= TND_HOST_SPARE;
    }
    self->chains = tnd_allocate_zeroed(self->plan->chain_count, sizeof *self->chains);
    self->memories = tnd_allocate_zeroed(self->plan->chain_count, sizeof *self->memories);
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        make_chain(self, c);
    tnd_leader_begin_start(self);
    self->run.pools = self->pools;
    self->run.presences = tnd_allocate_zeroed(self->plan->host_count, sizeof *self->run.presences);
    self->run.touches = (tnd_run_touches_t){
        .awake = tnd_allocate_zeroed(self->plan->instance_count, sizeof *self->run.touches.awake),
        .instance_count = self->plan->instance_count,
        .host_count = self->plan->host_count};
    open_writer(self);
    tnd_leader_resume_validations(self);
    tnd_leader_open_session(self, 0, now);
    self->run.session = self->chains[0].session;
    return self;
}

void tnd_leader_destroy(tnd_leader_t **self_p)
{
    tnd_leader_t *self = *self_p;
    if (self == NULL)
        return;
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        tnd_buffer_drop(&self->hosts[h].endpoints);
        tnd_adapted_free(&self->hosts[h].adapted);
    }
    tnd_checkpoint_writer_destroy(&self->writer);
    tnd_validations_free(&self->validations);
    tnd_data_table_free(&self->data);
    tnd_leader_end_touches(self);
    for (uint32_t c = 0; c < self->plan->chain_count; c++) {
        free(self->chains[c].members);
        tnd_adapted_free(&self->chains[c].facts.adapted);
        free(self->chains[c].reasons);
        free(self->chains[c].reports);
        free(self->chains[c].numbers);
        free(self->memories[c]);
    }
    tnd_buffer_drop(&self->stream_note);
    free(self->chains);
    free(self->memories);
    free(self->hosts);
    free(self->run.start.hosts);
    free(self->run.presences);
    free(self->host_names);
    free(self->pools);
    free(self->host_flags);
    free(self);
    *self_p = NULL;
}

void tnd_leader_tell_outcome(tnd_leader_t *self, uint32_t host)
{
    tnd_msg_t msg = {.kind = TND_MSG_OUTCOME, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.number = self->outcome;
    msg.note.payload = tnd_text_payload_of("%s", self->why);
    self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
}

void tnd_leader_log(tnd_leader_t *self, tnd_log_level_t level, const char *host, const char *actor,
                    const char *text)
{
    const tnd_observer_t *observer = self->config.observer;
    if (self->output.record != NULL && level >= TND_LOG_INFO)
        tnd_run_record_log(self->output.record, level, host, actor, text, tnd_clock_now());
    if (tnd_observer_wants(observer, level))
        observer->log(observer->context, level, host, actor, text);
}

void tnd_leader_inform(tnd_leader_t *self, const char *format, ...)
{
    char text[512];
    if (!tnd_observer_wants(self->config.observer, TND_LOG_INFO) && self->output.record == NULL)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tnd_leader_log(self, TND_LOG_INFO, self->plan->hosts[0].name, "leader", text);
}

void tnd_leader_end(tnd_leader_t *self, tnd_outcome_t outcome, const char *why)
{
    if (self->run.ended)
        return;
    self->run.ended = true;
    self->outcome = outcome;
    tnd_leader_report_unwritten(self);
    tnd_leader_report_best(self);
    tnd_leader_inform(self, "the run has ended%s%s", *why != '\0' ? ": " : "", why);
    bool broke = outcome == TND_OUTCOME_FAILED || outcome == TND_OUTCOME_LOST;
    uint64_t last = broke && self->writer != NULL ? tnd_checkpoint_writer_last(self->writer) : 0;
    int used = snprintf(self->why, sizeof self->why, last > 0 ? "%.900s" : "%s", why);
    if (last > 0)
        snprintf(self->why + used, sizeof self->why - (size_t)used,
                 "; --resume continues after step %" PRIu64 ", the last checkpoint", last - 1);
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        tnd_leader_tell_outcome(self, h);
    self->output.end(self->output.context, outcome, self->why);
}

/*  Where the next start begins. */
static void tell_start(tnd_leader_t *self, const tnd_resumption_t *next, bool asked, char *text,
                       size_t room)
{
    char from[80] = "at the start", count[64] = "";
    uint64_t last = self->writer != NULL ? tnd_checkpoint_writer_last(self->writer) : 0;
    if (last > 0)
        snprintf(from, sizeof from, "after step %" PRIu64 ", the last checkpoint", last - 1);
    if (!asked && next->max > 0)
        snprintf(count, sizeof count, " (%" PRIu32 " of %" PRIu32 ")", next->losses, next->max);
    snprintf(text, room, "; the hosts that are there start again %s%s", from, count);
}

void tnd_leader_end_without(tnd_leader_t *self, tnd_resumption_cause_t cause, const char *why)
{
    char text[sizeof self->why];
    tnd_resumption_end_t end = {
        .cause = cause, .unbegun = !self->run.start.begun, .drains = self->run.touches.drains};
    const tnd_resume_t *from =
        self->writer != NULL ? tnd_checkpoint_writer_resume(self->writer) : NULL;
    end.saved = self->writer != NULL &&
                tnd_checkpoint_writer_last(self->writer) > (from != NULL ? from->step : 0);
    self->resumption_end = end;
    tnd_resumption_t next = tnd_resumption_next(&self->config.resumption, &end);
    int used = snprintf(text, sizeof text, "%.700s", why);
    switch (tnd_resumption_decide(&self->config.resumption, &end)) {
    case TND_RESUMPTION_AGAIN:
        tell_start(self, &next, cause == TND_RESUMPTION_ASKED, text + used,
                   sizeof text - (size_t)used);
        tnd_leader_end(self, TND_OUTCOME_AGAIN, text);
        return;
    case TND_RESUMPTION_ENDS_OFTEN:
        snprintf(text + used, sizeof text - (size_t)used,
                 "; it has started again without a new checkpoint as often as `restarts: {run: "
                 "%" PRIu32 "}` allows",
                 self->config.resumption.max);
        break;
    case TND_RESUMPTION_ENDS:
        break;
    }
    tnd_leader_end(self, TND_OUTCOME_LOST, text);
}

bool tnd_leader_is_preempted(const tnd_leader_t *self)
{
    return self->preempted;
}

tnd_resumption_end_t tnd_leader_resumption_end(const tnd_leader_t *self)
{
    return self->resumption_end;
}

/* --- messages --------------------------------------------------------------------------------- */

static void note_log(tnd_leader_t *self, const tnd_msg_t *msg, const char *host)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        char actor[64];
        int used = 0;
        if (sscanf(line, "%63s %n", actor, &used) == 1 && used > 0)
            tnd_leader_log(self,
                           msg->note.number > TND_LOG_ERROR ? TND_LOG_ERROR
                                                            : (tnd_log_level_t)msg->note.number,
                           host, actor, line + used);
    }
}

static void note_statistics(tnd_leader_t *self, const tnd_msg_t *msg, const char *host)
{
    const tnd_observer_t *observer = self->config.observer;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        char actor[64], kind[32];
        int used = 0;
        if (observer != NULL && observer->statistics != NULL &&
            sscanf(line, "%63s %31s %n", actor, kind, &used) == 2 && used > 0)
            observer->statistics(observer->context, host, actor, kind, line + used);
    }
}

static void note_labels(const tnd_leader_t *self, const tnd_msg_t *msg)
{
    const tnd_observer_t *observer = self->config.observer;
    tnd_text_payload_reader_t reader;
    uint64_t number = msg->note.number;
    tnd_text_payload_read(&reader, msg->note.payload);
    for (const char *name; (name = tnd_text_payload_line(&reader)) != NULL;)
        if (observer != NULL && observer->label != NULL)
            observer->label(observer->context, self->plan->instances[msg->from].actor, number++,
                            name);
}

static void take_model(tnd_leader_t *self, const tnd_msg_t *msg)
{
    const tnd_observer_t *observer = self->config.observer;
    uint32_t chain = (uint32_t)msg->note.number;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *digest = tnd_text_payload_line(&reader);
    if (chain >= self->plan->chain_count || digest == NULL || self->chains[chain].session == NULL ||
        tnd_leader_core_is_earlier(self->chains[chain].session, msg))
        return;
    const char *line;
    char first[64];
    snprintf(first, sizeof first, "%s", digest);
    uint64_t step = 0;
    while (chain == 0 && self->writer != NULL && (line = tnd_text_payload_line(&reader)) != NULL)
        if (sscanf(line, "behind %" SCNu64, &step) != 1)
            (void)tnd_checkpoint_writer_line(self->writer, step, line);
    digest = first;
    /* A host that was away repeats this message. */
    if (self->chains[chain].model_known ||
        (self->plan->chains[chain].carriers[0].instance != msg->from &&
         !tnd_plan_is_dealt(self->plan, chain)))
        return;
    self->chains[chain].model_known = true;
    if (observer != NULL && observer->model != NULL && strcmp(digest, "-") != 0)
        observer->model(observer->context, chain, digest);
}

static void take_down(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *why = tnd_text_payload_line(&reader);
    char text[1024], own[80];
    why = why != NULL ? why : "an actor failed";
    snprintf(own, sizeof own, "host %.60s ", self->plan->hosts[host].name);
    bool names_it = strncmp(why, own, strlen(own)) == 0;
    snprintf(text, sizeof text, "%s%s%s%.940s", names_it ? "" : "host ",
             names_it ? "" : self->plan->hosts[host].name, names_it ? "" : ": ", why);
    uint64_t outcome = msg->note.number;
    if (outcome <= TND_OUTCOME_NONE || outcome > TND_OUTCOME_MAX)
        outcome = TND_OUTCOME_FAILED;
    bool unfit = outcome == TND_OUTCOME_LOST || outcome == TND_OUTCOME_UNUSABLE;
    if (tnd_run_spares(&self->run, host, unfit, why, now)) {
        tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
        return;
    }
    const char *told = self->plan->host_count > 1 ? text : why;
    if (!tnd_leader_core_is_failing(tnd_leader_session(self))) {
        self->told.outcome = (tnd_outcome_t)outcome;
        snprintf(self->told.why, sizeof self->told.why, "%s", told);
    }
    if (tnd_run_ends_with_failure(&self->run, host, outcome == TND_OUTCOME_STOPPED, now))
        tnd_leader_end(self, (tnd_outcome_t)outcome, told);
}

void tnd_leader_restart(tnd_leader_t *self, tnd_actor_id_t actor, const char *asked)
{
    tnd_msg_t msg = {.kind = TND_MSG_RESTART, .from = TND_LEADER};
    msg.to = tnd_host_id(self->plan->instances[actor].host);
    msg.note.number = actor;
    if (asked != NULL) {
        msg.note.payload = tnd_text_payload_of("asked");
        tnd_leader_note_restart(self, self->plan->instances[actor].name, asked);
    }
    self->output.send(self->output.context, &msg,
                      msg.note.payload != NULL ? TND_CARRY_BUFFER : TND_CARRY_NOTHING);
}

/*  An actor hangs, or was replaced. */
static void take_life(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    if (msg->note.number >= self->plan->instance_count)
        return;
    tnd_actor_id_t id = (tnd_actor_id_t)msg->note.number;
    const tnd_instance_t *instance = &self->plan->instances[id];
    if (instance->host != host)
        return;
    bool is_open = tnd_leader_is_open(self, instance->chain);
    tnd_leader_core_t *last = self->chains[instance->chain].session;
    tnd_leader_core_t *session = is_open ? last : NULL;
    if (msg->kind == TND_MSG_RESTARTED) {
        if (last != NULL)
            tnd_leader_core_actor_up(last, id, now);
        return;
    }
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *why = tnd_text_payload_line(&reader);
    char text[800];
    snprintf(text, sizeof text, "%.700s; it is replaced", why != NULL ? why : "it hangs");
    if (tnd_run_actor_down(session, id, why != NULL ? why : "it hangs", now)) {
        if (instance->chain == 0)
            return; /* which is not fed again */
        tnd_leader_restart(self, id, NULL);
    }
    if (is_open && tnd_leader_core_is_failing(session))
        return;
    tnd_leader_note_restart(self, instance->name, why != NULL ? why : "it hangs");
    tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[host].name, instance->name, text);
}

static const char because[] = "because";

/*  The first host that asks for a drain; the leader's own process has said it. */
static void say_drain(tnd_leader_t *self, uint32_t host, const char *cause)
{
    char text[160];
    if (host == 0 || self->run.touches.drains)
        return;
    snprintf(text, sizeof text, "asks for a drain%.120s", cause);
    tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[host].name, "run", text);
}

/*  A host wants the run to end: with the steps that its programs have run, or by a drain.  Programs on
 *  several hosts end their loops after the same step. */
static void take_end(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    self->preempted = self->preempted || msg->note.number == TND_HOST_PREEMPTED;
    bool finishes = false;
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        uint32_t chain;
        uint64_t steps;
        if (strncmp(line, because, strlen(because)) == 0)
            say_drain(self, host, line + strlen(because));
        if (sscanf(line, "%" SCNu32 " %" SCNu64, &chain, &steps) != 2 ||
            !tnd_leader_is_open(self, chain))
            continue;
        tnd_run_finish(&self->run, self->chains[chain].session, host, steps);
        finishes = true;
    }
    if (!finishes)
        tnd_run_drain(&self->run);
}

static void host_message(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    const char *name = self->plan->hosts[host].name;
    switch (msg->kind) {
    case TND_MSG_OPENING:
        tnd_leader_take_opening(self, host, msg, now);
        break;
    case TND_MSG_FACTS:
        tnd_leader_take_facts(self, host, msg, now);
        break;
    case TND_MSG_ENDPOINTS:
        tnd_leader_take_endpoints(self, host, msg->note.payload);
        break;
    case TND_MSG_READY:
        tnd_run_ready(&self->run, host, now);
        tnd_leader_follow_touches(self);
        break;
    case TND_MSG_DOWN:
        take_down(self, host, msg, now);
        break;
    case TND_MSG_HUNG:
    case TND_MSG_RESTARTED:
        take_life(self, host, msg, now);
        break;
    case TND_MSG_LEAVE:
        tnd_leader_take_leave(self, host, now);
        break;
    case TND_MSG_ASK:
        take_end(self, host, msg);
        break;
    case TND_MSG_TOUCH:
        tnd_leader_touch(self, host, msg, now);
        break;
    case TND_MSG_LOG:
        note_log(self, msg, name);
        break;
    case TND_MSG_STATISTICS:
        self->hosts[host].said_life = self->run.presences[host].life;
        note_statistics(self, msg, name);
        break;
    default:
        break; /* the terms of the connection exclude other versions */
    }
}

void tnd_leader_streams(tnd_leader_t *self, const tnd_stream_t *streams)
{
    for (uint32_t c = 0; c < self->plan->chain_count; c++) {
        self->chains[c].bounds = tnd_membership_bounds(self->plan, &streams[c]);
        self->chains[c].bad_limit = streams[c].bad.limit;
        self->chains[c].batch_ragged = streams[c].batch.limit;
        self->chains[c].epoch_rows = tnd_stream_positions(&streams[c]);
        self->chains[c].epoch_read = tnd_stream_epoch(&streams[c]);
        self->chains[c].run_read = tnd_stream_run(&streams[c]);
    }
}

static void take_word(tnd_leader_t *self, chain_t *chain, const tnd_msg_t *msg, uint64_t now)
{
    const char *wrong =
        chain->bounds.epochs == 0 ? NULL : tnd_validator_report(&chain->bounds, msg);
    if (wrong == NULL) {
        if (msg->kind == TND_MSG_PART)
            tnd_leader_take_bytes(chain, msg);
        tnd_leader_core_message(chain->session, msg, now);
        return;
    }
    const tnd_instance_t *from = &self->plan->instances[msg->from];
    char why[256];
    snprintf(why, sizeof why, "%s on host %s sent an invalid report of step %" PRIu64 ": %s",
             from->name, self->plan->hosts[from->host].name, msg->part.step, wrong);
    tnd_leader_core_fail(chain->session, why);
}

void tnd_leader_message(tnd_leader_t *self, const tnd_msg_t *msg, uint64_t now)
{
    bool from_host = msg->from >= tnd_host_id(0) && msg->from < tnd_host_id(self->plan->host_count);
    tnd_buffer_t *payload = NULL;
    if (from_host) {
        payload = msg->note.payload;
        host_message(self, msg->from - tnd_host_id(0), msg, now);
    } else if (msg->from < self->plan->instance_count) {
        uint32_t index = self->plan->instances[msg->from].chain;
        bool is_open = index < self->plan->chain_count && tnd_leader_is_open(self, index);
        chain_t *chain = &self->chains[is_open ? index : self->chain];
        if (msg->kind == TND_MSG_COMMIT)
            payload = msg->commit.payload;
        if (msg->kind == TND_MSG_MODEL) {
            payload = msg->note.payload;
            if (is_open)
                tnd_leader_core_message(chain->session, msg, now);
            take_model(self, msg);
        } else if (msg->kind == TND_MSG_WHY) {
            payload = msg->bad.payload;
            if (is_open)
                tnd_leader_take_reasons(chain, msg);
        } else if (msg->kind == TND_MSG_LABELS) {
            payload = msg->note.payload;
            note_labels(self, msg);
        } else if (msg->kind == TND_MSG_BAD_RECORD) {
            payload = msg->note.payload;
            tnd_leader_take_bad_record(self, msg);
        } else if (msg->kind == TND_MSG_LOG) {
            payload = msg->note.payload;
            note_log(self, msg, self->plan->hosts[self->plan->instances[msg->from].host].name);
        } else if (is_open && !self->run.ended) {
            if (msg->kind == TND_MSG_COMMIT)
                tnd_leader_take_report(self, chain, msg);
            take_word(self, chain, msg, now);
        }
    }
    tnd_buffer_drop(&payload);
}

/* --- work ------------------------------------------------------------------------------------- */

static void show(tnd_leader_t *self)
{
    chain_t *chain = &self->chains[self->chain];
    const tnd_observer_t *observer = self->config.observer;
    tnd_leader_core_state_t state = tnd_leader_core_state(chain->session);
    uint32_t missing[64];
    uint32_t count = tnd_leader_core_missing(chain->session, missing, 64);
    if (state == chain->shown &&
        (state != TND_LEADER_CORE_JOINING || count == chain->shown_missing))
        return;
    static const char *const names[] = {"joining",  "opening", "ready", "running",
                                        "draining", "done",    "failed"};
    if (state != chain->shown && (size_t)state < sizeof names / sizeof names[0])
        tnd_leader_inform(self, "%s is %s", tnd_leader_chain_name(self), names[state]);
    chain->shown = state;
    chain->shown_missing = count;
    if (observer == NULL || observer->state == NULL)
        return;
    char waiting[512] = "";
    size_t used = 0;
    /* The leader does not wait for itself. */
    for (uint32_t i = 0; i < count && i < 64 && used < sizeof waiting; i++)
        if (missing[i] != 0)
            used += (size_t)snprintf(waiting + used, sizeof waiting - used, "%s%s",
                                     used > 0 ? ", " : "", self->plan->hosts[missing[i]].name);
    observer->state(observer->context, self->chain, state, waiting);
}

/*  Tells the feeders which step to save next. */
static void announce_next_checkpoint(tnd_leader_t *self)
{
    const chain_t *chain = &self->chains[0];
    tnd_msg_t msg = {.kind = TND_MSG_KEEP, .from = TND_LEADER};
    msg.keep = tnd_checkpoint_writer_word(self->writer);
    for (uint32_t m = 0; m < chain->member_count; m++) {
        msg.to = chain->members[m].id;
        if (tnd_members_commits(chain->members[m].role))
            self->output.send(self->output.context, &msg, TND_CARRY_NOTHING);
    }
}

static void report_checkpoints(tnd_leader_t *self)
{
    tnd_log_level_t level;
    tnd_keep_note_t word;
    char text[480];
    while (tnd_checkpoint_writer_news(self->writer, &level, text, sizeof text))
        tnd_leader_log(self, level, self->plan->hosts[0].name, "checkpoint", text);
    if (tnd_checkpoint_writer_next(self->writer, &word) && tnd_leader_is_open(self, 0) &&
        !self->run.ended)
        announce_next_checkpoint(self);
}

static void restart(tnd_leader_t *self, tnd_actor_id_t actor, tnd_leader_core_restart_t reason)
{
    const tnd_instance_t *instance = &self->plan->instances[actor];
    static const char *const asked[] = {
        [TND_LEADER_CORE_DIED] = NULL,
        [TND_LEADER_CORE_ASKED] = "a user asked for it",
        [TND_LEADER_CORE_OVERTAKEN] =
            "it is restarted: its host had been counted as lost, and others have its steps",
    };
    if (reason == TND_LEADER_CORE_OVERTAKEN)
        tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[instance->host].name,
                       instance->name, asked[reason]);
    tnd_leader_restart(self, actor, asked[reason]);
}

static void perform(tnd_leader_t *self, chain_t *chain, const tnd_effect_t *effect, uint64_t now)
{
    if (effect->kind == TND_EFFECT_CONTROL && effect->msg.kind == TND_MSG_REWIND &&
        self->writer != NULL && chain == self->chains)
        announce_next_checkpoint(self);
    switch (effect->kind) {
    case TND_EFFECT_CONTROL:
        if (effect->msg.to != TND_NOBODY) {
            self->output.send(self->output.context, &effect->msg, TND_CARRY_NOTHING);
            break;
        }
        for (uint32_t m = 0; m < chain->member_count; m++) {
            tnd_msg_t msg = effect->msg;
            msg.to = chain->members[m].id;
            if (msg.kind == TND_MSG_REWIND && m == 0)
                tnd_leader_inform(self,
                                  "%s" TND_LOG_GENERATION "%" PRIu32 TND_LOG_BEGINS "%" PRIu64,
                                  tnd_plan_chain_name(self->plan, (uint32_t)(chain - self->chains)),
                                  msg.generation, msg.rewind.cursor->step);
            self->output.send(self->output.context, &msg,
                              msg.kind == TND_MSG_REWIND ? TND_CARRY_CURSOR : TND_CARRY_NOTHING);
        }
        break;
    case TND_EFFECT_RESTART:
        restart(self, effect->msg.to, (tnd_leader_core_restart_t)effect->msg.note.number);
        break;
    case TND_EFFECT_BOOK:
        tnd_leader_book(self, chain, effect, now);
        break;
    case TND_EFFECT_OUTCOME:
        chain->over = true;
        break;
    default:
        assert(!"unknown effect of a session");
    }
}

/*  Whether the last checkpoint of the first chain is written or has failed. */
static bool checkpoints_are_finished(tnd_leader_t *self)
{
    const chain_t *chain = &self->chains[0];
    if (!self->closed && tnd_leader_core_has_begun(chain->session)) {
        if (tnd_leader_core_awaits_model(chain->session, TND_NOBODY))
            return false;
        tnd_checkpoint_writer_end(self->writer, tnd_leader_core_cursor(chain->session),
                                  &chain->sums);
        self->closed = true;
    }
    return !tnd_checkpoint_writer_busy(self->writer);
}

/*  Hosts that have met, or that have begun, were there. */
static tnd_resumption_cause_t loss_of(const tnd_leader_t *self, const chain_t *chain)
{
    bool was_there = self->plan->roster != 0 || tnd_leader_core_generation(chain->session) > 0;
    return was_there ? TND_RESUMPTION_LOST : TND_RESUMPTION_ABSENT;
}

/*  Whether the run ends because a chain has failed. */
static bool has_failed(tnd_leader_t *self, chain_t *chain)
{
    if (tnd_leader_core_state(chain->session) != TND_LEADER_CORE_FAILED)
        return false;
    tnd_leader_report_reasons(self, chain);
    const char *why = tnd_leader_core_why(chain->session);
    switch (tnd_leader_core_cause(chain->session)) {
    case TND_LEADER_CORE_BROKEN:
        tnd_leader_end(self, TND_OUTCOME_FAILED, why);
        break;
    case TND_LEADER_CORE_ABSENT:
        tnd_leader_end_without(self, loss_of(self, chain), why);
        break;
    case TND_LEADER_CORE_UNOPENED:
        tnd_leader_end(self, TND_OUTCOME_UNUSABLE, why);
        break;
    case TND_LEADER_CORE_TOLD:
        tnd_leader_end(self, self->told.outcome, self->told.why);
        break;
    }
    return true;
}

static void finish_chain(tnd_leader_t *self, uint64_t now)
{
    chain_t *chain = &self->chains[self->chain];
    if (has_failed(self, chain))
        return;
    /* The last message of the first feeder is the hash of its model. */
    bool repeats = self->chain > 0 && tnd_chain_repeats(&self->plan->chains[self->chain]);
    bool all = repeats || tnd_plan_is_dealt(self->plan, self->chain);
    tnd_actor_id_t first = self->plan->chains[self->chain].carriers[0].instance;
    if (tnd_leader_core_awaits_model(chain->session, all ? TND_NOBODY : first))
        return;
    if (self->chain == 0 && self->writer != NULL && !checkpoints_are_finished(self))
        return;
    tnd_leader_close_chain(self, now);
}

/*  Whether the chain ends because programs ended their loops.  One that they pulled to its end while the first
 *  one rests has a result, which comes. */
static bool is_finished_by_programs(const tnd_leader_t *self, const chain_t *chain)
{
    return tnd_leader_core_is_finished(chain->session) &&
           (self->writer == NULL || !tnd_checkpoint_writer_busy(self->writer)) &&
           (self->run.resting == NULL || !tnd_leader_core_has_model(chain->session));
}

static void run_session(tnd_leader_t *self, chain_t *chain, uint64_t now)
{
    tnd_effect_t effect;
    if (!tnd_leader_is_open(self, (uint32_t)(chain - self->chains)))
        return;
    while (tnd_leader_core_next(chain->session, now, &effect))
        perform(self, chain, &effect, now);
}

uint64_t tnd_leader_work(tnd_leader_t *self, uint64_t now)
{
    uint64_t wake = tnd_leader_check_hosts(self, now);
    if (self->unusable.text[0] != '\0')
        tnd_leader_end(self, TND_OUTCOME_UNUSABLE, self->unusable.text);
    (void)tnd_leader_check_measured(self);
    for (bool changed = true; changed && !self->run.ended;) {
        chain_t *chain = &self->chains[self->chain];
        run_session(self, &self->chains[0], now);
        run_session(self, chain, now);
        show(self);
        if (self->run.resting != NULL && has_failed(self, &self->chains[0]))
            break;
        if (chain->over)
            finish_chain(self, now);
        else if (is_finished_by_programs(self, chain))
            tnd_leader_close_chain(self, now);
        else if (self->chain == 0)
            tnd_leader_check_rest(self, now);
        changed = chain != &self->chains[self->chain];
    }
    for (uint32_t c = 0; c < self->plan->chain_count && !self->run.ended; c++)
        if (tnd_leader_is_open(self, c))
            wake = tnd_least(wake, tnd_leader_core_deadline(self->chains[c].session));
    if (self->writer != NULL)
        report_checkpoints(self);
    return wake;
}
