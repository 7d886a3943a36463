/*  Covers runtime/core/lane/bucketed_rows.h: batches, cursors and accounts of two blocks, by hand. */
#include "runtime/core/lane/bucketed_rows.h"

#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static const uint64_t bounds[] = {3, 5}, sizes[] = {2, 3, 1};

/*  Positions 0 to 4, of which 2 was filtered out, and positions 5 to 7. */
static const uint32_t origin[] = {0, 1, 3, 4};
static const uint64_t lengths[2][4] = {{1, 4, 2, 4}, {0, 4, 9}};

typedef struct {
    tnd_joined_block_t ring[4];
    void *drops[4];
    tnd_reservations_t reservations;
    tnd_joined_rows_t joined;
    char payload[2];
    void *memory;
    tnd_bucketed_rows_t *rows;
} world_t;

static void join(world_t *world, uint32_t which, uint64_t first, tnd_answer_t answer)
{
    answer.payload = &world->payload[which];
    answer.lengths = lengths[which];
    tnd_reservations_take(&world->reservations, 100);
    tnd_joined_rows_add(&world->joined,
                        &(tnd_ticket_t){.first = first, .reserved = 100, .answer = answer});
}

static void open_world(world_t *world, const tnd_bucket_rule_t *rule)
{
    memset(world, 0, sizeof *world);
    world->reservations = (tnd_reservations_t){.drops = world->drops, .drop_mask = 3};
    world->joined =
        (tnd_joined_rows_t){.reservations = &world->reservations, .ring = world->ring, .mask = 3};
    tnd_joined_rows_rewind(&world->joined, (tnd_position_t){0});
    world->memory = calloc(1, tnd_bucketed_rows_bytes(rule));
    world->rows = tnd_bucketed_rows_init(world->memory, rule, &world->joined);
    join(world, 0, 0, (tnd_answer_t){.origin = origin, .covered = 5, .rows = 4});
    join(world, 1, 5, (tnd_answer_t){.covered = 3, .rows = 3});
}

/*  Stores rows until there is a reason not to; returns how many. */
static uint32_t store_all(world_t *world, uint32_t buckets[8])
{
    tnd_effect_t effect;
    tnd_piece_t piece;
    uint32_t count = 0;
    while (tnd_bucketed_rows_store(world->rows, 0, &piece, &effect)) {
        cr_assert(effect.kind == TND_EFFECT_STORE && effect.pieces == &piece);
        cr_assert(effect.payload == piece.payload && piece.payload != NULL);
        buckets[count++] = effect.bucket;
    }
    return count;
}

static void expect_batch(world_t *world, bool ended, uint64_t rows, bool last, uint64_t position,
                         uint64_t batches, const tnd_ledger_t *ledger)
{
    tnd_composition_t composition;
    tnd_compose_t outcome = tnd_bucketed_rows_compose(world->rows, 0, ended, &composition);
    cr_assert(outcome == TND_COMPOSE_BATCH);
    cr_assert(eq(u64, composition.rows, rows));
    cr_assert(composition.last == last);
    tnd_bucketed_batch_t batch = tnd_bucketed_rows_batch(world->rows);
    cr_assert(eq(u64, batch.position.index, position));
    cr_assert(eq(u64, batch.batches, batches));
    cr_assert(memcmp(&batch.ledger, ledger, sizeof *ledger) == 0);
    tnd_bucket_rows_t taken = tnd_bucketed_rows_take(world->rows, rows);
    cr_assert(eq(u32, taken.first, 0));
    cr_assert(eq(u64, taken.rows, rows));
}

static void expect_none(world_t *world, bool ended, tnd_compose_t expected)
{
    tnd_composition_t composition;
    cr_assert(tnd_bucketed_rows_compose(world->rows, 0, ended, &composition) == expected);
}

Test(bucketed_rows, cursors_are_those_of_windows)
{
    const tnd_bucket_rule_t rule = {.bounds = bounds, .sizes = sizes, .count = 3, .window = 4};
    world_t world;
    uint32_t buckets[8];
    open_world(&world, &rule);
    cr_assert(eq(u32, store_all(&world, buckets), 3)); /* of lengths 1, 4 and 2 */
    cr_assert(buckets[0] == 0 && buckets[1] == 1 && buckets[2] == 0);
    cr_assert(eq(u64, world.reservations.drop_tail, 0));
    expect_batch(&world, false, 2, false, 0, 1,
                 &(tnd_ledger_t){.read = 3, .fed = 2, .filtered = 1});
    /* The fourth row ends the window, and its batch is the last of it. */
    cr_assert(eq(u32, store_all(&world, buckets), 1));
    cr_assert(eq(u64, world.reservations.drop_tail, 1)); /* no block is held for its rows */
    cr_assert(world.drops[0] == &world.payload[0]);
    expect_batch(&world, false, 2, false, 5, 0, &(tnd_ledger_t){.read = 2, .fed = 2});
    cr_assert(eq(u32, store_all(&world, buckets), 3));
    cr_assert(buckets[0] == 0 && buckets[1] == 1 && buckets[2] == 2);
    expect_batch(&world, false, 1, false, 5, 1, &(tnd_ledger_t){.read = 1, .fed = 1});
    expect_none(&world, false, TND_COMPOSE_WAIT);
    expect_batch(&world, true, 1, false, 5, 2, &(tnd_ledger_t){.read = 1, .fed = 1});
    expect_batch(&world, true, 1, true, 5, 3, &(tnd_ledger_t){.read = 1, .fed = 1});
    expect_none(&world, true, TND_COMPOSE_OVER);
    cr_assert(eq(u64, tnd_bucketed_rows_stored(world.rows), 7));
    free(world.memory);
}

Test(bucketed_rows, what_is_left_of_an_epoch_is_booked_as_dropped)
{
    const tnd_bucket_rule_t rule = {
        .bounds = bounds, .sizes = sizes, .count = 3, .drop_remainder = true};
    world_t world;
    uint32_t buckets[8];
    tnd_ledger_t left = {0};
    open_world(&world, &rule);
    /* Two batches: of lengths 1 and 2, and of three times 4. */
    cr_assert(eq(u32, store_all(&world, buckets), 6));
    expect_batch(&world, false, 2, false, 0, 1,
                 &(tnd_ledger_t){.read = 3, .fed = 2, .filtered = 1});
    cr_assert(eq(u32, store_all(&world, buckets), 1));
    expect_batch(&world, true, 3, false, 0, 2, &(tnd_ledger_t){.read = 3, .fed = 3});
    expect_batch(&world, true, 1, true, 0, 3, &(tnd_ledger_t){.read = 1, .fed = 1});
    tnd_bucketed_rows_close(world.rows, false, &left);
    cr_assert(eq(u64, left.read, 1)); /* of length 0 */
    cr_assert(eq(u64, left.dropped, 1));
    cr_assert(eq(u64, left.fed, 0));
    free(world.memory);
}

Test(bucketed_rows, a_row_that_is_too_long_is_reported_and_left_out)
{
    const tnd_bucket_rule_t rule = {.bounds = bounds, .sizes = sizes, .count = 3, .bounded = true};
    world_t world;
    uint32_t buckets[8];
    tnd_position_t place;
    tnd_ledger_t left = {0};
    open_world(&world, &rule);
    cr_assert(eq(u32, store_all(&world, buckets), 3));
    expect_batch(&world, false, 2, false, 0, 1,
                 &(tnd_ledger_t){.read = 3, .fed = 2, .filtered = 1});
    cr_assert(eq(u32, store_all(&world, buckets), 3)); /* the third of length 4 is complete */
    expect_none(&world, true, TND_COMPOSE_WAIT);
    cr_assert(tnd_bucketed_rows_bad(world.rows, &place));
    cr_assert(eq(u64, place.index, 7));
    cr_assert(tnd_bucketed_rows_bad(world.rows, &place) == false);
    expect_batch(&world, true, 3, false, 0, 2, &(tnd_ledger_t){.read = 3, .fed = 3});
    expect_batch(&world, true, 1, true, 0, 3, &(tnd_ledger_t){.read = 2, .fed = 1, .bad = 1});
    tnd_bucketed_rows_close(world.rows, false, &left);
    cr_assert(eq(u64, left.read, 0));
    free(world.memory);
}
