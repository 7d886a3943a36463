/*  runtime/posts/tensor.c - values of reductions as they travel between processes. */
#include "runtime/posts/tensor.h"

#include <math.h>
#include <string.h>

static const uint32_t tensor_magic = 0x33444e54; /* "TND3" */

_Static_assert(sizeof(tnd_tensor_head_t) == 64, "values begin on a cache line");

/*  Values begin on a cache line. */
static size_t segment_bytes(uint32_t segments)
{
    return ((size_t)segments * sizeof(tnd_segment_t) + 63) / 64 * 64;
}

size_t tnd_tensor_bytes(tnd_dtype_t dtype, bool partial, uint32_t segments, size_t count)
{
    return sizeof(tnd_tensor_head_t) + segment_bytes(segments) +
           count * tnd_dtype_size(partial ? tnd_reduction_tree_partial_dtype(dtype) : dtype);
}

void *tnd_tensor_begin(tnd_buffer_t *tensor, const tnd_tensor_head_t *head,
                       tnd_segment_t **segments_p)
{
    tnd_tensor_head_t own = *head;
    own.magic = tensor_magic;
    char *at = memcpy(tnd_buffer_data(tensor), &own, sizeof own);
    *segments_p = (tnd_segment_t *)(void *)(at + sizeof own);
    return at + sizeof own + segment_bytes(head->segments);
}

tnd_segment_t tnd_tensor_segment(tnd_buffer_t *tensor, uint32_t number)
{
    tnd_segment_t segment;
    const char *at = tnd_buffer_data(tensor);
    memcpy(&segment, at + sizeof(tnd_tensor_head_t) + number * sizeof segment, sizeof segment);
    return segment;
}

static bool makes_sense(const tnd_tensor_head_t *head)
{
    return head->magic == tensor_magic && head->reduce <= TND_MAX &&
           head->dtype < TND_DTYPE_COUNT && head->leaves == 0 &&
           tnd_reduction_tree_reduces((tnd_reduce_t)head->reduce, (tnd_dtype_t)head->dtype) &&
           head->count <= TND_TENSOR_BYTES && head->segments <= TND_POSTINGS_MAX &&
           (head->segments > 0) == (head->partial != 0);
}

/*  Whether the segments have as many elements as the head says, and weights where there are values. */
static bool adds_up(tnd_buffer_t *tensor, const tnd_tensor_head_t *head, bool empty)
{
    uint64_t left = head->count;
    bool weighs = false;
    for (uint32_t s = 0; s < head->segments; s++) {
        tnd_segment_t segment = tnd_tensor_segment(tensor, s);
        if (segment.count > left || !(segment.weight >= 0 && isfinite(segment.weight)))
            return false;
        left -= segment.count;
        weighs = weighs || segment.weight > 0;
    }
    return left == 0 && (head->weighted == 0 || weighs != empty);
}

tnd_status_t tnd_tensor_read(tnd_buffer_t *tensor, bool empty, tnd_tensor_head_t *head,
                             const void **values_p, tnd_error_t *error)
{
    if (tensor == NULL || tnd_buffer_size(tensor) < sizeof *head)
        return tnd_fail(error, "a value to be reduced lacks its head");
    memcpy(head, tnd_buffer_data(tensor), sizeof *head);
    if (!makes_sense(head))
        return tnd_fail(error, "a value to be reduced has a head that is not understood");
    size_t bytes = tnd_tensor_bytes((tnd_dtype_t)head->dtype, head->partial != 0, head->segments,
                                    empty ? 0 : (size_t)head->count);
    if (tnd_buffer_size(tensor) != bytes)
        return tnd_fail(error, "a value to be reduced has %zu bytes where its head says %zu",
                        tnd_buffer_size(tensor), bytes);
    if (head->partial != 0 && !adds_up(tensor, head, empty))
        return tnd_fail(error, "a value to be reduced has segments that do not add up");
    *values_p =
        (const char *)tnd_buffer_data(tensor) + sizeof *head + segment_bytes(head->segments);
    return TND_OK;
}

size_t tnd_gather_bytes(tnd_dtype_t dtype, uint32_t leaves, size_t count)
{
    return sizeof(tnd_tensor_head_t) + leaves * sizeof(uint64_t) + count * tnd_dtype_size(dtype);
}

void *tnd_gather_begin(tnd_buffer_t *tensor, tnd_dtype_t dtype, bool partial, uint32_t leaves,
                       size_t count, uint64_t **counts)
{
    tnd_tensor_head_t head = {
        .magic = tensor_magic,
        .reduce = TND_GATHER,
        .dtype = (uint8_t)dtype,
        .partial = partial,
        .count = count,
        .leaves = leaves,
    };
    char *data = tnd_buffer_data(tensor);
    memcpy(data, &head, sizeof head);
    *counts = (uint64_t *)(void *)(data + sizeof head);
    return data + sizeof head + leaves * sizeof(uint64_t);
}

bool tnd_gather_is(tnd_buffer_t *tensor)
{
    tnd_tensor_head_t head;
    if (tensor == NULL || tnd_buffer_size(tensor) < sizeof head)
        return false;
    memcpy(&head, tnd_buffer_data(tensor), sizeof head);
    return head.reduce == TND_GATHER;
}

tnd_status_t tnd_gather_read(tnd_buffer_t *tensor, uint32_t leaves, tnd_tensor_head_t *head,
                             const void **counts_p, const void **values_p, tnd_error_t *error)
{
    uint64_t sum = 0, count;
    if (!tnd_gather_is(tensor))
        return tnd_fail(error, "a value to be gathered lacks its head");
    const char *data = tnd_buffer_data(tensor);
    memcpy(head, data, sizeof *head);
    if (head->magic != tensor_magic || head->dtype >= TND_DTYPE_COUNT || head->leaves != leaves ||
        head->count > TND_TENSOR_BYTES)
        return tnd_fail(error, "a value to be gathered has a head that is not understood");
    size_t bytes = tnd_gather_bytes((tnd_dtype_t)head->dtype, leaves, (size_t)head->count);
    if (tnd_buffer_size(tensor) != bytes)
        return tnd_fail(error, "a value to be gathered has %zu bytes where its head says %zu",
                        tnd_buffer_size(tensor), bytes);
    *counts_p = data + sizeof *head;
    *values_p = data + sizeof *head + leaves * sizeof count;
    for (uint32_t i = 0; i < leaves; i++) {
        memcpy(&count, data + sizeof *head + i * sizeof count, sizeof count);
        if (count > head->count - sum)
            return tnd_fail(error, "a value to be gathered has counts that do not add up");
        sum += count;
    }
    if (sum != head->count)
        return tnd_fail(error, "a value to be gathered has counts that do not add up");
    return TND_OK;
}
