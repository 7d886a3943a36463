/*  Covers runtime/core/batcher.h: steps that a holder of parameters deals. */
#include "runtime/core/batcher.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { DEALT_LANES = 2, DEALT_ROWS = 5, DEALT_SIZE = 4, DEAL_WINDOW = 4 };

static const tnd_actor_id_t dealt_feeders[] = {60, 60, 61};

/*  Lane 1 of two of five rows each: steps have rows 0 1 | 0 1, 2 3 | 2 3 and 4 | 4. */
static tnd_batcher_core_t *dealt_lane(tnd_remainder_t remainder)
{
    static const tnd_actor_id_t reader = 70;
    static const uint64_t rows[DEALT_LANES] = {DEALT_ROWS, DEALT_ROWS};
    tnd_batcher_core_config_t config = {.order = {.self = 1,
                                                  .lane = 1,
                                                  .readers = &reader,
                                                  .reader_count = 1,
                                                  .epochs = 1,
                                                  .count = DEALT_ROWS,
                                                  .block_rows = DEALT_ROWS,
                                                  .bytes = {.fixed = 1},
                                                  .made_max = 1,
                                                  .window_blocks = 1},
                                        .lanes = DEALT_LANES,
                                        .size = DEALT_SIZE,
                                        .replicas = 3,
                                        .feeders = dealt_feeders,
                                        .deal_window = DEAL_WINDOW,
                                        .remainder = remainder,
                                        .lane_rows = rows};
    return tnd_batcher_core_init(calloc(1, tnd_batcher_core_bytes(&config)), &config);
}

/*  What the lane says next; of kind TND_MSG_KINDS: nothing. */
static tnd_msg_t said(tnd_batcher_core_t *join)
{
    tnd_effect_t effect;
    while (tnd_batcher_core_next(join, 0, &effect))
        if (effect.kind == TND_EFFECT_LINK || effect.kind == TND_EFFECT_CONTROL)
            return effect.msg;
    return (tnd_msg_t){.kind = TND_MSG_KINDS};
}

static void begin_dealt(tnd_batcher_core_t *join, uint32_t generation)
{
    static int payload;
    tnd_cursor_t start;
    tnd_error_t error;
    tnd_cursor_start(&start, DEALT_LANES);
    tnd_batcher_core_rewind(join, generation, &start, 0);
    while (said(join).kind != TND_MSG_KINDS)
        continue;
    tnd_msg_t block = {.kind = TND_MSG_BLOCK,
                       .generation = generation,
                       .block = {.count = DEALT_ROWS,
                                 .asked = DEALT_ROWS,
                                 .rows = DEALT_ROWS,
                                 .lane = 1,
                                 .end = true,
                                 .payload = &payload}};
    cr_assert_eq(tnd_batcher_core_block(join, &block, &error), TND_OK, "%s", error.text);
}

static void deal(tnd_batcher_core_t *join, uint32_t generation, uint64_t step, uint32_t replica,
                 tnd_life_t life)
{
    tnd_msg_t msg = {.kind = TND_MSG_DEAL,
                     .generation = generation,
                     .deal = {.step = step, .replica = replica, .life = life}};
    tnd_batcher_core_message(join, &msg);
}

Test(batcher_deal, a_step_is_sent_whole_to_the_replica_that_it_was_dealt_to)
{
    tnd_batcher_core_t *join = dealt_lane(TND_REMAINDER_PAD);
    begin_dealt(join, 1);
    cr_assert_eq(said(join).kind, TND_MSG_KINDS, "no replica has been dealt the step");
    cr_assert_eq(tnd_batcher_core_slots(join), 0);
    deal(join, 1, 0, 2, 7);
    cr_assert_eq(tnd_batcher_core_slots(join), 1);
    cr_assert_eq(said(join).kind, TND_MSG_KINDS, "its replica is not connected");
    tnd_batcher_core_feeder_up(join, 61, 7);
    tnd_msg_t msg = said(join);
    cr_assert_eq(msg.kind, TND_MSG_SLICE);
    cr_assert(msg.to == 61 && msg.slice.replica == 2 && msg.slice.step == 0);
    cr_assert(msg.slice.offset == 2 && msg.slice.rows == 2 && msg.slice.total == 4);
    cr_assert(msg.slice.step_rows == 4 && msg.slice.padded == 0 && msg.slice.rank == 2);
    msg = said(join);
    cr_assert(msg.kind == TND_MSG_PART && msg.part.step == 0 && msg.part.ledger.fed == 2);

    deal(join, 1, 1, TND_NOBODY, 0); /* it is booked, and none gets it */
    deal(join, 1, 2, 0, 8);
    msg = said(join);
    cr_assert(msg.kind == TND_MSG_PART && msg.part.step == 1);
    cr_assert(msg.part.ledger.fed == 2 && msg.part.ledger.dropped == 0);
    cr_assert_eq(msg.part.position.index, 4);

    tnd_batcher_core_feeder_up(join, 60, 8);
    msg = said(join);
    cr_assert(msg.kind == TND_MSG_SLICE && msg.to == 60 && msg.slice.replica == 0);
    cr_assert(msg.slice.rows == 1 && msg.slice.offset == 1 && msg.slice.total == 2);
    cr_assert(msg.slice.padded == 2 && msg.slice.rank == 9 && msg.slice.last_of_run);
    cr_assert_eq(said(join).kind, TND_MSG_PART);
    cr_assert_eq(said(join).kind, TND_MSG_LAST);
    free(join);
}

Test(batcher_deal, a_step_of_a_life_that_is_over_is_sent_to_none_and_one_of_a_later_life_waits)
{
    tnd_batcher_core_t *join = dealt_lane(TND_REMAINDER_KEEP);
    tnd_batcher_core_feeder_up(join, 60, 8);
    begin_dealt(join, 1);
    deal(join, 1, 0, 1, 7);
    tnd_msg_t msg = said(join);
    cr_assert(msg.kind == TND_MSG_PART && msg.part.step == 0 && msg.part.ledger.fed == 2);
    deal(join, 1, 1, 1, 9);
    cr_assert_eq(said(join).kind, TND_MSG_KINDS, "the later life has not connected");
    tnd_batcher_core_feeder_lost(join, 60);
    tnd_batcher_core_feeder_up(join, 60, 9);
    msg = said(join);
    cr_assert(msg.kind == TND_MSG_SLICE && msg.slice.replica == 1 && msg.slice.step == 1);
    cr_assert_eq(said(join).kind, TND_MSG_PART);
    tnd_batcher_core_feeder_lost(join, 60);
    cr_assert_eq(said(join).kind, TND_MSG_BROKEN, "rows that were sent to it may be lost");
    free(join);
}

Test(batcher_deal, after_a_rewind_a_step_waits_for_the_deal_of_its_generation)
{
    tnd_batcher_core_t *join = dealt_lane(TND_REMAINDER_KEEP);
    tnd_batcher_core_feeder_up(join, 61, 7);
    begin_dealt(join, 1);
    deal(join, 1, 0, 2, 7);
    cr_assert_eq(said(join).kind, TND_MSG_SLICE);
    deal(join, 2, 0, 2, 7); /* the holder hears of the rewind first */
    begin_dealt(join, 2);
    cr_assert_eq(said(join).kind, TND_MSG_SLICE);
    begin_dealt(join, 3);
    deal(join, 2, 0, 2, 7);
    cr_assert_eq(said(join).kind, TND_MSG_KINDS, "an older generation");
    free(join);
}
