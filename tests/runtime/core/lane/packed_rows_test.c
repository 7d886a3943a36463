/*  Covers runtime/core/lane/packed_rows.h: rows, cursors and accounts of seven documents, by hand. */
#include "runtime/core/lane/packed_rows.h"

#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/*  Positions 0 to 4, of which 2 was filtered out, and positions 5 to 7. */
static const uint32_t origin[] = {0, 1, 3, 4};
static const uint64_t lengths[2][4] = {{1, 4, 2, 4}, {0, 4, 9}};

enum { SIZE = 2 };

typedef struct {
    tnd_joined_block_t ring[4];
    void *drops[4];
    tnd_reservations_t reservations;
    tnd_joined_rows_t joined;
    char payload[2];
    void *memory;
    tnd_packed_rows_t *rows;
} world_t;

typedef struct {
    uint32_t slot, at;
    uint64_t from, values;
    uint32_t segment;
} stored_t;

static void join(world_t *world, uint32_t which, uint64_t first, tnd_answer_t answer)
{
    answer.payload = &world->payload[which];
    answer.lengths = lengths[which];
    tnd_reservations_take(&world->reservations, 100);
    tnd_joined_rows_add(&world->joined,
                        &(tnd_ticket_t){.first = first, .reserved = 100, .answer = answer});
}

static void open_world(world_t *world, const tnd_pack_rule_t *rule)
{
    memset(world, 0, sizeof *world);
    world->reservations = (tnd_reservations_t){.drops = world->drops, .drop_mask = 3};
    world->joined =
        (tnd_joined_rows_t){.reservations = &world->reservations, .ring = world->ring, .mask = 3};
    tnd_joined_rows_rewind(&world->joined, (tnd_position_t){0});
    world->memory = calloc(1, tnd_packed_rows_bytes(SIZE));
    world->rows = tnd_packed_rows_init(world->memory, rule, SIZE, &world->joined);
    tnd_packed_rows_rewind(world->rows, 0);
    join(world, 0, 0, (tnd_answer_t){.origin = origin, .covered = 5, .rows = 4});
    join(world, 1, 5, (tnd_answer_t){.covered = 3, .rows = 3});
}

static void expect_stores(world_t *world, const stored_t *expected, uint32_t count)
{
    tnd_effect_t effect;
    tnd_piece_t piece;
    for (uint32_t i = 0; i < count; i++) {
        cr_assert(tnd_packed_rows_store(world->rows, 0, &piece, &effect));
        cr_assert(effect.kind == TND_EFFECT_STORE && effect.payload == piece.payload);
        cr_assert(eq(u32, effect.slot, expected[i].slot));
        cr_assert(eq(u32, effect.at, expected[i].at));
        cr_assert(eq(u64, effect.from, expected[i].from));
        cr_assert(eq(u64, effect.values, expected[i].values));
        cr_assert(eq(u32, effect.segment, expected[i].segment));
    }
    cr_assert(not(tnd_packed_rows_store(world->rows, 0, &piece, &effect)));
}

static void expect_row(world_t *world, uint32_t place, uint32_t first, uint64_t position,
                       uint64_t used, const tnd_ledger_t *ledger)
{
    tnd_ledger_t booked = {0};
    uint64_t used_then;
    tnd_packed_slice_t taken = tnd_packed_rows_take(world->rows, 1, &booked);
    cr_assert(eq(u32, taken.place, place));
    cr_assert(eq(u32, taken.first, first));
    cr_assert(eq(u64, tnd_packed_rows_position(world->rows, &used_then).index, position));
    cr_assert(eq(u64, used_then, used));
    cr_assert(memcmp(&booked, ledger, sizeof booked) == 0);
}

static void expect_left(world_t *world, uint64_t rows, bool ended)
{
    tnd_left_t left = tnd_packed_rows_left(world->rows, 0, true);
    cr_assert(eq(u64, left.left, rows));
    cr_assert(left.ended == ended);
}

static const stored_t first_stores[] = {{0, 0, 0, 1, 1}, {0, 1, 0, 4, 2}, {0, 5, 0, 2, 1},
                                        {0, 7, 0, 3, 2}, {1, 0, 3, 1, 1}, {1, 1, 0, 0, 2},
                                        {1, 1, 0, 4, 2}, {1, 5, 0, 5, 1}};

Test(packed_rows, follow_one_another_over_documents_and_batches)
{
    static const tnd_pack_rule_t rule = {.length = 5};
    static world_t world;
    open_world(&world, &rule);
    expect_stores(&world, first_stores, 8);
    expect_left(&world, 4, false);
    expect_row(&world, 0, 0, 2, 0, &(tnd_ledger_t){.read = 2, .fed = 2});
    expect_stores(&world, NULL, 0); /* its batch has another row */
    expect_row(&world, 0, 1, 4, 3, &(tnd_ledger_t){.read = 2, .fed = 1, .filtered = 1});
    expect_stores(&world, &(stored_t){0, 0, 5, 4, 1}, 1);
    expect_left(&world, 3, true);
    expect_row(&world, 1, 0, 7, 0, &(tnd_ledger_t){.read = 3, .fed = 3});
    expect_row(&world, 1, 1, 7, 5, &(tnd_ledger_t){0});
    expect_row(&world, 0, 0, 8, 0, &(tnd_ledger_t){.read = 1, .fed = 1});
    expect_left(&world, 0, true);
    free(world.memory);
}

Test(packed_rows, continue_in_the_middle_of_a_document)
{
    static const tnd_pack_rule_t rule = {.length = 5};
    static world_t world;
    open_world(&world, &rule);
    tnd_joined_rows_rewind(&world.joined, (tnd_position_t){.index = 4});
    tnd_packed_rows_rewind(world.rows, 3);
    tnd_answer_t rest = {.payload = &world.payload[0], .lengths = &lengths[0][3], .covered = 1};
    rest.rows = 1;
    tnd_reservations_take(&world.reservations, 200);
    tnd_joined_rows_add(&world.joined,
                        &(tnd_ticket_t){.first = 4, .reserved = 100, .answer = rest});
    join(&world, 1, 5, (tnd_answer_t){.covered = 3, .rows = 3});
    expect_stores(
        &world,
        (stored_t[]){
            {0, 0, 3, 1, 1}, {0, 1, 0, 0, 2}, {0, 1, 0, 4, 2}, {0, 5, 0, 5, 1}, {1, 0, 5, 4, 1}},
        5);
    expect_row(&world, 0, 0, 7, 0, &(tnd_ledger_t){.read = 3, .fed = 3});
    free(world.memory);
}

Test(packed_rows, drop_what_is_left_and_book_it)
{
    static const tnd_pack_rule_t rule = {.length = 5, .drop_remainder = true};
    static world_t world;
    tnd_ledger_t booked = {0};
    open_world(&world, &rule);
    expect_stores(&world, first_stores, 8);
    tnd_packed_rows_discard(world.rows, 2, &booked);
    cr_assert(memcmp(&booked, &(tnd_ledger_t){.read = 4, .filtered = 1, .dropped = 3},
                     sizeof booked) == 0);
    expect_stores(&world, &(stored_t){0, 0, 5, 4, 1}, 1);
    expect_left(&world, 2, true);
    expect_row(&world, 1, 0, 7, 0, &(tnd_ledger_t){.read = 3, .fed = 3});
    expect_row(&world, 1, 1, 7, 5, &(tnd_ledger_t){0});
    booked = (tnd_ledger_t){0};
    tnd_packed_rows_close(world.rows, false, &booked);
    cr_assert(memcmp(&booked, &(tnd_ledger_t){.read = 1, .dropped = 1}, sizeof booked) == 0);
    free(world.memory);
}

Test(packed_rows, refuse_a_cursor_of_other_documents)
{
    static const tnd_pack_rule_t rule = {.length = 5};
    static const uint64_t used[] = {1, 2};
    static world_t world;
    for (uint32_t i = 0; i < 2; i++) {
        open_world(&world, &rule);
        tnd_packed_rows_rewind(world.rows, used[i]);
        expect_stores(&world, NULL, 0);
        cr_assert(tnd_packed_rows_misplaced(world.rows));
        tnd_packed_rows_rewind(world.rows, 0);
        cr_assert(not(tnd_packed_rows_misplaced(world.rows)));
        free(world.memory);
    }
}
