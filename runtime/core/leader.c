/*  runtime/core/leader.c - the leader's decisions: start, rewind, book, drain, end. */
#include "runtime/core/leader.h"

#include <assert.h>
#include <string.h>

#include "runtime/core/assembly.h"
#include "runtime/base/bug_injection.h"
#include "runtime/base/round_up.h"

/*  Between two rewinds that brought nothing forward, doubled each time. */
static const uint64_t pause_first_ns = 10 * 1000 * 1000;
static const uint64_t pause_most_ns = 1000 * 1000 * 1000;

typedef struct {
    tnd_restart_policy_t supervise;
    bool up, restart_due, restart_sent;
    uint64_t restart_ns;
    /* of feeders */
    uint64_t held, committed, started, booked_told;
    bool end_told, drain_told, drain_answered;
    bool began;  /* it has said something, so it knows where the stream begins */
    bool parted; /* it has said its last word */
} actor_t;

typedef struct {
    tnd_restart_policy_t supervise;
    bool up, came, soft, needed; /* soft: no feeder; needed: reader, join or feeder */
    bool lost, spare;
    uint64_t until_ns; /* a lost one: when it must be back */
    char why[160];     /* and why it is lost */
} host_t;

struct tnd_leader_core {
    tnd_leader_core_config_t config;
    tnd_leader_core_state_t state;
    actor_t *actors;
    host_t *hosts;
    tnd_assembly_t steps;
    tnd_cursor_t anchor; /* of the last rewind */
    uint64_t start_ns;
    uint64_t drain_end;           /* a drained stream ends before it; TND_UNKNOWN */
    uint64_t rewind_ns, pause_ns; /* not before; since nothing came forward */
    uint64_t progress;            /* at the last rewind */
    uint32_t generation, restarts_due;
    bool asked_to_go, started, want_rewind, want_drain, tell, outcome_said, absent;
    tnd_error_t why;
};

size_t tnd_leader_core_bytes(const tnd_leader_core_config_t *config)
{
    return tnd_align(sizeof(tnd_leader_core_t)) +
           tnd_align(config->member_count * sizeof(actor_t)) +
           tnd_align(config->host_count * sizeof(host_t)) +
           tnd_assembly_bytes(config->lanes, config->steps_open_max);
}

tnd_leader_core_t *tnd_leader_core_init(void *memory, const tnd_leader_core_config_t *config,
                                        const tnd_cursor_t *from, uint64_t now)
{
    assert(config->lanes > 0 && config->lanes <= TND_LANES_MAX && from->lanes == config->lanes);
    assert(config->steps_open_max > 0 && config->host_count > 0);
    tnd_leader_core_t *self = memory;
    char *at = (char *)memory + tnd_align(sizeof *self);
    self->actors = (actor_t *)at;
    at += tnd_align(config->member_count * sizeof(actor_t));
    self->hosts = (host_t *)at;
    at += tnd_align(config->host_count * sizeof(host_t));
    self->config = *config;
    self->start_ns = now;
    self->drain_end = TND_UNKNOWN;
    uint32_t feeders = 0;
    for (uint32_t i = 0; i < config->host_count; i++) {
        uint8_t flags = config->host_flags != NULL ? config->host_flags[i] : 0;
        self->hosts[i].soft = (flags & TND_HOST_FINAL) == 0;
        self->hosts[i].spare = (flags & TND_HOST_SPARE) != 0;
    }
    for (uint32_t i = 0; i < config->member_count; i++) {
        const tnd_member_t *member = &config->members[i];
        host_t *host = &self->hosts[member->host];
        self->actors[i].held = self->actors[i].committed = from->step;
        self->actors[i].booked_told = from->step;
        if (member->role == TND_ROLE_FEEDER) {
            feeders++;
            host->soft = false;
        }
        if (member->role != TND_ROLE_WORKER && member->role != TND_ROLE_REDUCER)
            host->needed = true;
    }
    assert(feeders > 0);
    tnd_assembly_init(&self->steps, at, from, feeders, config->steps_open_max);
    return self;
}

static bool over(const tnd_leader_core_t *self)
{
    return self->state == TND_LEADER_CORE_DONE || self->state == TND_LEADER_CORE_FAILED;
}

static uint64_t end_of(const tnd_leader_core_t *self)
{
    uint64_t end = self->config.steps_max;
    end = self->steps.last < end ? self->steps.last : end;
    return self->drain_end < end ? self->drain_end : end;
}

/*  The end of every sentence about a failure: what is left to the user. */
#define TND_KEPT "; the last committed cursor is the one before step %llu"

static unsigned long long kept(const tnd_leader_core_t *self)
{
    return self->steps.cursor.step;
}

void tnd_leader_core_fail(tnd_leader_core_t *self, const char *why)
{
    if (over(self))
        return;
    self->state = TND_LEADER_CORE_FAILED;
    (void)tnd_fail(&self->why, "%s", why);
}

static actor_t *find(tnd_leader_core_t *self, tnd_actor_id_t id, const tnd_member_t **member_p)
{
    const tnd_member_t *members = self->config.members;
    uint32_t count = self->config.member_count;
    uint32_t i = 0;
    if (id < count && members[id].id == id)
        i = id;
    else
        while (i < count && members[i].id != id)
            i++;
    assert(i < count);
    *member_p = &members[i];
    return &self->actors[i];
}

static const char *host_name(const tnd_leader_core_t *self, uint32_t host)
{
    return self->config.hosts[host];
}

static bool is_soft(tnd_role_t role)
{
    return role != TND_ROLE_FEEDER;
}

/*  Whether losing it loses messages that only a rewind brings back. */
static bool is_ordered(tnd_role_t role)
{
    return role == TND_ROLE_READER || role == TND_ROLE_JOIN;
}

void tnd_leader_core_host_up(tnd_leader_core_t *self, uint32_t host, uint64_t now)
{
    assert(host < self->config.host_count);
    host_t *it = &self->hosts[host];
    if (it->came && it->needed)
        self->want_rewind = true;
    if (!it->up)
        tnd_restart_policy_born(&it->supervise, now);
    it->up = it->came = true;
    it->lost = false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        actor_t *actor = &self->actors[i];
        if (self->config.members[i].host == host &&
            self->config.members[i].role == TND_ROLE_FEEDER) {
            /* What it was told may be lost, and once all is over no rewind follows. */
            actor->booked_told = 0;
            actor->end_told = false;
            self->tell = true;
        }
        if (self->config.members[i].host != host || !actor->restart_sent)
            continue;
        actor->restart_sent = false;
        actor->restart_due = true;
        actor->restart_ns = now;
        self->restarts_due++;
    }
}

static void append(char *text, size_t room, const char *more)
{
    size_t at = strlen(text), length = strlen(more);
    if (at + length < room)
        memcpy(text + at, more, length + 1);
}

static bool has_feeder(const tnd_leader_core_t *self, uint32_t host)
{
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (self->config.members[i].host == host && self->config.members[i].role == TND_ROLE_FEEDER)
            return true;
    return false;
}

/*  Its actors are gone with it. */
static void take_down(tnd_leader_core_t *self, uint32_t host)
{
    host_t *it = &self->hosts[host];
    it->up = false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        actor_t *actor = &self->actors[i];
        if (self->config.members[i].host != host)
            continue;
        self->restarts_due -= actor->restart_due;
        actor->up = actor->restart_due = actor->restart_sent = false;
    }
    self->want_rewind = self->want_rewind || it->needed;
}

/*  Whether the stream is done, but replicas of that host have not said their last word: what they
 *  have made of their models goes with it.
 */
static bool has_last_words(const tnd_leader_core_t *self, uint32_t host)
{
    bool has = false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        const tnd_member_t *member = &self->config.members[i];
        has = has ||
              (member->host == host && member->role == TND_ROLE_FEEDER && !self->actors[i].parted);
    }
    return has && self->started && self->state == TND_LEADER_CORE_DONE;
}

bool tnd_leader_core_ends_with(const tnd_leader_core_t *self, uint32_t host)
{
    const host_t *it = &self->hosts[host];
    if (over(self))
        return has_last_words(self, host);
    return self->started && it->came && !it->lost && (!it->soft || self->config.restarts.max == 0);
}

void tnd_leader_core_host_lost(tnd_leader_core_t *self, uint32_t host, const char *why,
                               uint64_t now)
{
    assert(host < self->config.host_count);
    host_t *it = &self->hosts[host];
    bool final = tnd_leader_core_ends_with(self, host);
    if (over(self) && final && !TND_BUG(LOST_AT_THE_END)) {
        self->state = TND_LEADER_CORE_FAILED;
        self->absent = true;
        (void)tnd_fail(&self->why,
                       "host %s was lost before the last word of the replicas that it carried, and "
                       "their models with it: %s" TND_KEPT,
                       host_name(self, host), why, kept(self));
    }
    if (over(self) || !it->came || it->lost)
        return;
    if (final) {
        self->state = TND_LEADER_CORE_FAILED;
        self->absent = true;
        (void)tnd_fail(&self->why, "host %s was lost%s: %s" TND_KEPT, host_name(self, host),
                       has_feeder(self, host) ? " with the replicas that it carried"
                                              : " and is not to be started again",
                       why, kept(self));
        return;
    }
    it->lost = true;
    it->why[0] = '\0';
    append(it->why, sizeof it->why, why);
    it->until_ns = now + self->config.dead_after_ns;
    take_down(self, host);
}

void tnd_leader_core_host_again(tnd_leader_core_t *self, uint32_t host, const char *why,
                                uint64_t now)
{
    host_t *it = &self->hosts[host];
    uint64_t again_ns = now;
    tnd_leader_core_host_lost(self, host, why, now);
    if (over(self) || !it->came)
        return;
    it->lost = true;
    it->until_ns = now + self->config.start_timeout_ns;
    if (!self->started ||
        tnd_restart_policy_died(&it->supervise, &self->config.restarts, now, &again_ns))
        return;
    self->state = TND_LEADER_CORE_FAILED;
    self->absent = true;
    (void)tnd_fail(&self->why, "host %s died %u times in a short time, last because: %s" TND_KEPT,
                   host_name(self, host), it->supervise.deaths + 1, why, kept(self));
}

void tnd_leader_core_host_left(tnd_leader_core_t *self, uint32_t host, uint64_t now)
{
    host_t *it = &self->hosts[host];
    if (it->needed) {
        tnd_leader_core_host_lost(self, host, "it was taken away", now);
        return;
    }
    take_down(self, host);
    it->came = it->lost = false;
    it->spare = true;
}

void tnd_leader_core_actor_down(tnd_leader_core_t *self, tnd_actor_id_t id, const char *why,
                                uint64_t now)
{
    const tnd_member_t *member;
    actor_t *actor = find(self, id, &member);
    if (over(self) || actor->restart_due || actor->restart_sent)
        return;
    actor->up = false;
    if (!is_soft(member->role) || self->config.restarts.max == 0) {
        self->state = TND_LEADER_CORE_FAILED;
        (void)tnd_fail(&self->why, "%s on host %s died: %s" TND_KEPT, member->name,
                       host_name(self, member->host), why, kept(self));
        return;
    }
    self->want_rewind = self->want_rewind || is_ordered(member->role);
    uint64_t again_ns = now;
    if (!tnd_restart_policy_died(&actor->supervise, &self->config.restarts, now, &again_ns)) {
        self->state = TND_LEADER_CORE_FAILED;
        (void)tnd_fail(
            &self->why, "%s on host %s died %u times in a short time, last because: %s" TND_KEPT,
            member->name, host_name(self, member->host), actor->supervise.deaths, why, kept(self));
        return;
    }
    actor->restart_due = true;
    actor->restart_ns = again_ns;
    self->restarts_due++;
}

void tnd_leader_core_actor_up(tnd_leader_core_t *self, tnd_actor_id_t id, uint64_t now)
{
    const tnd_member_t *member;
    actor_t *actor = find(self, id, &member);
    self->restarts_due -= actor->restart_due;
    actor->restart_due = actor->restart_sent = false;
    actor->up = true;
    tnd_restart_policy_born(&actor->supervise, now);
    if (is_ordered(member->role))
        self->want_rewind = true;
}

void tnd_leader_core_excuse(tnd_leader_core_t *self, uint64_t away_ns)
{
    if (TND_BUG(LEADER_IN_A_HURRY))
        return;
    self->start_ns += away_ns;
    for (uint32_t i = 0; i < self->config.host_count; i++)
        if (self->hosts[i].lost)
            self->hosts[i].until_ns += away_ns;
}

void tnd_leader_core_data(tnd_leader_core_t *self, uint64_t data)
{
    assert(self->generation == 0);
    self->steps.cursor.data = data;
}

void tnd_leader_core_go(tnd_leader_core_t *self)
{
    self->asked_to_go = true;
}

void tnd_leader_core_ask_drain(tnd_leader_core_t *self)
{
    if (over(self))
        return;
    if (!self->started)
        self->drain_end = self->steps.cursor.step;
    self->want_drain = true;
    self->tell = true;
    self->state = TND_LEADER_CORE_DRAINING;
}

static const char *name_of(const tnd_leader_core_t *self, tnd_actor_id_t id)
{
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (self->config.members[i].id == id)
            return self->config.members[i].name;
    return "a stranger";
}

/*  What was said cannot be. */
static void fail(tnd_leader_core_t *self, const tnd_error_t *error)
{
    self->state = TND_LEADER_CORE_FAILED;
    (void)tnd_fail(&self->why, "%s" TND_KEPT, error->text, kept(self));
}

/*  Whether a step is one of which nothing may be said yet: then the run has failed. */
static bool beyond(tnd_leader_core_t *self, uint64_t step)
{
    tnd_error_t error;
    if (tnd_assembly_reaches(&self->steps, step, &error) == TND_OK)
        return false;
    fail(self, &error);
    return true;
}

static bool is_of_now(const tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    return msg->generation == self->generation && msg->part.lane < self->config.lanes;
}

static void take_part(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    tnd_error_t error;
    if (is_of_now(self, msg) &&
        tnd_assembly_part(&self->steps, msg, name_of(self, msg->from), &error) != TND_OK)
        fail(self, &error);
}

/*  Feeders are told the end, which may be sooner than what they know. */
static void tell_end(tnd_leader_core_t *self)
{
    self->tell = true;
    for (uint32_t i = 0; i < self->config.member_count; i++)
        self->actors[i].end_told = false;
}

static void take_last(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    tnd_error_t error;
    bool is_news = self->steps.last == TND_UNKNOWN;
    if (!is_of_now(self, msg))
        return;
    if (tnd_assembly_last(&self->steps, msg, name_of(self, msg->from), &error) != TND_OK)
        fail(self, &error);
    else if (is_news)
        tell_end(self);
}

static void take_commit(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    const tnd_member_t *member;
    actor_t *feeder = find(self, msg->from, &member);
    tnd_error_t error;
    if (msg->commit.step != feeder->committed)
        return;
    if (tnd_assembly_commit(&self->steps, msg, &error) != TND_OK) {
        fail(self, &error);
        return;
    }
    feeder->committed++;
    feeder->began = true;
    if (feeder->held < feeder->committed)
        feeder->held = feeder->committed;
}

static void take_drain(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    const tnd_member_t *member;
    actor_t *feeder = find(self, msg->from, &member);
    if (!self->want_drain || self->drain_end != TND_UNKNOWN)
        return;
    uint64_t begun = msg->until.step;
    if (begun > self->steps.cursor.step && beyond(self, begun - 1))
        return;
    feeder->started = begun;
    feeder->drain_answered = true;
    uint64_t most = self->steps.cursor.step;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        if (self->config.members[i].role != TND_ROLE_FEEDER)
            continue;
        if (!self->actors[i].drain_answered)
            return;
        most = self->actors[i].started > most ? self->actors[i].started : most;
    }
    self->drain_end = most;
    tell_end(self);
}

void tnd_leader_core_message(tnd_leader_core_t *self, const tnd_msg_t *msg, uint64_t now)
{
    (void)now;
    const tnd_member_t *member;
    if (msg->kind == TND_MSG_MODEL)
        find(self, msg->from, &member)->parted = true;
    if (over(self))
        return;
    switch (msg->kind) {
    case TND_MSG_PART:
        take_part(self, msg);
        break;
    case TND_MSG_COMMIT:
        take_commit(self, msg);
        break;
    case TND_MSG_HELD: {
        actor_t *feeder = find(self, msg->from, &member);
        uint64_t held = msg->until.step;
        feeder->began = true;
        if (held > feeder->held && !(held > self->steps.cursor.step && beyond(self, held - 1)))
            feeder->held = held;
        break;
    }
    case TND_MSG_LAST:
        take_last(self, msg);
        break;
    case TND_MSG_BROKEN:
        if (msg->generation == self->generation)
            self->want_rewind = true;
        break;
    case TND_MSG_DRAIN:
        take_drain(self, msg);
        break;
    default:
        break; /* not for a leader: another version's, and harmless */
    }
}

/*  Whether all are there that a stream needs: to begin, simply all. */
static bool everybody(const tnd_leader_core_t *self)
{
    for (uint32_t i = 0; i < self->config.host_count; i++)
        if (!self->hosts[i].up && !self->hosts[i].spare &&
            (!self->started || self->hosts[i].needed))
            return false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        tnd_role_t role = self->config.members[i].role;
        if (!self->actors[i].up && !self->hosts[self->config.members[i].host].spare &&
            (!self->started || is_ordered(role) || role == TND_ROLE_FEEDER))
            return false;
    }
    return true;
}

/*  A worker beside readers serves the lanes of its host, any other serves all. */
static bool serves(const tnd_leader_core_t *self, uint32_t host, uint32_t lane)
{
    bool beside = false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        const tnd_member_t *member = &self->config.members[i];
        if (member->host != host || member->role != TND_ROLE_READER)
            continue;
        if (member->lane == lane)
            return true;
        beside = true;
    }
    return !beside;
}

static bool all_lanes_served(const tnd_leader_core_t *self)
{
    for (uint32_t lane = 0; lane < self->config.lanes; lane++) {
        bool planned = false, there = false;
        for (uint32_t i = 0; i < self->config.member_count && !there; i++) {
            const tnd_member_t *member = &self->config.members[i];
            if (member->role != TND_ROLE_WORKER || !serves(self, member->host, lane))
                continue;
            planned = true;
            there = self->hosts[member->host].up;
        }
        if (planned && !there)
            return false;
    }
    return true;
}

/*  Whether the stream stands still as long as that host is away. */
static bool matters(const tnd_leader_core_t *self, uint32_t host)
{
    if (self->hosts[host].needed)
        return true;
    bool reducer = false, worker = false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        const tnd_member_t *member = &self->config.members[i];
        reducer = reducer || (member->host == host && member->role == TND_ROLE_REDUCER);
        worker = worker || (member->host == host && member->role == TND_ROLE_WORKER);
    }
    return reducer || (worker && !all_lanes_served(self));
}

static bool missed(const tnd_leader_core_t *self, uint32_t host)
{
    return self->hosts[host].lost && matters(self, host);
}

/*  When a missed host must be back: of several with workers one is enough. */
static uint64_t until(const tnd_leader_core_t *self, uint32_t host)
{
    uint64_t latest = self->hosts[host].until_ns;
    for (uint32_t i = 0; i < self->config.host_count && !self->hosts[host].needed; i++)
        if (self->hosts[i].lost && !self->hosts[i].needed && self->hosts[i].until_ns > latest)
            latest = self->hosts[i].until_ns;
    return latest;
}

static void check_time(tnd_leader_core_t *self, uint64_t now)
{
    if (!self->started) {
        if (now - self->start_ns < self->config.start_timeout_ns || everybody(self))
            return;
        char names[256] = "";
        for (uint32_t i = 0; i < self->config.host_count; i++)
            if (!self->hosts[i].up && !self->hosts[i].spare) {
                append(names, sizeof names, names[0] ? ", " : "");
                append(names, sizeof names, host_name(self, i));
            }
        for (uint32_t i = 0; i < self->config.member_count && names[0] == 0; i++)
            if (!self->actors[i].up && !self->hosts[self->config.members[i].host].spare)
                append(names, sizeof names, self->config.members[i].name);
        self->state = TND_LEADER_CORE_FAILED;
        self->absent = true;
        (void)tnd_fail(&self->why,
                       "%s did not come within %llu s: start it, or see whether it reaches host %s",
                       names, (unsigned long long)(self->config.start_timeout_ns / 1000000000u),
                       host_name(self, 0));
        return;
    }
    for (uint32_t i = 0; i < self->config.host_count; i++)
        if (missed(self, i) && now >= until(self, i)) {
            self->state = TND_LEADER_CORE_FAILED;
            self->absent = true;
            (void)tnd_fail(&self->why,
                           "host %s was lost and did not come back in time: %s" TND_KEPT,
                           host_name(self, i), self->hosts[i].why, kept(self));
            return;
        }
}

static void control(const tnd_leader_core_t *self, tnd_effect_t *effect, tnd_msg_kind_t kind,
                    tnd_actor_id_t to)
{
    effect->kind = TND_EFFECT_CONTROL;
    effect->msg.kind = kind;
    effect->msg.from = TND_LEADER;
    effect->msg.to = to;
    effect->msg.generation = self->generation;
}

static uint64_t progress_of(const tnd_leader_core_t *self)
{
    uint64_t sum = self->steps.whole + self->steps.cursor.step;
    for (uint32_t i = 0; i < self->config.member_count; i++)
        sum += self->actors[i].held;
    return sum;
}

static void rewind_stream(tnd_leader_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    uint64_t anchor = self->steps.whole;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        actor_t *actor = &self->actors[i];
        if (self->config.members[i].role != TND_ROLE_FEEDER)
            continue;
        anchor = actor->held < anchor ? actor->held : anchor;
        actor->booked_told = 0;
        actor->end_told = actor->drain_told = false;
    }
    assert(anchor >= self->steps.cursor.step);
    tnd_assembly_at(&self->steps, anchor, &self->anchor);

    uint64_t progress = progress_of(self);
    if (!self->started || progress != self->progress)
        self->pause_ns = pause_first_ns / 2;
    self->progress = progress;
    self->pause_ns = 2 * self->pause_ns < pause_most_ns ? 2 * self->pause_ns : pause_most_ns;
    self->rewind_ns = now + self->pause_ns;

    self->want_rewind = false;
    self->started = self->tell = true;
    if (self->state != TND_LEADER_CORE_DRAINING)
        self->state = TND_LEADER_CORE_RUNNING;
    self->generation++;
    control(self, effect, TND_MSG_REWIND, TND_NOBODY);
    effect->msg.rewind.cursor = &self->anchor;
    effect->cursor = &self->anchor;
}

/*  Of a stream without steps no commit says that a feeder has begun; one that has not would never
 *  know that it is over, for no rewind follows.
 */
static bool all_began(const tnd_leader_core_t *self)
{
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (self->config.members[i].role == TND_ROLE_FEEDER && !self->actors[i].began)
            return false;
    return true;
}

/*  Whether all is done, the account of what lies behind the last step included. */
static bool finished(tnd_leader_core_t *self)
{
    if (!(self->started || self->want_drain) || self->steps.cursor.step < end_of(self) ||
        (self->started && !all_began(self)))
        return false;
    if (self->steps.last >= self->config.steps_max || self->steps.last > self->drain_end)
        return true;
    tnd_error_t error;
    tnd_status_t status = tnd_assembly_finish(&self->steps, &error);
    if (status == TND_FAILED)
        fail(self, &error);
    return status == TND_OK;
}

static bool book(tnd_leader_core_t *self, tnd_effect_t *effect)
{
    tnd_error_t error;
    tnd_status_t status = tnd_assembly_book(&self->steps, end_of(self), &error);
    if (status == TND_FAILED)
        fail(self, &error);
    if (status != TND_OK)
        return false;
    self->tell = true;
    effect->kind = TND_EFFECT_BOOK;
    effect->cursor = &self->steps.cursor;
    return true;
}

/*  What one feeder does not know yet. */
static bool tell(tnd_leader_core_t *self, uint32_t i, tnd_effect_t *effect)
{
    actor_t *feeder = &self->actors[i];
    tnd_actor_id_t id = self->config.members[i].id;
    uint64_t every = self->config.booked_every > 0 ? self->config.booked_every : 1;
    if (feeder->booked_told + every <= self->steps.cursor.step) {
        feeder->booked_told = self->steps.cursor.step;
        control(self, effect, TND_MSG_BOOKED, id);
        effect->msg.until.step = self->steps.cursor.step;
        return true;
    }
    bool asking = self->want_drain && self->drain_end == TND_UNKNOWN && !over(self);
    if (asking && !feeder->drain_told) {
        feeder->drain_told = true;
        control(self, effect, TND_MSG_DRAIN, id);
        return true;
    }
    /* A feeder that is told an end goes on to it, and would start more than it has answered. */
    if (!asking && !feeder->end_told && end_of(self) != TND_UNKNOWN) {
        feeder->end_told = true;
        control(self, effect, TND_MSG_LAST, id);
        effect->msg.until.step = end_of(self);
        return true;
    }
    return false;
}

static bool restart(tnd_leader_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        actor_t *actor = &self->actors[i];
        if (!actor->restart_due || actor->restart_ns > now ||
            !self->hosts[self->config.members[i].host].up)
            continue;
        actor->restart_due = false;
        actor->restart_sent = true;
        self->restarts_due--;
        effect->kind = TND_EFFECT_RESTART;
        effect->msg.to = self->config.members[i].id;
        return true;
    }
    return false;
}

bool tnd_leader_core_next(tnd_leader_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    memset(effect, 0, sizeof *effect);
    if (!over(self))
        check_time(self, now);
    if (self->state == TND_LEADER_CORE_JOINING && everybody(self))
        self->state = TND_LEADER_CORE_READY;
    if (!over(self)) {
        if (self->restarts_due > 0 && restart(self, now, effect))
            return true;
        bool wanted = self->started ? self->want_rewind && now >= self->rewind_ns
                                    : self->asked_to_go && !self->want_drain;
        if (wanted && everybody(self)) {
            rewind_stream(self, now, effect);
            return true;
        }
        if (book(self, effect))
            return true;
    }
    if (!over(self) && finished(self)) {
        self->state = TND_LEADER_CORE_DONE;
        self->tell = true;
    }
    if (self->tell && self->state != TND_LEADER_CORE_FAILED && self->started) {
        for (uint32_t i = 0; i < self->config.member_count; i++)
            if (self->config.members[i].role == TND_ROLE_FEEDER && tell(self, i, effect))
                return true;
        self->tell = false;
    }
    if (over(self) && !self->outcome_said) {
        self->outcome_said = true;
        effect->kind = TND_EFFECT_OUTCOME;
        return true;
    }
    return false;
}

uint64_t tnd_leader_core_deadline(const tnd_leader_core_t *self)
{
    if (over(self))
        return self->outcome_said ? TND_NEVER : 0;
    uint64_t least = self->started ? TND_NEVER : self->start_ns + self->config.start_timeout_ns;
    if (self->started && self->want_rewind && self->rewind_ns < least && everybody(self))
        least = self->rewind_ns;
    if (self->restarts_due > 0)
        for (uint32_t i = 0; i < self->config.member_count; i++)
            if (self->actors[i].restart_due && self->actors[i].restart_ns < least &&
                self->hosts[self->config.members[i].host].up)
                least = self->actors[i].restart_ns;
    for (uint32_t i = 0; i < self->config.host_count; i++)
        if (self->started && missed(self, i) && until(self, i) < least)
            least = until(self, i);
    return least;
}

tnd_leader_core_state_t tnd_leader_core_state(const tnd_leader_core_t *self)
{
    return self->state;
}

const tnd_cursor_t *tnd_leader_core_cursor(const tnd_leader_core_t *self)
{
    return &self->steps.cursor;
}

uint32_t tnd_leader_core_generation(const tnd_leader_core_t *self)
{
    return self->generation;
}

const char *tnd_leader_core_why(const tnd_leader_core_t *self)
{
    return self->why.text;
}

uint32_t tnd_leader_core_missing(const tnd_leader_core_t *self, uint32_t *hosts, uint32_t room)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->config.host_count; i++)
        if (!self->hosts[i].up && !self->hosts[i].spare && (!self->started || missed(self, i))) {
            if (count < room)
                hosts[count] = i;
            count++;
        }
    return count;
}

bool tnd_leader_core_absent(const tnd_leader_core_t *self)
{
    return self->absent;
}

bool tnd_leader_core_needs(const tnd_leader_core_t *self, uint32_t host)
{
    return !self->hosts[host].soft || matters(self, host);
}
