/*  runtime/core/session/opening.c - how long a start may take while hosts open their data. */
#include "runtime/core/session/opening.h"

#include <string.h>

#include "runtime/base/bug_injection.h"

/*  Hosts report at intervals, and reports take time to arrive. */
static const uint64_t grace_ns = 1000 * 1000 * 1000;

size_t tnd_opening_bytes(uint32_t host_count)
{
    return host_count * sizeof(tnd_opening_host_t);
}

void tnd_opening_init(tnd_opening_t *self, void *memory, uint32_t host_count,
                      uint64_t start_timeout_ns, uint64_t hung_after_ns, uint64_t now)
{
    *self = (tnd_opening_t){.start_timeout_ns = start_timeout_ns,
                            .hung_after_ns = hung_after_ns,
                            .begin_ns = now,
                            .hosts = memory,
                            .host_count = host_count};
}

bool tnd_opening_report(tnd_opening_t *self, uint32_t host, uint64_t reports, const char *what,
                        uint64_t now)
{
    tnd_opening_host_t *it = &self->hosts[host];
    if (reports < it->reports) /* of another process */
        tnd_opening_drop(self, host);
    bool news = !it->opens || reports != it->reports;
    size_t length = strnlen(what, sizeof it->what - 1);
    memcpy(it->what, what, length);
    it->what[length] = '\0';
    it->opens = true;
    it->reports = reports;
    if (news)
        it->report_ns = now;
    return news && reports > 0;
}

void tnd_opening_end(tnd_opening_t *self, uint32_t host, uint64_t now)
{
    tnd_opening_host_t *it = &self->hosts[host];
    if (it->opens && it->reports > 0 && !TND_BUG(PROGRESS_FORGOTTEN))
        self->begin_ns = now;
    it->opens = false;
}

void tnd_opening_drop(tnd_opening_t *self, uint32_t host)
{
    tnd_opening_host_t *it = &self->hosts[host];
    if (it->opens && it->reports > 0 && self->begin_ns < it->report_ns)
        self->begin_ns = it->report_ns;
    it->opens = false;
}

void tnd_opening_excuse(tnd_opening_t *self, uint64_t away_ns)
{
    self->begin_ns += away_ns;
    for (uint32_t i = 0; i < self->host_count; i++)
        self->hosts[i].report_ns += away_ns;
}

/*  When start_timeout is over; UINT64_MAX while a host reports progress. */
static uint64_t until_ns(const tnd_opening_t *self)
{
    for (uint32_t i = 0; i < self->host_count; i++)
        if (self->hosts[i].opens && self->hosts[i].reports > 0 && !TND_BUG(PROGRESS_FORGOTTEN))
            return UINT64_MAX;
    return self->begin_ns + self->start_timeout_ns;
}

static uint64_t patience_ns(const tnd_opening_t *self)
{
    return self->hung_after_ns + self->hung_after_ns / 2 + grace_ns;
}

/*  When a host stalls, and which is the first; UINT64_MAX: none opens its data. */
static uint64_t stall_ns(const tnd_opening_t *self, uint32_t *host_p)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < self->host_count && !TND_BUG(STALL_UNSEEN); i++)
        if (self->hosts[i].opens && self->hosts[i].report_ns + patience_ns(self) < first) {
            first = self->hosts[i].report_ns + patience_ns(self);
            *host_p = i;
        }
    return first;
}

static uint32_t silent_host(const tnd_opening_t *self)
{
    uint32_t host = 0;
    while (host < self->host_count && !(self->hosts[host].opens && self->hosts[host].reports == 0))
        host++;
    return host;
}

bool tnd_opening_is_late(const tnd_opening_t *self, bool all_here, uint64_t now, uint32_t *host_p,
                         bool *stalled_p)
{
    *stalled_p = now >= stall_ns(self, host_p);
    if (!*stalled_p)
        *host_p = all_here ? silent_host(self) : self->host_count;
    return *stalled_p || now >= until_ns(self);
}

uint64_t tnd_opening_deadline(const tnd_opening_t *self)
{
    uint32_t host;
    uint64_t until = until_ns(self), stall = stall_ns(self, &host);
    return until < stall ? until : stall;
}

uint64_t tnd_opening_time(const tnd_opening_t *self)
{
    uint64_t patience = patience_ns(self);
    return patience > self->start_timeout_ns ? patience : self->start_timeout_ns;
}
