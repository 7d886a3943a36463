/*  Covers runtime/interface/control_batch.h: which messages wait, for how long, and in which order. */
#include "runtime/interface/control_batch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static bool keep(tnd_control_batch_t *self, tnd_msg_kind_t kind, uint64_t step, uint64_t now)
{
    tnd_msg_t msg = {.kind = kind, .until.step = step};
    return tnd_control_batch_keep(self, &msg, TND_CARRY_NOTHING, now);
}

Test(control_batch, only_reports_of_work_can_wait)
{
    for (uint32_t kind = 0; kind < TND_MSG_KINDS; kind++) {
        tnd_msg_t msg = {.kind = (tnd_msg_kind_t)kind};
        bool wanted = kind == TND_MSG_PART || kind == TND_MSG_HELD || kind == TND_MSG_COMMIT;
        cr_assert(eq(int, tnd_control_batch_bear(&msg), wanted), "kind %u", kind);
    }
    tnd_msg_t last = {.kind = TND_MSG_COMMIT, .commit.cut = true};
    cr_assert_not(tnd_control_batch_bear(&last), "its program waits for the next epoch");
}

Test(control_batch, none_waits_longer_than_twenty_milliseconds_after_the_first)
{
    tnd_control_batch_t words = {.count = 0};
    cr_assert(eq(u64, tnd_control_batch_due(&words), TND_NEVER));

    cr_assert(keep(&words, TND_MSG_COMMIT, 1, 1000));
    cr_assert(keep(&words, TND_MSG_COMMIT, 2, 4000000));

    cr_assert(eq(u64, tnd_control_batch_due(&words), 20001000));
    words.count = 0;
    cr_assert(eq(u64, tnd_control_batch_due(&words), TND_NEVER));
}

Test(control_batch, a_later_held_replaces_an_earlier_one)
{
    tnd_control_batch_t words = {.count = 0};
    cr_assert(keep(&words, TND_MSG_HELD, 4, 0));
    cr_assert(keep(&words, TND_MSG_COMMIT, 3, 0));
    cr_assert(keep(&words, TND_MSG_HELD, 5, 0));

    cr_assert(eq(u32, words.count, 2));
    cr_assert(eq(u64, words.items[0].msg.until.step, 5));
    cr_assert(words.items[1].msg.kind == TND_MSG_COMMIT);
}

Test(control_batch, a_full_batch_refuses_messages)
{
    tnd_control_batch_t words = {.count = 0};
    cr_assert(keep(&words, TND_MSG_HELD, 0, 0));
    for (uint32_t i = 1; i < TND_CONTROL_BATCH_MAX; i++)
        cr_assert(keep(&words, TND_MSG_COMMIT, i, 0));

    cr_assert(not(keep(&words, TND_MSG_COMMIT, TND_CONTROL_BATCH_MAX, 0)));
    cr_assert(eq(u32, words.count, TND_CONTROL_BATCH_MAX));
    cr_assert(keep(&words, TND_MSG_HELD, 9, 0), "it has a place already");
}
