/*  runtime/core/protocol/restart.c - how often and how soon an actor is restarted. */
#include "runtime/core/protocol/restart.h"

#include <assert.h>

void tnd_restart_policy_born(tnd_restart_policy_t *self, uint64_t now)
{
    self->born_ns = now;
}

bool tnd_restart_policy_died(tnd_restart_policy_t *self, const tnd_limits_t *limits, uint64_t now,
                             uint64_t *again_ns_p)
{
    assert(now >= self->born_ns && limits->first_ns <= limits->most_ns);
    uint64_t lived = now - self->born_ns;
    if (lived >= limits->calm_ns)
        self->deaths = 0;
    if (lived >= limits->most_ns)
        self->short_lives = 0;
    if (self->deaths >= limits->max)
        return false;
    uint64_t wait = limits->first_ns;
    for (uint32_t i = 0; i < self->short_lives && wait < limits->most_ns; i++)
        wait = wait > limits->most_ns / 2 ? limits->most_ns : 2 * wait;
    self->deaths++;
    self->short_lives++;
    *again_ns_p = now + wait;
    return true;
}
