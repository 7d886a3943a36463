/*  runtime/core/parameters/deals.c - what a join knows of the steps that a holder deals. */
#include "runtime/core/parameters/deals.h"

void tnd_deals_heard(tnd_deals_t *self, const tnd_deal_t *deal)
{
    if (deal->generation >= self->generation)
        self->deals[deal->step % self->window] = *deal;
}

bool tnd_deals_find(const tnd_deals_t *self, uint64_t step, tnd_deal_t *deal)
{
    *deal = self->deals[step % self->window];
    if (self->generation == 0 || deal->generation != self->generation || deal->step < step)
        return false;
    if (deal->step > step)
        *deal = (tnd_deal_t){.step = step, .generation = self->generation, .replica = TND_NOBODY};
    return true;
}

tnd_deals_verdict_t tnd_deals_verdict(const tnd_deal_t *deal, tnd_life_t peer, bool up)
{
    if (deal->replica == TND_NOBODY || peer > deal->life)
        return TND_DEALS_PASS;
    return up && peer == deal->life ? TND_DEALS_SEND : TND_DEALS_WAIT;
}
