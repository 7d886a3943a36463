/*  runtime/core/host/run.c - a run, as its leader decides it: which hosts there are and how they count. */
#include "runtime/core/host/run.h"

#include <string.h>

/*  How long a host is reserved for the process that asked for it. */
static const uint64_t reserved_ns = 10000000000;

tnd_host_entry_t tnd_run_up(tnd_run_t *self, uint32_t host, tnd_life_t life, const char *why,
                            uint64_t now)
{
    bool counts = self->start.begun && !self->ended;
    tnd_host_entry_t entry = tnd_host_presence_up(&self->presences[host], life, counts, now);
    if (entry == TND_HOST_REPLACES && counts)
        tnd_leader_core_host_again(self->session, host, why, now);
    if (entry == TND_HOST_REPLACES && !counts)
        tnd_leader_core_host_opens_anew(self->session, host);
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

static void count(tnd_run_t *self, uint32_t host, tnd_count_t count, uint64_t now)
{
    if (count == TND_COUNT_NOT)
        return;
    tnd_leader_core_host_up(self->session, host, now);
    if (count == TND_COUNT_ACTORS)
        tnd_leader_core_actors_up(self->session, host, now);
    if (!self->start.hosts[host].ready)
        return;
    tnd_leader_core_go(self->session);
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
    if (tnd_run_start_is_opening(&self->start, host))
        tnd_leader_core_host_opening(self->session, host, reports, what, now);
}

tnd_audience_t tnd_run_opened(tnd_run_t *self, uint32_t host, uint64_t now)
{
    tnd_leader_core_host_opened(self->session, host, now);
    return tnd_run_start_open(&self->start, host);
}

void tnd_run_ready(tnd_run_t *self, uint32_t host, uint64_t now)
{
    count(self, host, tnd_run_start_ready(&self->start, host), now);
}

/* --- hosts that go ---------------------------------------------------------------------------- */

bool tnd_run_misses(const tnd_run_t *self, uint32_t host, tnd_fate_t fate, uint64_t now)
{
    bool ends_run = tnd_run_start_ends_with(&self->start, host) ||
                    tnd_leader_core_ends_with(self->session, host);
    return tnd_host_presence_is_over(&self->presences[host], fate, ends_run, now);
}

bool tnd_run_lose(tnd_run_t *self, uint32_t host, const char *why, uint64_t now)
{
    tnd_host_presence_lose(&self->presences[host], now);
    tnd_run_start_lose(&self->start, host);
    if (tnd_run_start_ends_with(&self->start, host))
        return false;
    tnd_leader_core_host_lost(self->session, host, why, now);
    return true;
}

void tnd_run_leave(tnd_run_t *self, uint32_t host, uint64_t now)
{
    tnd_leader_core_host_left(self->session, host, now);
    tnd_host_presence_leave(&self->presences[host]);
    tnd_run_start_lose(&self->start, host);
}

bool tnd_run_spares(tnd_run_t *self, uint32_t host, bool unfit, const char *why, uint64_t now)
{
    if (!tnd_run_start_spares(&self->start, host, unfit))
        return false;
    tnd_run_start_lose(&self->start, host);
    tnd_leader_core_host_lost(self->session, host, why, now);
    if (tnd_leader_core_needs(self->session, host))
        return false;
    tnd_leader_core_host_left(self->session, host, now);
    return true;
}

void tnd_run_excuse(tnd_run_t *self, uint64_t away_ns, uint64_t now)
{
    for (uint32_t h = 0; h < self->start.host_count; h++)
        tnd_host_presence_excuse(&self->presences[h], away_ns, now);
    tnd_leader_core_excuse(self->session, away_ns);
}

/* --- chains ----------------------------------------------------------------------------------- */

void tnd_run_next_chain(tnd_run_t *self, tnd_leader_core_t *session)
{
    tnd_error_t error;
    self->session = session;
    if (self->touches.paused_ns != 0 && tnd_leader_core_pause(session, &error) != TND_OK)
        self->touches.paused_ns = 0;
    tnd_run_start_next_chain(&self->start);
}

void tnd_run_enter(tnd_run_t *self, uint32_t host, uint64_t now)
{
    if (self->presences[host].up)
        count(self, host, tnd_run_start_enter(&self->start, host), now);
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
        tnd_leader_core_ask_drain(self->session);
        break;
    case TND_TOUCH_RESTART:
        return tnd_leader_core_ask_restart(self->session, value, now, error);
    case TND_TOUCH_SET:
        return tnd_leader_core_ask_depth(self->session, value, error);
    case TND_TOUCH_SCALE:
        break; /* hosts that are told do it */
    }
    return TND_OK;
}

void tnd_run_finish(tnd_run_t *self, uint32_t host, uint64_t steps)
{
    tnd_leader_core_finish(self->session, host, steps);
    tnd_run_touches_finish(&self->touches);
}

void tnd_run_drain(tnd_run_t *self)
{
    tnd_run_touches_drain(&self->touches);
    tnd_leader_core_ask_drain(self->session);
}
