/*  runtime/host/leader.c - what the first host does beside being a host: it leads. */
#include "runtime/host/leader_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/host/membership.h"

/*  How long a place is kept for who asked for it. */
static const uint64_t seat_kept_ns = 10000000000;

/*  How often the leader looks what has become of a process that is away. */
static const uint64_t fate_every_ns = 100000000;

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
            .role = tnd_membership_role(instance->kind),
            .host = instance->host,
            .lane = instance->lane,
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

/*  The clock of a session runs from here. */
static void open_session(tnd_leader_t *self, uint32_t index, uint64_t now)
{
    chain_t *chain = &self->chains[index];
    const tnd_plan_t *plan = self->plan;
    tnd_leader_core_config_t config = {
        .members = chain->members,
        .member_count = chain->member_count,
        .hosts = self->host_names,
        .host_count = plan->host_count,
        .lanes = plan->lanes,
        .start_timeout_ns = plan->start_timeout_ns,
        .host_flags = self->host_flags,
        .dead_after_ns = plan->restart_timeout_ns,
        .steps_open_max = STEPS_OPEN,
        .booked_every = BOOKED_EVERY,
        .steps_max = index == 0 ? self->config.steps_max : TND_UNKNOWN,
        .restarts = {.max = (uint32_t)plan->restarts.max,
                     .first_ns = plan->restarts.backoff_ns,
                     .most_ns = plan->restarts.backoff_max_ns,
                     .calm_ns = plan->restarts.within_ns},
    };
    tnd_cursor_t start;
    tnd_cursor_start(&start, plan->lanes);
    start.seed = plan->seed;
    start.graph[0] = plan->fingerprint[0];
    start.graph[1] = plan->fingerprint[1];
    if (index == 0 && self->archive != NULL && tnd_checkpoint_writer_cursor(self->archive) != NULL)
        start = *tnd_checkpoint_writer_cursor(self->archive);
    chain->rank = start.rank;
    self->memories[index] = tnd_allocate_zeroed(1, tnd_leader_core_bytes(&config));
    chain->session = tnd_leader_core_init(self->memories[index], &config, &start, now);
    chain->shown = TND_LEADER_CORE_READY;
}

/*  A run whose checkpoints cannot be used ends before it begins. */
static void open_archive(tnd_leader_t *self)
{
    if (self->plan->checkpoint == NULL || self->plan->chains[0].carriers == NULL)
        return;
    tnd_checkpoint_writer_config_t config = {
        .plan = self->plan,
        .depth = HELD_MOST,
        .ahead = AHEAD_MOST,
        .wake = self->voice.wake,
        .context = self->voice.context,
    };
    self->unusable.text[0] = '\0';
    if (tnd_checkpoint_writer_new(&self->archive, &config, &self->unusable) == TND_OK)
        self->unusable.text[0] = '\0';
}

tnd_leader_t *tnd_leader_new(const tnd_host_config_t *config, const tnd_leader_voice_t *voice,
                             uint64_t now)
{
    tnd_leader_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->config = *config;
    self->voice = *voice;
    self->plan = config->plan;
    self->hosts = tnd_allocate_zeroed(self->plan->host_count, sizeof *self->hosts);
    self->host_names = tnd_allocate_zeroed(self->plan->host_count, sizeof *self->host_names);
    self->host_flags = tnd_allocate_zeroed(self->plan->host_count, sizeof *self->host_flags);
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        self->host_names[h] = self->plan->hosts[h].name;
        if (self->plan->hosts[h].restart == TND_RESTART_NEVER)
            self->host_flags[h] |= TND_HOST_FINAL;
        if (self->plan->hosts[h].spare)
            self->host_flags[h] |= TND_HOST_SPARE;
    }
    self->chains = tnd_allocate_zeroed(self->plan->chain_count, sizeof *self->chains);
    self->memories = tnd_allocate_zeroed(self->plan->chain_count, sizeof *self->memories);
    self->model_said = tnd_allocate_zeroed(self->plan->instance_count, sizeof *self->model_said);
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        make_chain(self, c);
    open_archive(self);
    open_session(self, 0, now);
    return self;
}

void tnd_leader_destroy(tnd_leader_t **self_p)
{
    tnd_leader_t *self = *self_p;
    if (self == NULL)
        return;
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        tnd_buffer_drop(&self->hosts[h].endpoints);
    tnd_checkpoint_writer_destroy(&self->archive);
    tnd_data_table_free(&self->data);
    free(self->model_said);
    for (uint32_t c = 0; c < self->plan->chain_count; c++) {
        free(self->chains[c].members);
        free(self->chains[c].reasons);
        free(self->chains[c].reports);
        free(self->chains[c].numbers);
        free(self->memories[c]);
    }
    tnd_buffer_drop(&self->stream_note);
    free(self->chains);
    free(self->memories);
    free(self->hosts);
    free(self->host_names);
    free(self->host_flags);
    free(self);
    *self_p = NULL;
}

static void tell_outcome(tnd_leader_t *self, uint32_t host)
{
    tnd_msg_t msg = {.kind = TND_MSG_OUTCOME, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.number = self->outcome;
    msg.note.payload = tnd_text_payload_of("%s", self->why);
    self->voice.send(self->voice.context, &msg, TND_CARRY_BUFFER);
}

static void log_line(tnd_leader_t *self, tnd_log_level_t level, const char *host, const char *actor,
                     const char *text)
{
    const tnd_observer_t *observer = self->config.observer;
    if (tnd_observer_wants(observer, level))
        observer->log(observer->context, level, host, actor, text);
}

/*  As users know it: by its feeder. */
const char *tnd_leader_chain_name(const tnd_leader_t *self)
{
    const char *feeder = self->plan->chains[self->chain].feeder;
    return feeder != NULL ? feeder : "the graph";
}

void tnd_leader_inform(tnd_leader_t *self, const char *format, ...)
{
    char text[512];
    if (!tnd_observer_wants(self->config.observer, TND_LOG_INFO))
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    log_line(self, TND_LOG_INFO, self->plan->hosts[0].name, "leader", text);
}

void tnd_leader_end(tnd_leader_t *self, tnd_outcome_t outcome, const char *why)
{
    if (self->ended)
        return;
    self->ended = true;
    self->outcome = outcome;
    tnd_leader_inform(self, "the run has ended%s%s", *why != '\0' ? ": " : "", why);
    bool broke = outcome == TND_OUTCOME_FAILED || outcome == TND_OUTCOME_LOST;
    uint64_t kept = broke && self->archive != NULL ? tnd_checkpoint_writer_last(self->archive) : 0;
    if (kept > 0)
        snprintf(self->why, sizeof self->why,
                 "%.400s; --resume goes on behind step %" PRIu64 ", which is kept", why, kept - 1);
    else
        snprintf(self->why, sizeof self->why, "%s", why);
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        tell_outcome(self, h);
    self->voice.end(self->voice.context, outcome, self->why);
}

void tnd_leader_fail(tnd_leader_t *self, tnd_outcome_t outcome, const char *why)
{
    tnd_leader_end(self, outcome, why);
}

/* --- hosts and their places --------------------------------------------------------------------
 */

/*  Host and actors of a host are there, as far as the running chain is concerned. */
static void enter_host(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    chain_t *chain = &self->chains[self->chain];
    tnd_leader_core_host_up(chain->session, host, now);
    for (uint32_t m = 0; m < chain->member_count; m++)
        if (chain->members[m].host == host)
            tnd_leader_core_actor_up(chain->session, chain->members[m].id, now);
    tnd_leader_core_go(chain->session);
}

static void begin_chain(tnd_leader_t *self, uint64_t now)
{
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        if (self->hosts[h].ready && self->hosts[h].up)
            enter_host(self, h, now);
    /* Who was lost for good, and was not missed, is not missed now. */
    tnd_leader_core_t *session = self->chains[self->chain].session;
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        if (!self->hosts[h].up && !tnd_leader_core_needs(session, h))
            tnd_leader_core_host_left(session, h, now);
}

static void take_ready(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    if (!self->hosts[host].ready)
        enter_host(self, host, now);
    self->hosts[host].ready = true;
}

static tnd_leader_core_t *session_of(const tnd_leader_t *self)
{
    return self->chains[self->chain].session;
}

/*  A process that takes the place of another one has none of what that one has said. */
static void begin_life(tnd_leader_t *self, uint32_t host, tnd_life_t life, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    const char *name = self->plan->hosts[host].name;
    if (member->life == life)
        return;
    char why[300];
    bool seen = member->why[0] != '\0' && !member->replaced;
    snprintf(why, sizeof why, "%.250s", seen ? member->why : "another process came in its place");
    bool joins = member->life == 0 || member->left;
    if (joins && self->tabled)
        tnd_leader_inform(self, "host %s joins the run", name);
    if (!joins && self->tabled && !self->ended) {
        tnd_leader_core_host_again(session_of(self), host, why, now);
        char text[400];
        snprintf(text, sizeof text, "host %s was lost (%s); it was started again", name, why);
        if (tnd_leader_core_state(session_of(self)) != TND_LEADER_CORE_FAILED)
            log_line(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
    }
    member->late = self->tabled;
    member->life = life;
    member->facts_said = member->ready = member->left = false;
    member->process = (tnd_process_t){0};
    member->why[0] = '\0';
    tnd_buffer_drop(&member->endpoints);
}

void tnd_leader_host_up(tnd_leader_t *self, uint32_t host, tnd_life_t life, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    member->up = true;
    tnd_absence_end(&member->absence, now);
    member->lost_ns = member->kept_ns = 0;
    tnd_leader_inform(self, "host %s is here", self->plan->hosts[host].name);
    begin_life(self, host, life, now);
    if (self->ended) {
        tell_outcome(self, host);
        return;
    }
    if (self->stream_note != NULL && (member->facts_said || !tnd_leader_has_data(self, host)))
        tnd_leader_tell(self, host, TND_MSG_STREAM, self->stream_note);
    if (self->tabled && member->endpoints != NULL)
        tnd_leader_tell_table(self, host);
    if (member->ready)
        enter_host(self, host, now);
    else if (!self->tabled)
        tnd_leader_core_host_up(session_of(self), host, now);
}

void tnd_leader_host_away(tnd_leader_t *self, uint32_t host, tnd_loss_t loss, const char *why,
                          uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    member->up = false;
    if (member->left)
        return;
    tnd_absence_limits_t limits = tnd_host_absence_limits(self->plan);
    tnd_absence_begin(&member->absence, &limits, loss, now);
    member->replaced = loss == TND_LOSS_REPLACED;
    member->fate_ns = 0;
    snprintf(member->why, sizeof member->why, "%s", why);
    tnd_leader_inform(self, "host %s is away: %s", self->plan->hosts[host].name, why);
}

/*  Whether the run ends once that host is lost. */
static bool ends_with(const tnd_leader_t *self, uint32_t host)
{
    return (!self->tabled && self->plan->hosts[host].restart == TND_RESTART_NEVER) ||
           tnd_leader_core_ends_with(session_of(self), host);
}

/*  Whether a host is away for too long to be merely slow. */
static bool is_lost(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    if (!tnd_absence_is_over(&member->absence, TND_FATE_DEAD, true, now))
        return false;
    if (now >= member->fate_ns + fate_every_ns) {
        member->fate = tnd_process_fate(&member->process);
        member->fate_ns = now;
    }
    return tnd_absence_is_over(&member->absence, member->fate, ends_with(self, host), now);
}

static void lose_host(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    const tnd_plan_host_t *plan = &self->plan->hosts[host];
    char text[700];
    member->absence = (tnd_absence_t){0};
    member->lost_ns = now;
    if (!self->tabled && plan->restart == TND_RESTART_NEVER) {
        snprintf(text, sizeof text, "host %s is lost (%s); no step was committed", plan->name,
                 member->why);
        tnd_leader_end(self, TND_OUTCOME_LOST, text);
        return;
    }
    tnd_leader_core_host_lost(session_of(self), host, member->why, now);
    if (tnd_leader_core_state(session_of(self)) == TND_LEADER_CORE_FAILED)
        return;
    if (tnd_leader_core_needs(session_of(self), host))
        snprintf(text, sizeof text,
                 "host %s is lost (%s): the run waits %" PRIu64
                 " s for it to be started again, by the same command with --host %s",
                 plan->name, member->why, self->plan->restart_timeout_ns / 1000000000u, plan->name);
    else
        snprintf(text, sizeof text,
                 "host %s is lost (%s): the run goes on without it; started again it joins",
                 plan->name, member->why);
    log_line(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
}

void tnd_leader_excuse(tnd_leader_t *self, uint64_t away_ns, uint64_t now)
{
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        tnd_absence_excuse(&self->hosts[h].absence, away_ns, now);
    tnd_leader_core_excuse(session_of(self), away_ns);
}

static void take_leave(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    tnd_leader_inform(self, "host %s leaves the run", self->plan->hosts[host].name);
    tnd_leader_core_host_left(session_of(self), host, now);
    member->left = true;
}

static bool is_free(const tnd_leader_t *self, uint32_t host, uint64_t now)
{
    const member_host_t *member = &self->hosts[host];
    if (member->up || now < member->kept_ns)
        return false;
    bool lost = member->lost_ns != 0 && now - member->lost_ns >= self->plan->restart_timeout_ns;
    return member->life == 0 || member->left || lost;
}

uint32_t tnd_leader_seat(tnd_leader_t *self, const char *pool, uint64_t now, char *why, size_t room)
{
    char pools[160] = "";
    size_t used = 0;
    uint32_t places = 0;
    const char *last = NULL;
    why[0] = '\0';
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        const tnd_plan_host_t *host = &self->plan->hosts[h];
        if (host->pool == NULL)
            continue;
        if (strcmp(host->pool, pool) != 0) {
            if ((last == NULL || strcmp(last, host->pool) != 0) && used < sizeof pools)
                used += (size_t)snprintf(pools + used, sizeof pools - used, "%s%s",
                                         used > 0 ? ", " : "", host->pool);
            last = host->pool;
            continue;
        }
        places++;
        if (!is_free(self, h, now))
            continue;
        self->hosts[h].kept_ns = now + seat_kept_ns;
        return h;
    }
    if (places > 0)
        snprintf(why, room,
                 "all %" PRIu32
                 " hosts of the range `%s` are in the run: give it more with `more:`",
                 places, pool);
    else if (used > 0)
        snprintf(why, room,
                 "there is no range of hosts `%s` that carries only workers; there is %s", pool,
                 pools);
    else
        snprintf(why, room,
                 "nobody can join: no range of hosts, such as `%s[0-3]`, carries only workers",
                 pool);
    return UINT32_MAX;
}

void tnd_leader_refused(tnd_leader_t *self, uint32_t host, const char *why)
{
    char text[400];
    snprintf(text, sizeof text, "host %s was refused: %.300s", self->plan->hosts[host].name, why);
    /* Without it the run cannot begin; later it has its own. */
    if (self->hosts[host].life == 0 && !self->tabled && !self->plan->hosts[host].spare)
        tnd_leader_end(self, TND_OUTCOME_LOST, text);
    else
        log_line(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
}

bool tnd_leader_awaits(const tnd_leader_t *self, uint32_t host)
{
    bool good = self->outcome == TND_OUTCOME_DONE || self->outcome == TND_OUTCOME_DRAINED;
    return self->hosts[host].up || (good && self->hosts[host].absence.until_ns != 0);
}

/* --- messages ----------------------------------------------------------------------------------
 */

static void note_log(tnd_leader_t *self, const tnd_msg_t *msg, const char *host)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        char actor[64];
        int used = 0;
        if (sscanf(line, "%63s %n", actor, &used) == 1 && used > 0)
            log_line(self,
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

static void take_model(tnd_leader_t *self, const tnd_msg_t *msg)
{
    const tnd_observer_t *observer = self->config.observer;
    uint32_t chain = (uint32_t)msg->note.number;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *digest = tnd_text_payload_line(&reader);
    if (chain >= self->plan->chain_count || digest == NULL)
        return;
    const char *line;
    char first[64];
    snprintf(first, sizeof first, "%s", digest);
    uint64_t behind = 0;
    while (chain == 0 && self->archive != NULL && (line = tnd_text_payload_line(&reader)) != NULL)
        if (sscanf(line, "behind %" SCNu64, &behind) != 1)
            (void)tnd_checkpoint_writer_line(self->archive, behind, line);
    self->model_said[msg->from] = true;
    digest = first;
    /* A host that was away says it again. */
    if (self->chains[chain].model_known ||
        self->plan->chains[chain].carriers[0].instance != msg->from)
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
    char text[512];
    snprintf(text, sizeof text, "host %s: %.440s", self->plan->hosts[host].name,
             why != NULL ? why : "an actor failed");
    uint64_t outcome = msg->note.number;
    if (outcome <= TND_OUTCOME_NONE || outcome > TND_OUTCOME_MAX)
        outcome = TND_OUTCOME_FAILED;
    /* One that came later and cannot take part is no reason to end what goes on without it. */
    bool stays_out =
        outcome == TND_OUTCOME_LOST || outcome == TND_OUTCOME_UNUSABLE || !self->hosts[host].ready;
    if (self->hosts[host].late && stays_out) {
        tnd_leader_core_host_lost(session_of(self), host, why != NULL ? why : "it failed", now);
        if (!tnd_leader_core_needs(session_of(self), host)) {
            tnd_leader_core_host_left(session_of(self), host, now);
            log_line(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
            return;
        }
    }
    tnd_leader_end(self, (tnd_outcome_t)outcome,
                   self->plan->host_count > 1
                       ? text
                       : text + strlen("host : ") + strlen(self->plan->hosts[host].name));
}

/*  An actor hangs, or another has taken its place. */
static void take_life(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    if (msg->note.number >= self->plan->instance_count)
        return;
    tnd_actor_id_t id = (tnd_actor_id_t)msg->note.number;
    const tnd_instance_t *instance = &self->plan->instances[id];
    if (instance->host != host || instance->chain != self->chain)
        return;
    if (msg->kind == TND_MSG_LIVES) {
        tnd_leader_core_actor_up(session_of(self), id, now);
        return;
    }
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *why = tnd_text_payload_line(&reader);
    char text[800];
    snprintf(text, sizeof text, "%.700s; it is replaced", why != NULL ? why : "it hangs");
    tnd_leader_core_actor_down(session_of(self), id, why != NULL ? why : "it hangs", now);
    if (tnd_leader_core_state(session_of(self)) != TND_LEADER_CORE_FAILED)
        log_line(self, TND_LOG_WARNING, self->plan->hosts[host].name, instance->name, text);
}

static void host_message(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    const char *name = self->plan->hosts[host].name;
    switch (msg->kind) {
    case TND_MSG_FACTS:
        tnd_leader_take_facts(self, host, msg->note.payload);
        break;
    case TND_MSG_ENDPOINTS:
        tnd_leader_take_endpoints(self, host, msg->note.payload);
        break;
    case TND_MSG_READY:
        take_ready(self, host, now);
        break;
    case TND_MSG_DOWN:
        take_down(self, host, msg, now);
        break;
    case TND_MSG_HUNG:
    case TND_MSG_LIVES:
        take_life(self, host, msg, now);
        break;
    case TND_MSG_LEAVE:
        take_leave(self, host, now);
        break;
    case TND_MSG_ASK:
        tnd_leader_drain(self, now);
        break;
    case TND_MSG_LOG:
        note_log(self, msg, name);
        break;
    case TND_MSG_STATISTICS:
        note_statistics(self, msg, name);
        break;
    default:
        break; /* of another version: the connection's terms keep those out */
    }
}

void tnd_leader_streams(tnd_leader_t *self, const tnd_stream_t *streams)
{
    for (uint32_t c = 0; c < self->plan->chain_count; c++) {
        self->chains[c].bounds = tnd_membership_bounds(self->plan, &streams[c]);
        self->chains[c].bad_limit = streams[c].bad_limit;
        self->chains[c].epoch_rows = tnd_stream_positions(&streams[c]);
    }
}

static void take_word(const tnd_leader_t *self, chain_t *chain, const tnd_msg_t *msg, uint64_t now)
{
    const char *wrong =
        chain->bounds.epochs == 0 ? NULL : tnd_validator_report(&chain->bounds, msg);
    if (wrong == NULL) {
        tnd_leader_core_message(chain->session, msg, now);
        return;
    }
    const tnd_instance_t *from = &self->plan->instances[msg->from];
    char why[256];
    snprintf(why, sizeof why, "what %s on host %s says of step %" PRIu64 " cannot be: %s",
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
        chain_t *chain = &self->chains[self->chain];
        if (msg->kind == TND_MSG_COMMIT)
            payload = msg->commit.payload;
        if (msg->kind == TND_MSG_MODEL) {
            payload = msg->note.payload;
            if (self->plan->instances[msg->from].chain == self->chain)
                tnd_leader_core_message(chain->session, msg, now);
            take_model(self, msg);
        } else if (msg->kind == TND_MSG_WHY) {
            payload = msg->bad.payload;
            if (self->plan->instances[msg->from].chain == self->chain)
                tnd_leader_take_reasons(chain, msg);
        } else if (msg->kind == TND_MSG_LOG) {
            payload = msg->note.payload;
            note_log(self, msg, self->plan->hosts[self->plan->instances[msg->from].host].name);
        } else if (self->plan->instances[msg->from].chain == self->chain && !self->ended) {
            if (msg->kind == TND_MSG_COMMIT)
                tnd_leader_take_report(self, chain, msg);
            take_word(self, chain, msg, now);
        }
    }
    tnd_buffer_drop(&payload);
}

void tnd_leader_drain(tnd_leader_t *self, uint64_t now)
{
    (void)now;
    self->drain = true;
    tnd_leader_core_ask_drain(self->chains[self->chain].session);
}

/* --- work --------------------------------------------------------------------------------------
 */

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
    static const char *const names[] = {"joining",  "ready", "running",
                                        "draining", "done",  "failed"};
    if (state != chain->shown && (size_t)state < sizeof names / sizeof names[0])
        tnd_leader_inform(self, "%s is %s", tnd_leader_chain_name(self), names[state]);
    chain->shown = state;
    chain->shown_missing = count;
    if (observer == NULL || observer->state == NULL)
        return;
    char waiting[512] = "";
    size_t used = 0;
    /* Who leads waits for the others, not for itself. */
    for (uint32_t i = 0; i < count && i < 64 && used < sizeof waiting; i++)
        if (missing[i] != 0)
            used += (size_t)snprintf(waiting + used, sizeof waiting - used, "%s%s",
                                     used > 0 ? ", " : "", self->plan->hosts[missing[i]].name);
    observer->state(observer->context, self->chain, state, waiting);
}

/*  What feeders are to keep, before they go on. */
static void tell_keep(tnd_leader_t *self)
{
    const chain_t *chain = &self->chains[0];
    tnd_msg_t msg = {.kind = TND_MSG_KEEP, .from = TND_LEADER};
    msg.keep = tnd_checkpoint_writer_word(self->archive);
    for (uint32_t m = 0; m < chain->member_count; m++) {
        msg.to = chain->members[m].id;
        if (chain->members[m].role == TND_ROLE_FEEDER)
            self->voice.send(self->voice.context, &msg, TND_CARRY_NOTHING);
    }
}

static void work_archive(tnd_leader_t *self)
{
    tnd_log_level_t level;
    tnd_keep_note_t word;
    char text[480];
    while (tnd_checkpoint_writer_news(self->archive, &level, text, sizeof text))
        log_line(self, level, self->plan->hosts[0].name, "checkpoint", text);
    if (tnd_checkpoint_writer_next(self->archive, &word) && self->chain == 0 && !self->ended)
        tell_keep(self);
}

static void perform(tnd_leader_t *self, const tnd_effect_t *effect, uint64_t now)
{
    chain_t *chain = &self->chains[self->chain];
    if (effect->kind == TND_EFFECT_CONTROL && effect->msg.kind == TND_MSG_REWIND &&
        self->archive != NULL && self->chain == 0)
        tell_keep(self);
    switch (effect->kind) {
    case TND_EFFECT_CONTROL:
        if (effect->msg.to != TND_NOBODY) {
            self->voice.send(self->voice.context, &effect->msg, TND_CARRY_NOTHING);
            break;
        }
        for (uint32_t m = 0; m < chain->member_count; m++) {
            tnd_msg_t msg = effect->msg;
            msg.to = chain->members[m].id;
            if (msg.kind == TND_MSG_REWIND && m == 0)
                tnd_leader_inform(self, "%s: generation %" PRIu32 " begins at step %" PRIu64,
                                  tnd_leader_chain_name(self), msg.generation,
                                  msg.rewind.cursor->step);
            self->voice.send(self->voice.context, &msg,
                             msg.kind == TND_MSG_REWIND ? TND_CARRY_CURSOR : TND_CARRY_NOTHING);
        }
        break;
    case TND_EFFECT_RESTART: {
        tnd_msg_t msg = {.kind = TND_MSG_RESTART, .from = TND_LEADER};
        msg.to = tnd_host_id(self->plan->instances[effect->msg.to].host);
        msg.note.number = effect->msg.to;
        self->voice.send(self->voice.context, &msg, TND_CARRY_NOTHING);
        break;
    }
    case TND_EFFECT_BOOK:
        tnd_leader_book(self, effect, now);
        break;
    case TND_EFFECT_OUTCOME:
        chain->over = true;
        break;
    default:
        assert(!"an effect that a session does not have");
    }
}

/*  Whether the last checkpoint of the first chain is written, or cannot be. */
static bool is_kept(tnd_leader_t *self)
{
    const chain_t *chain = &self->chains[0];
    if (!self->closed && tnd_leader_core_generation(chain->session) > 0) {
        for (uint32_t m = 0; m < chain->member_count; m++)
            if (chain->members[m].role == TND_ROLE_FEEDER &&
                !self->model_said[chain->members[m].id])
                return false;
        tnd_checkpoint_writer_end(self->archive, tnd_leader_core_cursor(chain->session));
        self->closed = true;
    }
    return !tnd_checkpoint_writer_busy(self->archive);
}

static void say_reasons(const tnd_leader_t *self, const chain_t *chain)
{
    const tnd_observer_t *observer = self->config.observer;
    for (size_t i = 0; i < chain->reason_count; i++)
        if (observer != NULL && observer->bad != NULL && chain->reasons[i].step == COUNTED)
            observer->bad(observer->context, self->chain, &chain->reasons[i].reason);
}

static void finish_chain(tnd_leader_t *self, uint64_t now)
{
    chain_t *chain = &self->chains[self->chain];
    if (tnd_leader_core_state(chain->session) == TND_LEADER_CORE_FAILED) {
        say_reasons(self, chain);
        tnd_leader_end(
            self, tnd_leader_core_absent(chain->session) ? TND_OUTCOME_LOST : TND_OUTCOME_FAILED,
            tnd_leader_core_why(chain->session));
        return;
    }
    /* The hash of the model is the last thing that a chain's first feeder says, if it ever began.
     */
    if (!chain->model_known && tnd_leader_core_generation(chain->session) > 0)
        return;
    if (self->archive != NULL && !is_kept(self))
        return;
    const tnd_observer_t *observer = self->config.observer;
    tnd_leader_count_reasons(chain, COUNTED);
    say_reasons(self, chain);
    if (observer != NULL && observer->end != NULL)
        observer->end(observer->context, self->chain, tnd_leader_core_cursor(chain->session));
    if (!self->drain && self->chain + 1 < self->plan->chain_count) {
        open_session(self, ++self->chain, now);
        begin_chain(self, now);
        return;
    }
    tnd_leader_end(self, self->drain ? TND_OUTCOME_DRAINED : TND_OUTCOME_DONE, "");
}

uint64_t tnd_leader_work(tnd_leader_t *self, uint64_t now)
{
    uint64_t wake = TND_NEVER;
    for (uint32_t h = 0; h < self->plan->host_count && !self->ended; h++) {
        uint64_t due = tnd_absence_deadline(&self->hosts[h].absence, now);
        if (is_lost(self, h, now))
            lose_host(self, h, now);
        else if (due < wake)
            wake = due;
    }
    if (self->unusable.text[0] != '\0')
        tnd_leader_end(self, TND_OUTCOME_UNUSABLE, self->unusable.text);
    while (!self->ended) {
        chain_t *chain = &self->chains[self->chain];
        tnd_effect_t effect;
        uint32_t running = self->chain;
        while (tnd_leader_core_next(chain->session, now, &effect))
            perform(self, &effect, now);
        show(self);
        if (chain->over)
            finish_chain(self, now);
        if (running == self->chain)
            break;
    }
    if (!self->ended) {
        uint64_t deadline = tnd_leader_core_deadline(self->chains[self->chain].session);
        wake = deadline < wake ? deadline : wake;
    }
    if (self->archive != NULL)
        work_archive(self);
    return wake;
}
