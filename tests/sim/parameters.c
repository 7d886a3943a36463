/*  tests/sim/parameters.c - a holder of parameters, replicas that come and go, and joins.
 *
 *  Each pair of them has a queue, and the heads of queues arrive in any order.  Replicas die, are started
 *  again or never come back, connections are cut, the stream is rewound, the holder dies and begins again
 *  from its last checkpoint.  Values are hashes: in the order of steps the last one must be that of a
 *  plain loop. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/core/parameters/holder.h"
#include "tests/sim/cluster.h"

enum { REPLICAS = 4, JOINS = 2, STEPS = 48, WINDOW = 24, PLACES = STEPS + WINDOW, QUEUE = 512 };
enum { EVENTS_MAX = 60000, FAULTS = 12 };

typedef enum { DEAL, SLICE, READ, PUSH, SERVE, TAKEN, REPORT, REWIND, BOOKED, END } word_kind_t;

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

typedef enum { NONE, PARTIAL, WHOLE, SERVED, COMPUTED } progress_t;

typedef struct {
    tnd_life_t life; /* 0: it is dead */
    bool up;         /* it has a connection to the holder */
    bool absent;     /* it is not started again */
    bool slow;
    uint32_t generation;
    progress_t progress[PLACES];
    uint32_t lanes[PLACES]; /* that have sent their rows */
    uint64_t value[PLACES]; /* served, then computed */
    bool pushed[PLACES];    /* in this life: rows that come once more are not taken */
} replica_t;

typedef struct {
    uint32_t generation;
    uint64_t next;             /* step to send */
    word_t deals[PLACES];      /* the last of each step */
    tnd_life_t peer[REPLICAS]; /* that it is connected to; 0: to none */
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

/*  The rows of a step are at one living replica at most, which has room for them. */
static void check_held(world_t *self, uint64_t step)
{
    uint32_t holders = 0;
    for (uint32_t r = 0; r < self->config.replicas; r++) {
        uint32_t steps = 0;
        holders += self->replicas[r].progress[step] > PARTIAL;
        for (uint64_t s = 0; s < PLACES; s++)
            steps +=
                self->replicas[r].progress[s] > NONE && self->replicas[r].progress[s] < COMPUTED;
        if (steps > self->config.slots + 1)
            sim_violate(self->sim, "replica %" PRIu32 " has %" PRIu32 " steps in %" PRIu32 " slots",
                        r, steps, self->config.slots + 1);
    }
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

/*  All feeders stop where the last step was dealt. */
static void drain_run(world_t *self)
{
    self->drains = true;
    self->end = tnd_least(self->end, tnd_parameters_core_dealt(self->core));
    tnd_parameters_core_limit(self->core, tnd_parameters_core_dealt(self->core));
    drain(self);
}

/* --- joins and replicas ------------------------------------------------------------------------ */

static bool send_rows(world_t *self, uint32_t number)
{
    join_t *join = &self->join[number];
    const word_t *deal = &join->deals[join->next];
    if (join->generation == 0 || join->next >= self->steps || deal->generation != join->generation)
        return false;
    if (deal->replica == TND_NOBODY || join->peer[deal->replica] > deal->life) {
        join->next++;
        return true;
    }
    if (join->peer[deal->replica] < deal->life)
        return false;
    word_t slice = *deal;
    slice.kind = SLICE;
    put(self, &self->slices[number][deal->replica], slice);
    join->next++;
    return true;
}

static void ask(world_t *self, uint32_t number, uint64_t step)
{
    replica_t *replica = &self->replicas[number];
    bool computed = replica->progress[step] == COMPUTED;
    if (replica->up && (computed || replica->progress[step] == WHOLE))
        put(self, &self->asks[number],
            (word_t){.kind = computed ? PUSH : READ,
                     .replica = number,
                     .step = step,
                     .value = replica->value[step]});
}

static void take_slice(world_t *self, uint32_t number, uint32_t lane, const word_t *slice)
{
    replica_t *replica = &self->replicas[number];
    if (slice->generation < replica->generation)
        return;
    for (uint64_t s = 0; slice->generation > replica->generation && s < PLACES; s++)
        if (replica->progress[s] == PARTIAL)
            replica->progress[s] = replica->lanes[s] = 0;
    replica->generation = slice->generation;
    if (replica->progress[slice->step] > PARTIAL || replica->pushed[slice->step])
        return;
    replica->progress[slice->step] = PARTIAL;
    replica->lanes[slice->step] |= 1u << lane;
    if (replica->lanes[slice->step] + 1 != 1u << self->joins) {
        check_held(self, slice->step);
        return;
    }
    replica->progress[slice->step] = WHOLE;
    check_held(self, slice->step);
    ask(self, number, slice->step);
}

static void take_answer(world_t *self, uint32_t number, const word_t *word)
{
    replica_t *replica = &self->replicas[number];
    if (word->kind == TAKEN) {
        replica->progress[word->step] = replica->lanes[word->step] = 0;
    } else if (replica->progress[word->step] == WHOLE) {
        replica->progress[word->step] = SERVED;
        replica->value[word->step] = word->value;
    }
}

/*  The least step that has its parameters. */
static bool compute(world_t *self, uint32_t number)
{
    replica_t *replica = &self->replicas[number];
    for (uint64_t s = 0; s < PLACES; s++)
        if (replica->progress[s] == SERVED) {
            replica->value[s] = gradient_of(s, replica->value[s]);
            replica->progress[s] = COMPUTED;
            replica->pushed[s] = true;
            ask(self, number, s);
            return true;
        }
    return false;
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
    for (uint64_t s = 0; s < PLACES; s++)
        ask(self, number, s);
    return true;
}

static bool call_join(world_t *self, uint32_t join, uint32_t number)
{
    if (self->join[join].peer[number] == self->replicas[number].life)
        return false;
    self->join[join].peer[number] = self->replicas[number].life;
    return true;
}

static bool start(world_t *self, uint32_t number)
{
    replica_t *replica = &self->replicas[number];
    if (replica->life != 0 || replica->absent)
        return false;
    replica->life = ++self->lives;
    return true;
}

/* --- faults ------------------------------------------------------------------------------------ */

static void hang_up(world_t *self, uint32_t number)
{
    self->asks[number].count = self->answers[number].count = 0;
    self->replicas[number].up = false;
    tnd_parameters_core_replica_away(self->core, number);
    drain(self);
}

static void cut_join(world_t *self, uint32_t join, uint32_t number)
{
    self->slices[join][number].count = 0;
    self->join[join].peer[number] = 0;
}

static void kill(world_t *self, uint32_t number)
{
    bool slow = self->replicas[number].slow;
    hang_up(self, number);
    for (uint32_t j = 0; j < self->joins; j++)
        cut_join(self, j, number);
    self->replicas[number] = (replica_t){.slow = slow};
    if (sim_chance(&self->luck, 50)) {
        tnd_parameters_core_replica_gone(self->core, number);
        self->replicas[number].absent = number > 0 && sim_chance(&self->luck, 50);
        drain(self);
    }
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
    else if (what < 60)
        hang_up(self, number);
    else if (what < 75) {
        cut_join(self, join, number);
        rewind_to(self, tnd_most(self->held, self->booked));
    } else if (what < 90)
        rewind_to(self, tnd_most(self->held, self->booked));
    else if (what < 97)
        kill_holder(self);
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
        join->deals[word.step] = word;
    } else {
        join->generation = word.generation;
        join->next = word.step;
    }
    return true;
}

static bool happen_to_leader(world_t *self, uint32_t which)
{
    if (which == 2)
        return tell_end(self);
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

enum { OF_REPLICA = 9, OF_JOIN = 3, OF_LEADER = 3 };
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
