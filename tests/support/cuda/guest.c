/*  tests/support/cuda/guest.c - lends parts of this driver to another library of the tests. */
#include "tests/support/cuda/guest.h"

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/memory.h"

__attribute__((visibility("default"))) const hostile_guest_t *hostile_guest(void)
{
    static const hostile_guest_t guest = {
        .lock = hostile_lock,
        .unlock = hostile_unlock,
        .current = hostile_current,
        .stream = hostile_stream,
        .put = hostile_stream_put,
        .memory_at = hostile_memory_at,
    };
    return &guest;
}
