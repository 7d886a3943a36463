/*  tests/sim/buckets.c - what the stream of a plan with buckets must be, row by row. */
#include <string.h>

#include "tests/sim/reference.h"

typedef struct {
    uint64_t id;
    bool added;
} waiting_t;

typedef struct {
    waiting_t rows[SIM_BUCKET_ROWS];
    uint32_t count;
} bucket_t;

typedef struct {
    sim_reference_t *self;
    bucket_t buckets[SIM_BUCKETS];
    tnd_ledger_t booked, unbooked;
    tnd_position_t start;
    uint64_t made, window_rows, steps_before; /* of the window; before the epoch */
    uint64_t at;                              /* of the rows of the lane */
    uint32_t epoch;
} walk_t;

static void make_step(walk_t *walk, bucket_t *bucket)
{
    sim_reference_t *self = walk->self;
    sim_step_t *step = &self->steps[self->step_count];
    const sim_step_t *before = self->step_count > 0 ? step - 1 : NULL;
    *step = (sim_step_t){.first = self->rows, .rows = bucket->count, .epoch = walk->epoch};
    sim_reference_cut(self->plan, (uint32_t)self->plan->bucket_sizes[bucket - walk->buckets], step);
    step->step_of_epoch = (uint32_t)(self->step_count - walk->steps_before);
    memcpy(step->digest, before ? before->digest : (uint64_t[2]){0}, sizeof step->digest);
    for (uint32_t i = 0; i < bucket->count; i++) {
        sim_digest_add(step->digest, self->rows, bucket->rows[i].id);
        self->ids[self->rows++] = bucket->rows[i].id;
        walk->booked.fed++;
        walk->booked.read += !bucket->rows[i].added;
        walk->booked.added += bucket->rows[i].added;
    }
    bucket->count = 0;
    tnd_ledger_add(&walk->booked, &walk->unbooked);
    walk->unbooked = (tnd_ledger_t){0};
    step->ledger = walk->booked;
    step->held = walk->start;
    step->batches = ++walk->made;
    self->step_count++;
}

static void drop(walk_t *walk, bucket_t *bucket)
{
    for (uint32_t i = 0; i < bucket->count; i++) {
        walk->unbooked.dropped++;
        walk->unbooked.read += !bucket->rows[i].added;
        walk->unbooked.added += bucket->rows[i].added;
    }
    bucket->count = 0;
}

static void end_window(walk_t *walk)
{
    for (uint32_t b = 0; b < walk->self->plan->bucket_count; b++)
        if (walk->buckets[b].count > 0 && walk->self->plan->bucket_drop)
            drop(walk, &walk->buckets[b]);
        else if (walk->buckets[b].count > 0)
            make_step(walk, &walk->buckets[b]);
    walk->made = walk->window_rows = 0;
}

static void add_row(walk_t *walk, const sim_row_t *row)
{
    const sim_plan_t *plan = walk->self->plan;
    uint64_t length = sim_row_length(plan, row->id);
    uint32_t b = 0;
    while (b + 1 < plan->bucket_count && length >= plan->bucket_bounds[b])
        b++;
    if (plan->bucket_bounded && b + 1 == plan->bucket_count) {
        walk->unbooked.bad++;
        walk->unbooked.read += !row->added;
        walk->unbooked.added += row->added;
        return;
    }
    bucket_t *bucket = &walk->buckets[b];
    bucket->rows[bucket->count++] = (waiting_t){row->id, row->added};
    if (bucket->count == plan->bucket_sizes[b])
        make_step(walk, bucket);
    if (++walk->window_rows != plan->bucket_window)
        return;
    sim_reference_t *self = walk->self;
    end_window(walk);
    if (!plan->bucket_drop) {
        self->steps[self->step_count - 1].held = row->after;
        self->steps[self->step_count - 1].batches = 0;
    }
    walk->start = row->after;
}

/*  After its last step nothing of an epoch is read, if `take` ends it. */
static void forget_after(walk_t *walk, uint64_t steps)
{
    sim_reference_t *self = walk->self;
    self->step_count = walk->steps_before + steps;
    const sim_step_t *last = &self->steps[self->step_count - 1];
    self->rows = last->first + last->rows;
    walk->booked = last->ledger;
    walk->unbooked = (tnd_ledger_t){0};
}

static void walk_epoch(walk_t *walk, uint32_t epoch)
{
    sim_reference_t *self = walk->self;
    const sim_plan_t *plan = self->plan;
    walk->epoch = epoch;
    walk->steps_before = self->step_count;
    walk->start = (tnd_position_t){.epoch = epoch};
    for (uint32_t left = self->before[0][(epoch + 1) * (plan->count[0] + 1ull) - 1].rows; left > 0;
         left--) {
        const sim_row_t *row = &self->lane_rows[0][walk->at++];
        tnd_ledger_add(&walk->unbooked, &row->gap);
        add_row(walk, row);
    }
    end_window(walk);
    tnd_ledger_add(&walk->unbooked, &self->rest[0][epoch]);
    uint64_t steps = self->step_count - walk->steps_before;
    if (steps > plan->take && plan->take > 0) {
        forget_after(walk, plan->take);
    } else if (steps > 0) {
        tnd_ledger_add(&walk->booked, &walk->unbooked);
        walk->unbooked = (tnd_ledger_t){0};
    }
    if (steps == 0)
        return;
    sim_step_t *last = &self->steps[self->step_count - 1];
    last->ledger = walk->booked;
    last->held = (tnd_position_t){.epoch = epoch + 1};
    last->batches = 0;
    last->last_of_epoch = true;
}

void sim_buckets_make(sim_reference_t *self)
{
    static walk_t walk;
    memset(&walk, 0, sizeof walk);
    walk.self = self;
    for (uint32_t e = 0; e < self->plan->epochs; e++)
        walk_epoch(&walk, e);
    tnd_ledger_add(&walk.booked, &walk.unbooked);
    self->booked_after = walk.booked;
}
