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
static struct sigaction former[COUNT];

static void handle(int number)
{
    void *context = atomic_load(&context_of);
    if (getpid() != owner) {
        signal(number, SIG_DFL);
        raise(number);
    } else if (context != NULL) {
        drain_of(context);
    }
}

bool tnd_drain_signals_begin(void (*drain)(void *context), void *context)
{
    void *other = atomic_load(&context_of);
    if (other != NULL && getpid() == owner)
        return other == context;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    owner = getpid();
    drain_of = drain;
    atomic_store(&context_of, context);
    for (size_t i = 0; i < COUNT; i++)
        sigaction(numbers[i], &action, &former[i]);
    return true;
}

void tnd_drain_signals_end(const void *context)
{
    if (atomic_load(&context_of) != context)
        return;
    for (size_t i = 0; i < COUNT; i++)
        sigaction(numbers[i], &former[i], NULL);
    atomic_store(&context_of, NULL);
}
