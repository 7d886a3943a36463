/*  runtime/core/session/halt.c - the step before which all feeders stop, for a pause or a drain. */
#include "runtime/core/session/halt.h"

#include "runtime/base/bug_injection.h"

size_t tnd_halt_bytes(uint32_t member_count)
{
    return member_count * sizeof(tnd_halt_member_t);
}

void tnd_halt_init(tnd_halt_t *self, void *memory, uint32_t member_count)
{
    *self = (tnd_halt_t){.members = memory, .member_count = member_count, .step = TND_UNKNOWN};
}

void tnd_halt_add_feeder(tnd_halt_t *self, uint32_t member)
{
    self->members[member] = (tnd_halt_member_t){.is_feeder = true, .limit = TND_UNKNOWN};
}

void tnd_halt_ask(tnd_halt_t *self, bool ends)
{
    self->wanted = true;
    self->ends = ends;
    self->step = TND_UNKNOWN;
    self->number++;
}

void tnd_halt_at(tnd_halt_t *self, uint64_t step)
{
    self->wanted = true;
    self->step = step;
}

void tnd_halt_end(tnd_halt_t *self)
{
    self->wanted = false;
    self->step = TND_UNKNOWN;
}

bool tnd_halt_is_asking(const tnd_halt_t *self)
{
    return self->wanted && self->step == TND_UNKNOWN;
}

bool tnd_halt_take(tnd_halt_t *self, uint32_t member, const tnd_msg_t *msg, uint64_t least)
{
    uint64_t most = least;
    if (!tnd_halt_is_asking(self) || msg->halt.number != self->number)
        return false;
    self->members[member].answered = self->number;
    self->members[member].started = msg->halt.step;
    for (uint32_t i = 0; i < self->member_count; i++) {
        const tnd_halt_member_t *it = &self->members[i];
        if (it->is_feeder && it->answered != self->number)
            return false;
        most = it->is_feeder && it->started > most ? it->started : most;
    }
    self->step = most;
    return true;
}

void tnd_halt_repeat(tnd_halt_t *self, uint32_t member)
{
    tnd_halt_member_t *it = &self->members[member];
    it->asked = 0;
    if (self->number > 0)
        it->limit = 0;
}

bool tnd_halt_next(tnd_halt_t *self, uint32_t member, tnd_msg_t *msg)
{
    tnd_halt_member_t *it = &self->members[member];
    if (tnd_halt_is_asking(self)) {
        if (it->asked == self->number || it->answered == self->number)
            return false;
        it->asked = self->number;
        it->limit = 0;
        msg->kind = TND_MSG_HALT;
        msg->halt.number = self->number;
        msg->halt.ends = self->ends;
        return true;
    }
    uint64_t limit = self->wanted ? self->step : TND_UNKNOWN;
    if (self->number == 0 || it->limit == limit)
        return false;
    it->limit = limit;
    msg->kind = TND_MSG_LIMIT;
    msg->until.step = limit;
    if (TND_BUG(HALTED_WHERE_STARTED) && self->wanted)
        msg->until.step = it->started;
    return true;
}
