/*  runtime/core/reduction_rounds.c - the rounds of a reducer: open ones, and the names of those
 *  that were closed last. */
#include "runtime/core/reduction_rounds.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"

uint32_t tnd_reduction_rounds_pool(uint32_t rounds_max)
{
    return 2 * rounds_max;
}

static uint32_t hash_size(uint32_t rounds_max)
{
    uint32_t size = 8;
    while (size < 4 * rounds_max)
        size *= 2;
    return size;
}

static void *carve(uintptr_t *at, size_t bytes)
{
    void *start = (void *)*at;
    *at += tnd_align(bytes);
    return start;
}

/*  Lays out everything in memory that begins at `memory`; returns the size. */
static size_t lay_out(tnd_reduction_rounds_t *self, uintptr_t memory, uint32_t replicas,
                      uint32_t rounds_max)
{
    uintptr_t at = memory;
    size_t rounds = tnd_reduction_rounds_pool(rounds_max);
    self->rounds = carve(&at, rounds * sizeof *self->rounds);
    self->leaves = carve(&at, rounds * replicas * sizeof *self->leaves);
    self->results = carve(&at, rounds * replicas);
    self->hash = carve(&at, hash_size(rounds_max) * sizeof *self->hash);
    self->closed = carve(&at, rounds * sizeof *self->closed);
    self->work = carve(&at, rounds * sizeof *self->work);
    return at - memory;
}

size_t tnd_reduction_rounds_bytes(uint32_t replicas, uint32_t rounds_max)
{
    tnd_reduction_rounds_t layout;
    return lay_out(&layout, 0, replicas, rounds_max);
}

void tnd_reduction_rounds_init(tnd_reduction_rounds_t *self, void *memory, uint32_t replicas,
                               uint32_t rounds_max)
{
    lay_out(self, (uintptr_t)memory, replicas, rounds_max);
    self->replicas = replicas;
    self->rounds_max = rounds_max;
    self->hash_mask = hash_size(rounds_max) - 1;
    self->oldest = self->newest = TND_ROUND_NONE;
    uint32_t pool = tnd_reduction_rounds_pool(rounds_max);
    for (uint32_t i = 0; i < pool; i++)
        self->rounds[i].next = i + 1 < pool ? i + 1 : TND_ROUND_NONE;
}

static uint32_t number_of(const tnd_reduction_rounds_t *self, const tnd_round_t *round)
{
    return (uint32_t)(round - self->rounds);
}

tnd_round_leaf_t *tnd_round_leaves(const tnd_reduction_rounds_t *self, const tnd_round_t *round)
{
    return &self->leaves[(size_t)number_of(self, round) * self->replicas];
}

uint8_t *tnd_round_results(const tnd_reduction_rounds_t *self, const tnd_round_t *round)
{
    return &self->results[(size_t)number_of(self, round) * self->feeder_count];
}

static uint32_t home(const tnd_reduction_rounds_t *self, tnd_round_name_t name)
{
    uint64_t mixed = (name.round * 31 + name.slot) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(mixed >> 32) & self->hash_mask;
}

static uint32_t find(const tnd_reduction_rounds_t *self, tnd_round_name_t name)
{
    uint32_t at = home(self, name);
    while (self->hash[at].used && tnd_round_compare(self->hash[at].name, name) != 0)
        at = (at + 1) & self->hash_mask;
    return at;
}

const tnd_round_entry_t *tnd_round_entry(const tnd_reduction_rounds_t *self, tnd_round_name_t name)
{
    return &self->hash[find(self, name)];
}

tnd_round_t *tnd_round_find(const tnd_reduction_rounds_t *self, tnd_round_name_t name)
{
    const tnd_round_entry_t *entry = tnd_round_entry(self, name);
    return entry->used && entry->round != TND_ROUND_NONE ? &self->rounds[entry->round] : NULL;
}

/*  Moves later entries of the same run up, so that no entry is after a gap. */
static void remove_entry(tnd_reduction_rounds_t *self, tnd_round_name_t name)
{
    uint32_t gap = find(self, name), at = gap;
    assert(self->hash[gap].used);
    for (;;) {
        at = (at + 1) & self->hash_mask;
        if (!self->hash[at].used)
            break;
        uint32_t distance = (at - home(self, self->hash[at].name)) & self->hash_mask;
        if (distance < ((at - gap) & self->hash_mask))
            continue;
        self->hash[gap] = self->hash[at];
        gap = at;
    }
    self->hash[gap].used = false;
}

static void link_in(tnd_reduction_rounds_t *self, tnd_round_t *round)
{
    uint32_t number = number_of(self, round), previous = self->newest;
    while (previous != TND_ROUND_NONE &&
           tnd_round_compare(self->rounds[previous].name, round->name) > 0)
        previous = self->rounds[previous].previous;
    uint32_t next = previous == TND_ROUND_NONE ? self->oldest : self->rounds[previous].next;
    round->previous = previous;
    round->next = next;
    *(previous == TND_ROUND_NONE ? &self->oldest : &self->rounds[previous].next) = number;
    *(next == TND_ROUND_NONE ? &self->newest : &self->rounds[next].previous) = number;
}

static void link_out(tnd_reduction_rounds_t *self, const tnd_round_t *round)
{
    uint32_t previous = round->previous, next = round->next;
    *(previous == TND_ROUND_NONE ? &self->oldest : &self->rounds[previous].next) = next;
    *(next == TND_ROUND_NONE ? &self->newest : &self->rounds[next].previous) = previous;
}

tnd_round_t *tnd_round_open(tnd_reduction_rounds_t *self, tnd_round_name_t name)
{
    if (self->open == self->rounds_max)
        return NULL;
    assert(self->spare != TND_ROUND_NONE);
    tnd_round_t *round = &self->rounds[self->spare];
    self->spare = round->next;
    *round = (tnd_round_t){.name = name};
    memset(tnd_round_leaves(self, round), 0, self->replicas * sizeof(tnd_round_leaf_t));
    memset(tnd_round_results(self, round), TND_RESULT_UNSENT, self->feeder_count);
    self->hash[find(self, name)] =
        (tnd_round_entry_t){.name = name, .round = number_of(self, round), .used = true};
    link_in(self, round);
    self->open++;
    self->incomplete++;
    return round;
}

void tnd_round_close(tnd_reduction_rounds_t *self, tnd_round_t *round)
{
    if (self->closed_count == self->rounds_max)
        remove_entry(self, self->closed[self->closed_at]);
    else
        self->closed_count++;
    self->closed[self->closed_at] = round->name;
    self->closed_at = (self->closed_at + 1) % self->rounds_max;
    self->hash[find(self, round->name)].round = TND_ROUND_NONE;
    link_out(self, round);
    self->open--;
    self->incomplete -= round->covered < self->replicas;
    round->closing = true;
    round->reduce_due = round->results_due = false;
    tnd_round_queue(self, round);
}

void tnd_round_queue(tnd_reduction_rounds_t *self, tnd_round_t *round)
{
    if (round->queued)
        return;
    round->queued = true;
    uint32_t pool = tnd_reduction_rounds_pool(self->rounds_max);
    self->work[(self->work_first + self->work_count++) % pool] = number_of(self, round);
}

tnd_round_t *tnd_round_queued(const tnd_reduction_rounds_t *self)
{
    return self->work_count > 0 ? &self->rounds[self->work[self->work_first]] : NULL;
}

void tnd_round_done(tnd_reduction_rounds_t *self)
{
    uint32_t number = self->work[self->work_first];
    self->work_first = (self->work_first + 1) % tnd_reduction_rounds_pool(self->rounds_max);
    self->work_count--;
    self->rounds[number].queued = false;
    if (self->rounds[number].closing) {
        self->rounds[number].next = self->spare;
        self->spare = number;
    }
}
