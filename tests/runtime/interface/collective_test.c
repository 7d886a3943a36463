/*  tests/runtime/interface/collective_test.c - shares cover every element once; heads from outside.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/interface/collective.h"

Test(collective, shares_follow_one_another_and_begin_on_cache_lines)
{
    static const size_t counts[] = {0, 1, 15, 16, 17, 1000, 101770};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (uint32_t parts = 1; parts <= 5; parts++) {
            size_t at = 0, begin, end;
            for (uint32_t part = 0; part < parts; part++) {
                tnd_collective_share(counts[c], 4, part, parts, &begin, &end);
                cr_assert(eq(sz, begin, at));
                cr_assert(begin % 16 == 0 || begin == counts[c]);
                at = end;
            }
            cr_assert(eq(sz, at, counts[c]));
        }
}

Test(collective, leaves_the_sum_in_every_replica)
{
    enum { COUNT = 5000 };
    static int32_t values[3][COUNT];
    tnd_reduction_tree_input_t inputs[3];
    void *outs[3];
    for (uint32_t r = 0; r < 3; r++) {
        for (int32_t i = 0; i < COUNT; i++)
            values[r][i] = i * (int32_t)(r + 1);
        inputs[r] = (tnd_reduction_tree_input_t){{r, 1}, values[r], 1, false, 0};
        outs[r] = values[r];
    }
    tnd_posting_t posting = {
        .reduce = TND_SUM, .dtype = TND_I32, .count = COUNT, .data = values[0], .rows = 1};
    tnd_collective_parts_t parts = {
        .replicas = 3, .inputs = inputs, .input_count = 3, .outs = outs, .out_count = 3};
    tnd_collective_reduce(&posting, &parts, 0, COUNT);
    for (uint32_t r = 0; r < 3; r++)
        for (int32_t i = 0; i < COUNT; i++)
            cr_assert(eq(i32, values[r][i], 6 * i));
}

Test(collective, takes_a_head_only_if_it_fits_its_buffer)
{
    tnd_error_t error;
    tnd_tensor_head_t head;
    const void *values;
    tnd_buffer_t *tensor = tnd_buffer_new(tnd_tensor_bytes(TND_F16, true, 2, 10));
    cr_assert(eq(sz, tnd_buffer_size(tensor), 64 + 64 + 10 * 4), "f16 travels as f32");
    tnd_tensor_head_t shape = {
        .reduce = TND_MAX, .dtype = TND_F16, .partial = 1, .count = 10, .segments = 2, .first = 7};
    tnd_segment_t *segments;
    void *at = tnd_tensor_begin(tensor, &shape, &segments);
    segments[0] = (tnd_segment_t){.count = 4};
    segments[1] = (tnd_segment_t){.count = 6};
    cr_assert(tnd_tensor_read(tensor, false, &head, &values, &error) == TND_OK);
    cr_assert(eq(ptr, (void *)values, at));
    cr_assert(eq(u64, head.count, 10));
    cr_assert(tnd_tensor_read(tensor, true, &head, &values, &error) == TND_FAILED);
    cr_assert(eq(u64, tnd_tensor_segment(tensor, 1).count, 6));
    for (size_t byte = 0; byte < 64 + 32; byte++) {
        uint8_t *bytes = tnd_buffer_data(tensor);
        bool says_nothing = byte == 6 || (byte >= 28 && byte < 64) || (byte >= 72 && byte < 80) ||
                            (byte >= 88 && byte < 96);
        bytes[byte] ^= 0x40;
        bool fits = tnd_tensor_read(tensor, false, &head, &values, &error) == TND_OK;
        /* Any number but 0 is true; what is weighted by 0 has no values. */
        cr_assert(fits == says_nothing, "byte %zu", byte);
        bytes[byte] ^= 0x40;
    }
    segments[0].count = UINT64_MAX - 5;
    segments[1].count = 16;
    cr_assert(tnd_tensor_read(tensor, false, &head, &values, &error) == TND_FAILED);
    tnd_buffer_drop(&tensor);
    tensor = tnd_buffer_new(63);
    memset(tnd_buffer_data(tensor), 0, 63);
    cr_assert(tnd_tensor_read(tensor, false, &head, &values, &error) == TND_FAILED);
    tnd_buffer_drop(&tensor);
}

Test(collective, takes_what_is_gathered_only_if_its_counts_add_up)
{
    tnd_error_t error;
    tnd_tensor_head_t head;
    const void *counts, *values;
    uint64_t *own;
    tnd_buffer_t *tensor = tnd_buffer_new(tnd_gather_bytes(TND_U16, 3, 5));
    uint8_t *at = tnd_gather_begin(tensor, TND_U16, true, 3, 5, &own), *bytes;
    memcpy(own, (uint64_t[]){2, 0, 3}, 24);
    cr_assert(tnd_gather_is(tensor));
    cr_assert(tnd_gather_read(tensor, 3, &head, &counts, &values, &error) == TND_OK);
    cr_assert(values == at && counts == own && head.count == 5);
    cr_assert(tnd_gather_read(tensor, 2, &head, &counts, &values, &error) == TND_FAILED);
    cr_assert(tnd_tensor_read(tensor, false, &head, &values, &error) == TND_FAILED);
    bytes = tnd_buffer_data(tensor);
    for (size_t byte = 0; byte < 64 + 24; byte++) {
        bytes[byte] ^= 0x40;
        bool fits = tnd_gather_read(tensor, 3, &head, &counts, &values, &error) == TND_OK;
        bool says_nothing = (byte >= 6 && byte < 8) || (byte >= 24 && byte < 64);
        cr_assert(fits == says_nothing, "byte %zu", byte);
        bytes[byte] ^= 0x40;
    }
    memcpy(own, (uint64_t[]){UINT64_MAX, 3, 3}, 24);
    cr_assert(tnd_gather_read(tensor, 3, &head, &counts, &values, &error) == TND_FAILED);
    tnd_buffer_drop(&tensor);
}
