/*  tests/sim/packing.c - what the stream of a plan with packed rows must be, value by value. */
#include <string.h>

#include "tests/sim/reference.h"

typedef struct {
    uint64_t id;
    tnd_ledger_t booked; /* with it */
    tnd_position_t held; /* the cursor after it */
    uint64_t used;
} packed_t;

typedef struct {
    sim_reference_t *self;
    packed_t *rows; /* of the epoch, or with span_epochs of the run */
    uint64_t count;
    uint64_t id, filled; /* of the row under way */
    tnd_ledger_t gap, unbooked, carried, booked;
    tnd_position_t after; /* the last document that is complete */
    uint64_t at;          /* of the rows of the lane */
} walk_t;

static void end_row(walk_t *walk, uint64_t used)
{
    walk->rows[walk->count++] = (packed_t){walk->id, walk->unbooked, walk->after, used};
    walk->unbooked = (tnd_ledger_t){0};
    walk->id = walk->filled = 0;
}

static void add_document(walk_t *walk, const sim_row_t *row)
{
    const sim_plan_t *plan = walk->self->plan;
    uint64_t length = sim_row_length(plan, row->id), from = 0;
    for (uint64_t value = 0; value < length; value++) {
        walk->filled++;
        bool full = walk->filled == plan->pack_length, end = value + 1 == length;
        if (full || end)
            walk->id = sim_packed_id(walk->id, row->id, from, value + 1 - from);
        if (end)
            break;
        if (full) {
            end_row(walk, value + 1);
            from = value + 1;
        }
    }
    tnd_ledger_add(&walk->unbooked, &walk->gap);
    tnd_ledger_add(&walk->unbooked, &row->gap);
    walk->gap = (tnd_ledger_t){0};
    walk->unbooked.fed++;
    walk->unbooked.read += !row->added;
    walk->unbooked.added += row->added;
    walk->after = row->after;
    if (walk->filled == plan->pack_length)
        end_row(walk, 0);
}

static void drop(tnd_ledger_t *ledger)
{
    ledger->dropped += ledger->fed;
    ledger->fed = 0;
}

static void add_epoch(walk_t *walk, uint32_t epoch)
{
    const sim_reference_t *self = walk->self;
    uint64_t last = (epoch + 1) * (self->plan->count[0] + 1ull) - 1;
    for (uint32_t left = self->before[0][last].rows; left > 0; left--)
        add_document(walk, &self->lane_rows[0][walk->at++]);
    tnd_ledger_add(&walk->gap, &self->rest[0][epoch]);
}

static void end_epoch(walk_t *walk)
{
    if (walk->filled > 0 && walk->self->plan->pack_drop) {
        drop(&walk->unbooked);
        walk->id = walk->filled = 0;
    } else if (walk->filled > 0) {
        end_row(walk, 0);
    }
    tnd_ledger_add(&walk->unbooked, &walk->gap);
    walk->gap = (tnd_ledger_t){0};
}

/*  Books rows as fed by `step`, or, if it is NULL, as dropped. */
static void book(walk_t *walk, uint64_t first, uint64_t rows, const sim_step_t *step)
{
    sim_reference_t *self = walk->self;
    for (uint64_t i = first; i < first + rows; i++) {
        tnd_ledger_t booked = walk->rows[i].booked;
        if (step == NULL)
            drop(&booked);
        tnd_ledger_add(&walk->carried, &booked);
        if (step == NULL)
            continue;
        sim_digest_add(self->steps[self->step_count].digest, self->rows, walk->rows[i].id);
        self->ids[self->rows++] = walk->rows[i].id;
    }
}

static void make_steps(walk_t *walk, uint32_t epoch, uint32_t next)
{
    sim_reference_t *self = walk->self;
    const sim_plan_t *plan = self->plan;
    uint64_t before = self->step_count, first = 0, skipped = 0;
    bool over = false;
    while (!over && first < walk->count) {
        uint64_t left = walk->count - first, rows = left < plan->size ? left : plan->size;
        uint64_t rest = left - rows;
        bool drops = plan->remainder == TND_REMAINDER_DROP;
        if (rows < plan->size && drops)
            break;
        if (skipped++ < plan->skip) {
            book(walk, first, rows, NULL);
            first += rows;
            continue;
        }
        sim_step_t *step = &self->steps[self->step_count];
        *step = (sim_step_t){.first = self->rows, .rows = (uint32_t)rows, .epoch = epoch};
        sim_reference_cut(plan, plan->size, step);
        step->step_of_epoch = (uint32_t)(self->step_count - before);
        if (self->step_count > 0)
            memcpy(step->digest, step[-1].digest, sizeof step->digest);
        book(walk, first, rows, step);
        walk->carried.padded += plan->remainder == TND_REMAINDER_PAD ? plan->size - rows : 0;
        first += rows;
        step->held = walk->rows[first - 1].held;
        step->batches = walk->rows[first - 1].used;
        bool cut =
            step->step_of_epoch + 1 == plan->take && rest > 0 && (!drops || rest >= plan->size);
        step->last_of_epoch = over = cut || rest == 0 || (drops && rest < plan->size);
        if (over) {
            if (!cut) {
                book(walk, first, rest, NULL);
                tnd_ledger_add(&walk->carried, &walk->unbooked);
            }
            first = walk->count;
            walk->unbooked = (tnd_ledger_t){0};
            step->held = (tnd_position_t){.epoch = next};
            step->batches = 0;
        }
        tnd_ledger_add(&walk->booked, &walk->carried);
        walk->carried = (tnd_ledger_t){0};
        step->ledger = walk->booked;
        self->step_count++;
    }
    book(walk, first, walk->count - first, NULL);
    tnd_ledger_add(&walk->carried, &walk->unbooked);
    walk->unbooked = (tnd_ledger_t){0};
    walk->count = 0;
}

uint64_t sim_packed_most(const sim_plan_t *plan, uint64_t documents)
{
    return documents * 1000 / plan->pack_length + plan->epochs + 1;
}

void sim_packing_make(sim_reference_t *self, uint64_t documents, sim_store_t *store)
{
    const sim_plan_t *plan = self->plan;
    walk_t walk = {.self = self};
    walk.rows = sim_store_take(store, sim_packed_most(plan, documents) * sizeof *walk.rows);
    for (uint32_t e = 0; e < plan->epochs; e++) {
        if (e == 0 || !plan->span_epochs)
            walk.after = (tnd_position_t){.epoch = e};
        add_epoch(&walk, e);
        if (plan->span_epochs && e + 1 < plan->epochs)
            continue;
        end_epoch(&walk);
        make_steps(&walk, plan->span_epochs ? 0 : e, e + 1);
    }
    tnd_ledger_add(&walk.booked, &walk.carried);
    self->booked_after = walk.booked;
}
