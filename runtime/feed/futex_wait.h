/*  runtime/feed/futex_wait.h - where threads wait for a word that another thread writes.
 *
 *  A waiter looks at the word itself for a while, then sleeps.  A thread that changes such a word
 *  opens the gate afterwards, which costs one atomic addition while no thread sleeps.  Zeroed is
 *  ready for use.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_FEED_FUTEX_WAIT_H
#define TND_RUNTIME_FEED_FUTEX_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    _Atomic uint32_t turn;
    _Atomic uint32_t asleep; /* 1: a waiter may sleep, and none has been woken since */
} tnd_futex_t;

/*  Lets everybody look again. */
void tnd_futex_open(tnd_futex_t *self);

/*  Until `ready(context)`: asks for `spin_ns` without sleeping, then once each time the gate is
 *  opened. */
void tnd_futex_wait(tnd_futex_t *self, bool (*ready)(const void *context), const void *context,
                    uint64_t spin_ns);

/*  Asks `ready(context)` for `spin_ns` without a system call.  False: it is not, or another thread
 *  has run on this processor meanwhile. */
bool tnd_futex_spin(bool (*ready)(const void *context), const void *context, uint64_t spin_ns);

#endif
