/*  tests/sim/checks.c - what must hold after every event, at every booked step and at the end. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

/*  A failed assertion of the core ends the seed instead of the program. */
static sim_t *running;

void __assert_fail(const char *assertion, const char *file, unsigned int line, const char *function)
{
    if (running && running->escapes) {
        sim_violate(running, "assertion `%s` of %s, %s:%u, is broken", assertion, function, file,
                    line);
        siglongjmp(running->escape, 1);
    }
    fprintf(stderr, "%s:%u: %s: assertion `%s` is broken\n", file, line, function, assertion);
    __builtin_trap();
}

void sim_check_begin(sim_t *self)
{
    running = self;
}

static void check_join(sim_t *self, uint32_t id, const sim_actor_t *actor)
{
    const tnd_order_t *order = tnd_batcher_core_order(actor->machine);
    uint32_t rows_wanted =
        self->plan.remainder == TND_REMAINDER_DROP ? 2 * self->plan.size : self->plan.size + 1;
    if (tnd_order_used_bytes(order) > tnd_order_window_bytes(order))
        sim_violate(self, "%s uses %" PRIu64 " bytes of a window of %" PRIu64, sim_name(self, id),
                    tnd_order_used_bytes(order), tnd_order_window_bytes(order));
    if (tnd_order_used_blocks(order) > self->plan.window_blocks + rows_wanted + TND_ORDER_SPARE)
        sim_violate(self, "%s uses %u blocks of a window of %u", sim_name(self, id),
                    tnd_order_used_blocks(order), self->plan.window_blocks);
}

/*  How many payloads an actor may hold: more is a leak. */
static uint32_t payloads_most(const sim_t *self, const sim_actor_t *actor)
{
    switch ((tnd_role_t)actor->role) {
    case TND_ROLE_WORKER:
        return tnd_preprocessor_core_waiting(actor->machine) + (actor->busy ? 1 : 0);
    case TND_ROLE_JOIN:
        return tnd_order_used_blocks(tnd_batcher_core_order(actor->machine));
    case TND_ROLE_CACHE:
        return tnd_cache_core_held(actor->machine);
    case TND_ROLE_REPLICA: /* parameters and gradients of each slot */
        return 2 * SIM_REPLICAS * (self->plan.depth + 1);
    case TND_ROLE_PARAMETERS:
        return self->plan.deal_window;
    case TND_ROLE_REDUCER:
        return 2 * (SIM_DEPTH + 1) * SIM_REDUCTIONS * (self->plan.replicas + 1);
    default:
        return 0;
    }
}

void sim_check_actor(sim_t *self, uint32_t id)
{
    const sim_actor_t *actor = &self->actors[id];
    if (!actor->alive)
        return;
    if (actor->role == TND_ROLE_JOIN)
        check_join(self, id, actor);
    else if (actor->role == TND_ROLE_WORKER && !tnd_preprocessor_core_sound(actor->machine))
        sim_violate(self, "the queue of %s is out of order or above its window",
                    sim_name(self, id));
    else if (actor->role == TND_ROLE_FEEDER &&
             tnd_feeder_core_held(actor->machine) >
                 tnd_feeder_core_committed(actor->machine) + actor->depth)
        sim_violate(self, "%s holds more steps than it has slots", sim_name(self, id));
    if ((actor->inbox.first == SIM_NONE || actor->busy) &&
        actor->payloads > payloads_most(self, actor))
        sim_violate(self, "%s holds %u payloads, %u more than it can know of", sim_name(self, id),
                    actor->payloads, actor->payloads - payloads_most(self, actor));
    if (!sim_actor_away(actor) && sim_actor_blocked_on(self, id) == 0)
        sim_violate(self, "%s waits for nothing and does nothing", sim_name(self, id));
}

void sim_check_all(sim_t *self)
{
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (!self->hosts[self->actors[id].host].paused)
            sim_check_actor(self, id);
}

void sim_print_rows(uint64_t step, uint32_t replica, const uint64_t *ids, uint32_t count)
{
    printf("{\"step\":%" PRIu64 ",\"replica\":%u,\"rows\":[", step, replica);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id = ids[i];
        printf("%s[%u,%u,%u,%u]", i ? "," : "", (unsigned)(id >> 56), (unsigned)(id >> 48 & 255),
               (unsigned)(id >> 8 & 0xffffffff), (unsigned)(id & 255));
    }
    printf("]}\n");
}

/*  The steps after which the chain ends, if its rows do not end before. */
static uint64_t steps_max_of(const sim_t *self)
{
    uint64_t end = self->chain == 0 ? self->ends_at : TND_UNKNOWN;
    return end < self->plan.steps_max ? end : self->plan.steps_max;
}

void sim_check_step(sim_t *self, uint32_t id, const sim_slot_t *slot)
{
    const sim_plan_t *plan = &self->plan;
    sim_actor_t *actor = &self->actors[id];
    uint64_t number = slot->step - self->base;
    if (slot->step != actor->committed++) {
        sim_violate(self, "%s commits step %" PRIu64 " instead of step %" PRIu64,
                    sim_name(self, id), slot->step, actor->committed - 1);
        return;
    }
    if (number >= steps_max_of(self)) {
        sim_violate(self, "%s does step %" PRIu64 " of a run that ends before step %" PRIu64,
                    sim_name(self, id), number, steps_max_of(self));
        return;
    }
    if (number >= self->reference.step_count) {
        sim_violate(self, "%s commits step %" PRIu64 " of a stream of %" PRIu64, sim_name(self, id),
                    number, self->reference.step_count);
        return;
    }
    const sim_step_t *step = &self->reference.steps[number];
    uint32_t feeder = id - plan->first_feeder;
    for (uint32_t r = 0; r < plan->feeder_replicas[feeder]; r++) {
        uint32_t replica = plan->feeder_first[feeder] + r;
        uint32_t offset = step->offset[replica], count = step->count[replica];
        const uint64_t *ids = self->reference.ids + step->first + offset;
        if (self->print_rows && self->chain == 0)
            sim_print_rows(slot->step, replica, slot->ids[r], slot->count[r]);
        if (slot->count[r] != count) {
            sim_violate(self, "step %" PRIu64 " gives replica %u %u rows instead of %u", number,
                        replica, slot->count[r], count);
            return;
        }
        for (uint32_t i = 0; i < count; i++)
            if (slot->ids[r][i] != ids[i]) {
                sim_violate(self,
                            "row %u of replica %u in step %" PRIu64 " is %016" PRIx64
                            " instead of %016" PRIx64,
                            i, replica, number, slot->ids[r][i], ids[i]);
                return;
            }
    }
}

uint64_t sim_root(sim_t *self, uint64_t number, uint32_t slot)
{
    const sim_plan_t *plan = &self->plan;
    uint64_t leaves[SIM_REPLICAS];
    uint64_t place = number - self->base;
    if (place >= self->reference.step_count)
        return 0;
    const sim_step_t *step = &self->reference.steps[place];
    for (uint32_t r = 0; r < plan->replicas; r++)
        leaves[r] = sim_leaf(number, slot, r, self->reference.ids + step->first + step->offset[r],
                             step->count[r]);
    return sim_tree(leaves, 0, plan->replicas);
}

/*  So many positions were read, which made so many rows.  `before`: what is before the last of them, or
 *  after it if it made none. */
static void add_read(tnd_ledger_t *ledger, const sim_before_t *before, uint64_t positions,
                     uint64_t rows)
{
    ledger->read += positions;
    ledger->filtered += before->filtered;
    ledger->bad += before->bad;
    ledger->added += rows - (positions - before->filtered - before->bad);
}

/*  Books the first `rows` rows of an epoch, without anything after the last of them. */
static void account_rows(const sim_before_t *before, uint64_t rows, tnd_ledger_t *ledger)
{
    uint64_t p = 0;
    while (rows > 0 && before[p + 1].rows < rows)
        p++;
    if (rows > 0)
        add_read(ledger, &before[p], p + 1, rows);
}

/*  Compares what was read according to a lane's position with what is before it in the lane.
 *  *rows_p has also the rows that `take` left unread. */
static void account(const sim_t *self, uint32_t lane, tnd_position_t at, tnd_ledger_t *ledger,
                    uint64_t *rows_p)
{
    const sim_plan_t *plan = &self->plan;
    uint64_t stride = plan->count[lane] + 1, rows = 0;
    bool over = plan->span_epochs && at.epoch >= plan->epochs;
    uint64_t run = over ? self->reference.cut[lane][0] : UINT64_MAX; /* rows left before the cut */
    for (uint32_t e = 0; e <= at.epoch && e < plan->epochs; e++) {
        uint64_t p = e < at.epoch ? stride - 1 : at.index;
        if (p >= stride)
            p = stride - 1;
        const sim_before_t *before = &self->reference.before[lane][e * stride];
        uint64_t here = before[p].rows, cut = run;
        if (!plan->span_epochs && e < at.epoch)
            cut = self->reference.cut[lane][e];
        rows += here;
        if (cut != UINT64_MAX && (!over || cut <= here)) {
            account_rows(before, cut, ledger);
            run = over ? 0 : run;
            continue;
        }
        run -= run != UINT64_MAX ? here : 0;
        add_read(ledger, &before[p], p, here);
    }
    if (at.used > 0) {
        ledger->read++;
        ledger->added += at.used - 1;
        rows += at.used;
    }
    *rows_p = rows;
}

static void check_ledger(sim_t *self, const tnd_cursor_t *cursor, const tnd_ledger_t *expected)
{
    const tnd_ledger_t *got = &cursor->ledger;
    static const char *const names[] = {"read", "added",   "fed",   "filtered",
                                        "bad",  "dropped", "padded"};
    uint64_t is[sizeof names / sizeof *names], should[sizeof names / sizeof *names];
    _Static_assert(sizeof is == sizeof *got, "each count has a name");
    memcpy(is, got, sizeof is);
    memcpy(should, expected, sizeof should);
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is[i] != should[i])
            sim_violate(self,
                        "the ledger before step %" PRIu64 ": %s %" PRIu64 " instead of %" PRIu64,
                        cursor->step, names[i], is[i], should[i]);
}

/*  The position of a lane after so many of its rows, of all epochs; in `epoch`, or with span_epochs
 *  in any. */
static tnd_position_t position_after(const sim_t *self, uint32_t lane, uint32_t epoch,
                                     uint64_t rows)
{
    const sim_plan_t *plan = &self->plan;
    uint64_t stride = plan->count[lane] + 1, left = rows;
    for (uint32_t e = 0; e < plan->epochs; e++) {
        const sim_before_t *before = self->reference.before[lane] + e * stride;
        if (left > before[stride - 1].rows || (e < epoch && !plan->span_epochs)) {
            left -= before[stride - 1].rows;
            continue;
        }
        tnd_position_t at = {.epoch = e};
        while (left > 0 && before[at.index + 1].rows < left)
            at.index++;
        at.used = (uint32_t)(left - (left > 0 ? before[at.index].rows : 0));
        return at;
    }
    return (tnd_position_t){.epoch = plan->epochs};
}

/*  A lane whose position was held: checks it, and returns where the lane really is. */
static tnd_position_t check_held(sim_t *self, const tnd_cursor_t *cursor, uint32_t lane)
{
    const sim_plan_t *plan = &self->plan;
    uint64_t done = cursor->step - self->base, step = done - cursor->since[lane], rows;
    const uint64_t *taken = self->reference.taken;
    tnd_ledger_t unused = {0};
    account(self, lane, cursor->part[lane], &unused, &rows);
    bool first = self->reference.steps[step].step_of_epoch == 0;
    uint64_t before = step > 0 ? taken[(step - 1) * plan->lanes + lane] : 0;
    if (first ? rows < before : rows != before)
        sim_violate(self,
                    "lane %u is held after %" PRIu64 " rows, and not after the %" PRIu64
                    " before step %" PRIu64,
                    lane, rows, before, step);
    return position_after(self, lane, cursor->epoch, taken[(done - 1) * plan->lanes + lane]);
}

static void check_rank(sim_t *self, const tnd_cursor_t *cursor, const sim_step_t *step)
{
    if (cursor->rank != step->first + step->rows)
        sim_violate(self, "the cursor of step %" PRIu64 " has rank %" PRIu64 " instead of %" PRIu64,
                    cursor->step - 1, cursor->rank, step->first + step->rows);
    if (cursor->digest[0] != step->digest[0] || cursor->digest[1] != step->digest[1])
        sim_violate(self, "the digest after step %" PRIu64 " is another", cursor->step - 1);
    if (self->plan.span_epochs && step->last_of_epoch)
        return;
    uint32_t epoch = step->epoch + step->last_of_epoch;
    uint32_t within = step->last_of_epoch ? 0 : step->step_of_epoch + 1;
    if (cursor->epoch != epoch || cursor->step_of_epoch != within)
        sim_violate(self, "the cursor of step %" PRIu64 " is (%u, %" PRIu64 ") instead of (%u, %u)",
                    cursor->step - 1, cursor->epoch, cursor->step_of_epoch, epoch, within);
}

static void check_stored_cursor(sim_t *self, const tnd_cursor_t *cursor, const sim_step_t *step)
{
    check_ledger(self, cursor, &step->ledger);
    if (tnd_position_compare(cursor->part[0], step->held) != 0 || cursor->since[0] != step->batches)
        sim_violate(self,
                    "the cursor of step %" PRIu64 " has made %" PRIu64 " since position %" PRIu64
                    " + %u of epoch %u, instead of %" PRIu64 " after %" PRIu64 " + %u of %u",
                    cursor->step - 1, cursor->since[0], cursor->part[0].index, cursor->part[0].used,
                    cursor->part[0].epoch, step->batches, step->held.index, step->held.used,
                    step->held.epoch);
    check_rank(self, cursor, step);
}

/*  Where all lanes have the same rows, the first one books them. */
static bool books(const sim_plan_t *plan, uint32_t lane)
{
    return lane == 0 || plan->feed != TND_FEED_PIECES;
}

void sim_check_booked(sim_t *self, const tnd_cursor_t *cursor)
{
    const sim_plan_t *plan = &self->plan;
    uint64_t next = cursor->step - self->base;
    if (cursor->step != self->booked + 1 || next > self->reference.step_count) {
        sim_violate(self, "step %" PRIu64 " is booked after step %" PRIu64, cursor->step - 1,
                    self->booked - 1);
        return;
    }
    self->booked = cursor->step;
    if (plan->rogue != SIM_NONE && next == plan->rogue_step + 1)
        sim_violate(self, "step %" PRIu64 " is booked, to which %s did not post what others did",
                    plan->rogue_step, sim_name(self, plan->rogue));
    const sim_step_t *step = &self->reference.steps[next - 1];
    if (sim_plan_stores(plan)) {
        check_stored_cursor(self, cursor, step);
        return;
    }
    tnd_ledger_t expected = {
        .fed = step->first + step->rows, .dropped = step->dropped, .padded = step->padded};
    tnd_ledger_t unbooked = {0}; /* by the lanes that have the rows of lane 0 */
    for (uint32_t l = 0; l < plan->lanes; l++) {
        uint64_t rows, taken = self->reference.taken[(next - 1) * plan->lanes + l];
        bool held = !step->last_of_epoch && plan->cursor_every > 0;
        uint64_t batches = held ? (step->step_of_epoch + 1) % plan->cursor_every : 0;
        if (cursor->since[l] != batches) {
            sim_violate(self,
                        "the cursor of step %" PRIu64 " counts %" PRIu64 " batches in lane %u",
                        next - 1, cursor->since[l], l);
            return;
        }
        account(self, l, batches > 0 ? check_held(self, cursor, l) : cursor->part[l],
                books(plan, l) ? &expected : &unbooked, &rows);
        if (rows != taken) {
            sim_violate(self,
                        "the cursor of step %" PRIu64 " is in lane %u after %" PRIu64
                        " rows instead of %" PRIu64,
                        next - 1, l, rows, taken);
            return;
        }
    }
    check_ledger(self, cursor, &expected);
    check_rank(self, cursor, step);
}

void sim_check_end(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    uint64_t steps = self->reference.step_count, booked = self->booked - self->base;
    if (self->held != NULL && !self->leader_dead && !self->feeder_dead)
        sim_parameters_check_end(self);
    if (self->checkpoint != NULL && self->closed && !self->leader_dead && !self->feeder_dead)
        sim_checkpoint_check(self);
    bool cut = steps_max_of(self) <= steps;
    if (cut)
        steps = steps_max_of(self);
    if (booked != steps && !self->run.touches.drains && self->from.step - self->base <= steps)
        sim_violate(self, "the run ended after %" PRIu64 " of %" PRIu64 " steps", booked, steps);
    if (self->run.touches.drains || cut)
        return;
    const tnd_cursor_t *cursor = tnd_leader_core_cursor(self->run.session);
    tnd_ledger_t expected = {.fed = self->reference.rows, .dropped = self->reference.dropped_after};
    expected.padded = steps > 0 ? self->reference.steps[steps - 1].padded : 0;
    for (uint32_t l = 0; l < plan->lanes && books(plan, l) && !sim_plan_stores(plan); l++) {
        uint64_t rows;
        account(self, l, (tnd_position_t){.epoch = plan->epochs}, &expected, &rows);
    }
    if (sim_plan_stores(plan))
        expected = self->reference.booked_after;
    check_ledger(self, cursor, &expected);
}

static const char *const waits[] = {"input", "credit", "order", "mark",   "window", "memory",
                                    "step",  "reduce", "peer",  "leader", "end"};

/*  Prints what each actor waits for. */
void sim_explain(sim_t *self)
{
    for (uint32_t id = 0; id < self->plan.member_count; id++) {
        const sim_actor_t *actor = &self->actors[id];
        if (!actor->machine)
            continue;
        uint32_t set = sim_actor_blocked_on(self, id);
        printf("  %-9s on host %s%s waits for", sim_name(self, id), self->host_names[actor->host],
               !actor->alive     ? " (dead)"
               : actor->busy     ? " (busy)"
               : !actor->started ? " (not started)"
                                 : "");
        for (uint32_t i = 0; i < sizeof waits / sizeof *waits; i++)
            if (set & 1u << i)
                printf(" %s", waits[i]);
        for (uint32_t i = 0; i < actor->link_count; i++) {
            const sim_link_t *link = &self->links[actor->links[i]];
            uint32_t side = link->actor[0] == id ? 0 : 1;
            if (link->end[side].state != TND_END_OPEN)
                printf("; not connected to %s", sim_name(self, link->actor[1 - side]));
        }
        printf("\n");
    }
    printf("  leader: state %d, generation %u, booked %" PRIu64 " of %" PRIu64 "\n",
           (int)tnd_leader_core_state(self->run.session),
           tnd_leader_core_generation(self->run.session), self->booked, self->reference.step_count);
}
