/*  Covers runtime/core/device/device_slots.h: what waits for copies, for events and for readers. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/core/device/device_slots.h"

static const tnd_device_slots_t counts = {
    .ready = 9, .copying = 8, .copied = 7, .put = 6, .finished = 5};

Test(device_slots, a_step_is_copied_once_it_is_ready_and_starts_once_it_is_copied)
{
    cr_assert(eq(u64, tnd_device_slots_to_copy(&counts), 9));
    cr_assert(eq(u64, tnd_device_slots_to_start(&counts), 7));
}

Test(device_slots, a_step_is_committed_when_its_device_has_done_it)
{
    cr_assert(eq(u64, tnd_device_slots_to_commit(&counts, false), 5));
}

Test(device_slots, a_discarded_step_is_over_when_it_is_copied)
{
    cr_assert(eq(u64, tnd_device_slots_to_commit(&counts, true), 7));
}

Test(device_slots, memory_that_a_program_reads_is_not_filled_again)
{
    cr_assert(eq(int, tnd_device_slots_refill(false, 0, 0), TND_REFILL_SAME));
    cr_assert(eq(int, tnd_device_slots_refill(true, 1, 1), TND_REFILL_SPARE));
    cr_assert(eq(int, tnd_device_slots_refill(true, 0, 1), TND_REFILL_NEW));
    cr_assert(eq(int, tnd_device_slots_refill(true, 0, 0), TND_REFILL_NONE));
}
