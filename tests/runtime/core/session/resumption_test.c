/*  Covers runtime/core/session/resumption.h: whether a run that has lost a host starts again. */
#include "runtime/core/session/resumption.h"

#include <criterion/criterion.h>

static tnd_resumption_verdict_t decide(tnd_resumption_t run, tnd_resumption_end_t end)
{
    return tnd_resumption_decide(&run, &end);
}

static const tnd_resumption_end_t lost = {.cause = TND_RESUMPTION_LOST};
static const tnd_resumption_end_t saved = {.cause = TND_RESUMPTION_LOST, .saved = true};
static const tnd_resumption_end_t absent = {.cause = TND_RESUMPTION_ABSENT};
static const tnd_resumption_end_t asked = {.cause = TND_RESUMPTION_ASKED};

Test(resumption, without_the_option_every_loss_ends_the_run)
{
    tnd_resumption_t run = {.max = 0};
    cr_expect_eq(decide(run, lost), TND_RESUMPTION_ENDS);
    cr_expect_eq(decide(run, saved), TND_RESUMPTION_ENDS);
    cr_expect_eq(decide(run, asked), TND_RESUMPTION_ENDS);
}

Test(resumption, so_many_losses_without_a_checkpoint_between_and_no_more)
{
    tnd_resumption_t run = {.max = 2};
    for (uint32_t start = 0; start < 2; start++) {
        cr_expect_eq(decide(run, lost), TND_RESUMPTION_AGAIN);
        run = tnd_resumption_next(&run, &lost);
        cr_expect_eq(run.max, 2);
        cr_expect_eq(run.number, start + 1);
        cr_expect_eq(run.losses, start + 1);
    }
    cr_expect_eq(decide(run, lost), TND_RESUMPTION_ENDS_OFTEN);
    cr_expect_eq(decide(run, absent), TND_RESUMPTION_ENDS_OFTEN);
    cr_expect_eq(decide(run, saved), TND_RESUMPTION_AGAIN);
    run = tnd_resumption_next(&run, &saved);
    cr_expect_eq(run.losses, 1);
    cr_expect_eq(run.number, 3);
}

Test(resumption, before_the_begin_it_can_do_without_so_many_hosts)
{
    static const tnd_resumption_end_t early = {.cause = TND_RESUMPTION_LOST, .unbegun = true};
    tnd_resumption_t run = {.max = 0, .spares = 2};
    for (uint32_t i = 0; i < 2; i++) {
        cr_expect_eq(decide(run, lost), TND_RESUMPTION_ENDS, "it has begun");
        cr_expect_eq(decide(run, early), TND_RESUMPTION_AGAIN);
        run = tnd_resumption_next(&run, &early);
    }
    cr_expect_eq(decide(run, early), TND_RESUMPTION_ENDS);
    run = (tnd_resumption_t){.max = 0, .spares = 2};
    cr_expect_eq(
        decide(run, (tnd_resumption_end_t){.cause = TND_RESUMPTION_ASKED, .unbegun = true}),
        TND_RESUMPTION_ENDS);
    run = (tnd_resumption_t){.max = 3, .losses = 2, .spares = 1};
    cr_expect_eq(decide(run, early), TND_RESUMPTION_AGAIN, "the larger of both");
}

Test(resumption, a_host_that_never_came_ends_the_first_start_alone)
{
    tnd_resumption_t run = {.max = 2};
    cr_expect_eq(decide(run, absent), TND_RESUMPTION_ENDS);
    run = tnd_resumption_next(&run, &lost);
    cr_expect_eq(decide(run, absent), TND_RESUMPTION_AGAIN);
}

Test(resumption, a_run_that_drains_ends)
{
    tnd_resumption_t run = {.max = 2};
    for (int cause = TND_RESUMPTION_LOST; cause <= TND_RESUMPTION_ASKED; cause++)
        cr_expect_eq(decide(run, (tnd_resumption_end_t){.cause = (tnd_resumption_cause_t)cause,
                                                        .saved = true,
                                                        .drains = true}),
                     TND_RESUMPTION_ENDS);
}

Test(resumption, what_a_user_asks_for_does_not_count)
{
    tnd_resumption_t run = {.max = 1};
    run = tnd_resumption_next(&run, &lost);
    cr_expect_eq(decide(run, asked), TND_RESUMPTION_AGAIN);
    run = tnd_resumption_next(&run, &asked);
    cr_expect_eq(run.losses, 1);
    cr_expect_eq(run.number, 2);
    cr_expect_eq(decide(run, lost), TND_RESUMPTION_ENDS_OFTEN);
}
