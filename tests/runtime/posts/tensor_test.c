/*  tests/runtime/posts/tensor_test.c - heads and counts that come from outside. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/posts/tensor.h"

Test(tensor, takes_a_head_only_if_it_fits_its_buffer)
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

Test(tensor, takes_what_is_gathered_only_if_its_counts_add_up)
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
