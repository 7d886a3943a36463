/*  tests/support/cuda/guest.c - lends parts of this driver to another library of the tests. */
#include "tests/support/cuda/guest.h"

#include <stdatomic.h>

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/memory.h"

static _Atomic bool excused;

static void excuse(void)
{
    atomic_store(&excused, true);
}

bool hostile_is_excused(void)
{
    return atomic_load(&excused);
}

__attribute__((visibility("default"))) const hostile_guest_t *hostile_guest(void)
{
    static const hostile_guest_t guest = {
        .lock = hostile_lock,
        .unlock = hostile_unlock,
        .excuse = excuse,
        .current = hostile_current,
        .stream = hostile_stream,
        .put = hostile_stream_put,
        .memory_at = hostile_memory_at,
    };
    return &guest;
}
