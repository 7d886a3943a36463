/*  runtime/core/stream/compose.c - what a global batch is made of, from watermarks alone.  */
#include "runtime/core/stream/compose.h"

#include <assert.h>

#include "runtime/core/stream/split.h"

static tnd_compose_t wait_for(uint32_t lane, tnd_composition_t *composition)
{
    composition->waits_for = lane;
    return TND_COMPOSE_WAIT;
}

/*  A batch of `rows` rows is decided; released once it is known whether a row is left over. */
static tnd_compose_t decided(uint32_t lanes, const tnd_left_t *left, const uint64_t *take,
                             uint64_t rows, tnd_composition_t *composition)
{
    uint32_t open = lanes;
    for (uint32_t lane = lanes; lane-- > 0;) {
        if (left[lane].left > take[lane]) {
            *composition = (tnd_composition_t){.rows = rows};
            return TND_COMPOSE_BATCH;
        }
        if (!left[lane].ended)
            open = lane;
    }
    if (open < lanes)
        return wait_for(open, composition);
    *composition = (tnd_composition_t){.rows = rows, .last = true};
    return TND_COMPOSE_BATCH;
}

tnd_compose_t tnd_compose(uint64_t size, uint32_t lanes, uint64_t step_of_epoch,
                          const tnd_left_t *left, uint64_t *take, tnd_composition_t *composition)
{
    assert(size > 0 && size <= INT64_MAX && lanes > 0);
    uint64_t missing = size;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        take[lane] = tnd_lane_quota(size, lanes, lane, step_of_epoch);
        if (left[lane].left < take[lane]) {
            if (!left[lane].ended)
                return wait_for(lane, composition);
            take[lane] = left[lane].left;
        }
        missing -= take[lane];
    }
    /*  Other lanes, in order, give what ended lanes no longer have.  A lane gives only once all
     *  earlier lanes are known to have no more. */
    for (uint32_t lane = 0; lane < lanes && missing > 0; lane++) {
        uint64_t spare = left[lane].left - take[lane];
        if (spare < missing && !left[lane].ended)
            return wait_for(lane, composition);
        uint64_t more = spare < missing ? spare : missing;
        take[lane] += more;
        missing -= more;
    }
    if (missing == size)
        return TND_COMPOSE_OVER;
    return decided(lanes, left, take, size - missing, composition);
}

tnd_compose_t tnd_compose_whole(uint64_t size, uint32_t lanes, const tnd_left_t *left,
                                const uint64_t *take, tnd_composition_t *composition)
{
    uint64_t rest = 0;
    for (uint32_t lane = 0; lane < lanes; lane++)
        rest += left[lane].left - take[lane];
    if (rest >= size)
        return TND_COMPOSE_BATCH;
    for (uint32_t lane = 0; lane < lanes; lane++)
        if (!left[lane].ended)
            return wait_for(lane, composition);
    composition->last = true;
    return TND_COMPOSE_BATCH;
}
