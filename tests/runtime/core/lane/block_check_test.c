/*  Covers runtime/core/lane/block_check.h: blocks that break their ticket, and second attempts. */
#include "runtime/core/lane/block_check.h"

#include "tests/runtime/core/lane/world.h"

static void spoil_rows(tnd_block_note_t *block)
{
    block->rows--;
}

static void spoil_lane(tnd_block_note_t *block)
{
    block->lane++;
}

static void spoil_first(tnd_block_note_t *block)
{
    block->first++;
}

static void spoil_far(tnd_block_note_t *block)
{
    block->first = 90;
}

static void spoil_asked(tnd_block_note_t *block)
{
    block->asked++;
}

static void spoil_count(tnd_block_note_t *block)
{
    block->count--, block->rows--;
}

static void spoil_more(tnd_block_note_t *block)
{
    block->count++, block->rows++;
}

static void spoil_end(tnd_block_note_t *block)
{
    block->end = true;
}

static void spoil_bytes(tnd_block_note_t *block)
{
    block->bytes = 101;
}

static void spoil_origin(tnd_block_note_t *block)
{
    static const uint32_t origin[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10};
    block->origin = origin;
}

static void spoil_lengths(tnd_block_note_t *block)
{
    static const uint64_t lengths[10] = {0};
    block->lengths = lengths;
}

static void spoil_measured(tnd_block_note_t *block)
{
    block->measured = 1;
}

static void spoil_order(tnd_block_note_t *block)
{
    static const uint32_t origin[10] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 8};
    block->origin = origin;
}

static void spoil_bad(tnd_block_note_t *block)
{
    static const uint32_t origin[8] = {0}, bad[2] = {3, 3};
    block->origin = origin;
    block->rows = 8;
    block->bad = bad;
    block->bad_count = 2;
}

Test(block_check, a_block_that_breaks_its_ticket_is_refused_with_its_place)
{
    static void (*const spoils[])(tnd_block_note_t *) = {
        spoil_rows,  spoil_lane, spoil_first,   spoil_far,     spoil_asked,
        spoil_count, spoil_more, spoil_end,     spoil_bytes,   spoil_origin,
        spoil_order, spoil_bad,  spoil_lengths, spoil_measured};
    static world_t world;
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        world_open(&world, &plain, &small);
        world_rewind(&world, 1, (tnd_position_t){0});
        tnd_msg_t block = lane_answer(&plain, &world.out[0]);
        spoils[i](&block.block);
        tnd_error_t error = {.text = ""};
        cr_assert_eq(tnd_order_block(world.order, &block, &error), TND_FAILED, "%zu", i);
        cr_assert_not_null(strstr(error.text, ", epoch 0, positions "), "%s", error.text);
        world_close(&world);
    }
}

Test(block_check, an_operation_that_is_not_deterministic_is_named)
{
    static world_t world;
    tnd_error_t error = {.text = ""};
    lane_t lane = {.count = 100, .kind = LANE_EXPANDED, .seed = 1}, other = lane;
    other.seed = 2;
    tnd_order_config_t config = small;
    config.bytes.fixed *= LANE_ROWS_MAX;
    config.made_max *= LANE_ROWS_MAX;
    config.window_bytes *= LANE_ROWS_MAX;
    for (uint32_t at = 0; at < 2; at++) { /* joined already, or waiting for the floor */
        world_open(&world, &lane, &config);
        world_rewind(&world, 1, (tnd_position_t){0});
        world_answer(&world, &world.out[at]);
        tnd_msg_t second = lane_answer(&other, &world.out[at]);
        cr_assert_eq(tnd_order_block(world.order, &second, &error), TND_FAILED);
        cr_assert_not_null(strstr(error.text, "not deterministic"), "%s", error.text);
        world_close(&world);
    }
}

Test(block_check, answers_of_other_lengths_are_compared_over_the_positions_of_both)
{
    tnd_error_t error;
    const uint32_t origin[] = {0, 1, 2, 3, 5}, bad[] = {4};
    const tnd_block_note_t whole = {
        .asked = 6, .count = 6, .rows = 5, .origin = origin, .bad = bad, .bad_count = 1};
    tnd_answer_t part = {.covered = 4, .rows = 4}; /* all good, so it has no list of origins */
    cr_assert_eq(tnd_block_compare(&whole, &part, &error), TND_OK, "%s", error.text);
    part = (tnd_answer_t){.covered = 5, .rows = 5};
    cr_assert_eq(tnd_block_compare(&whole, &part, &error), TND_FAILED);
    const uint32_t others[] = {0, 1, 1, 3};
    part = (tnd_answer_t){.covered = 4, .rows = 4, .origin = others};
    cr_assert_eq(tnd_block_compare(&whole, &part, &error), TND_FAILED);
    part = (tnd_answer_t){.covered = 4, .rows = 3};
    cr_assert_eq(tnd_block_compare(&whole, &part, &error), TND_FAILED);
}
