/*  runtime/core/host/wish.c - what a host wants of the run, and whether its leader was told. */
#include "runtime/core/host/wish.h"

bool tnd_wish_is_due(tnd_wish_t *self, bool wanted, bool reaches_leader)
{
    bool due = wanted && reaches_leader && !self->told;
    self->told = self->told || due;
    return due;
}

void tnd_wish_repeat(tnd_wish_t *self)
{
    self->told = false;
}
