/*  runtime/core/session/halt.c - the step before which all feeders stop: for a pause, a drain or a rest. */
#include "runtime/core/session/halt.h"

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

size_t tnd_halt_bytes(uint32_t member_count)
{
    return member_count * sizeof(tnd_halt_member_t);
}

void tnd_halt_init(tnd_halt_t *self, void *memory, uint32_t member_count)
{
    *self = (tnd_halt_t){.members = memory,
                         .member_count = member_count,
                         .step = TND_UNKNOWN,
                         .rest_step = TND_UNKNOWN,
                         .rest_epoch = TND_ENDLESS};
}

void tnd_halt_add_feeder(tnd_halt_t *self, uint32_t member)
{
    self->members[member] =
        (tnd_halt_member_t){.is_feeder = true, .limit = TND_UNKNOWN, .epoch = TND_ENDLESS};
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

void tnd_halt_rest(tnd_halt_t *self, uint64_t step, uint32_t epoch)
{
    self->rest_step = step;
    self->rest_epoch = epoch;
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
    if (self->number > 0 || self->rest_step != TND_UNKNOWN || self->rest_epoch != TND_ENDLESS)
        it->limit = 0;
}

static bool next_limit(tnd_halt_t *self, tnd_halt_member_t *it, tnd_msg_t *msg)
{
    uint64_t limit = self->wanted ? tnd_least(self->step, self->rest_step) : self->rest_step;
    if (it->limit == limit && it->epoch == self->rest_epoch)
        return false;
    it->limit = limit;
    it->epoch = self->rest_epoch;
    msg->kind = TND_MSG_LIMIT;
    msg->limit.step = limit;
    msg->limit.epoch = self->rest_epoch;
    if (TND_BUG(HALTED_WHERE_STARTED) && self->wanted)
        msg->limit.step = it->started;
    return true;
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
    return next_limit(self, it, msg);
}
