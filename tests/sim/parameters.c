/*  tests/sim/parameters.c - a holder of parameters, replicas that come and go, and joins.
 *
 *  Each pair of them has a queue, and the heads of queues arrive in any order.  Replicas die, or the leader
 *  counts one as dead that lives; they are started again or never come back, connections are cut, the stream is rewound, the holder dies and begins again
 *  from its last checkpoint.  Values are hashes: in the order of steps the last one must be that of a
 *  plain loop. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/core/parameters/deals.h"
#include "runtime/core/parameters/dealt_steps.h"
#include "runtime/core/parameters/holder.h"
#include "tests/sim/cluster.h"

enum { REPLICAS = 4, JOINS = 2, STEPS = 48, WINDOW = 24, PLACES = STEPS + WINDOW, QUEUE = 512 };
enum { EVENTS_MAX = 60000, FAULTS = 12 };

typedef enum {
    DEAL,
    SLICE,
    READ,
    PUSH,
    SERVE,
    TAKEN,
    REPORT,
    REWIND,
    BOOKED,
    GONE,
    END
} word_kind_t;

typedef struct {
    word_kind_t kind;
    uint32_t generation, replica;
    tnd_life_t life;
    uint64_t step, value;
    tnd_parameters_effect_kind_t report;
} word_t;

typedef struct {
    uint32_t first, count;
    word_t words[QUEUE];
} queue_t;

typedef struct {
    tnd_life_t life; /* 0: it is dead */
    bool up;         /* it has a connection to the holder */
    bool absent;     /* it is not started again */
    bool over;       /* the leader counts it as dead, and starts it again if it lives */
    bool slow;
    tnd_dealt_steps_t *machine;
    bool runs; /* step `step` on `value` */
    uint64_t step, value;
} replica_t;

typedef struct {
    tnd_life_t life; /* that it is connected to, or was last */
    bool up;
} peer_t;

typedef struct {
    tnd_deals_t deals;
    tnd_deal_t memory[WINDOW];
    uint64_t next; /* step to send */
    peer_t peers[REPLICAS];
} join_t;

/*  What the holder keeps. */
typedef struct {
    uint64_t committed, version, values[WINDOW], ahead[WINDOW];
    uint32_t applied[PLACES];
    size_t ahead_count;
} state_t;

typedef struct {
    sim_t *sim;
    sim_random_t luck;
    tnd_parameters_core_config_t config;
    tnd_parameters_core_t *core;
    uint32_t joins, faults_left;
    uint64_t steps, end;
    state_t state, saved;
    uint64_t limit; /* no step from this one on is served; TND_UNKNOWN: any is */
    bool ends, drains;
    tnd_life_t lives;
    /* the leader */
    uint32_t generation;
    uint64_t held, booked;
    replica_t replicas[REPLICAS];
    join_t join[JOINS];
    queue_t deals[JOINS], rewinds[JOINS], slices[JOINS][REPLICAS];
    queue_t asks[REPLICAS], answers[REPLICAS], reports, orders;
} world_t;

static void put(world_t *self, queue_t *queue, word_t word)
{
    if (queue->count == QUEUE) {
        sim_violate(self->sim, "a queue of the holder of parameters overflows");
        return;
    }
    queue->words[(queue->first + queue->count++) % QUEUE] = word;
}

static word_t get(queue_t *queue)
{
    word_t word = queue->words[queue->first];
    queue->first = (queue->first + 1) % QUEUE;
    queue->count--;
    return word;
}

/* --- what must result -------------------------------------------------------------------------- */

static uint64_t gradient_of(uint64_t step, uint64_t value)
{
    return sim_hash(value, step) | 1; /* it is a payload, which is not NULL */
}

static uint64_t expected_version(const world_t *self, uint64_t step)
{
    return step > self->config.staleness ? step - self->config.staleness : 0;
}

/*  The last value of a plain loop, in the order of steps. */
static uint64_t expected_value(const world_t *self)
{
    uint64_t values[STEPS + 1] = {1};
    for (uint64_t s = 0; s < self->end; s++)
        values[s + 1] = sim_hash(values[s], gradient_of(s, values[expected_version(self, s)]));
    return values[self->end];
}

static uint64_t value_at(const world_t *self, uint64_t version)
{
    return self->state.values[version % self->config.window];
}

static void check_served(world_t *self, const tnd_parameters_effect_t *effect)
{
    uint64_t step = effect->step;
    if (step >= self->limit || step >= self->end)
        sim_violate(self->sim, "step %" PRIu64 " begins, but only steps before %" PRIu64 " may",
                    step, tnd_least(self->limit, self->end));
    if (self->config.order == TND_PARAMETERS_STEPS &&
        effect->version != expected_version(self, step))
        sim_violate(self->sim, "step %" PRIu64 " computes on version %" PRIu64 ", not %" PRIu64,
                    step, effect->version, expected_version(self, step));
    if (effect->version > self->state.version ||
        self->state.version - effect->version > self->config.staleness)
        sim_violate(self->sim, "version %" PRIu64 " is served, which is not kept", effect->version);
    for (uint64_t s = 0; self->config.staleness != TND_UNKNOWN && s + self->config.staleness < step;
         s++)
        if (self->state.applied[s] == 0)
            sim_violate(self->sim, "step %" PRIu64 " begins before step %" PRIu64 " is applied",
                        step, s);
}

static void apply(world_t *self, const tnd_parameters_effect_t *effect)
{
    state_t *state = &self->state;
    if (++state->applied[effect->step] > 1)
        sim_violate(self->sim, "the push of step %" PRIu64 " is applied twice", effect->step);
    if (effect->version != state->version + 1)
        sim_violate(self->sim, "version %" PRIu64 " follows version %" PRIu64, effect->version,
                    state->version);
    if (self->config.order == TND_PARAMETERS_STEPS && effect->step != state->version)
        sim_violate(self->sim, "step %" PRIu64 " is applied as number %" PRIu64, effect->step,
                    state->version);
    uint64_t value = value_at(self, state->version);
    state->version = effect->version;
    self->sim->counts.pushes++;
    state->values[state->version % self->config.window] =
        sim_hash(value, (uint64_t)(uintptr_t)effect->payload);
}

/*  The rows of a step are at one living replica at most. */
static void check_held(world_t *self, uint64_t step)
{
    uint32_t holders = 0;
    for (uint32_t r = 0; r < self->config.replicas; r++)
        holders += self->replicas[r].life != 0 && !self->replicas[r].over &&
                   tnd_dealt_steps_holds(self->replicas[r].machine, step);
    if (holders > 1)
        sim_violate(self->sim, "step %" PRIu64 " was dealt to %" PRIu32 " replicas", step, holders);
}

/* --- the holder -------------------------------------------------------------------------------- */

static void carry_out(world_t *self, const tnd_parameters_effect_t *effect)
{
    word_t word = {.generation = effect->generation,
                   .replica = effect->replica,
                   .life = effect->life,
                   .step = effect->step};
    switch (effect->kind) {
    case TND_PARAMETERS_DEAL:
        for (uint32_t j = 0; j < self->joins; j++)
            put(self, &self->deals[j], word);
        break;
    case TND_PARAMETERS_SERVE:
        check_served(self, effect);
        word.kind = SERVE;
        word.value = value_at(self, effect->version);
        put(self, &self->answers[effect->replica], word);
        break;
    case TND_PARAMETERS_APPLY:
        apply(self, effect);
        break;
    case TND_PARAMETERS_TAKEN:
        word.kind = TAKEN;
        put(self, &self->answers[effect->replica], word);
        break;
    case TND_PARAMETERS_DROP:
        break;
    case TND_PARAMETERS_HELD:
    case TND_PARAMETERS_COMMIT:
    case TND_PARAMETERS_REDO:
        word.kind = REPORT;
        word.report = effect->kind;
        put(self, &self->reports, word);
        break;
    }
}

static void drain(world_t *self)
{
    tnd_parameters_effect_t effect;
    while (!self->sim->violation[0] && tnd_parameters_core_next(self->core, &effect))
        carry_out(self, &effect);
}

/*  A word of a replica or of the leader. */
static void hear(world_t *self, const word_t *word)
{
    tnd_error_t error;
    tnd_status_t status = TND_OK;
    if (word->kind == READ)
        status = tnd_parameters_core_read(self->core, word->replica, word->step, &error);
    else if (word->kind == PUSH)
        status = tnd_parameters_core_push(self->core, word->replica, word->step,
                                          (void *)(uintptr_t)word->value, &error);
    else if (word->kind == REWIND)
        tnd_parameters_core_rewind(self->core, word->generation, word->step);
    else if (word->kind == BOOKED)
        tnd_parameters_core_booked(self->core, word->step);
    else if (word->kind == GONE)
        tnd_parameters_core_replica_gone(self->core, word->replica, word->life);
    else
        tnd_parameters_core_end(self->core, word->step);
    if (status != TND_OK)
        sim_violate(self->sim, "the holder of parameters fails: %s", error.text);
    drain(self);
}

static void save(world_t *self)
{
    state_t *state = &self->state;
    state->committed = tnd_parameters_core_committed(self->core);
    state->ahead_count = tnd_parameters_core_ahead(self->core, state->ahead);
    self->saved = *state;
}

/* --- the leader -------------------------------------------------------------------------------- */

static void rewind_to(world_t *self, uint64_t step)
{
    word_t word = {.kind = REWIND, .generation = ++self->generation, .step = step};
    if (step < self->booked)
        sim_violate(self->sim, "rows of step %" PRIu64 " are needed, which is booked", step);
    for (uint32_t j = 0; j < self->joins; j++)
        put(self, &self->rewinds[j], word);
    put(self, &self->orders, word);
}

static void lead(world_t *self, const word_t *word)
{
    bool current = word->generation == self->generation;
    if (word->report == TND_PARAMETERS_REDO && current) {
        self->sim->counts.redone++;
        rewind_to(self, word->step);
    } else if (word->report == TND_PARAMETERS_HELD && current) {
        self->held = word->step;
    } else if (word->report == TND_PARAMETERS_COMMIT && word->step >= self->booked) {
        if (word->step > self->booked)
            sim_violate(self->sim, "step %" PRIu64 " is committed before step %" PRIu64, word->step,
                        self->booked);
        put(self, &self->orders, (word_t){.kind = BOOKED, .step = ++self->booked});
    }
}

static void limit(world_t *self, uint64_t step)
{
    self->limit = step;
    tnd_parameters_core_limit(self->core, step);
    drain(self);
}

/*  The run ends with the steps that have begun. */
static void drain_run(world_t *self)
{
    self->drains = true;
    self->end = tnd_least(self->end, tnd_parameters_core_started(self->core));
    limit(self, self->end);
}

/*  Ends a pause. */
static bool resume(world_t *self)
{
    if (self->limit == TND_UNKNOWN || self->drains)
        return false;
    limit(self, TND_UNKNOWN);
    return true;
}

/* --- joins and replicas ------------------------------------------------------------------------ */

static bool send_rows(world_t *self, uint32_t number)
{
    join_t *join = &self->join[number];
    tnd_deal_t deal;
    if (join->next >= self->steps || !tnd_deals_find(&join->deals, join->next, &deal))
        return false;
    const peer_t *peer = deal.replica != TND_NOBODY ? &join->peers[deal.replica] : NULL;
    tnd_deals_verdict_t verdict =
        tnd_deals_verdict(&deal, peer != NULL ? peer->life : 0, peer != NULL && peer->up);
    if (verdict == TND_DEALS_WAIT)
        return false;
    if (verdict == TND_DEALS_SEND)
        put(self, &self->slices[number][deal.replica],
            (word_t){.kind = SLICE, .generation = deal.generation, .step = deal.step});
    join->next++;
    return true;
}

/*  Does what the machine of a replica wants. */
static void drain_replica(world_t *self, uint32_t number)
{
    replica_t *replica = &self->replicas[number];
    tnd_dealt_steps_effect_t effect;
    while (tnd_dealt_steps_next(replica->machine, &effect)) {
        word_t word = {
            .replica = number, .step = effect.step, .value = (uint64_t)(uintptr_t)effect.payload};
        switch (effect.kind) {
        case TND_DEALT_STEPS_READ:
        case TND_DEALT_STEPS_PUSH:
            word.kind = effect.kind == TND_DEALT_STEPS_READ ? READ : PUSH;
            put(self, &self->asks[number], word);
            break;
        case TND_DEALT_STEPS_RUN:
            replica->runs = true;
            replica->step = effect.step;
            replica->value = word.value;
            break;
        case TND_DEALT_STEPS_PLACE:
        case TND_DEALT_STEPS_DROP:
        case TND_DEALT_STEPS_FORGET:
            break;
        }
    }
}

/*  Each join has one row of each step. */
static void take_slice(world_t *self, uint32_t number, uint32_t lane, const word_t *word)
{
    tnd_error_t error;
    tnd_msg_t msg = {.kind = TND_MSG_SLICE, .generation = word->generation};
    msg.slice = (tnd_slice_note_t){.step = word->step,
                                   .lane = lane,
                                   .replica = number,
                                   .offset = lane,
                                   .rows = 1,
                                   .total = self->joins,
                                   .step_rows = self->joins};
    if (tnd_dealt_steps_slice(self->replicas[number].machine, &msg, &error) != TND_OK)
        sim_violate(self->sim, "a replica fails: %s", error.text);
    drain_replica(self, number);
    check_held(self, word->step);
}

static void take_answer(world_t *self, uint32_t number, const word_t *word)
{
    replica_t *replica = &self->replicas[number];
    if (word->kind == TAKEN)
        tnd_dealt_steps_taken(replica->machine, word->step);
    else
        tnd_dealt_steps_served(replica->machine, word->step, (void *)(uintptr_t)word->value);
    drain_replica(self, number);
}

static bool compute(world_t *self, uint32_t number)
{
    replica_t *replica = &self->replicas[number];
    if (!replica->runs)
        return false;
    replica->runs = false;
    uint64_t gradient = gradient_of(replica->step, replica->value);
    tnd_dealt_steps_done(replica->machine, (void *)(uintptr_t)gradient);
    drain_replica(self, number);
    return true;
}

/*  Connects a replica to the holder. */
static bool call(world_t *self, uint32_t number)
{
    replica_t *replica = &self->replicas[number];
    if (replica->life == 0 || replica->up)
        return false;
    replica->up = true;
    tnd_parameters_core_replica_up(self->core, number, replica->life);
    drain(self);
    tnd_dealt_steps_holder_up(replica->machine);
    drain_replica(self, number);
    return true;
}

static bool call_join(world_t *self, uint32_t join, uint32_t number)
{
    const tnd_life_t life = self->replicas[number].life;
    peer_t *peer = &self->join[join].peers[number];
    if (life == 0 || (peer->up && peer->life == life))
        return false;
    *peer = (peer_t){.life = life, .up = true};
    return true;
}

static void end_life(world_t *self, uint32_t number);

static bool start(world_t *self, uint32_t number)
{
    replica_t *replica = &self->replicas[number];
    if (replica->over && replica->life != 0)
        end_life(self, number);
    if (replica->life != 0 || replica->absent)
        return false;
    replica->over = false;
    const tnd_dealt_steps_config_t config = {.replica = number,
                                             .joins = self->joins,
                                             .slots = self->config.slots,
                                             .window = self->config.window};
    replica->life = ++self->lives;
    replica->machine = tnd_dealt_steps_init(
        sim_store_take(&self->sim->store, tnd_dealt_steps_bytes(&config)), &config);
    return true;
}

/* --- faults ------------------------------------------------------------------------------------ */

static void hang_up(world_t *self, uint32_t number)
{
    self->asks[number].count = self->answers[number].count = 0;
    self->replicas[number].up = false;
    if (self->replicas[number].life != 0)
        tnd_dealt_steps_holder_lost(self->replicas[number].machine);
    tnd_parameters_core_replica_away(self->core, number);
    drain(self);
}

static void cut_join(world_t *self, uint32_t join, uint32_t number)
{
    self->slices[join][number].count = 0;
    self->join[join].peers[number].up = false;
}

static void end_life(world_t *self, uint32_t number)
{
    bool slow = self->replicas[number].slow;
    hang_up(self, number);
    for (uint32_t j = 0; j < self->joins; j++)
        cut_join(self, j, number);
    self->replicas[number] = (replica_t){.slow = slow};
}

/*  The leader counts it as dead, whether or not it lives; its word may come when the next life is there. */
static void lose(world_t *self, uint32_t number)
{
    const replica_t *replica = &self->replicas[number];
    put(self, &self->orders, (word_t){.kind = GONE, .replica = number, .life = replica->life});
    self->replicas[number].over = true;
}

static void kill(world_t *self, uint32_t number)
{
    bool lost = sim_chance(&self->luck, 50);
    if (lost)
        lose(self, number);
    end_life(self, number);
    self->replicas[number].absent = lost && number > 0 && sim_chance(&self->luck, 50);
}

static void begin(world_t *self);

/*  Everything ends with the holder, and begins again from what it saved last. */
static void kill_holder(world_t *self)
{
    self->state = self->saved;
    begin(self);
}

static void strike(world_t *self)
{
    uint32_t number = sim_below(&self->luck, self->config.replicas);
    uint32_t join = sim_below(&self->luck, self->joins), what = sim_below(&self->luck, 100);
    self->faults_left--;
    if (what < 40 && self->replicas[number].life != 0)
        kill(self, number);
    else if (what < 45 && self->replicas[number].life != 0)
        lose(self, number);
    else if (what < 60)
        hang_up(self, number);
    else if (what < 75) {
        cut_join(self, join, number);
        rewind_to(self, tnd_most(self->held, self->booked));
    } else if (what < 85)
        rewind_to(self, tnd_most(self->held, self->booked));
    else if (what < 92)
        kill_holder(self);
    else if (what < 97 && !self->drains)
        limit(self, tnd_parameters_core_started(self->core));
    else if (!self->ends)
        drain_run(self);
}

/* --- events ------------------------------------------------------------------------------------ */

static void begin(world_t *self)
{
    sim_store_t *store = &self->sim->store;
    state_t *state = &self->state;
    memset(self->replicas, 0, sizeof self->replicas);
    memset(self->join, 0, sizeof self->join);
    for (uint32_t j = 0; j < JOINS; j++)
        tnd_deals_init(&self->join[j].deals, self->join[j].memory, self->config.window);
    queue_t *const queues = self->deals;
    size_t count = (queue_t *)(self + 1) - queues;
    for (size_t q = 0; q < count; q++)
        queues[q].first = queues[q].count = 0;
    self->core = tnd_parameters_core_init(
        sim_store_take(store, tnd_parameters_core_bytes(&self->config)), &self->config);
    tnd_parameters_core_begin(self->core, state->committed, state->ahead, state->ahead_count);
    self->held = self->booked = state->committed;
    self->generation = 0;
    self->ends = self->drains = false;
    self->limit = TND_UNKNOWN;
    self->end = self->steps;
    if (sim_chance(&self->luck, 50))
        self->replicas[sim_below(&self->luck, self->config.replicas)].slow = true;
    rewind_to(self, state->committed);
}

static world_t *make(sim_t *sim, uint64_t seed)
{
    world_t *self = sim_store_take(&sim->store, sizeof *self);
    self->sim = sim;
    self->luck = sim_random(seed, 902);
    sim_random_t *luck = &self->luck;
    self->steps = sim_between(luck, 1, STEPS);
    self->joins = sim_between(luck, 1, JOINS);
    self->config = (tnd_parameters_core_config_t){
        .replicas = sim_between(luck, 1, REPLICAS),
        .slots = sim_between(luck, 1, 3),
        .window = sim_between(luck, 8, WINDOW),
        .order = sim_chance(luck, 60) ? TND_PARAMETERS_STEPS : TND_PARAMETERS_ARRIVAL,
        .staleness = sim_below(luck, 7)};
    if (self->config.order == TND_PARAMETERS_ARRIVAL && sim_chance(luck, 50))
        self->config.staleness = TND_UNKNOWN;
    self->faults_left = sim_below(luck, FAULTS + 1);
    self->state.values[0] = 1;
    self->saved = self->state;
    begin(self);
    return self;
}

/*  The leader hears where the stream ends. */
static bool tell_end(world_t *self)
{
    if (self->ends || (!self->drains && self->booked * 2 < self->steps))
        return false;
    self->ends = true;
    put(self, &self->orders, (word_t){.kind = END, .step = self->end});
    return true;
}

/*  An event between a replica and the others. */
static bool happen_to(world_t *self, uint32_t number, uint32_t which)
{
    word_t word;
    uint32_t join = which % 2;
    if (which < 2) {
        if (join >= self->joins || self->slices[join][number].count == 0)
            return false;
        word = get(&self->slices[join][number]);
        take_slice(self, number, join, &word);
    } else if (which < 4) {
        return join < self->joins && call_join(self, join, number);
    } else if (which == 4) {
        if (self->asks[number].count == 0)
            return false;
        word = get(&self->asks[number]);
        hear(self, &word);
    } else if (which == 5) {
        if (self->answers[number].count == 0)
            return false;
        word = get(&self->answers[number]);
        take_answer(self, number, &word);
    } else if (which == 6) {
        return compute(self, number);
    } else {
        return which == 7 ? call(self, number) : start(self, number);
    }
    return true;
}

/*  An event of a join. */
static bool happen_to_join(world_t *self, uint32_t number, uint32_t which)
{
    join_t *join = &self->join[number];
    if (which == 0)
        return send_rows(self, number);
    queue_t *queue = which == 1 ? &self->deals[number] : &self->rewinds[number];
    if (number >= self->joins || queue->count == 0)
        return false;
    word_t word = get(queue);
    if (which == 1) {
        tnd_deals_heard(&join->deals, &(tnd_deal_t){.step = word.step,
                                                    .generation = word.generation,
                                                    .replica = word.replica,
                                                    .life = word.life});
    } else {
        tnd_deals_rewind(&join->deals, word.generation);
        join->next = word.step;
    }
    return true;
}

static bool happen_to_leader(world_t *self, uint32_t which)
{
    if (which >= 2)
        return which == 2 ? tell_end(self) : resume(self);
    queue_t *queue = which == 0 ? &self->reports : &self->orders;
    if (queue->count == 0)
        return false;
    word_t word = get(queue);
    if (which == 0)
        lead(self, &word);
    else
        hear(self, &word);
    return true;
}

enum { OF_REPLICA = 9, OF_JOIN = 3, OF_LEADER = 4 };
enum { KINDS = REPLICAS * OF_REPLICA + JOINS * OF_JOIN + OF_LEADER };

/*  Returns false if nothing of that kind can happen now. */
static bool happen(world_t *self, uint32_t kind)
{
    if (kind < REPLICAS * OF_REPLICA)
        return kind / OF_REPLICA < self->config.replicas &&
               happen_to(self, kind / OF_REPLICA, kind % OF_REPLICA);
    kind -= REPLICAS * OF_REPLICA;
    if (kind < JOINS * OF_JOIN)
        return kind / OF_JOIN < self->joins && happen_to_join(self, kind / OF_JOIN, kind % OF_JOIN);
    return happen_to_leader(self, kind - JOINS * OF_JOIN);
}

/*  Whether it is the turn of a replica that is slow, and it does not come to it. */
static bool dawdles(world_t *self, uint32_t kind)
{
    return kind < REPLICAS * OF_REPLICA && kind % OF_REPLICA == 6 &&
           self->replicas[kind / OF_REPLICA].slow && sim_chance(&self->luck, 95);
}

/*  One event, of a kind that is drawn or the next one that is possible. */
static bool happens(world_t *self)
{
    uint32_t from = sim_below(&self->luck, KINDS);
    bool waits = false;
    for (uint32_t i = 0; i < KINDS; i++) {
        uint32_t kind = (from + i) % KINDS;
        if (dawdles(self, kind))
            waits = true;
        else if (happen(self, kind))
            return true;
    }
    return waits;
}

static void check_end(world_t *self)
{
    if (!tnd_parameters_core_over(self->core) || self->booked < self->end) {
        sim_violate(self->sim,
                    "a run with parameters hangs at step %" PRIu64 " of %" PRIu64 ", %" PRIu64
                    " booked, waits %" PRIx32,
                    tnd_parameters_core_committed(self->core), self->end, self->booked,
                    tnd_parameters_core_blocked_on(self->core));
        return;
    }
    for (uint64_t s = 0; s < PLACES; s++)
        if (self->state.applied[s] != (s < self->end))
            sim_violate(self->sim, "step %" PRIu64 " is applied %" PRIu32 " times", s,
                        self->state.applied[s]);
    if (self->config.order == TND_PARAMETERS_STEPS &&
        value_at(self, self->end) != expected_value(self))
        sim_violate(self->sim, "the parameters are not those of a plain loop");
}

void sim_parameters_run(sim_t *sim, uint64_t seed)
{
    world_t *self = make(sim, seed);
    for (uint32_t event = 0; !sim->violation[0]; event++) {
        if (self->faults_left > 0 && sim_chance(&self->luck, 2))
            strike(self);
        if (sim_chance(&self->luck, 5))
            save(self);
        if (event == EVENTS_MAX)
            sim_violate(sim, "a run with parameters does not end");
        if (!happens(self) && self->faults_left == 0)
            break;
    }
    if (!sim->violation[0])
        check_end(self);
}
