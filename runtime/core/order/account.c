/*  runtime/core/order/account.c - bytes promised and bytes used against one budget.  */
#include "runtime/core/order/account.h"

#include <assert.h>

void tnd_account_init(tnd_account_t *self, uint64_t budget)
{
    *self = (tnd_account_t){.budget = budget};
}

bool tnd_account_reserve(tnd_account_t *self, uint64_t bytes)
{
    if (bytes > self->budget - self->used)
        return false;
    self->used += bytes;
    if (self->used > self->peak)
        self->peak = self->used;
    return true;
}

void tnd_account_shrink(tnd_account_t *self, uint64_t from, uint64_t to)
{
    assert(from >= to);
    tnd_account_release(self, from - to);
}

void tnd_account_release(tnd_account_t *self, uint64_t bytes)
{
    assert(bytes <= self->used);
    self->used -= bytes;
}
