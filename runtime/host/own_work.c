/*  runtime/host/own_work.c - the actor whose thread this is, for work that takes long in several parts. */
#include "runtime/host/own_work.h"

#include "runtime/base/clock.h"

static _Thread_local tnd_statistics_t *own;

void tnd_own_work_of(tnd_statistics_t *page)
{
    own = page;
}

void tnd_own_work_renew(void)
{
    if (own != NULL)
        tnd_statistics_renew(own, tnd_clock_now());
}
