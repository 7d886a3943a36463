/*  runtime/feed/futex_wait.c - waits for a word that another thread writes. */
#include "runtime/feed/futex_wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"

/*  Polls between two reads of the clock. */
enum { LOOKS = 64 };

/*  So many polls take longer than this only if the thread was interrupted. */
static const uint64_t interrupted_ns = 20000;

/* A spurious wake-up, or no sleep at all, is not an error here. */
void tnd_futex_sleep(_Atomic uint32_t *word, uint32_t value, int wait_ms)
{
    struct timespec span = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, wait_ms < 0 ? NULL : &span);
}

void tnd_futex_notify(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void tnd_futex_open(tnd_futex_t *self)
{
    /* Either a sleeper's mark is seen here, or it sees the change that was made before. */
    if (atomic_fetch_add(&self->asleep, 0) == 0 || atomic_exchange(&self->asleep, 0) == 0)
        return;
    atomic_fetch_add(&self->turn, 1);
    tnd_futex_notify(&self->turn);
}

static bool spin(bool (*ready)(const void *), const void *context, uint64_t spin_ns)
{
    uint64_t until = tnd_clock_now() + spin_ns;
    do {
        for (int look = 0; look < LOOKS; look++) {
            if (ready(context))
                return true;
            relax();
        }
        /* The thread that is waited for may need this processor. */
        sched_yield();
    } while (tnd_clock_now() < until);
    return false;
}

bool tnd_futex_spin(bool (*ready)(const void *), const void *context, uint64_t spin_ns)
{
    uint64_t now = tnd_clock_now(), until = now + spin_ns, before;
    do {
        for (int look = 0; look < LOOKS; look++) {
            if (ready(context))
                return true;
            relax();
        }
        before = now;
        now = tnd_clock_now();
    } while (now < until && now - before < interrupted_ns);
    return false;
}

void tnd_futex_wait(tnd_futex_t *self, bool (*ready)(const void *), const void *context,
                    uint64_t spin_ns)
{
    if (ready(context) || (spin_ns > 0 && spin(ready, context, spin_ns)))
        return;
    for (;;) {
        uint32_t turn = atomic_load(&self->turn);
        atomic_store(&self->asleep, 1);
        if (ready(context))
            return;
        tnd_futex_sleep(&self->turn, turn, -1);
        if (ready(context))
            return;
    }
}
