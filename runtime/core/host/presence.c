/*  runtime/core/host/presence.c - whether a host is there, as the leader knows it. */
#include "runtime/core/host/presence.h"

#include "runtime/base/bug_injection.h"

tnd_host_entry_t tnd_host_presence_up(tnd_host_presence_t *self, tnd_life_t life, bool counts,
                                      uint64_t now)
{
    bool joins = self->life == 0 || self->left;
    self->up = true;
    self->lost_ns = self->reserved_until_ns = 0;
    tnd_absence_end(&self->absence, now);
    if (life == self->life && !TND_BUG(HOST_COUNTED_TWICE))
        return TND_HOST_RETURNS;
    self->life = life;
    self->left = false;
    self->restarts += !joins && counts;
    return joins ? TND_HOST_JOINS : TND_HOST_REPLACES;
}

bool tnd_host_presence_away(tnd_host_presence_t *self, const tnd_absence_limits_t *limits,
                            tnd_loss_t loss, uint64_t now)
{
    self->up = false;
    if (self->left)
        return false;
    self->replaced = loss == TND_LOSS_REPLACED;
    tnd_absence_begin(&self->absence, limits, loss, now);
    return true;
}

void tnd_host_presence_leave(tnd_host_presence_t *self)
{
    self->left = true;
}

bool tnd_host_presence_is_over(const tnd_host_presence_t *self, tnd_fate_t fate, bool ends_run,
                               uint64_t now)
{
    return tnd_absence_is_over(&self->absence, fate, ends_run, now);
}

void tnd_host_presence_lose(tnd_host_presence_t *self, uint64_t now)
{
    self->absence = (tnd_absence_t){0};
    self->lost_ns = now;
}

void tnd_host_presence_excuse(tnd_host_presence_t *self, uint64_t away_ns, uint64_t now)
{
    tnd_absence_excuse(&self->absence, away_ns, now);
}

uint64_t tnd_host_presence_deadline(const tnd_host_presence_t *self, uint64_t now)
{
    return tnd_absence_deadline(&self->absence, now);
}

bool tnd_host_presence_is_expected(const tnd_host_presence_t *self)
{
    return self->up || self->absence.until_ns != 0;
}

bool tnd_host_presence_is_free(const tnd_host_presence_t *self, uint64_t restart_timeout_ns,
                               uint64_t now)
{
    if (self->up || now < self->reserved_until_ns)
        return false;
    bool lost = self->lost_ns != 0 && now - self->lost_ns >= restart_timeout_ns;
    return self->life == 0 || self->left || lost;
}
