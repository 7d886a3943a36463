/*  transport/zmq/unauthenticated.c - connections to a bound port without a valid HELLO. */
#include "transport/zmq/unauthenticated.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/zmq/monitor.h"

void tnd_unauthenticated_free(tnd_unauthenticated_t *self)
{
    free(self->visitors);
    *self = (tnd_unauthenticated_t){0};
}

void tnd_unauthenticated_came(tnd_unauthenticated_t *self, int fd, uint64_t now)
{
    if (self->count == self->room) {
        self->room = self->room == 0 ? 8 : 2 * self->room;
        self->visitors = tnd_resize(self->visitors, self->room, sizeof *self->visitors);
    }
    self->visitors[self->count++] = (tnd_visitor_t){.fd = fd, .since_ns = now};
}

/*  Keeps the order, so that the first without a HELLO is the oldest. */
void tnd_unauthenticated_left(tnd_unauthenticated_t *self, int fd)
{
    uint32_t at = 0;
    while (at < self->count && self->visitors[at].fd != fd)
        at++;
    if (at == self->count)
        return;
    self->count--;
    memmove(&self->visitors[at], &self->visitors[at + 1],
            (self->count - at) * sizeof *self->visitors);
}

void tnd_unauthenticated_set_known(tnd_unauthenticated_t *self, int fd, bool known, uint64_t now)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->visitors[i].fd == fd) {
            self->visitors[i].known = known;
            self->visitors[i].since_ns = now;
        }
}

uint32_t tnd_unauthenticated_dismiss(tnd_unauthenticated_t *self, uint64_t now, uint64_t *next_ns)
{
    uint32_t unknown = 0, refused = 0;
    for (uint32_t i = 0; i < self->count; i++)
        unknown += !self->visitors[i].known;
    for (uint32_t i = 0; i < self->count && unknown > 0; i++) {
        tnd_visitor_t *visitor = &self->visitors[i];
        if (visitor->known)
            continue;
        uint64_t late_ns = visitor->since_ns + TND_UNAUTHENTICATED_MS * 1000000ull;
        bool crowded = unknown > TND_UNAUTHENTICATED_MAX + self->expected;
        if (crowded || now >= late_ns) {
            tnd_monitor_cut(visitor->fd);
            visitor->known = true; /* dealt with: its end will be said */
            refused += crowded;
        } else if (late_ns < *next_ns) {
            *next_ns = late_ns;
        }
        unknown--;
    }
    return refused;
}

void tnd_unauthenticated_cut(tnd_unauthenticated_t *self, int fd)
{
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_visitor_t *visitor = &self->visitors[i];
        if (!visitor->known && (fd < 0 || visitor->fd == fd)) {
            tnd_monitor_cut(visitor->fd);
            visitor->known = true; /* dealt with: its end will be said */
        }
    }
}

bool tnd_unauthenticated_was_refused(const tnd_unauthenticated_t *self, uint64_t hash)
{
    for (uint32_t i = 0; i < TND_UNAUTHENTICATED_MAX && i < self->turned_away_count; i++)
        if (self->turned_away[i] == hash)
            return true;
    return false;
}

void tnd_unauthenticated_refuse(tnd_unauthenticated_t *self, uint64_t hash)
{
    self->turned_away[self->turned_away_count++ % TND_UNAUTHENTICATED_MAX] = hash;
}
