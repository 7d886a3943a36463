/*  runtime/core/protocol/absence.c - how long a process may lack control before it counts as lost. */
#include "runtime/core/protocol/absence.h"

#include "runtime/base/bug_injection.h"
#include "runtime/core/protocol/effect.h"

/*  How long the peer had been silent before, as far as that counts. */
static uint64_t silence_before(const tnd_absence_limits_t *limits, tnd_loss_t loss)
{
    uint64_t most = limits->dead_after_ns / 2;
    if (loss != TND_LOSS_SILENT)
        return 0;
    return limits->silence_ns < most ? limits->silence_ns : most;
}

void tnd_absence_begin(tnd_absence_t *self, const tnd_absence_limits_t *limits, tnd_loss_t loss,
                       uint64_t now)
{
    uint64_t most = limits->dead_after_ns;
    bool goes_on = self->ended_ns != 0 && now - self->ended_ns < limits->grace_ns;
    uint64_t since = goes_on ? self->since_ns : now, grace = limits->grace_ns + (now - since) / 2;
    *self = (tnd_absence_t){
        .loss = loss,
        .since_ns = since,
        .grace_until_ns = now + (grace < most ? grace : most),
        .until_ns = now + most - silence_before(limits, loss),
    };
}

void tnd_absence_end(tnd_absence_t *self, uint64_t now)
{
    if (self->until_ns != 0)
        *self = (tnd_absence_t){.since_ns = self->since_ns, .ended_ns = now};
}

void tnd_absence_excuse(tnd_absence_t *self, uint64_t away_ns, uint64_t now)
{
    if (self->until_ns == 0) {
        *self = (tnd_absence_t){.since_ns = now - away_ns, .ended_ns = now};
        return;
    }
    self->grace_until_ns += away_ns;
    self->until_ns += away_ns;
}

bool tnd_absence_is_over(const tnd_absence_t *self, tnd_fate_t fate, bool ends_run, uint64_t now)
{
    if (self->until_ns == 0)
        return false;
    bool presumed = fate == TND_FATE_UNKNOWN && (!ends_run || TND_BUG(ENDED_IS_DEAD));
    bool died = self->loss == TND_LOSS_ENDED && (fate == TND_FATE_DEAD || presumed);
    died = died || TND_BUG(LOST_IS_DEAD);
    return now >= (died ? self->grace_until_ns : self->until_ns);
}

uint64_t tnd_absence_deadline(const tnd_absence_t *self, uint64_t now)
{
    if (self->until_ns == 0)
        return TND_NEVER;
    bool soon = self->loss == TND_LOSS_ENDED && now < self->grace_until_ns;
    return soon ? self->grace_until_ns : self->until_ns;
}
