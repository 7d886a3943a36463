/*  runtime/feed/futex_wait.h - waits for a word that another thread writes.
 *
 *  A waiter polls the word for a while, then sleeps.  A thread that changes the word then opens the
 *  gate, which costs one atomic addition while no thread sleeps.  A zeroed gate is ready for use.
 *
 *  Threads: any; tnd_futex_notify is signal-safe. */
#ifndef TND_RUNTIME_FEED_FUTEX_WAIT_H
#define TND_RUNTIME_FEED_FUTEX_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    _Atomic uint32_t turn;
    _Atomic uint32_t asleep; /* 1: a waiter may sleep, and none has been woken since */
} tnd_futex_t;

/*  Lets all waiters check again. */
void tnd_futex_open(tnd_futex_t *self);

/*  Waits until `ready(context)`: polls for `spin_ns`, then sleeps and checks each time the gate is
 *  opened. */
void tnd_futex_wait(tnd_futex_t *self, bool (*ready)(const void *context), const void *context,
                    uint64_t spin_ns);

/*  Polls `ready(context)` for `spin_ns` without a system call.  Returns false if it is still not
 *  ready, or another thread has run on this processor meanwhile. */
bool tnd_futex_spin(bool (*ready)(const void *context), const void *context, uint64_t spin_ns);

/*  Without a gate: sleeps if the word has this value, until tnd_futex_notify, for at most `wait_ms`
 *  (-1: without limit).  May return earlier, so callers look at the word again. */
void tnd_futex_sleep(_Atomic uint32_t *word, uint32_t value, int wait_ms);
/*  Wakes all threads that sleep at a word, which the caller has changed. */
void tnd_futex_notify(_Atomic uint32_t *word);

#endif
