/*  tests/runtime/feed/futex_wait_test.c - waiting for a word that another thread writes. */
#include "runtime/feed/futex_wait.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>

typedef struct {
    _Atomic uint32_t looks;
    uint32_t until; /* polls */
} looked_t;

static bool enough(const void *context)
{
    looked_t *looked = (looked_t *)context;
    return atomic_fetch_add(&looked->looks, 1) + 1 >= looked->until;
}

Test(futex_wait, polling_ends_when_the_condition_holds)
{
    looked_t looked = {.until = 10};

    cr_assert(tnd_futex_spin(enough, &looked, UINT64_C(3600000000000)));

    cr_assert(eq(u32, looked.looks, 10));
}

Test(futex_wait, polling_ends_after_its_time)
{
    looked_t looked = {.until = UINT32_MAX};

    cr_assert(not(tnd_futex_spin(enough, &looked, 1000)));

    cr_assert(gt(u32, looked.looks, 0));
}

typedef struct {
    tnd_futex_t gate;
    _Atomic bool open;
} door_t;

static bool is_open(const void *context)
{
    return atomic_load(&((const door_t *)context)->open);
}

static void *wait_at(void *context)
{
    door_t *door = context;
    tnd_futex_wait(&door->gate, is_open, door, 0);
    return NULL;
}

Test(futex_wait, opening_releases_all_waiters)
{
    enum { WAITERS = 4, ROUNDS = 200 };
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t waiters[WAITERS];
        door_t door = {.open = false};
        for (int i = 0; i < WAITERS; i++)
            cr_assert(pthread_create(&waiters[i], NULL, wait_at, &door) == 0);
        atomic_store(&door.open, true);
        tnd_futex_open(&door.gate);
        for (int i = 0; i < WAITERS; i++)
            pthread_join(waiters[i], NULL);
    }
}
