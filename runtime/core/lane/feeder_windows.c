/*  runtime/core/lane/feeder_windows.c - the steps for which feeders have a slot. */
#include "runtime/core/lane/feeder_windows.h"

static uint32_t find(const tnd_feeder_windows_t *self, tnd_actor_id_t id)
{
    uint32_t at = 0;
    while (at < self->count && self->feeders[at].id != id)
        at++;
    return at;
}

void tnd_feeder_windows_init(tnd_feeder_windows_t *self, const tnd_actor_id_t *ids,
                             uint32_t replicas)
{
    for (uint32_t replica = 0; replica < replicas; replica++) {
        uint32_t at = find(self, ids[replica]);
        if (at == self->count)
            self->feeders[self->count++].id = ids[replica];
        self->of_replica[replica] = at;
    }
}

void tnd_feeder_windows_rewind(tnd_feeder_windows_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        self->feeders[i].sent = false, self->feeders[i].quiet = 0;
}

bool tnd_feeder_windows_reset(tnd_feeder_windows_t *self, tnd_actor_id_t id, tnd_life_t life)
{
    uint32_t at = find(self, id);
    if (at == self->count)
        return false;
    tnd_feeder_window_t *feeder = &self->feeders[at];
    feeder->up = life != 0;
    feeder->life = feeder->up ? life : feeder->life;
    feeder->until = feeder->quiet = 0;
    return feeder->sent;
}

void tnd_feeder_windows_heard(tnd_feeder_windows_t *self, const tnd_msg_t *msg)
{
    uint32_t at = find(self, msg->from);
    if (at < self->count && msg->until.step > self->feeders[at].until)
        self->feeders[at].until = msg->until.step;
}

bool tnd_feeder_windows_have(const tnd_feeder_windows_t *self, uint32_t replica, uint64_t step)
{
    const tnd_feeder_window_t *feeder = tnd_feeder_window_of(self, replica);
    return feeder->up && feeder->until > step;
}

bool tnd_feeder_windows_must_ask(const tnd_feeder_windows_t *self, uint32_t replica, uint64_t step)
{
    const tnd_feeder_window_t *feeder = tnd_feeder_window_of(self, replica);
    return feeder->up && feeder->until <= step && step >= feeder->quiet;
}

uint64_t tnd_feeder_windows_slots(const tnd_feeder_windows_t *self, uint64_t step)
{
    uint64_t least = TND_UNKNOWN;
    for (uint32_t i = 0; i < self->count; i++)
        if (self->feeders[i].up && self->feeders[i].until < least)
            least = self->feeders[i].until;
    return least != TND_UNKNOWN && least > step ? least - step : 0;
}
