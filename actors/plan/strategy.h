/*  actors/plan/strategy.h - what tf.distribute calls a placement of replicas.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_PLAN_STRATEGY_H
#define TND_ACTORS_PLAN_STRATEGY_H

#include "runtime/plan/placement.h"

typedef struct {
    const char *name; /* "MirroredStrategy"; NULL: it has none */
    uint32_t replicas, devices, hosts;
} tnd_strategy_t;

/*  That of the replicas of a chain, which trains: one replica; or several, which reduce what they post, on
 *  the devices of one host or of several; or those whose parameters an actor holds. */
tnd_strategy_t tnd_strategy_of(const tnd_plan_t *plan, uint32_t chain);

#endif
