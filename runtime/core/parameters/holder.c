/*  runtime/core/parameters/holder.c - decides who computes a step, on what, and when its push is applied. */
#include "runtime/core/parameters/holder.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

typedef enum {
    STEP_OPEN,   /* no replica has it */
    STEP_DEALT,  /* its rows are on their way to its replica */
    STEP_HELD,   /* the replica has them and waits for parameters */
    STEP_SERVED, /* and computes */
    STEP_PUSHED, /* the push waits for its turn */
    STEP_APPLIED
} step_state_t;

typedef struct {
    step_state_t state;
    uint32_t replica;
    void *payload;
} step_t;

typedef struct {
    tnd_life_t life; /* 0: there was none */
    tnd_life_t over; /* the last one that was over by the leader's word; 0: none was */
    bool up;
    uint32_t load; /* steps that it has and has not pushed */
    bool
        dealt_anew; /* a step was dealt to it again in this generation: it may have had the rows before, so that
                          joins may still wait to send them when it has pushed */
} replica_t;

/*  booked <= committed <= started, dealt: counts of steps from the start of the run. */
struct tnd_parameters_core {
    tnd_parameters_core_config_t config;
    uint32_t generation;
    bool begun, stopped;
    uint64_t booked, committed, started, dealt, version;
    uint64_t dealt_most;  /* dealt, before the end took steps back */
    uint64_t dealing;     /* the next step to deal in this generation */
    uint64_t held;        /* the rows of all steps below are not needed */
    uint64_t limit, end;  /* TND_UNKNOWN: none */
    uint64_t said_commit; /* steps whose COMMIT was said in this generation */
    uint64_t said_held;   /* TND_UNKNOWN: nothing was said in this generation */
    uint64_t redo;        /* the least step that is open and was dealt; TND_UNKNOWN: none */
    uint64_t said_redo;   /* in this generation; TND_UNKNOWN: none */
    uint64_t arrived;     /* in the order of arrival: the step of the last push; TND_UNKNOWN */
    uint32_t waiting;     /* steps that are held and not served */
    uint32_t taken_by;    /* is to be told that `taken` is; TND_NOBODY */
    uint64_t taken;
    void *dropped;
    replica_t *replicas;
    step_t *steps; /* by step % window */
};

static step_t *step_at(const tnd_parameters_core_t *self, uint64_t step)
{
    return &self->steps[step % self->config.window];
}

/*  Whether the step has a place in the window. */
static bool is_known(const tnd_parameters_core_t *self, uint64_t step)
{
    return step >= self->committed && step < self->booked + self->config.window;
}

size_t tnd_parameters_core_bytes(const tnd_parameters_core_config_t *config)
{
    return tnd_align(sizeof(tnd_parameters_core_t)) +
           tnd_align(config->replicas * sizeof(replica_t)) +
           tnd_align(config->window * sizeof(step_t));
}

tnd_parameters_core_t *tnd_parameters_core_init(void *memory,
                                                const tnd_parameters_core_config_t *config)
{
    assert(config->replicas > 0 && config->slots > 0 && config->window > 0);
    assert(config->staleness < config->window ||
           (config->staleness == TND_UNKNOWN && config->order == TND_PARAMETERS_ARRIVAL));
    tnd_parameters_core_t *self = memory;
    self->config = *config;
    self->replicas = (replica_t *)((char *)memory + tnd_align(sizeof *self));
    self->steps =
        (step_t *)((char *)self->replicas + tnd_align(config->replicas * sizeof *self->replicas));
    self->limit = self->end = self->redo = self->arrived = TND_UNKNOWN;
    self->taken_by = TND_NOBODY;
    return self;
}

/*  Steps that are applied one after the other become committed. */
static void advance(tnd_parameters_core_t *self)
{
    while (is_known(self, self->committed) &&
           step_at(self, self->committed)->state == STEP_APPLIED) {
        *step_at(self, self->committed) = (step_t){.state = STEP_OPEN};
        self->committed++;
    }
    self->dealt = tnd_most(self->dealt, self->committed);
}

void tnd_parameters_core_begin(tnd_parameters_core_t *self, uint64_t step, const uint64_t *ahead,
                               size_t count)
{
    assert(!self->begun && (count == 0 || self->config.order == TND_PARAMETERS_ARRIVAL));
    self->begun = true;
    self->booked = self->committed = self->started = self->dealt = self->dealing = step;
    self->held = self->said_commit = self->dealt_most = step;
    self->version = step + count;
    for (size_t i = 0; i < count; i++) {
        assert(ahead[i] > step && is_known(self, ahead[i]));
        step_at(self, ahead[i])->state = STEP_APPLIED;
        self->started = tnd_most(self->started, ahead[i] + 1);
    }
}

void tnd_parameters_core_rewind(tnd_parameters_core_t *self, uint32_t generation, uint64_t step)
{
    assert(self->begun);
    if (generation <= self->generation)
        return;
    self->generation = generation;
    self->dealing = tnd_least(step, self->dealt); /* REDO may have named a step after the end */
    self->said_commit = self->booked;
    self->said_held = self->said_redo = TND_UNKNOWN;
    for (uint32_t r = 0; r < self->config.replicas; r++)
        self->replicas[r].dealt_anew = false;
    /* The leader may not have heard that a replica died, or that a step before is not held. */
    self->redo = self->held < tnd_least(step, self->end) ? self->held : TND_UNKNOWN;
}

/* --- replicas ---------------------------------------------------------------------------------- */

/*  The steps of a life that is over are open again. */
static void return_steps(tnd_parameters_core_t *self, uint32_t replica)
{
    for (uint64_t s = self->committed; s < self->dealt; s++) {
        step_t *step = step_at(self, s);
        bool has = step->state >= STEP_DEALT && step->state <= STEP_SERVED;
        if (!has || step->replica != replica)
            continue;
        self->waiting -= step->state == STEP_HELD;
        *step = (step_t){.state = STEP_OPEN};
        if (s < self->dealing)
            self->redo = tnd_least(self->redo, s);
        self->held = tnd_least(self->held, s);
    }
    if (self->replicas[replica].dealt_anew && self->held < self->end)
        self->redo = tnd_least(self->redo, self->held);
    self->replicas[replica].load = 0;
    self->replicas[replica].dealt_anew = false;
}

void tnd_parameters_core_replica_up(tnd_parameters_core_t *self, uint32_t replica, tnd_life_t life)
{
    assert(replica < self->config.replicas && life != 0);
    replica_t *its = &self->replicas[replica];
    if (its->over == life)
        return;
    if (its->life != life)
        return_steps(self, replica);
    its->life = life;
    its->up = true;
}

/*  What it was not told on its connection is not told any more: it asks and pushes again. */
void tnd_parameters_core_replica_away(tnd_parameters_core_t *self, uint32_t replica)
{
    assert(replica < self->config.replicas);
    self->replicas[replica].up = false;
    for (uint64_t s = self->committed; s < self->dealt; s++) {
        step_t *step = step_at(self, s);
        if (step->state != STEP_HELD || step->replica != replica)
            continue;
        step->state = STEP_SERVED; /* as good as: it asks again */
        self->waiting--;
    }
}

void tnd_parameters_core_replica_gone(tnd_parameters_core_t *self, uint32_t replica,
                                      tnd_life_t life)
{
    assert(replica < self->config.replicas && life != 0);
    replica_t *its = &self->replicas[replica];
    its->over = life;
    if (its->life > life && !TND_BUG(LATER_LIFE_GONE))
        return;
    tnd_parameters_core_replica_away(self, replica);
    return_steps(self, replica);
    its->life = 0;
}

static tnd_status_t check_step(const tnd_parameters_core_t *self, uint32_t replica, uint64_t step,
                               tnd_error_t *error)
{
    if (replica >= self->config.replicas)
        return tnd_fail(error, "replica %u does not exist: there are %u", replica,
                        self->config.replicas);
    if (step >= self->dealt && step < self->end)
        return tnd_fail(error,
                        "replica %u names step %llu, but only steps below %llu were dealt: compare "
                        "the versions of Tundish on both hosts",
                        replica, (unsigned long long)step, (unsigned long long)self->dealt);
    return TND_OK;
}

/*  Whether the replica has that step and has not pushed it. */
static bool has_step(const tnd_parameters_core_t *self, uint32_t replica, uint64_t step)
{
    if (!is_known(self, step) || step >= self->dealt)
        return false;
    const step_t *its = step_at(self, step);
    return its->state >= STEP_DEALT && its->state <= STEP_SERVED && its->replica == replica;
}

static void move_held(tnd_parameters_core_t *self)
{
    self->held = tnd_most(self->held, self->committed);
    while (self->held < self->dealt && step_at(self, self->held)->state > STEP_DEALT)
        self->held++;
}

tnd_status_t tnd_parameters_core_read(tnd_parameters_core_t *self, uint32_t replica, uint64_t step,
                                      tnd_error_t *error)
{
    TND_TRY(check_step(self, replica, step, error));
    if (!has_step(self, replica, step) || step_at(self, step)->state == STEP_HELD)
        return TND_OK;
    step_at(self, step)->state = STEP_HELD;
    self->waiting++;
    move_held(self);
    return TND_OK;
}

static void take(tnd_parameters_core_t *self, uint32_t replica, uint64_t step, void *payload)
{
    step_t *its = step_at(self, step);
    *its = (step_t){.state = STEP_PUSHED, .replica = replica, .payload = payload};
    if (self->config.order == TND_PARAMETERS_ARRIVAL)
        self->arrived = step;
}

tnd_status_t tnd_parameters_core_push(tnd_parameters_core_t *self, uint32_t replica, uint64_t step,
                                      void *payload, tnd_error_t *error)
{
    tnd_status_t status = check_step(self, replica, step, error);
    bool has = status == TND_OK && has_step(self, replica, step);
    if (has && step_at(self, step)->state != STEP_SERVED)
        status = tnd_fail(error, "replica %u pushed step %llu before it had its parameters",
                          replica, (unsigned long long)step);
    if (status != TND_OK) {
        self->dropped = payload;
        return status;
    }
    self->taken_by = replica;
    self->taken = step;
    bool again = TND_BUG(PUSH_APPLIED_TWICE) && is_known(self, step) && step < self->dealt &&
                 step_at(self, step)->state == STEP_APPLIED;
    self->replicas[replica].load -= has;
    if (has || again)
        take(self, replica, step, payload);
    else
        self->dropped = payload;
    return TND_OK;
}

/* --- the leader's words ------------------------------------------------------------------------ */

void tnd_parameters_core_booked(tnd_parameters_core_t *self, uint64_t below)
{
    self->booked = tnd_most(self->booked, tnd_least(below, self->committed));
    self->said_commit = tnd_most(self->said_commit, self->booked);
    advance(self);
}

void tnd_parameters_core_limit(tnd_parameters_core_t *self, uint64_t step)
{
    assert(step >= self->started);
    self->limit = step;
}

void tnd_parameters_core_end(tnd_parameters_core_t *self, uint64_t step)
{
    assert(step >= self->started);
    self->end = tnd_least(self->end, step);
    for (uint64_t s = self->end; s < self->dealt; s++) {
        step_t *its = step_at(self, s);
        /* Its rows stay in a slot of the replica, or are on their way. */
        if (its->state != STEP_DEALT && its->state != STEP_HELD)
            continue;
        self->waiting -= its->state == STEP_HELD;
        *its = (step_t){.state = STEP_OPEN};
    }
    self->dealt = tnd_least(self->dealt, self->end);
    self->dealing = tnd_least(self->dealing, self->end);
    self->held = tnd_least(self->held, self->end);
    if (self->redo >= self->end)
        self->redo = TND_UNKNOWN;
}

/* --- effects ----------------------------------------------------------------------------------- */

/*  The connected replica with the fewest steps that may have one more; TND_NOBODY: none may. */
static uint32_t free_replica(const tnd_parameters_core_t *self, uint64_t step)
{
    bool least = step == self->committed && !TND_BUG(LEAST_STEP_WITHOUT_SLOT);
    uint32_t most = self->config.slots + (least ? 1 : 0), best = TND_NOBODY;
    for (uint32_t r = 0; r < self->config.replicas; r++) {
        const replica_t *its = &self->replicas[r];
        if (its->up && its->load < most &&
            (best == TND_NOBODY || its->load < self->replicas[best].load))
            best = r;
    }
    return best;
}

/*  Deals an open step; returns false if no replica has a slot. */
static bool deal(tnd_parameters_core_t *self, uint64_t step)
{
    uint32_t replica = free_replica(self, step);
    if (replica == TND_NOBODY)
        return false;
    *step_at(self, step) = (step_t){.state = STEP_DEALT, .replica = replica};
    self->replicas[replica].load++;
    return true;
}

static bool next_deal(tnd_parameters_core_t *self, tnd_parameters_effect_t *effect)
{
    uint64_t step = self->dealing;
    uint64_t until = tnd_least(self->end, self->booked + self->config.window);
    if (self->generation == 0 || step >= until)
        return false;
    bool done = step < self->committed;
    step_state_t state = done ? STEP_APPLIED : step_at(self, step)->state;
    bool again = TND_BUG(STEP_DEALT_TWICE) && state > STEP_OPEN && state < STEP_PUSHED;
    if ((state == STEP_OPEN || again) && !deal(self, step))
        return false;
    const step_t *its = step_at(self, step);
    bool lacks = !done && its->state == STEP_DEALT;
    if (lacks && state == STEP_DEALT)
        self->replicas[its->replica].dealt_anew = true;
    effect->kind = TND_PARAMETERS_DEAL;
    effect->step = step;
    effect->replica = lacks ? its->replica : TND_NOBODY;
    effect->life = lacks ? self->replicas[its->replica].life : 0;
    self->dealing++;
    self->dealt = tnd_most(self->dealt, self->dealing);
    self->dealt_most = tnd_most(self->dealt_most, self->dealt);
    return true;
}

/*  The version that a step computes on, in the order of steps. */
static uint64_t version_for(const tnd_parameters_core_t *self, uint64_t step)
{
    uint64_t staleness = self->config.staleness + (TND_BUG(STALENESS_OFF_BY_ONE) ? 1 : 0);
    return step > staleness ? step - staleness : 0;
}

static bool is_servable(const tnd_parameters_core_t *self, uint64_t step)
{
    return step < self->limit &&
           (self->config.staleness == TND_UNKNOWN || self->committed >= version_for(self, step));
}

static bool next_serve(tnd_parameters_core_t *self, tnd_parameters_effect_t *effect)
{
    if (self->waiting == 0)
        return false;
    for (uint64_t s = self->committed; s < self->dealt && is_servable(self, s); s++) {
        step_t *step = step_at(self, s);
        if (step->state != STEP_HELD || !self->replicas[step->replica].up)
            continue;
        step->state = STEP_SERVED;
        self->waiting--;
        self->started = tnd_most(self->started, s + 1);
        effect->kind = TND_PARAMETERS_SERVE;
        effect->step = s;
        effect->replica = step->replica;
        effect->version =
            self->config.order == TND_PARAMETERS_STEPS ? version_for(self, s) : self->version;
        return true;
    }
    return false;
}

static bool next_apply(tnd_parameters_core_t *self, tnd_parameters_effect_t *effect)
{
    uint64_t step = self->arrived;
    if (self->config.order == TND_PARAMETERS_STEPS)
        step = self->committed < self->dealt ? self->committed : TND_UNKNOWN;
    if (step == TND_UNKNOWN || step_at(self, step)->state != STEP_PUSHED)
        return false;
    effect->kind = TND_PARAMETERS_APPLY;
    effect->step = step;
    effect->version = ++self->version;
    effect->payload = step_at(self, step)->payload;
    *step_at(self, step) = (step_t){.state = STEP_APPLIED};
    self->arrived = TND_UNKNOWN;
    advance(self);
    move_held(self);
    return true;
}

static bool next_answer(tnd_parameters_core_t *self, tnd_parameters_effect_t *effect)
{
    if (self->dropped != NULL) {
        effect->kind = TND_PARAMETERS_DROP;
        effect->payload = self->dropped;
        self->dropped = NULL;
        return true;
    }
    if (self->taken_by == TND_NOBODY)
        return false;
    effect->kind = TND_PARAMETERS_TAKEN;
    effect->replica = self->taken_by;
    effect->step = self->taken;
    self->taken_by = TND_NOBODY;
    return true;
}

/*  What was pushed and not applied. */
static bool next_left(tnd_parameters_core_t *self, tnd_parameters_effect_t *effect)
{
    for (uint32_t i = 0; i < self->config.window; i++) {
        if (self->steps[i].payload == NULL)
            continue;
        effect->kind = TND_PARAMETERS_DROP;
        effect->payload = self->steps[i].payload;
        self->steps[i].payload = NULL;
        return true;
    }
    return false;
}

/*  What the leader is told of this generation. */
static bool next_word(tnd_parameters_core_t *self, tnd_parameters_effect_t *effect)
{
    if (self->generation == 0)
        return false;
    if (self->redo != TND_UNKNOWN && self->redo < self->said_redo &&
        !TND_BUG(STEP_OF_THE_DEAD_FORGOTTEN)) {
        effect->kind = TND_PARAMETERS_REDO;
        effect->step = self->said_redo = self->redo;
        return true;
    }
    if (self->said_commit < self->committed) {
        effect->kind = TND_PARAMETERS_COMMIT;
        effect->step = self->said_commit++;
        return true;
    }
    if (self->said_held == self->held)
        return false;
    effect->kind = TND_PARAMETERS_HELD;
    effect->step = self->said_held = self->held;
    return true;
}

bool tnd_parameters_core_next(tnd_parameters_core_t *self, tnd_parameters_effect_t *effect)
{
    *effect = (tnd_parameters_effect_t){.generation = self->generation};
    if (self->stopped)
        return next_left(self, effect);
    return next_answer(self, effect) || next_apply(self, effect) || next_serve(self, effect) ||
           next_word(self, effect) || next_deal(self, effect);
}

void tnd_parameters_core_stop(tnd_parameters_core_t *self)
{
    self->stopped = true;
}

/* --- what others ask --------------------------------------------------------------------------- */

uint64_t tnd_parameters_core_started(const tnd_parameters_core_t *self)
{
    return self->started;
}

uint64_t tnd_parameters_core_dealt(const tnd_parameters_core_t *self)
{
    return self->dealt_most;
}

uint64_t tnd_parameters_core_committed(const tnd_parameters_core_t *self)
{
    return self->committed;
}

uint64_t tnd_parameters_core_version(const tnd_parameters_core_t *self)
{
    return self->version;
}

size_t tnd_parameters_core_ahead(const tnd_parameters_core_t *self, uint64_t *steps)
{
    size_t count = 0;
    for (uint64_t s = self->committed; s < self->booked + self->config.window; s++)
        if (step_at(self, s)->state == STEP_APPLIED)
            steps[count++] = s;
    return count;
}

bool tnd_parameters_core_over(const tnd_parameters_core_t *self)
{
    return self->begun && self->committed >= self->end;
}

uint32_t tnd_parameters_core_blocked_on(const tnd_parameters_core_t *self)
{
    uint32_t waits = 0;
    if (tnd_parameters_core_over(self))
        return TND_WAIT_ENDED;
    if (self->generation == 0 || self->redo != TND_UNKNOWN || self->started >= self->limit ||
        self->dealing >= self->booked + self->config.window)
        waits |= TND_WAIT_LEADER;
    for (uint32_t r = 0; r < self->config.replicas; r++) {
        if (!self->replicas[r].up)
            waits |= TND_WAIT_PEER;
        if (self->replicas[r].load > 0)
            waits |= TND_WAIT_STEP;
    }
    return waits;
}
