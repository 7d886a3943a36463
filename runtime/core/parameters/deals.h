/*  runtime/core/parameters/deals.h - what a join knows of the steps that a holder deals.
 *
 *  The holder (holder.h) says of each step, in step order, which life of which replica gets its rows, or
 *  that none does; after a rewind it says so again.  The word of the leader that begins a generation and
 *  those of the holder come by different ways, in any order.
 *
 *  Threads: one.  The caller provides the memory. */
#ifndef TND_RUNTIME_CORE_PARAMETERS_DEALS_H
#define TND_RUNTIME_CORE_PARAMETERS_DEALS_H

#include <stdbool.h>

#include "runtime/core/protocol/role.h"

typedef struct {
    uint64_t step;
    uint32_t generation, replica; /* replica: TND_NOBODY: none gets it */
    tnd_life_t life;
} tnd_deal_t;

typedef struct {
    uint32_t generation; /* of the last rewind */
    uint32_t window;     /* as of the holder */
    tnd_deal_t *deals;   /* by step % window */
} tnd_deals_t;

/*  What to do with the rows of a step. */
typedef enum {
    TND_DEALS_WAIT, /* the replica is not connected */
    TND_DEALS_SEND,
    TND_DEALS_PASS /* book them and send them to none: it has them, or its life is over */
} tnd_deals_verdict_t;

/*  `deals` has room for `window` of them and is zeroed. */
static inline void tnd_deals_init(tnd_deals_t *self, tnd_deal_t *deals, uint32_t window)
{
    *self = (tnd_deals_t){.window = window, .deals = deals};
}

static inline void tnd_deals_rewind(tnd_deals_t *self, uint32_t generation)
{
    self->generation = generation;
}

/*  A word of the holder; one of an older generation than that of the last rewind is ignored. */
void tnd_deals_heard(tnd_deals_t *self, const tnd_deal_t *deal);
/*  Whether the holder has dealt the step in this generation; *deal says which replica gets it.  If the
 *  holder has dealt a step of a later window, this one is booked, and no replica gets it. */
bool tnd_deals_find(const tnd_deals_t *self, uint64_t step, tnd_deal_t *deal);
/*  `peer`: the life of its replica that this join is connected to, or was last; 0: there was none.  `up`:
 *  whether it is connected. */
tnd_deals_verdict_t tnd_deals_verdict(const tnd_deal_t *deal, tnd_life_t peer, bool up);

#endif
