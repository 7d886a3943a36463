/*  Covers the random operations: draws depend only on the seed, epoch, sample and operation, reach
 *  every outcome, and are independent of each other. */
#include <math.h>

#include "tests/actors/op/chain_fixture.h"

enum { PICTURES = 400 };

/*  Which pictures (of two pixels) a chain flipped, as one text of 0 and 1. */
static void flips_of(const tnd_chain_key_t *key, uint32_t epoch, uint32_t lane, uint64_t first,
                     uint32_t size, char flips[PICTURES + 1])
{
    static const uint64_t shape[] = {1, 2};
    tnd_schema_t schema = schema_of(TND_U8, 2, shape);
    uint8_t data[2 * PICTURES];
    run_t run;
    tnd_error_t error;
    for (int i = 0; i < 2 * PICTURES; i++)
        data[i] = (uint8_t)(i % 2);
    cr_assert_eq(open_chain(&run, "{random_flip: {column: x}}", false, &schema, &error), TND_OK);
    for (uint32_t at = 0; at < PICTURES; at += size) {
        tnd_block_t *made = numbers(run.block_pool, &schema, data, size), *out = NULL;
        tnd_block_t *block = tnd_block_pool_take(run.block_pool, &schema);
        block->note = made->note;
        block->note.first = first + at;
        block->note.epoch = epoch;
        block->note.lane = lane;
        block->columns[0] = made->columns[0];
        tnd_buffer_hold(block->columns[0].buffer);
        tnd_block_seal(block);
        cr_assert_eq(tnd_chain_run(run.chain, key, block, run.block_pool, run.pool, &out, &error),
                     TND_OK);
        for (uint32_t i = 0; i < size; i++)
            flips[at + i] = (char)('0' + *(const uint8_t *)tnd_block_row(out, 0, i));
        tnd_block_drop(&made);
        tnd_block_drop(&block);
        tnd_block_drop(&out);
    }
    flips[PICTURES] = '\0';
    close_chain(&run);
}

Test(random_flip, depends_only_on_seed_epoch_sample_and_operation)
{
    char base[PICTURES + 1], other[PICTURES + 1];
    const tnd_chain_key_t seed = {.seed = 8, .lanes = 1}, lanes = {.seed = 7, .lanes = 2};
    const tnd_chain_key_t later = {.seed = 7, .lanes = 1, .operation = 1};
    flips_of(&plain_key, 0, 0, 0, PICTURES, base);

    flips_of(&plain_key, 0, 0, 0, 8, other);
    cr_assert_str_eq(base, other, "blocks must not show");
    flips_of(&plain_key, 0, 0, 100, 100, other);
    cr_assert_arr_eq(base + 100, other, 300);
    flips_of(&lanes, 0, 1, 0, 100, other);
    for (int i = 0; i < PICTURES / 2; i++)
        cr_assert_eq(other[i], base[2 * i + 1], "row %d of lane 1 is sample %d", i, 2 * i + 1);
    flips_of(&seed, 0, 0, 0, PICTURES, other);
    cr_assert_str_neq(base, other);
    flips_of(&plain_key, 1, 0, 0, PICTURES, other);
    cr_assert_str_neq(base, other);
    flips_of(&later, 0, 0, 0, PICTURES, other);
    cr_assert_str_neq(base, other);
}

Test(random_flip, flips_as_often_as_it_says)
{
    char flips[PICTURES + 1];
    int flipped = 0;
    flips_of(&plain_key, 0, 0, 0, PICTURES, flips);
    for (int i = 0; i < PICTURES; i++) {
        tnd_random_t random;
        tnd_random_init(&random, plain_key.seed, 0, (uint64_t)i, 0);
        cr_assert_eq(flips[i] == '1', tnd_random_scale(tnd_random_u32(&random), 0, 1) < 0.5f);
        flipped += flips[i] == '1';
    }
    /* Within four standard deviations of a fair coin. */
    cr_assert(abs(2 * flipped - PICTURES) < 8 * (int)sqrt(PICTURES / 4.0) + 8, "%d", flipped);
}

enum { WIDTH = 8, KEPT = 3 };

/*  Where each picture of `first` ... `first` + PICTURES - 1, whose lines are 0 ... 7, was cut. */
static void corners_of(uint64_t first, uint32_t size, uint8_t corners[PICTURES])
{
    static const uint64_t shape[] = {1, WIDTH};
    tnd_schema_t schema = schema_of(TND_U8, 2, shape);
    uint8_t data[WIDTH * PICTURES];
    run_t run;
    tnd_error_t error;
    for (int i = 0; i < WIDTH * PICTURES; i++)
        data[i] = (uint8_t)(i % WIDTH);
    cr_assert_eq(
        open_chain(&run, "{random_crop: {column: x, height: 1, width: 3}}", false, &schema, &error),
        TND_OK, "%s", error.text);
    for (uint32_t at = 0; at < PICTURES; at += size) {
        tnd_block_t *made = numbers(run.block_pool, &schema, data, size), *out = NULL;
        tnd_block_t *block = tnd_block_pool_take(run.block_pool, &schema);
        block->note = made->note;
        block->note.first = first + at;
        block->columns[0] = made->columns[0];
        tnd_buffer_hold(block->columns[0].buffer);
        tnd_block_seal(block);
        cr_assert_eq(
            tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
            TND_OK);
        for (uint32_t i = 0; i < size; i++) {
            const uint8_t *row = tnd_block_row(out, 0, i);
            for (int x = 0; x < KEPT; x++)
                cr_assert_eq(row[x], row[0] + x);
            corners[at + i] = row[0];
        }
        tnd_block_drop(&made);
        tnd_block_drop(&block);
        tnd_block_drop(&out);
    }
    close_chain(&run);
}

Test(random_crop, belongs_to_the_sample_and_reaches_every_place)
{
    uint8_t whole[PICTURES], small[PICTURES], later[PICTURES];
    int seen[WIDTH] = {0};
    corners_of(0, PICTURES, whole);
    corners_of(0, 8, small);
    corners_of(100, 100, later);
    cr_assert_arr_eq(whole, small, sizeof whole);
    cr_assert_arr_eq(whole + 100, later, 300);
    for (int i = 0; i < PICTURES; i++) {
        tnd_random_t random;
        tnd_random_init(&random, plain_key.seed, 0, (uint64_t)i, 0);
        (void)tnd_random_u32(&random); /* the line */
        cr_assert_eq(whole[i], tnd_random_place(tnd_random_u32(&random), WIDTH - KEPT + 1));
        seen[whole[i]]++;
    }
    /* 400 of 6 places: 67 each, standard deviation 7.5. */
    for (int x = 0; x < WIDTH; x++)
        cr_assert(x > WIDTH - KEPT ? seen[x] == 0 : seen[x] > 36 && seen[x] < 98, "%d: %d", x,
                  seen[x]);
}

enum { SIDE = 6, PART = 4, PLACES = SIDE - PART + 1, SAMPLES = 3600 };

/*  Where a picture, whose pixels are 0 ... 35, was cut, and along which axes it was flipped then.
 */
static int outcome_of(const uint8_t *picture)
{
    int across = picture[1] < picture[0], down = picture[PART] < picture[0];
    int corner = picture[(across ? PART - 1 : 0) + (down ? PART * (PART - 1) : 0)];
    for (int i = 0; i < PART * PART; i++) {
        int x = across ? PART - 1 - i % PART : i % PART, y = down ? PART - 1 - i / PART : i / PART;
        cr_assert_eq(picture[i], corner + y * SIDE + x);
    }
    return ((corner / SIDE * PLACES + corner % SIDE) * 2 + across) * 2 + down;
}

Test(chain, random_operations_reach_every_outcome_and_are_independent)
{
    static const uint64_t shape[] = {SIDE, SIDE};
    static uint8_t data[SIDE * SIDE * SAMPLES];
    enum { OUTCOMES = PLACES * PLACES * 4 };
    tnd_schema_t schema = schema_of(TND_U8, 2, shape);
    run_t run;
    tnd_error_t error;
    for (int i = 0; i < SIDE * SIDE * SAMPLES; i++)
        data[i] = (uint8_t)(i % (SIDE * SIDE));
    cr_assert_eq(open_chain(&run,
                            "{random_crop: {column: x, height: 4, width: 4}}, {random_flip: "
                            "{column: x}}, {random_flip: {column: x, axis: vertical}}",
                            false, &schema, &error),
                 TND_OK, "%s", error.text);
    tnd_block_t *block = numbers(run.block_pool, &schema, data, SAMPLES), *out = NULL;
    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error),
        TND_OK);
    int seen[OUTCOMES] = {0};
    for (uint32_t i = 0; i < SAMPLES; i++)
        seen[outcome_of(tnd_block_row(out, 0, i))]++;
    /* 100 of each if every place is as likely and the three are independent.  35 degrees of
     * freedom: chi^2 is 35 +- 8.4; beyond 6 sigma nothing but a fault is left. */
    double chi = 0, even = (double)SAMPLES / OUTCOMES;
    for (int i = 0; i < OUTCOMES; i++) {
        cr_assert_gt(seen[i], 0, "line %d, pixel %d, flipped %d and %d never comes", i / 4 / PLACES,
                     i / 4 % PLACES, i / 2 % 2, i % 2);
        chi += (seen[i] - even) * (seen[i] - even) / even;
    }
    cr_assert_lt(chi, 85, "chi^2 %g", chi);
    tnd_block_drop(&block);
    tnd_block_drop(&out);
    close_chain(&run);
}
