/*  runtime/core/lane/feeder_windows.h - the feeders that a lane sends slices to, and the steps for which
 *  they have a slot.
 *
 *  A feeder reports its slots unasked, unless the join has sent it nothing for TND_WINDOW_QUIET steps.
 *
 *  Threads: one.  The caller provides the memory. */
#ifndef TND_RUNTIME_CORE_LANE_FEEDER_WINDOWS_H
#define TND_RUNTIME_CORE_LANE_FEEDER_WINDOWS_H

#include "runtime/core/protocol/effect.h"

typedef struct {
    tnd_actor_id_t id;
    uint64_t until; /* steps below have a slot */
    bool up;
    tnd_life_t life; /* that it is connected in, or was last; 0: never */
    bool sent;       /* slices of this generation */
    uint64_t quiet;  /* it reports its slots unasked until so many steps are committed */
} tnd_feeder_window_t;

typedef struct {
    tnd_feeder_window_t *feeders; /* room for one per replica, zeroed */
    uint32_t count;
    uint32_t *of_replica; /* the place of its feeder */
} tnd_feeder_windows_t;

/*  The memory is set.  `ids`: of the feeders, by replica. */
void tnd_feeder_windows_init(tnd_feeder_windows_t *self, const tnd_actor_id_t *ids,
                             uint32_t replicas);
void tnd_feeder_windows_rewind(tnd_feeder_windows_t *self);
/*  The feeder connects in that life, or its connection was lost (0); returns whether slices of this
 *  generation were sent on the one before. */
bool tnd_feeder_windows_reset(tnd_feeder_windows_t *self, tnd_actor_id_t id, tnd_life_t life);
/*  WINDOW of a feeder. */
void tnd_feeder_windows_heard(tnd_feeder_windows_t *self, const tnd_msg_t *msg);

static inline tnd_feeder_window_t *tnd_feeder_window_of(const tnd_feeder_windows_t *self,
                                                        uint32_t replica)
{
    return &self->feeders[self->of_replica[replica]];
}
/*  Whether the feeder of a replica has a slot for `step`; whether it would not say so unasked. */
bool tnd_feeder_windows_have(const tnd_feeder_windows_t *self, uint32_t replica, uint64_t step);
bool tnd_feeder_windows_must_ask(const tnd_feeder_windows_t *self, uint32_t replica, uint64_t step);
/*  Steps from `step` on for which every connected feeder has a slot. */
uint64_t tnd_feeder_windows_slots(const tnd_feeder_windows_t *self, uint64_t step);

#endif
