/*  runtime/core/host/wish.h - what a host wants of the run, and whether its leader was told.
 *
 *  A message may be lost with its connection, so the leader is told once by each.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_HOST_WISH_H
#define TND_RUNTIME_CORE_HOST_WISH_H

#include <stdbool.h>

/*  Zeroed: the leader was not told. */
typedef struct {
    bool told;
} tnd_wish_t;

/*  Whether the leader is to be told now, which then counts as done. */
bool tnd_wish_is_due(tnd_wish_t *self, bool wanted, bool reaches_leader);
/*  The host has another connection to its leader. */
void tnd_wish_repeat(tnd_wish_t *self);

#endif
