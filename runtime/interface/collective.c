/*  runtime/interface/collective.c - what is posted, how parts of it are computed. */
#include "runtime/interface/collective.h"

#include <math.h>
#include <string.h>

static const uint32_t tensor_magic = 0x32444e54; /* "TND2" */

_Static_assert(sizeof(tnd_tensor_head_t) == 64, "values begin on a cache line");

bool tnd_posting_fits(const tnd_posting_t *self, const tnd_posting_t *other)
{
    return self->reducer == other->reducer && self->reduce == other->reduce &&
           self->dtype == other->dtype && self->weighted == other->weighted &&
           (self->count == other->count || self->reduce == TND_GATHER);
}

void tnd_collective_share(size_t count, size_t size, uint32_t part, uint32_t parts, size_t *begin_p,
                          size_t *end_p)
{
    size_t line = 64 / size, lines = (count + line - 1) / line;
    size_t begin = lines * part / parts * line, end = lines * (part + 1) / parts * line;
    *begin_p = begin < count ? begin : count;
    *end_p = end < count ? end : count;
}

void tnd_collective_reduce(const tnd_posting_t *posting, const tnd_reduction_tree_input_t *inputs,
                           uint32_t replicas, void *const *outs, size_t begin, size_t end)
{
    tnd_reduction_tree_job_t job = {
        .reduce = posting->reduce,
        .dtype = posting->dtype,
        .node = {0, replicas},
        .inputs = inputs,
        .input_count = replicas,
        .weighted = posting->weighted,
    };
    tnd_reduction_tree_root_over(&job, begin, end, outs);
}

size_t tnd_tensor_bytes(tnd_dtype_t dtype, bool partial, size_t count)
{
    return sizeof(tnd_tensor_head_t) +
           count * tnd_dtype_size(partial ? tnd_reduction_tree_partial_dtype(dtype) : dtype);
}

void *tnd_tensor_begin(tnd_buffer_t *tensor, tnd_reduce_t reduce, tnd_dtype_t dtype, bool partial,
                       size_t count)
{
    tnd_tensor_head_t head = {
        .magic = tensor_magic,
        .reduce = (uint8_t)reduce,
        .dtype = (uint8_t)dtype,
        .partial = partial,
        .count = count,
    };
    memcpy(tnd_buffer_data(tensor), &head, sizeof head);
    return (char *)tnd_buffer_data(tensor) + sizeof head;
}

void tnd_tensor_weigh(tnd_buffer_t *tensor, double weight)
{
    tnd_tensor_head_t *head = tnd_buffer_data(tensor);
    head->weighted = 1;
    head->weight = weight;
}

tnd_status_t tnd_tensor_read(tnd_buffer_t *tensor, bool empty, tnd_tensor_head_t *head,
                             const void **values_p, tnd_error_t *error)
{
    if (tensor == NULL || tnd_buffer_size(tensor) < sizeof *head)
        return tnd_fail(error, "a value to be reduced lacks its head");
    memcpy(head, tnd_buffer_data(tensor), sizeof *head);
    if (head->magic != tensor_magic || head->reduce > TND_MAX || head->dtype >= TND_DTYPE_COUNT ||
        !tnd_reduction_tree_reduces((tnd_reduce_t)head->reduce, (tnd_dtype_t)head->dtype) ||
        head->count > TND_TENSOR_BYTES || !(head->weight >= 0 && isfinite(head->weight)) ||
        (head->weighted != 0 && head->partial != 0 && empty != (head->weight == 0)))
        return tnd_fail(error, "a value to be reduced has a head that is not understood");
    size_t bytes = tnd_tensor_bytes((tnd_dtype_t)head->dtype, head->partial != 0,
                                    empty ? 0 : (size_t)head->count);
    if (tnd_buffer_size(tensor) != bytes)
        return tnd_fail(error, "a value to be reduced has %zu bytes where its head says %zu",
                        tnd_buffer_size(tensor), bytes);
    *values_p = (const char *)tnd_buffer_data(tensor) + sizeof *head;
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
