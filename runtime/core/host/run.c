/*  runtime/core/host/run.c - a run, as its leader decides it: which hosts there are and how they count. */
#include "runtime/core/host/run.h"

#include <string.h>

#include "runtime/base/bug_injection.h"

/*  How long a host is reserved for the process that asked for it. */
static const uint64_t reserved_ns = 10000000000;

static uint32_t sessions(const tnd_run_t *self)
{
    return self->resting != NULL ? 2 : 1;
}

/*  The session of the running chain, then that of the one that rests. */
static tnd_leader_core_t *session_at(const tnd_run_t *self, uint32_t index)
{
    return index == 0 ? self->session : self->resting;
}

tnd_host_entry_t tnd_run_up(tnd_run_t *self, uint32_t host, tnd_life_t life, const char *why,
                            uint64_t now)
{
    bool counts = self->start.begun && !self->ended;
    tnd_host_entry_t entry = tnd_host_presence_up(&self->presences[host], life, counts, now);
    for (uint32_t s = 0; s < sessions(self) && entry == TND_HOST_REPLACES; s++)
        if (counts)
            tnd_leader_core_host_again(session_at(self, s), host, why, now);
        else
            tnd_leader_core_host_opens_anew(session_at(self, s), host);
    if (entry != TND_HOST_RETURNS)
        tnd_run_start_process(&self->start, host);
    return entry;
}

uint32_t tnd_run_reserve(tnd_run_t *self, const char *pool, uint64_t restart_timeout_ns,
                         uint64_t now)
{
    uint32_t host = 0;
    while (host < self->start.host_count &&
           (self->pools[host] == NULL || strcmp(self->pools[host], pool) != 0 ||
            !tnd_host_presence_is_free(&self->presences[host], restart_timeout_ns, now)))
        host++;
    if (host < self->start.host_count)
        self->presences[host].reserved_until_ns = now + reserved_ns;
    return host;
}

static void count_in(const tnd_run_t *self, tnd_leader_core_t *session, uint32_t host,
                     tnd_count_t count, uint64_t now)
{
    tnd_leader_core_host_up(session, host, now);
    if (count == TND_COUNT_ACTORS)
        tnd_leader_core_actors_up(session, host, now);
    if (self->start.hosts[host].ready)
        tnd_leader_core_go(session);
}

static void count(tnd_run_t *self, uint32_t host, tnd_count_t count, uint64_t now)
{
    if (count == TND_COUNT_NOT)
        return;
    for (uint32_t s = 0; s < sessions(self); s++)
        count_in(self, session_at(self, s), host, count, now);
    if (self->start.hosts[host].ready)
        tnd_run_touches_greet(&self->touches, host);
}

tnd_greeting_t tnd_run_greet(tnd_run_t *self, uint32_t host, uint64_t now)
{
    tnd_greeting_t greeting = tnd_run_start_greet(&self->start, host);
    count(self, host, greeting.count, now);
    return greeting;
}

void tnd_run_opening(tnd_run_t *self, uint32_t host, uint64_t reports, const char *what,
                     uint64_t now)
{
    if (!tnd_run_start_is_opening(&self->start, host))
        return;
    for (uint32_t s = 0; s < sessions(self); s++)
        tnd_leader_core_host_opening(session_at(self, s), host, reports, what, now);
}

tnd_audience_t tnd_run_opened(tnd_run_t *self, uint32_t host, uint64_t now)
{
    for (uint32_t s = 0; s < sessions(self); s++)
        tnd_leader_core_host_opened(session_at(self, s), host, now);
    return tnd_run_start_open(&self->start, host);
}

void tnd_run_ready(tnd_run_t *self, uint32_t host, uint64_t now)
{
    count(self, host, tnd_run_start_ready(&self->start, host), now);
}

/* --- hosts that go ---------------------------------------------------------------------------- */

bool tnd_run_misses(const tnd_run_t *self, uint32_t host, tnd_fate_t fate, uint64_t now)
{
    bool ends_run = tnd_run_start_ends_with(&self->start, host);
    for (uint32_t s = 0; s < sessions(self); s++)
        ends_run = ends_run || tnd_leader_core_ends_with(session_at(self, s), host);
    return tnd_host_presence_is_over(&self->presences[host], fate, ends_run, now);
}

bool tnd_run_ends_early(tnd_run_t *self, uint32_t host, const tnd_absence_limits_t *limits,
                        uint64_t now)
{
    tnd_host_presence_t *presence = &self->presences[host];
    if (presence->life != 0 || presence->absence.until_ns != 0 ||
        !tnd_run_start_awaits(&self->start, host) || TND_BUG(EARLY_END_IGNORED))
        return false;
    return tnd_host_presence_away(presence, limits, TND_LOSS_ENDED, now);
}

bool tnd_run_lose(tnd_run_t *self, uint32_t host, const char *why, uint64_t now)
{
    tnd_host_presence_lose(&self->presences[host], now);
    tnd_run_start_lose(&self->start, host);
    if (tnd_run_start_ends_with(&self->start, host))
        return false;
    for (uint32_t s = 0; s < sessions(self); s++)
        tnd_leader_core_host_lost(session_at(self, s), host, why, now);
    return true;
}

void tnd_run_leave(tnd_run_t *self, uint32_t host, uint64_t now)
{
    for (uint32_t s = 0; s < sessions(self); s++)
        tnd_leader_core_host_left(session_at(self, s), host, now);
    tnd_host_presence_leave(&self->presences[host]);
    tnd_run_start_lose(&self->start, host);
}

bool tnd_run_actor_down(tnd_leader_core_t *session, tnd_actor_id_t actor, const char *why,
                        uint64_t now)
{
    if (session == NULL || tnd_leader_core_state(session) == TND_LEADER_CORE_DONE)
        return true;
    tnd_leader_core_actor_down(session, actor, why, now);
    return false;
}

bool tnd_run_needs(const tnd_run_t *self, uint32_t host)
{
    bool needs = false;
    for (uint32_t s = 0; s < sessions(self); s++)
        needs = needs || tnd_leader_core_needs(session_at(self, s), host);
    return needs;
}

bool tnd_run_spares(tnd_run_t *self, uint32_t host, bool unfit, const char *why, uint64_t now)
{
    if (!tnd_run_start_spares(&self->start, host, unfit))
        return false;
    tnd_run_start_lose(&self->start, host);
    for (uint32_t s = 0; s < sessions(self); s++)
        tnd_leader_core_host_lost(session_at(self, s), host, why, now);
    if (tnd_run_needs(self, host))
        return false;
    for (uint32_t s = 0; s < sessions(self); s++)
        tnd_leader_core_host_left(session_at(self, s), host, now);
    return true;
}

bool tnd_run_ends_with_failure(tnd_run_t *self, uint32_t host, bool at_once, uint64_t now)
{
    return at_once || !tnd_leader_core_host_failed(self->session, host, now);
}

void tnd_run_excuse(tnd_run_t *self, uint64_t away_ns, uint64_t now)
{
    for (uint32_t h = 0; h < self->start.host_count; h++)
        tnd_host_presence_excuse(&self->presences[h], away_ns, now);
    for (uint32_t s = 0; s < sessions(self); s++)
        tnd_leader_core_excuse(session_at(self, s), away_ns);
}

/* --- chains ----------------------------------------------------------------------------------- */

/*  A pause continues in the chain that runs now. */
static void keep_pause(tnd_run_t *self)
{
    tnd_error_t error;
    if (self->touches.paused_ns != 0 && tnd_leader_core_pause(self->session, &error) != TND_OK)
        self->touches.paused_ns = 0;
}

void tnd_run_next_chain(tnd_run_t *self, tnd_leader_core_t *session)
{
    self->session = session;
    keep_pause(self);
    tnd_run_start_next_chain(&self->start);
}

void tnd_run_rest(tnd_run_t *self, tnd_leader_core_t *session)
{
    self->resting = self->resting != NULL ? self->resting : self->session;
    tnd_run_next_chain(self, session);
}

void tnd_run_return(tnd_run_t *self)
{
    self->session = self->resting;
    self->resting = NULL;
    keep_pause(self);
}

void tnd_run_enter(tnd_run_t *self, uint32_t host, uint64_t now)
{
    if (!self->presences[host].up)
        return;
    tnd_count_t count = tnd_run_start_enter(&self->start, host);
    if (count == TND_COUNT_NOT)
        return;
    count_in(self, self->session, host, count, now);
    if (self->start.hosts[host].ready)
        tnd_run_touches_greet(&self->touches, host);
}

void tnd_run_go_without(tnd_run_t *self, uint64_t now)
{
    for (uint32_t h = 0; h < self->start.host_count; h++)
        if (!self->presences[h].up && !tnd_leader_core_needs(self->session, h))
            tnd_leader_core_host_left(self->session, h, now);
}

/* --- what users and programs want -------------------------------------------------------------- */

tnd_status_t tnd_run_carry_out(tnd_run_t *self, tnd_verb_t verb, uint32_t value, uint64_t now,
                               tnd_error_t *error)
{
    switch (verb) {
    case TND_TOUCH_PAUSE:
        return tnd_leader_core_pause(self->session, error);
    case TND_TOUCH_RESUME:
        return tnd_leader_core_resume(self->session, error);
    case TND_TOUCH_DRAIN:
        for (uint32_t s = 0; s < sessions(self); s++)
            tnd_leader_core_ask_drain(session_at(self, s));
        break;
    case TND_TOUCH_RESTART:
        return tnd_leader_core_ask_restart(self->session, value, now, error);
    case TND_TOUCH_SET:
        return tnd_leader_core_ask_depth(self->session, value, error);
    case TND_TOUCH_SCALE:
    case TND_TOUCH_START_AGAIN:
        break; /* hosts that are told do it */
    }
    return TND_OK;
}

void tnd_run_finish(tnd_run_t *self, tnd_leader_core_t *session, uint32_t host, uint64_t steps)
{
    tnd_leader_core_finish(session, host, steps);
    tnd_run_touches_finish(&self->touches);
}

void tnd_run_drain(tnd_run_t *self)
{
    tnd_run_touches_drain(&self->touches);
    for (uint32_t s = 0; s < sessions(self); s++)
        tnd_leader_core_ask_drain(session_at(self, s));
}
