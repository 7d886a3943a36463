/*  Covers runtime/feed/slots/slot_layout.h: where the rows of ragged columns are in a slot. */
#include "runtime/feed/slots/slot_layout.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/interface/device.h"

enum { ROWS = 5, LIST_ROOM = 2 * ROWS + 1 };

/*  A label, words of up to 6 bytes, and up to 3 pairs of f32. */
static tnd_schema_t schema_of(void)
{
    tnd_schema_t schema = {0};
    tnd_error_t error;
    cr_assert(tnd_schema_add_ragged(&schema, "word", TND_U8, 1, (uint64_t[]){6}, &error) == TND_OK);
    cr_assert(tnd_schema_add(&schema, "label", TND_U8, 0, NULL, &error) == TND_OK);
    cr_assert(tnd_schema_add_ragged(&schema, "pairs", TND_F32, 2, (uint64_t[]){3, 2}, &error) ==
              TND_OK);
    return schema;
}

static tnd_slot_layout_t layout_of(const tnd_schema_t *schema, tnd_slot_form_t form,
                                   uint64_t ragged_max)
{
    return tnd_slot_layout_of(&(tnd_slot_layout_config_t){
        .schema = schema, .rows_max = ROWS, .form = form, .ragged_max = ragged_max});
}

Test(slot_layout, rows_that_are_spread_have_room_for_the_longest)
{
    tnd_schema_t schema = schema_of();
    tnd_slot_layout_t layout = layout_of(&schema, TND_SLOT_SPREAD, 0);
    cr_assert(eq(sz, layout.warm, TND_STAGE_ALIGN));
    cr_assert(eq(sz, layout.offsets[0], layout.warm));
    cr_assert(eq(sz, layout.offsets[2], layout.offsets[0] + TND_STAGE_ALIGN));
    cr_assert(eq(sz, layout.bytes, layout.offsets[2] + 2 * TND_STAGE_ALIGN)); /* 5 x 3 x 8 bytes */
    cr_assert(eq(sz, tnd_slot_layout_memory(&layout), layout.bytes + 2 * ROWS * sizeof(uint64_t)));
}

Test(slot_layout, rows_that_are_padded_are_the_longest_of_the_step_apart)
{
    tnd_schema_t schema = schema_of();
    tnd_slot_layout_t layout = layout_of(&schema, TND_SLOT_PADDED, 100);
    uint64_t lists[2 * ROWS] = {2, 4, 0, [ROWS] = 1, 2, 2};
    tnd_slot_column_t columns[2];
    cr_assert(eq(u64, tnd_slot_layout_arrange(&layout, lists, 3, columns), 3 * 4 + 3 * 16));
    cr_assert(eq(sz, columns[0].stride, 4));
    cr_assert(eq(sz, columns[1].stride, 16));
    cr_assert(eq(sz, columns[1].offset, columns[0].offset + TND_STAGE_ALIGN));
    cr_assert(le(sz, columns[1].offset + 48, layout.bytes));
    lists[0] = 6; /* 5 x 6 + 5 x 3 x 8 */
    lists[ROWS] = 3;
    cr_assert(eq(u64, tnd_slot_layout_arrange(&layout, lists, ROWS, columns), 150));
    cr_assert(eq(u64, layout.ragged_max, 100));
}

/*  The longest pair of a replica decides; words keep their own length. */
Test(slot_layout, rows_that_are_bounded_are_as_long_as_the_bound_allows)
{
    tnd_schema_t schema = schema_of();
    const uint64_t bounds[] = {2, 4};
    tnd_slot_layout_config_t config = {.schema = &schema,
                                       .rows_max = ROWS,
                                       .form = TND_SLOT_PADDED,
                                       .bounded = 4,
                                       .deciding = 2,
                                       .bound_count = 2,
                                       .bounds = bounds};
    tnd_slot_layout_t layout = tnd_slot_layout_of(&config);
    uint64_t lists[2 * ROWS] = {2, 5, 0, [ROWS] = 1, 0, 2};
    tnd_slot_column_t columns[2];
    cr_assert(eq(u64, tnd_slot_layout_arrange(&layout, lists, 3, columns), 3 * 5 + 3 * 3 * 8));
    cr_assert(eq(sz, columns[1].stride, 3 * 8));
    cr_assert(eq(u64, tnd_slot_layout_arrange(&layout, lists, 2, columns), 2 * 5 + 2 * 1 * 8));
    layout.config.bounded = 1 + 4;
    lists[1] = 1;
    cr_assert(eq(u64, tnd_slot_layout_arrange(&layout, lists, 3, columns), 3 * 3 + 3 * 3 * 8));
}

Test(slot_layout, rows_that_are_packed_begin_where_their_splits_say)
{
    tnd_schema_t schema = schema_of();
    tnd_slot_layout_t layout = layout_of(&schema, TND_SLOT_PACKED, 0);
    cr_assert(eq(u64, layout.ragged_max, ROWS * (6 + 24)));
    cr_assert(eq(u64, layout.list_room, LIST_ROOM));
    uint64_t lists[2 * LIST_ROOM] = {2, 4, 0, [LIST_ROOM] = 0, 3, 1};
    const uint64_t words[] = {0, 2, 6, 6}, pairs[] = {0, 0, 3, 4};
    tnd_slot_column_t columns[2];
    cr_assert(eq(u64, tnd_slot_layout_arrange(&layout, lists, 3, columns), 6 + 4 * 8));
    cr_assert_arr_eq(tnd_slot_layout_splits(&layout, lists, 0), words, sizeof words);
    cr_assert_arr_eq(tnd_slot_layout_splits(&layout, lists, 2), pairs, sizeof pairs);
    cr_assert(eq(u64, tnd_slot_layout_arrange(&layout, lists, 0, columns), 0));
    cr_assert(eq(u64, tnd_slot_layout_splits(&layout, lists, 0)[0], 0));
}

/*  The largest steps fit the bytes that are allocated, wherever each column begins. */
Test(slot_layout, every_step_within_the_bound_fits)
{
    tnd_schema_t schema = schema_of();
    for (uint64_t bound = 1; bound < 160; bound++)
        for (int form = TND_SLOT_PADDED; form <= TND_SLOT_PACKED; form++) {
            tnd_slot_layout_t layout = layout_of(&schema, (tnd_slot_form_t)form, bound);
            for (uint64_t word = 0; word <= 6; word++)
                for (uint64_t pair = 0; pair <= 3; pair++) {
                    uint64_t lists[2 * LIST_ROOM] = {word, word};
                    tnd_slot_column_t columns[2];
                    lists[layout.list_room] = lists[layout.list_room + 1] = pair;
                    uint64_t bytes = tnd_slot_layout_arrange(&layout, lists, 2, columns);
                    cr_assert(eq(u64, bytes, 2 * word + 2 * 8 * pair));
                    if (bytes <= layout.ragged_max)
                        cr_assert(le(sz, columns[1].offset + 2 * 8 * pair, layout.bytes));
                }
        }
}

/*  Columns of 500 and 250 bytes, which are more than the alignment of what follows them. */
Test(slot_layout, a_column_begins_after_all_rows_of_the_one_before)
{
    tnd_schema_t schema = {0};
    tnd_error_t error;
    const uint64_t longest[] = {100};
    cr_assert(tnd_schema_add_ragged(&schema, "one", TND_U8, 1, longest, &error) == TND_OK);
    cr_assert(tnd_schema_add_ragged(&schema, "two", TND_U8, 1, longest, &error) == TND_OK);
    for (int form = TND_SLOT_PADDED; form <= TND_SLOT_PACKED; form++) {
        tnd_slot_layout_t layout = layout_of(&schema, (tnd_slot_form_t)form, 1000);
        uint64_t lists[2 * LIST_ROOM] = {0};
        tnd_slot_column_t columns[2];
        for (uint64_t row = 0; row < ROWS; row++) {
            lists[row] = 100;
            lists[layout.list_room + row] = 50;
        }
        cr_assert(eq(u64, tnd_slot_layout_arrange(&layout, lists, ROWS, columns), 750));
        cr_assert(eq(sz, columns[1].offset, columns[0].offset + 512));
    }
}

Test(slot_layout, products_beyond_64_bits_do_not_wrap)
{
    tnd_schema_t schema = {0};
    tnd_error_t error;
    cr_assert(tnd_schema_add_ragged(&schema, "x", TND_U8, 1, (uint64_t[]){1ull << 39}, &error) ==
              TND_OK);
    tnd_slot_layout_t layout = tnd_slot_layout_of(&(tnd_slot_layout_config_t){
        .schema = &schema, .rows_max = 1ull << 30, .form = TND_SLOT_PADDED, .ragged_max = 1 << 20});
    cr_assert(eq(u64, layout.ragged_max, 1 << 20));
    cr_assert(le(sz, layout.bytes, (1 << 20) + TND_STAGE_ALIGN));
}
