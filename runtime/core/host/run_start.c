/*  runtime/core/host/run_start.c - the start of a run, as its leader decides it. */
#include "runtime/core/host/run_start.h"

#include "runtime/base/bug_injection.h"

void tnd_run_start_process(tnd_run_start_t *self, uint32_t host)
{
    tnd_run_start_host_t *it = &self->hosts[host];
    it->late = self->begun;
    it->opened = it->listens = it->ready = it->counted = false;
}

tnd_count_t tnd_run_start_enter(tnd_run_start_t *self, uint32_t host)
{
    tnd_run_start_host_t *it = &self->hosts[host];
    if (!it->ready)
        return self->begun ? TND_COUNT_NOT : TND_COUNT_HOST;
    if (it->counted && !TND_BUG(ACTORS_COUNTED_TWICE))
        return TND_COUNT_HOST;
    it->counted = true;
    return TND_COUNT_ACTORS;
}

tnd_greeting_t tnd_run_start_greet(tnd_run_start_t *self, uint32_t host)
{
    const tnd_run_start_host_t *it = &self->hosts[host];
    return (tnd_greeting_t){.streams = self->opened && (it->opened || !it->reads),
                            .table = self->begun && it->listens,
                            .count = tnd_run_start_enter(self, host)};
}

tnd_audience_t tnd_run_start_open(tnd_run_start_t *self, uint32_t host)
{
    self->hosts[host].opened = true;
    if (self->opened)
        return TND_AUDIENCE_HOST;
    for (uint32_t h = 0; h < self->host_count; h++)
        if (tnd_run_start_is_opening(self, h))
            return TND_AUDIENCE_NONE;
    self->opened = true;
    return TND_AUDIENCE_ALL;
}

tnd_audience_t tnd_run_start_listen(tnd_run_start_t *self, uint32_t host, bool moved)
{
    if (self->begun && self->hosts[host].listens && !moved)
        return TND_AUDIENCE_NONE;
    self->hosts[host].listens = true;
    for (uint32_t h = 0; h < self->host_count && !self->begun; h++)
        if (!self->hosts[h].listens && !self->hosts[h].spare)
            return TND_AUDIENCE_NONE;
    self->begun = true;
    return TND_AUDIENCE_ALL;
}

tnd_count_t tnd_run_start_ready(tnd_run_start_t *self, uint32_t host)
{
    bool said = self->hosts[host].ready;
    self->hosts[host].ready = true;
    return said ? TND_COUNT_NOT : tnd_run_start_enter(self, host);
}

void tnd_run_start_lose(tnd_run_start_t *self, uint32_t host)
{
    self->hosts[host].counted = false;
}

void tnd_run_start_next_chain(tnd_run_start_t *self)
{
    for (uint32_t h = 0; h < self->host_count; h++)
        self->hosts[h].counted = false;
}

bool tnd_run_start_is_opening(const tnd_run_start_t *self, uint32_t host)
{
    return self->hosts[host].reads && !self->hosts[host].opened;
}

bool tnd_run_start_awaits(const tnd_run_start_t *self, uint32_t host)
{
    return !self->begun && !self->hosts[host].spare;
}

bool tnd_run_start_ends_with(const tnd_run_start_t *self, uint32_t host)
{
    return !self->begun && self->hosts[host].final;
}

bool tnd_run_start_spares(const tnd_run_start_t *self, uint32_t host, bool unfit)
{
    return self->hosts[host].late && (unfit || !self->hosts[host].ready);
}
