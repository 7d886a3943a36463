/*  runtime/core/session/members.c - the hosts and actors of a run: up, lost or due to be restarted. */
#include "runtime/core/session/members.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

size_t tnd_members_bytes(const tnd_members_config_t *config)
{
    return tnd_align(config->member_count * sizeof(tnd_actor_state_t)) +
           tnd_align(config->host_count * sizeof(tnd_host_state_t));
}

void tnd_members_init(tnd_members_t *self, void *memory, const tnd_members_config_t *config)
{
    self->config = *config;
    self->actors = memory;
    self->hosts = (tnd_host_state_t *)((char *)memory +
                                       tnd_align(config->member_count * sizeof *self->actors));
    for (uint32_t i = 0; i < config->host_count; i++) {
        uint8_t flags = config->host_flags != NULL ? config->host_flags[i] : 0;
        self->hosts[i].soft = (flags & TND_HOST_FINAL) == 0;
        self->hosts[i].spare = (flags & TND_HOST_SPARE) != 0;
    }
    for (uint32_t i = 0; i < config->member_count; i++) {
        tnd_role_t role = config->members[i].role;
        tnd_host_state_t *host = &self->hosts[config->members[i].host];
        host->soft = host->soft && !tnd_members_commits(role);
        host->needed = host->needed || tnd_members_is_ordered(role) || tnd_members_commits(role);
    }
}

uint32_t tnd_members_find(const tnd_members_t *self, tnd_actor_id_t id)
{
    const tnd_member_t *members = self->config.members;
    uint32_t count = self->config.member_count, i = 0;
    if (id < count && members[id].id == id)
        return id;
    while (i < count && members[i].id != id)
        i++;
    assert(i < count);
    return i;
}

bool tnd_members_is_ordered(tnd_role_t role)
{
    return role == TND_ROLE_READER || role == TND_ROLE_CACHE || role == TND_ROLE_JOIN;
}

static bool has_role(const tnd_members_t *self, uint32_t host, tnd_role_t role)
{
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (self->config.members[i].host == host && self->config.members[i].role == role)
            return true;
    return false;
}

bool tnd_members_has_feeder(const tnd_members_t *self, uint32_t host)
{
    return has_role(self, host, TND_ROLE_FEEDER) || has_role(self, host, TND_ROLE_REPLICA);
}

bool tnd_members_host_up(tnd_members_t *self, uint32_t host, uint64_t now)
{
    assert(host < self->config.host_count);
    tnd_host_state_t *it = &self->hosts[host];
    bool is_back = it->came && it->needed;
    if (!it->up)
        tnd_restart_policy_born(&it->policy, now);
    it->up = it->came = true;
    it->lost = false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        tnd_actor_state_t *actor = &self->actors[i];
        if (self->config.members[i].host != host || !actor->restart_sent)
            continue;
        if (TND_BUG(RESTART_ASKED_ONCE))
            actor->asked = false;
        actor->restart_sent = false;
        actor->restart_due = true;
        actor->restart_ns = now;
        self->restarts_due++;
    }
    return is_back;
}

static void append(char *text, size_t room, const char *more)
{
    size_t at = strlen(text), length = strlen(more);
    if (at + length < room)
        memcpy(text + at, more, length + 1);
}

void tnd_members_host_lost(tnd_members_t *self, uint32_t host, const char *why, uint64_t until_ns)
{
    tnd_host_state_t *it = &self->hosts[host];
    it->lost = true;
    it->why[0] = '\0';
    append(it->why, sizeof it->why, why);
    it->until_ns = until_ns;
    tnd_members_host_down(self, host);
}

void tnd_members_host_down(tnd_members_t *self, uint32_t host)
{
    self->hosts[host].up = false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        tnd_actor_state_t *actor = &self->actors[i];
        if (self->config.members[i].host != host)
            continue;
        self->restarts_due -= actor->restart_due;
        actor->up = actor->restart_due = actor->restart_sent = actor->asked = false;
    }
}

void tnd_members_born(tnd_members_t *self, uint32_t index, tnd_life_t life)
{
    self->actors[index].life = life;
}

void tnd_members_lose_replicas(tnd_members_t *self, uint32_t host)
{
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        tnd_actor_state_t *actor = &self->actors[i];
        if (self->config.members[i].host != host || actor->gone == actor->life)
            continue;
        actor->gone = actor->life;
        actor->gone_told = false;
    }
}

bool tnd_members_next_gone(tnd_members_t *self, uint32_t *index_p)
{
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        tnd_actor_state_t *actor = &self->actors[i];
        if (actor->gone == 0 || actor->gone_told)
            continue;
        actor->gone_told = true;
        *index_p = i;
        return true;
    }
    return false;
}

void tnd_members_repeat_gone(tnd_members_t *self)
{
    for (uint32_t i = 0; i < self->config.member_count; i++)
        self->actors[i].gone_told = false;
}

void tnd_members_actor_up(tnd_members_t *self, uint32_t index, uint64_t now)
{
    tnd_actor_state_t *actor = &self->actors[index];
    self->restarts_due -= actor->restart_due;
    actor->restart_due = actor->restart_sent = actor->asked = false;
    actor->up = true;
    tnd_restart_policy_born(&actor->policy, now);
}

bool tnd_members_actor_died(tnd_members_t *self, uint32_t index, uint64_t now)
{
    tnd_actor_state_t *actor = &self->actors[index];
    if (!tnd_restart_policy_died(&actor->policy, &self->config.restarts, now, &actor->restart_ns))
        return false;
    actor->restart_due = true;
    self->restarts_due++;
    return true;
}

void tnd_members_ask_restart(tnd_members_t *self, uint32_t index, uint64_t now)
{
    tnd_actor_state_t *actor = &self->actors[index];
    actor->up = false;
    actor->restart_due = actor->asked = true;
    actor->restart_ns = now;
    self->restarts_due++;
}

void tnd_members_excuse(tnd_members_t *self, uint64_t away_ns)
{
    for (uint32_t i = 0; i < self->config.host_count; i++)
        if (self->hosts[i].lost)
            self->hosts[i].until_ns += away_ns;
}

bool tnd_members_restart(tnd_members_t *self, uint64_t now, uint32_t *index_p)
{
    for (uint32_t i = 0; i < self->config.member_count && self->restarts_due > 0; i++) {
        tnd_actor_state_t *actor = &self->actors[i];
        if (!actor->restart_due || actor->restart_ns > now ||
            !self->hosts[self->config.members[i].host].up)
            continue;
        actor->restart_due = false;
        actor->restart_sent = true;
        self->restarts_due--;
        *index_p = i;
        return true;
    }
    return false;
}

bool tnd_members_all_here(const tnd_members_t *self)
{
    for (uint32_t i = 0; i < self->config.host_count; i++)
        if (!self->hosts[i].up && !self->hosts[i].spare)
            return false;
    return true;
}

bool tnd_members_complete(const tnd_members_t *self, bool started)
{
    for (uint32_t i = 0; i < self->config.host_count; i++)
        if (!self->hosts[i].up && !self->hosts[i].spare && (!started || self->hosts[i].needed))
            return false;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        tnd_role_t role = self->config.members[i].role;
        if (!self->actors[i].up && !self->hosts[self->config.members[i].host].spare &&
            (!started || tnd_members_is_ordered(role) || tnd_members_commits(role)))
            return false;
    }
    return true;
}

/*  Whether the workers of a host serve a lane.  Workers beside readers serve only the lanes of
 *  their host. */
static bool serves(const tnd_members_t *self, uint32_t host, uint32_t lane)
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

static bool are_served(const tnd_members_t *self, uint32_t caches)
{
    for (uint32_t lane = 0; lane < self->config.lanes; lane++) {
        bool planned = false, there = false;
        for (uint32_t i = 0; i < self->config.member_count && !there; i++) {
            const tnd_member_t *member = &self->config.members[i];
            if (member->role != TND_ROLE_WORKER || member->lane != caches ||
                !serves(self, member->host, lane))
                continue;
            planned = true;
            there = self->hosts[member->host].up;
        }
        if (planned && !there)
            return false;
    }
    return true;
}

/*  By the workers before a cache, and by those after it. */
static bool all_lanes_served(const tnd_members_t *self)
{
    return are_served(self, 0) && are_served(self, 1);
}

/*  Whether a step can be dealt, of a chain whose steps are. */
static bool has_replicas(const tnd_members_t *self)
{
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (self->config.members[i].role == TND_ROLE_REPLICA &&
            self->hosts[self->config.members[i].host].up)
            return true;
    return false;
}

/*  Whether the holder of parameters may wait for the first values of a replica there, which no other one has. */
static bool brings_values(const tnd_members_t *self, uint32_t host)
{
    uint32_t first = 0;
    while (first < self->config.member_count &&
           self->config.members[first].role != TND_ROLE_REPLICA)
        first++;
    return first < self->config.member_count && self->config.members[first].host == host &&
           !self->has_values;
}

bool tnd_members_matter(const tnd_members_t *self, uint32_t host)
{
    return self->hosts[host].needed || has_role(self, host, TND_ROLE_REDUCER) ||
           (has_role(self, host, TND_ROLE_REPLICA) && !has_replicas(self)) ||
           brings_values(self, host) ||
           (has_role(self, host, TND_ROLE_WORKER) && !all_lanes_served(self));
}

static bool is_missed(const tnd_members_t *self, uint32_t host)
{
    return self->hosts[host].lost && tnd_members_matter(self, host);
}

/*  When a missed host must be back: of several hosts with workers one is enough. */
static uint64_t until(const tnd_members_t *self, uint32_t host)
{
    uint64_t latest = self->hosts[host].until_ns;
    for (uint32_t i = 0; i < self->config.host_count && !self->hosts[host].needed; i++)
        if (self->hosts[i].lost && !self->hosts[i].needed && self->hosts[i].until_ns > latest)
            latest = self->hosts[i].until_ns;
    return latest;
}

uint32_t tnd_members_overdue(const tnd_members_t *self, uint64_t now)
{
    uint32_t host = 0;
    while (host < self->config.host_count && !(is_missed(self, host) && now >= until(self, host)))
        host++;
    return host;
}

uint64_t tnd_members_deadline(const tnd_members_t *self, bool started)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < self->config.member_count && self->restarts_due > 0; i++)
        if (self->actors[i].restart_due && self->actors[i].restart_ns < least &&
            self->hosts[self->config.members[i].host].up)
            least = self->actors[i].restart_ns;
    for (uint32_t i = 0; i < self->config.host_count && started; i++)
        if (is_missed(self, i) && until(self, i) < least)
            least = until(self, i);
    return least;
}

uint32_t tnd_members_missing(const tnd_members_t *self, bool started, uint32_t *hosts,
                             uint32_t room)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->config.host_count; i++) {
        if (self->hosts[i].up || self->hosts[i].spare || (started && !is_missed(self, i)))
            continue;
        if (count < room)
            hosts[count] = i;
        count++;
    }
    return count;
}

void tnd_members_absent(const tnd_members_t *self, char *text, size_t room)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < self->config.host_count; i++)
        if (!self->hosts[i].up && !self->hosts[i].spare) {
            append(text, room, text[0] ? ", " : "");
            append(text, room, self->config.hosts[i]);
        }
    for (uint32_t i = 0; i < self->config.member_count && text[0] == '\0'; i++)
        if (!self->actors[i].up && !self->hosts[self->config.members[i].host].spare)
            append(text, room, self->config.members[i].name);
}
