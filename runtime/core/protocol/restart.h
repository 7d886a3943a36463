/*  runtime/core/protocol/restart.h - how often and how soon an actor is restarted.
 *
 *  The back-off doubles with every death from `first_ns` to `most_ns`.  It starts anew after a life
 *  of `most_ns`, because such an actor did not die of its start.  More than `max` deaths without a
 *  life of `calm_ns` between them exceed the limit.
 *
 *  Threads: any; a plain value. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_RESTART_H
#define TND_RUNTIME_CORE_PROTOCOL_RESTART_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t max;
    uint64_t first_ns, most_ns, calm_ns;
} tnd_limits_t;

typedef struct {
    uint32_t deaths;      /* since the last calm life */
    uint32_t short_lives; /* in a row, shorter than `most_ns` */
    uint64_t born_ns;
} tnd_restart_policy_t;

void tnd_restart_policy_born(tnd_restart_policy_t *self, uint64_t now);
/*  The actor died: returns false if that exceeds the limit, else stores when to restart it. */
bool tnd_restart_policy_died(tnd_restart_policy_t *self, const tnd_limits_t *limits, uint64_t now,
                             uint64_t *again_ns_p);

#endif
