/*  runtime/base/drain_signals.c - calls a function when a launcher sends a signal. */
#include "runtime/base/drain_signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static const int numbers[] = {SIGTERM, SIGUSR1, SIGUSR2};

enum { COUNT = sizeof numbers / sizeof numbers[0] };

/*  `drain_of` is written before `context_of`, and read after it. */
static _Atomic(void *) context_of;
static void (*drain_of)(void *context);
static pid_t owner;
static bool are_set;
static struct sigaction former[COUNT];
static volatile sig_atomic_t has_come;

static void handle(int number)
{
    void *context = atomic_load(&context_of);
    if (getpid() != owner) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    has_come = 1;
    if (context != NULL)
        drain_of(context);
}

static void set_handlers(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    if (are_set && owner == getpid())
        return;
    owner = getpid();
    are_set = true;
    has_come = 0;
    for (size_t i = 0; i < COUNT; i++)
        sigaction(numbers[i], &action, &former[i]);
}

bool tnd_drain_signals_expect(void)
{
    if (atomic_load(&context_of) != NULL && getpid() == owner)
        return false;
    atomic_store(&context_of, NULL);
    set_handlers();
    return true;
}

bool tnd_drain_signals_are_expected(void)
{
    return are_set && owner == getpid() && atomic_load(&context_of) == NULL;
}

bool tnd_drain_signals_came(void)
{
    return are_set && owner == getpid() && has_come != 0;
}

bool tnd_drain_signals_begin(void (*drain)(void *context), void *context)
{
    void *other = atomic_load(&context_of);
    if (other != NULL && getpid() == owner)
        return other == context;
    drain_of = drain;
    atomic_store(&context_of, context);
    set_handlers();
    if (has_come) /* before, or just now: twice is as once */
        drain(context);
    return true;
}

void tnd_drain_signals_end(const void *context)
{
    if (atomic_load(&context_of) != context)
        return;
    for (size_t i = 0; i < COUNT; i++)
        sigaction(numbers[i], &former[i], NULL);
    are_set = false;
    atomic_store(&context_of, NULL);
}
