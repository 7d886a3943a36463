/*  runtime/core/leader.c - the leader's decisions: start, rewind, book, drain, end. */
#include "runtime/core/leader_internal.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

/*  Pause between two rewinds without progress; doubles each time. */
static const uint64_t pause_first_ns = 10 * 1000 * 1000;
static const uint64_t pause_most_ns = 1000 * 1000 * 1000;

static tnd_members_config_t members_config(const tnd_leader_core_config_t *config)
{
    return (tnd_members_config_t){.members = config->members,
                                  .member_count = config->member_count,
                                  .hosts = config->hosts,
                                  .host_flags = config->host_flags,
                                  .host_count = config->host_count,
                                  .lanes = config->lanes,
                                  .restarts = config->restarts};
}

size_t tnd_leader_core_bytes(const tnd_leader_core_config_t *config)
{
    tnd_members_config_t members = members_config(config);
    return tnd_align(sizeof(tnd_leader_core_t)) +
           tnd_align(config->member_count * sizeof(feeder_t)) + tnd_members_bytes(&members) +
           tnd_align(tnd_halt_bytes(config->member_count)) +
           tnd_align(tnd_opening_bytes(config->host_count)) +
           tnd_assembly_bytes(config->lanes, config->steps_open_max);
}

tnd_leader_core_t *tnd_leader_core_init(void *memory, const tnd_leader_core_config_t *config,
                                        const tnd_cursor_t *from, uint64_t now)
{
    assert(config->lanes > 0 && config->lanes <= TND_LANES_MAX && from->lanes == config->lanes);
    assert(config->steps_open_max > 0 && config->host_count > 0);
    assert(config->generation == 0 || config->steps_max == TND_UNKNOWN);
    tnd_leader_core_t *self = memory;
    char *at = (char *)memory + tnd_align(sizeof *self);
    self->feeders = (feeder_t *)at;
    at += tnd_align(config->member_count * sizeof(feeder_t));
    tnd_members_config_t members = members_config(config);
    tnd_members_init(&self->members, at, &members);
    at += tnd_members_bytes(&members);
    tnd_opening_init(&self->opening, at, config->host_count, config->start_timeout_ns,
                     config->hung_after_ns, now);
    at += tnd_align(tnd_opening_bytes(config->host_count));
    tnd_halt_init(&self->halt, at, config->member_count);
    at += tnd_align(tnd_halt_bytes(config->member_count));
    self->config = *config;
    self->drain_end = self->finish_end = self->over_at = TND_UNKNOWN;
    uint32_t feeders = 0;
    for (uint32_t i = 0; i < config->member_count; i++) {
        self->feeders[i] =
            (feeder_t){.held = from->step, .committed = from->step, .booked_told = from->step};
        if (!tnd_members_commits(config->members[i].role))
            continue;
        tnd_halt_add_feeder(&self->halt, i);
        feeders++;
    }
    assert(feeders > 0);
    self->generation = config->generation;
    self->cuts = config->cuts + (config->generation > 0);
    self->cut_generation = config->generation > 0 ? config->generation + 1 : 0;
    tnd_assembly_init(&self->steps, at, from, feeders, config->steps_open_max);
    self->steps.alike = config->lanes_alike;
    return self;
}

uint64_t tnd_leader_core_end_of(const tnd_leader_core_t *self)
{
    uint64_t end = self->config.steps_max;
    end = self->steps.last < end ? self->steps.last : end;
    return self->drain_end < end ? self->drain_end : end;
}

static const char *host_name(const tnd_leader_core_t *self, uint32_t host)
{
    return self->config.hosts[host];
}

void tnd_leader_core_host_up(tnd_leader_core_t *self, uint32_t host, uint64_t now)
{
    if (tnd_members_host_up(&self->members, host, now))
        self->want_rewind = true;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        const tnd_member_t *member = &self->config.members[i];
        if (member->host != host || !tnd_members_commits(member->role))
            continue;
        /* Messages to it may be lost, and no rewind follows after the end. */
        self->feeders[i].booked_told = 0;
        self->feeders[i].end_told = false;
        if (!TND_BUG(LIMIT_TOLD_ONCE))
            tnd_halt_repeat(&self->halt, i);
        if (!TND_BUG(DEPTH_TOLD_ONCE))
            self->feeders[i].depth_told = 0;
        if (member->role == TND_ROLE_PARAMETERS)
            tnd_members_repeat_gone(&self->members);
        self->tell = true;
    }
}

/*  Whether the stream is done, but replicas of that host have not sent MODEL: their models would be
 *  lost with the host. */
static bool lacks_models(const tnd_leader_core_t *self, uint32_t host)
{
    bool has = false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        const tnd_member_t *member = &self->config.members[i];
        has = has || (member->host == host && tnd_members_commits(member->role) &&
                      !self->feeders[i].parted);
    }
    return has && self->started && self->state == TND_LEADER_CORE_DONE;
}

bool tnd_leader_core_ends_with(const tnd_leader_core_t *self, uint32_t host)
{
    const tnd_host_state_t *it = &self->members.hosts[host];
    if (tnd_leader_core_is_over(self))
        return lacks_models(self, host);
    return self->started && it->came && !it->lost && (!it->soft || self->config.restarts.max == 0);
}

/*  Before the start they have no steps. */
static void lose_replicas(tnd_leader_core_t *self, uint32_t host)
{
    if (!self->started)
        return;
    tnd_members_lose_replicas(&self->members, host);
    self->tell = true;
}

void tnd_leader_core_host_lost(tnd_leader_core_t *self, uint32_t host, const char *why,
                               uint64_t now)
{
    assert(host < self->config.host_count);
    tnd_host_state_t *it = &self->members.hosts[host];
    bool final = tnd_leader_core_ends_with(self, host);
    if (tnd_leader_core_is_over(self) && final && !TND_BUG(LOST_AT_THE_END)) {
        (void)tnd_fail(&self->why,
                       "host %s was lost before the last word of the replicas that it carried, and "
                       "their models with it: %s",
                       host_name(self, host), why);
        tnd_leader_core_fail_by(self, TND_LEADER_CORE_ABSENT);
    }
    if (tnd_leader_core_ends(self) || !it->came || it->lost) {
        if (tnd_leader_core_is_failing(self))
            tnd_members_host_down(&self->members, host);
        return;
    }
    if (final) {
        (void)tnd_fail(&self->why, "host %s was lost%s: %s", host_name(self, host),
                       tnd_members_has_feeder(&self->members, host)
                           ? " with the replicas that it carried"
                           : " and is not to be started again",
                       why);
        tnd_members_host_down(&self->members, host);
        tnd_leader_core_fail_later(self, host, TND_LEADER_CORE_ABSENT, now);
        return;
    }
    tnd_opening_drop(&self->opening, host);
    tnd_members_host_lost(&self->members, host, why, now + self->config.restart_timeout_ns);
    self->want_rewind = self->want_rewind || it->needed;
    lose_replicas(self, host);
}

void tnd_leader_core_host_again(tnd_leader_core_t *self, uint32_t host, const char *why,
                                uint64_t now)
{
    tnd_host_state_t *it = &self->members.hosts[host];
    uint64_t again_ns = now;
    tnd_leader_core_host_lost(self, host, why, now);
    tnd_opening_drop(&self->opening, host);
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (self->config.members[i].host == host)
            self->members.actors[i].owed = false;
    if (tnd_leader_core_ends(self) || !it->came)
        return;
    it->lost = true;
    it->until_ns = now + self->config.start_timeout_ns;
    if (!self->started ||
        tnd_restart_policy_died(&it->policy, &self->config.restarts, now, &again_ns))
        return;
    (void)tnd_fail(&self->why, "host %s died %u times in a short time, last because: %s",
                   host_name(self, host), it->policy.deaths + 1, why);
    tnd_leader_core_fail_later(self, host, TND_LEADER_CORE_ABSENT, now);
}

void tnd_leader_core_host_opens_anew(tnd_leader_core_t *self, uint32_t host)
{
    tnd_opening_drop(&self->opening, host);
}

void tnd_leader_core_host_left(tnd_leader_core_t *self, uint32_t host, uint64_t now)
{
    tnd_host_state_t *it = &self->members.hosts[host];
    if (it->needed) {
        tnd_leader_core_host_lost(self, host, "it was taken away", now);
        return;
    }
    tnd_opening_drop(&self->opening, host);
    tnd_members_host_down(&self->members, host);
    lose_replicas(self, host);
    it->came = it->lost = false;
    it->spare = true;
}

/*  A host that is to be started again and opens its data has to be back by then. */
static void extend(tnd_leader_core_t *self, uint32_t host, uint64_t until_ns)
{
    tnd_host_state_t *it = &self->members.hosts[host];
    if (it->lost && it->until_ns < until_ns && !TND_BUG(PROGRESS_FORGOTTEN))
        it->until_ns = until_ns;
}

void tnd_leader_core_host_opening(tnd_leader_core_t *self, uint32_t host, uint64_t reports,
                                  const char *what, uint64_t now)
{
    assert(host < self->config.host_count);
    if (!tnd_leader_core_is_over(self) && !self->members.hosts[host].spare &&
        tnd_opening_report(&self->opening, host, reports, what, now))
        extend(self, host, now + tnd_opening_time(&self->opening));
}

void tnd_leader_core_host_opened(tnd_leader_core_t *self, uint32_t host, uint64_t now)
{
    tnd_opening_end(&self->opening, host, now);
    extend(self, host, now + self->config.start_timeout_ns);
}

void tnd_leader_core_actor_down(tnd_leader_core_t *self, tnd_actor_id_t id, const char *why,
                                uint64_t now)
{
    uint32_t index = tnd_members_find(&self->members, id);
    const tnd_member_t *member = &self->config.members[index];
    tnd_actor_state_t *actor = &self->members.actors[index];
    if (tnd_leader_core_is_over(self) || actor->restart_due || actor->restart_sent)
        return;
    actor->up = false;
    if (tnd_leader_core_ends(self))
        return;
    if (tnd_members_commits(member->role) || self->config.restarts.max == 0) {
        (void)tnd_fail(&self->why, "%s on host %s died: %s", member->name,
                       host_name(self, member->host), why);
        tnd_leader_core_fail_later(self, member->host, TND_LEADER_CORE_BROKEN, now);
        return;
    }
    self->want_rewind = self->want_rewind || tnd_members_is_ordered(member->role);
    if (tnd_members_actor_died(&self->members, index, now))
        return;
    (void)tnd_fail(&self->why, "%s on host %s died %u times in a short time, last because: %s",
                   member->name, host_name(self, member->host), actor->policy.deaths, why);
    tnd_leader_core_fail_later(self, member->host, TND_LEADER_CORE_BROKEN, now);
}

/*  Joins and the holder of parameters tell the lives of a replica apart by their order. */
void tnd_leader_core_actor_born(tnd_leader_core_t *self, tnd_actor_id_t id, tnd_life_t life,
                                uint64_t now)
{
    uint32_t index = tnd_members_find(&self->members, id);
    const tnd_member_t *member = &self->config.members[index];
    if (life < self->members.actors[index].life && !tnd_leader_core_ends(self) &&
        !TND_BUG(BIRTHS_IN_ANY_ORDER)) {
        (void)tnd_fail(
            &self->why,
            "%s was started again, and the clock of host %s has been set back since it "
            "was started before: let its clock only be slowed down (chrony, or `ntpd -x`)",
            member->name, host_name(self, member->host));
        tnd_leader_core_fail_later(self, member->host, TND_LEADER_CORE_BROKEN, now);
        return;
    }
    tnd_members_born(&self->members, index, life);
}

void tnd_leader_core_actor_up(tnd_leader_core_t *self, tnd_actor_id_t id, uint64_t now)
{
    uint32_t index = tnd_members_find(&self->members, id);
    tnd_members_actor_up(&self->members, index, now);
    if (tnd_members_is_ordered(self->config.members[index].role))
        self->want_rewind = true;
}

void tnd_leader_core_actors_up(tnd_leader_core_t *self, uint32_t host, uint64_t now)
{
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        tnd_actor_state_t *actor = &self->members.actors[i];
        if (self->config.members[i].host != host)
            continue;
        tnd_leader_core_actor_up(self, self->config.members[i].id, now);
        /* Others have the steps of a replica that was counted as dead: its next life has none. */
        if (actor->owed || tnd_members_is_gone(actor))
            tnd_members_ask_restart(&self->members, i, now);
        actor->owed = false;
    }
}

void tnd_leader_core_excuse(tnd_leader_core_t *self, uint64_t away_ns)
{
    if (TND_BUG(LEADER_IN_A_HURRY))
        return;
    self->failure.until_ns += away_ns;
    tnd_opening_excuse(&self->opening, away_ns);
    tnd_members_excuse(&self->members, away_ns);
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

static const char *name_of(const tnd_leader_core_t *self, tnd_actor_id_t id)
{
    return self->config.members[tnd_members_find(&self->members, id)].name;
}

bool tnd_leader_core_beyond(tnd_leader_core_t *self, uint64_t step)
{
    if (tnd_assembly_reaches(&self->steps, step, &self->why) == TND_OK)
        return false;
    tnd_leader_core_fail_by(self, TND_LEADER_CORE_BROKEN);
    return true;
}

static bool is_of_now(const tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    return msg->generation == self->generation && msg->generation >= self->cut_generation &&
           msg->part.lane < self->config.lanes;
}

static void take_part(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    if (is_of_now(self, msg) &&
        tnd_assembly_part(&self->steps, msg, name_of(self, msg->from), &self->why) != TND_OK)
        tnd_leader_core_fail_by(self, TND_LEADER_CORE_BROKEN);
}

void tnd_leader_core_tell_end(tnd_leader_core_t *self)
{
    self->tell = true;
    for (uint32_t i = 0; i < self->config.member_count; i++)
        self->feeders[i].end_told = false;
}

static void take_last(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    bool is_news = self->steps.last == TND_UNKNOWN;
    if (!is_of_now(self, msg))
        return;
    if (tnd_assembly_last(&self->steps, msg, name_of(self, msg->from), &self->why) != TND_OK)
        tnd_leader_core_fail_by(self, TND_LEADER_CORE_BROKEN);
    else if (is_news)
        tnd_leader_core_tell_end(self);
}

static feeder_t *feeder_of(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    return &self->feeders[tnd_members_find(&self->members, msg->from)];
}

static void take_commit(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    feeder_t *feeder = feeder_of(self, msg);
    if (msg->commit.step != feeder->committed)
        return;
    if (tnd_assembly_commit(&self->steps, msg, &self->why) != TND_OK) {
        tnd_leader_core_fail_by(self, TND_LEADER_CORE_BROKEN);
        return;
    }
    feeder->committed++;
    self->members.has_values = true;
    feeder->cut = msg->commit.cut ? feeder->committed : feeder->cut;
    self->over_at = msg->commit.last ? feeder->committed : self->over_at;
    feeder->began = true;
    if (feeder->held < feeder->committed)
        feeder->held = feeder->committed;
}

/*  The steps of a dead replica are dealt anew; the rows of those that are booked are not needed. */
static void take_redo(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    feeder_t *holder = feeder_of(self, msg);
    if (msg->generation != self->generation)
        return; /* it says so again after the rewind */
    holder->held = tnd_least(holder->held, tnd_most(msg->until.step, self->steps.cursor.step));
    self->want_rewind = true;
}

bool tnd_leader_core_is_earlier(const tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    return self->config.generation > 0 && msg->generation <= self->config.generation;
}

bool tnd_leader_core_awaits_model(const tnd_leader_core_t *self, tnd_actor_id_t feeder)
{
    bool awaits = false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        const tnd_member_t *member = &self->config.members[i];
        bool asked = feeder == TND_NOBODY || member->id == feeder;
        awaits = awaits || (asked && tnd_members_commits(member->role) && !self->feeders[i].parted);
    }
    return awaits && self->started;
}

bool tnd_leader_core_has_model(const tnd_leader_core_t *self)
{
    bool has = false;
    for (uint32_t i = 0; i < self->config.member_count; i++)
        has = has || (tnd_members_commits(self->config.members[i].role) && self->feeders[i].parted);
    return has;
}

void tnd_leader_core_message(tnd_leader_core_t *self, const tnd_msg_t *msg, uint64_t now)
{
    (void)now;
    if (msg->kind == TND_MSG_MODEL && !tnd_leader_core_is_earlier(self, msg))
        feeder_of(self, msg)->parted = true;
    if (tnd_leader_core_is_over(self))
        return;
    switch (msg->kind) {
    case TND_MSG_PART:
        take_part(self, msg);
        break;
    case TND_MSG_COMMIT:
        take_commit(self, msg);
        break;
    case TND_MSG_HELD: {
        feeder_t *feeder = feeder_of(self, msg);
        uint64_t held = msg->until.step;
        bool is_new = msg->generation >= self->cut_generation;
        feeder->began = feeder->began || is_new;
        if (held > feeder->held && is_new &&
            !(held > self->steps.cursor.step && tnd_leader_core_beyond(self, held - 1)))
            feeder->held = held;
        break;
    }
    case TND_MSG_REDO:
        take_redo(self, msg);
        break;
    case TND_MSG_LAST:
        take_last(self, msg);
        break;
    case TND_MSG_BROKEN:
        if (msg->generation == self->generation)
            self->want_rewind = true;
        break;
    case TND_MSG_HALT:
        tnd_leader_core_take_halt(self, msg);
        break;
    default:
        break; /* not for a leader: harmless */
    }
}

/*  A host did not open its data: it reports progress no longer, or never did. */
static void fail_unopened(tnd_leader_core_t *self, uint32_t host, bool stalled)
{
    const tnd_leader_core_config_t *config = &self->config;
    uint64_t limit_ns = stalled ? config->hung_after_ns : config->start_timeout_ns;
    (void)tnd_fail(&self->why,
                   "host %s has reported no progress for more than %llu ms (%s) while it opens %s",
                   host_name(self, host), (unsigned long long)(limit_ns / 1000000u),
                   stalled ? "hung_after" : "start_timeout", self->opening.hosts[host].what);
    tnd_leader_core_fail_by(self, TND_LEADER_CORE_UNOPENED);
}

static void check_start(tnd_leader_core_t *self, uint64_t now)
{
    uint32_t host;
    bool stalled, here = tnd_members_all_here(&self->members);
    bool complete = tnd_members_complete(&self->members, self->started);
    /* A pause keeps the stream from starting; a host that is lost meanwhile has its whole time. */
    if (complete || self->was_complete)
        self->opening.begin_ns = now;
    self->was_complete = complete;
    if (complete || !tnd_opening_is_late(&self->opening, here, now, &host, &stalled))
        return;
    if (host < self->config.host_count) {
        fail_unopened(self, host, stalled);
        return;
    }
    char names[256];
    tnd_members_absent(&self->members, names, sizeof names);
    (void)tnd_fail(&self->why,
                   "%s did not answer within %llu s: start it, or see whether it reaches host %s",
                   names, (unsigned long long)(self->config.start_timeout_ns / 1000000000u),
                   host_name(self, 0));
    tnd_leader_core_fail_by(self, TND_LEADER_CORE_ABSENT);
}

static void check_time(tnd_leader_core_t *self, uint64_t now)
{
    if (!self->started) {
        check_start(self, now);
        return;
    }
    uint32_t overdue = tnd_members_overdue(&self->members, now);
    if (overdue == self->config.host_count)
        return;
    if (self->opening.hosts[overdue].opens) {
        fail_unopened(self, overdue, self->opening.hosts[overdue].reports > 0);
        return;
    }
    (void)tnd_fail(&self->why, "host %s was lost and did not come back in time: %s",
                   host_name(self, overdue), self->members.hosts[overdue].why);
    tnd_leader_core_fail_by(self, TND_LEADER_CORE_ABSENT);
}

/*  The states of a start. */
static void note_arrivals(tnd_leader_core_t *self)
{
    if (self->state != TND_LEADER_CORE_JOINING && self->state != TND_LEADER_CORE_OPENING)
        return;
    self->state = tnd_members_complete(&self->members, self->started) ? TND_LEADER_CORE_READY
                  : tnd_members_all_here(&self->members)              ? TND_LEADER_CORE_OPENING
                                                                      : TND_LEADER_CORE_JOINING;
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

static void rewind_stream(tnd_leader_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    uint64_t anchor = self->steps.whole, progress = anchor + self->steps.cursor.step;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        feeder_t *feeder = &self->feeders[i];
        if (!tnd_members_commits(self->config.members[i].role))
            continue;
        progress += feeder->held;
        anchor = feeder->held < anchor ? feeder->held : anchor;
        feeder->booked_told = 0;
        feeder->end_told = feeder->end_told && self->config.generation == 0;
        if (!TND_BUG(LIMIT_TOLD_ONCE))
            tnd_halt_repeat(&self->halt, i);
    }
    assert(anchor >= self->steps.cursor.step);
    tnd_assembly_at(&self->steps, anchor, &self->anchor);
    if (!self->started || progress != self->progress)
        self->pause_ns = pause_first_ns / 2;
    self->progress = progress;
    self->pause_ns = 2 * self->pause_ns < pause_most_ns ? 2 * self->pause_ns : pause_most_ns;
    self->rewind_ns = now + self->pause_ns;

    if (TND_BUG(REWIND_RESUMES))
        tnd_halt_end(&self->halt);
    self->want_rewind = false;
    self->started = self->tell = true;
    if (self->state != TND_LEADER_CORE_DRAINING)
        self->state = TND_LEADER_CORE_RUNNING;
    self->generation++;
    control(self, effect, TND_MSG_REWIND, TND_NOBODY);
    effect->msg.rewind.cursor = &self->anchor;
    effect->msg.rewind.cuts = self->cuts;
    effect->msg.rewind.before = self->config.generation;
    effect->cursor = &self->anchor;
}

/*  If a stream has no steps, no commit shows that a feeder has begun.  A feeder that has not would
 *  never learn that the stream is over, because no rewind follows. */
static bool all_began(const tnd_leader_core_t *self)
{
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (tnd_members_commits(self->config.members[i].role) && !self->feeders[i].began)
            return false;
    return true;
}

/*  Whether all is done, including the account of what was read after the last step. */
static bool finished(tnd_leader_core_t *self)
{
    if (!(self->started || self->want_drain) ||
        self->steps.cursor.step < tnd_leader_core_end_of(self) ||
        (self->started && !all_began(self)))
        return false;
    if (self->steps.last >= self->config.steps_max || self->steps.last > self->drain_end)
        return true;
    tnd_status_t status = tnd_assembly_finish(&self->steps, &self->why);
    if (status == TND_FAILED)
        tnd_leader_core_fail_by(self, TND_LEADER_CORE_BROKEN);
    return status == TND_OK;
}

static bool book(tnd_leader_core_t *self, tnd_effect_t *effect)
{
    tnd_status_t status = tnd_assembly_book(&self->steps, tnd_leader_core_end_of(self), &self->why);
    if (status == TND_FAILED)
        tnd_leader_core_fail_by(self, TND_LEADER_CORE_BROKEN);
    if (status != TND_OK)
        return false;
    tnd_leader_core_take_cut(self);
    if (tnd_leader_core_is_over(self))
        return false;
    self->tell = true;
    effect->kind = TND_EFFECT_BOOK;
    effect->cursor = &self->steps.cursor;
    return true;
}

static bool tell_last(tnd_leader_core_t *self, uint32_t i, tnd_effect_t *effect)
{
    if (self->feeders[i].end_told || tnd_leader_core_end_of(self) == TND_UNKNOWN)
        return false;
    self->feeders[i].end_told = true;
    control(self, effect, TND_MSG_LAST, self->config.members[i].id);
    effect->msg.part.step = tnd_leader_core_end_of(self);
    return true;
}

/*  Tells the holder of the parameters which lives are over. */
static bool tell_gone(tnd_leader_core_t *self, uint32_t holder, tnd_effect_t *effect)
{
    uint32_t index;
    if (self->config.members[holder].role != TND_ROLE_PARAMETERS || tnd_leader_core_is_over(self) ||
        !tnd_members_next_gone(&self->members, &index))
        return false;
    control(self, effect, TND_MSG_GONE, self->config.members[holder].id);
    effect->msg.gone.actor = self->config.members[index].id;
    effect->msg.gone.life = self->members.actors[index].gone;
    return true;
}

/*  Sends a feeder what it does not know yet. */
static bool tell(tnd_leader_core_t *self, uint32_t i, tnd_effect_t *effect)
{
    feeder_t *feeder = &self->feeders[i];
    uint64_t every = self->config.booked_every > 0 ? self->config.booked_every : 1;
    if (feeder->booked_told + every <= self->steps.cursor.step) {
        feeder->booked_told = self->steps.cursor.step;
        control(self, effect, TND_MSG_BOOKED, self->config.members[i].id);
        effect->msg.until.step = self->steps.cursor.step;
        return true;
    }
    if (!tnd_leader_core_is_over(self) && feeder->depth_told != self->depth) {
        feeder->depth_told = self->depth;
        control(self, effect, TND_MSG_DEPTH, self->config.members[i].id);
        effect->msg.until.step = self->depth;
        return true;
    }
    if (!tnd_leader_core_is_over(self) && tnd_halt_next(&self->halt, i, &effect->msg)) {
        control(self, effect, effect->msg.kind, self->config.members[i].id);
        return true;
    }
    return tell_gone(self, i, effect) || tell_last(self, i, effect);
}

/*  A feeder that begins before it knows its end, where it rests, or that it is to halt, could pass that.
 *  Where the stream begins again, a feeder that has not heard of that forgets what it is told; it has none
 *  of these before its rows end. */
static bool tell_bounds(tnd_leader_core_t *self, uint32_t i, tnd_effect_t *effect)
{
    if (self->config.generation > 0)
        return false;
    if (tell_last(self, i, effect))
        return true;
    if (TND_BUG(REST_TOLD_LATE) || !tnd_halt_next(&self->halt, i, &effect->msg))
        return false;
    control(self, effect, effect->msg.kind, self->config.members[i].id);
    return true;
}

static bool tell_feeders(tnd_leader_core_t *self,
                         bool (*say)(tnd_leader_core_t *, uint32_t, tnd_effect_t *),
                         tnd_effect_t *effect)
{
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (tnd_members_commits(self->config.members[i].role) && say(self, i, effect))
            return true;
    return false;
}

/*  What brings the stream on: restarts and rewinds. */
static bool repair(tnd_leader_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    uint32_t index;
    if (tnd_members_restart(&self->members, now, &index)) {
        effect->kind = TND_EFFECT_RESTART;
        effect->msg.to = self->config.members[index].id;
        const tnd_actor_state_t *actor = &self->members.actors[index];
        effect->msg.note.number = !actor->asked                ? TND_LEADER_CORE_DIED
                                  : tnd_members_is_gone(actor) ? TND_LEADER_CORE_OVERTAKEN
                                                               : TND_LEADER_CORE_ASKED;
        return true;
    }
    bool wanted = self->started ? self->want_rewind && now >= self->rewind_ns
                                : self->asked_to_go && !self->want_drain && !self->halt.wanted;
    if (!wanted || !tnd_members_complete(&self->members, self->started))
        return false;
    if (TND_BUG(END_TOLD_LATE) || !tell_feeders(self, tell_bounds, effect))
        rewind_stream(self, now, effect);
    return true;
}

bool tnd_leader_core_next(tnd_leader_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    memset(effect, 0, sizeof *effect);
    if (!tnd_leader_core_ends(self))
        check_time(self, now);
    note_arrivals(self);
    if (!tnd_leader_core_ends(self) && repair(self, now, effect))
        return true;
    if (!tnd_leader_core_is_over(self) && book(self, effect))
        return true;
    tnd_leader_core_check_failure(self, now);
    tnd_leader_core_drain_at_rest(self);
    if (!tnd_leader_core_ends(self) && finished(self)) {
        self->state = TND_LEADER_CORE_DONE;
        self->tell = true;
    }
    if (self->tell && self->state != TND_LEADER_CORE_FAILED && self->started) {
        if (tell_feeders(self, tell, effect))
            return true;
        self->tell = false;
    }
    if (tnd_leader_core_is_over(self) && !self->outcome_said) {
        self->outcome_said = true;
        effect->kind = TND_EFFECT_OUTCOME;
        return true;
    }
    return false;
}

uint64_t tnd_leader_core_deadline(const tnd_leader_core_t *self)
{
    if (tnd_leader_core_is_over(self))
        return self->outcome_said ? TND_NEVER : 0;
    if (self->failure.pending)
        return self->failure.until_ns;
    uint64_t least = tnd_members_deadline(&self->members, self->started);
    uint64_t start_ns = tnd_opening_deadline(&self->opening);
    if (!self->started && start_ns < least && !tnd_members_complete(&self->members, self->started))
        least = start_ns;
    if (self->started && self->want_rewind && self->rewind_ns < least &&
        tnd_members_complete(&self->members, self->started))
        least = self->rewind_ns;
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

bool tnd_leader_core_has_begun(const tnd_leader_core_t *self)
{
    return self->started;
}

uint32_t tnd_leader_core_cuts(const tnd_leader_core_t *self)
{
    return self->cuts;
}

const char *tnd_leader_core_why(const tnd_leader_core_t *self)
{
    return self->why.text;
}

uint32_t tnd_leader_core_missing(const tnd_leader_core_t *self, uint32_t *hosts, uint32_t room)
{
    return tnd_members_missing(&self->members, self->started, hosts, room);
}

tnd_leader_core_cause_t tnd_leader_core_cause(const tnd_leader_core_t *self)
{
    return self->cause;
}

bool tnd_leader_core_needs(const tnd_leader_core_t *self, uint32_t host)
{
    return !self->members.hosts[host].soft || tnd_members_matter(&self->members, host);
}
