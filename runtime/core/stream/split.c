/*  runtime/core/stream/split.c - how a global batch is cut over replicas, and quotas over lanes. */
#include "runtime/core/stream/split.h"

#include <assert.h>

#include "runtime/base/bounds.h"

static const char *const names[] = {
    [TND_SPLIT_REBATCH_V2] = "rebatch_v2",
    [TND_SPLIT_REBATCH_LEGACY] = "rebatch_legacy",
};

/*  Where part `part` of a full batch begins: the first size % parts of them have one row more. */
static uint64_t even_start(uint64_t size, uint32_t parts, uint32_t part)
{
    return size / parts * part + tnd_least(part, size % parts);
}

/*  Where the part of `replica` begins; replica == replicas gives the end of the last. */
static uint64_t start(tnd_split_t split, uint64_t size, uint64_t rows, uint32_t replicas,
                      uint32_t replica)
{
    if (split == TND_SPLIT_REBATCH_V2)
        return tnd_least(rows, even_start(size, replicas, replica));
    uint64_t interval = rows / replicas + (rows % replicas != 0);
    return tnd_least(rows, interval * replica);
}

const char *tnd_split_name(tnd_split_t split)
{
    assert(split == TND_SPLIT_REBATCH_V2 || split == TND_SPLIT_REBATCH_LEGACY);
    return names[split];
}

uint64_t tnd_split_offset(tnd_split_t split, uint64_t size, uint64_t rows, uint32_t replicas,
                          uint32_t replica)
{
    assert(rows <= size && size <= INT64_MAX && replica < replicas);
    return start(split, size, rows, replicas, replica);
}

uint64_t tnd_split_rows(tnd_split_t split, uint64_t size, uint64_t rows, uint32_t replicas,
                        uint32_t replica)
{
    assert(rows <= size && size <= INT64_MAX && replica < replicas);
    return start(split, size, rows, replicas, replica + 1) -
           start(split, size, rows, replicas, replica);
}

uint64_t tnd_lane_quota(uint64_t size, uint32_t lanes, uint32_t lane, uint64_t step)
{
    assert(size <= INT64_MAX && lane < lanes);
    uint64_t part = (lane + step % lanes) % lanes;
    return size / lanes + (part < size % lanes);
}
