/*  runtime/core/host/leader_presence.c - whether the leader is there, as a host sees it. */
#include "runtime/core/host/leader_presence.h"

#include "runtime/base/bug_injection.h"
#include "runtime/core/protocol/effect.h"

/*  Longer than a leader waits before it ends a run that fails (settle_ns of leader.h). */
static const uint64_t answer_ns = 4000000000;

void tnd_leader_presence_begin(tnd_leader_presence_t *self, bool leads, uint64_t start_timeout_ns,
                               uint64_t now)
{
    *self = (tnd_leader_presence_t){.leads = leads,
                                    .join_until_ns = leads ? 0 : now + start_timeout_ns};
}

void tnd_leader_presence_met(tnd_leader_presence_t *self, uint64_t within_ns)
{
    self->met_ns = self->leads ? 0 : within_ns;
}

void tnd_leader_presence_up(tnd_leader_presence_t *self, uint64_t now)
{
    self->up = self->came = true;
    self->join_until_ns = self->refused_ns = 0;
    tnd_absence_end(&self->absence, now);
}

void tnd_leader_presence_away(tnd_leader_presence_t *self, const tnd_absence_limits_t *limits,
                              tnd_loss_t loss, uint64_t now)
{
    self->up = false;
    tnd_absence_begin(&self->absence, limits, loss, now);
}

void tnd_leader_presence_excuse(tnd_leader_presence_t *self, uint64_t away_ns, uint64_t now)
{
    if (TND_BUG(HOST_IN_A_HURRY))
        return;
    if (self->join_until_ns != 0)
        self->join_until_ns += away_ns;
    if (self->refused_ns != 0)
        self->refused_ns += away_ns;
    tnd_absence_excuse(&self->absence, away_ns, now);
}

bool tnd_leader_presence_reaches(const tnd_leader_presence_t *self)
{
    return self->leads || self->up;
}

bool tnd_leader_presence_hears(const tnd_leader_presence_t *self,
                               const tnd_absence_limits_t *limits, uint64_t failed_ns, uint64_t now)
{
    return tnd_leader_presence_reaches(self) || now >= failed_ns + limits->grace_ns;
}

/*  Since when nothing has listened at the address of a leader that is expected. */
static void note_refusal(tnd_leader_presence_t *self, bool refused, uint64_t now)
{
    if (self->met_ns == 0 || self->came || !refused)
        self->refused_ns = 0;
    else if (self->refused_ns == 0)
        self->refused_ns = now;
}

bool tnd_leader_presence_has_ended(const tnd_leader_presence_t *self, uint64_t now)
{
    return self->refused_ns != 0 && now >= self->refused_ns + self->met_ns;
}

bool tnd_leader_presence_answers(const tnd_leader_presence_t *self, uint64_t told_ns, uint64_t now)
{
    return self->leads || (self->up && now < told_ns + answer_ns);
}

bool tnd_leader_presence_is_over(tnd_leader_presence_t *self, bool refused, uint64_t now)
{
    tnd_fate_t fate = refused ? TND_FATE_DEAD : TND_FATE_UNKNOWN;
    note_refusal(self, refused, now);
    return (self->join_until_ns != 0 && now >= self->join_until_ns) ||
           tnd_leader_presence_has_ended(self, now) ||
           tnd_absence_is_over(&self->absence, fate, true, now);
}

uint64_t tnd_leader_presence_deadline(const tnd_leader_presence_t *self, uint64_t now)
{
    if (self->join_until_ns == 0)
        return tnd_absence_deadline(&self->absence, now);
    uint64_t ended_ns = self->refused_ns != 0 ? self->refused_ns + self->met_ns : TND_NEVER;
    return ended_ns < self->join_until_ns ? ended_ns : self->join_until_ns;
}

tnd_leave_t tnd_leader_presence_leave(const tnd_leader_presence_t *self)
{
    if (self->leads)
        return TND_LEAVE_END_RUN;
    if (self->up)
        return TND_LEAVE_TELL;
    return self->came ? TND_LEAVE_AS_LOST : TND_LEAVE_UNNOTICED;
}
