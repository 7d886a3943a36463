/*  tests/fuzz/tensor_fuzz.c - values that a feeder or a reducer of another process sends. */
#include <stdlib.h>
#include <string.h>

#include "runtime/posts/tensor.h"
#include "tests/fuzz/fuzz.h"

static void expect(bool holds)
{
    if (!holds)
        abort();
}

/*  All values and segments that the head announces are in the buffer. */
static void read_tensor(tnd_buffer_t *tensor, bool empty)
{
    tnd_error_t error;
    tnd_tensor_head_t head;
    const void *values;
    if (tnd_tensor_read(tensor, empty, &head, &values, &error) != TND_OK)
        return;
    tnd_dtype_t dtype = (tnd_dtype_t)head.dtype;
    size_t size = tnd_dtype_size(head.partial ? tnd_reduction_tree_partial_dtype(dtype) : dtype);
    const char *end = (const char *)tnd_buffer_data(tensor) + tnd_buffer_size(tensor);
    expect((const char *)values + (empty ? 0 : head.count * size) == end);
    uint64_t sum = 0;
    for (uint32_t s = 0; s < head.segments; s++)
        sum += tnd_tensor_segment(tensor, s).count;
    expect(head.partial == 0 || sum == head.count);
}

static void read_gathered(tnd_buffer_t *tensor, uint32_t leaves)
{
    tnd_error_t error;
    tnd_tensor_head_t head;
    const void *counts, *values;
    if (tnd_gather_read(tensor, leaves, &head, &counts, &values, &error) != TND_OK)
        return;
    const char *end = (const char *)tnd_buffer_data(tensor) + tnd_buffer_size(tensor);
    expect((const char *)values + head.count * tnd_dtype_size((tnd_dtype_t)head.dtype) == end);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return 0;
    tnd_buffer_t *tensor = tnd_buffer_new(size);
    memcpy(tnd_buffer_data(tensor), bytes, size);
    read_tensor(tensor, false);
    read_tensor(tensor, true);
    for (uint32_t leaves = 1; leaves <= 4; leaves++)
        read_gathered(tensor, leaves);
    tnd_buffer_drop(&tensor);
    return 0;
}
