/*  runtime/core/stream/apart.c - what a lane gives to replicas of its own. */
#include "runtime/core/stream/apart.h"

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

/*  Replicas of a lane: parts that it takes in a step. */
static uint32_t own_replicas(const tnd_apart_t *self)
{
    return self->replicas / self->lanes;
}

/*  The first part of a batch of the lane that a step takes. */
static uint32_t first_part(const tnd_apart_t *self, uint64_t batch)
{
    return (uint32_t)(batch % self->lanes) * own_replicas(self);
}

/*  Rows of the first `parts` parts of full batches that follow one another. */
static uint64_t full_parts(const tnd_apart_t *self, uint64_t parts)
{
    return parts / self->replicas * self->size +
           tnd_split_offset(self->split, self->size, self->size, self->replicas,
                            (uint32_t)(parts % self->replicas));
}

/*  Where part `part` of a batch of the lane begins, which is cut as one of `cut` rows; the number of
 *  replicas gives the end of the last part. */
static uint64_t start(const tnd_apart_t *self, uint32_t lane, uint64_t cut, uint32_t part)
{
    if (self->split == TND_SPLIT_REBATCH_V2) {
        uint64_t turned = TND_BUG(PARTS_NOT_ROTATED) ? 0 : (uint64_t)lane * own_replicas(self);
        return full_parts(self, turned + part) - full_parts(self, turned);
    }
    if (part == self->replicas)
        return cut;
    return tnd_split_offset(self->split, self->size, cut, self->replicas, part);
}

/*  Whether the parts depend on how many rows the batch has. */
static bool cuts_rows(const tnd_apart_t *self)
{
    return self->split == TND_SPLIT_REBATCH_LEGACY && !self->pads;
}

bool tnd_apart_possible(const tnd_apart_t *self)
{
    return tnd_split_rows(self->split, self->size, self->size, self->replicas, self->replicas - 1) >
           0;
}

bool tnd_apart_whole(const tnd_apart_t *self)
{
    return self->drops || cuts_rows(self);
}

uint64_t tnd_apart_period(const tnd_apart_t *self)
{
    return cuts_rows(self) ? self->lanes : 0;
}

uint64_t tnd_apart_quota(const tnd_apart_t *self, uint32_t lane, uint64_t batch)
{
    uint32_t first = first_part(self, batch);
    return start(self, lane, self->size, first + own_replicas(self)) -
           start(self, lane, self->size, first);
}

bool tnd_apart_take(const tnd_apart_t *self, uint32_t lane, uint64_t batch, uint64_t taken,
                    tnd_left_t left, tnd_apart_take_t *take)
{
    uint32_t first = first_part(self, batch);
    /*  Unless the lane has ended, its earlier parts of the batch were full. */
    uint64_t given = cuts_rows(self) ? taken % self->size : start(self, lane, self->size, first);
    uint64_t quota = tnd_apart_quota(self, lane, batch);
    uint64_t batch_rows = tnd_least(self->size, given + left.left);
    bool whole = batch_rows == self->size;
    if (!left.ended && (tnd_apart_whole(self) ? !whole : left.left < quota))
        return false;
    uint64_t usable = self->drops && !whole ? 0 : left.left;
    take->cut = cuts_rows(self) ? batch_rows : self->size;
    uint64_t wanted = start(self, lane, take->cut, first + own_replicas(self)) -
                      start(self, lane, take->cut, first);
    take->take = tnd_least(wanted, usable);
    take->gone = self->drops && take->take < quota ? left.left : take->take;
    return true;
}

tnd_apart_part_t tnd_apart_part(const tnd_apart_t *self, uint32_t lane, uint64_t batch,
                                const tnd_apart_take_t *take, uint32_t which)
{
    uint32_t first = first_part(self, batch);
    uint64_t before = start(self, lane, take->cut, first);
    uint64_t from = start(self, lane, take->cut, first + which) - before;
    uint64_t to = start(self, lane, take->cut, first + which + 1) - before;
    tnd_apart_part_t part = {.first = tnd_least(from, take->take)};
    part.rows = tnd_least(to, take->take) - part.first;
    part.padded = self->pads ? to - from - part.rows : 0;
    return part;
}

/*  Rows that a later batch may have, of a lane that has given what is in `take`. */
static bool more_follow(const tnd_apart_t *self, uint32_t lane, uint64_t batch, uint64_t taken,
                        tnd_left_t left, const tnd_apart_take_t *take, bool *known_p)
{
    tnd_apart_take_t next;
    tnd_left_t rest = {left.left - take->gone, left.ended};
    /*  Of a batch of which a part was given, the rest is there. */
    bool within = (batch + 1) % self->lanes != 0;
    *known_p = true;
    if (rest.left > 0 && (!self->drops || (within && take->take > 0)))
        return true;
    *known_p = tnd_apart_take(self, lane, batch + 1, taken + take->gone, rest, &next);
    return *known_p && next.take > 0;
}

tnd_compose_t tnd_compose_apart(const tnd_apart_t *self, uint64_t batch, const uint64_t *taken,
                                const tnd_left_t *left, tnd_apart_take_t *takes,
                                tnd_composition_t *composition)
{
    uint64_t rows = 0;
    uint32_t open = self->lanes;
    for (uint32_t lane = 0; lane < self->lanes; lane++) {
        if (!tnd_apart_take(self, lane, batch, taken[lane], left[lane], &takes[lane])) {
            composition->waits_for = lane;
            return TND_COMPOSE_WAIT;
        }
        rows += takes[lane].take;
    }
    if (rows == 0)
        return TND_COMPOSE_OVER;
    *composition = (tnd_composition_t){.rows = rows, .last = true};
    for (uint32_t lane = self->lanes; lane-- > 0;) {
        bool known;
        if (more_follow(self, lane, batch, taken[lane], left[lane], &takes[lane], &known)) {
            composition->last = false;
            return TND_COMPOSE_BATCH;
        }
        if (!known)
            open = lane;
    }
    if (open == self->lanes)
        return TND_COMPOSE_BATCH;
    composition->waits_for = open;
    return TND_COMPOSE_WAIT;
}

uint64_t tnd_apart_steps(const tnd_apart_t *self, uint32_t lane, uint64_t rows)
{
    uint64_t steps = rows / self->size * self->lanes, rest = rows % self->size;
    if (rest == 0 || self->drops)
        return steps;
    tnd_left_t left = {rest, true};
    for (uint64_t batch = 0, taken = 0; left.left > 0; batch++, steps++) {
        tnd_apart_take_t take;
        (void)tnd_apart_take(self, lane, batch, taken, left, &take);
        taken += take.take;
        left.left -= take.take;
    }
    return steps;
}
