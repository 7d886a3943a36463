/*  tests/sim/holder.c - a holder of parameters: it deals whole batches, serves parameters and applies
 *  what replicas push, as actors/parameters.c does.
 *
 *  Values are hashes.  In the order of steps, the value that a push makes must be that of a plain loop
 *  over the rows of the stream; in any order, each step is applied once, and to a value that it was served.
 *  The values of all versions remain, so that a run that resumes from a cursor has them. */
#include "tests/sim/holder.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/core/parameters/holder.h"
#include "tests/sim/cluster.h"

enum { CUTS_MOST = 4, USE_CUTS = 1900 };

/*  Of an actor. */
typedef struct {
    tnd_parameters_core_t *core;
    sim_gradient_t *applied; /* by step % window */
    uint32_t generation, cuts;
} holder_t;

struct sim_parameters {
    uint64_t room;    /* steps */
    uint64_t *values; /* by version */
    uint64_t *served; /* by step: the version */
    uint8_t *applied; /* by step: how often */
    uint64_t version;
};

static holder_t *holder_of(const sim_actor_t *actor)
{
    return actor->machine;
}

/* --- what must result -------------------------------------------------------------------------- */

void sim_parameters_make(sim_t *self)
{
    struct sim_parameters *made = sim_store_take(&self->store, sizeof *made);
    made->room = self->reference.step_count;
    made->values = sim_store_take(&self->store, (made->room + 1) * sizeof *made->values);
    made->served = sim_store_take(&self->store, (made->room + 1) * sizeof *made->served);
    made->applied = sim_store_take(&self->store, made->room + 1);
    made->values[0] = 1;
    self->held = made;
}

void sim_parameters_begin(sim_t *self)
{
    struct sim_parameters *held = self->held;
    for (uint64_t step = 0; step < held->room; step++)
        held->applied[step] = step < self->from.step;
    held->version = self->from.step;
}

uint64_t sim_gradient_of(uint64_t value, const uint64_t digest[2])
{
    return sim_hash(value, digest[0] ^ digest[1]);
}

static uint64_t expected_version(const sim_t *self, uint64_t step)
{
    return step > self->plan.staleness ? step - self->plan.staleness : 0;
}

void sim_parameters_check_end(sim_t *self)
{
    const struct sim_parameters *held = self->held;
    for (uint64_t step = 0; step < held->room; step++)
        if (held->applied[step] != (step < self->booked))
            sim_violate(self, "step %" PRIu64 " was applied %u times, and %" PRIu64 " are booked",
                        step, held->applied[step], self->booked);
}

static void check_served(sim_t *self, uint32_t id, const tnd_parameters_effect_t *effect)
{
    struct sim_parameters *held = self->held;
    if (effect->step >= held->room) {
        sim_violate(self, "%s serves step %" PRIu64 " of a stream of %" PRIu64, sim_name(self, id),
                    effect->step, held->room);
        return;
    }
    if (!self->plan.arrival && effect->version != expected_version(self, effect->step))
        sim_violate(self, "step %" PRIu64 " computes on version %" PRIu64 ", not %" PRIu64,
                    effect->step, effect->version, expected_version(self, effect->step));
    if (effect->version > held->version || (self->plan.staleness != TND_UNKNOWN &&
                                            held->version - effect->version > self->plan.staleness))
        sim_violate(self, "version %" PRIu64 " is served, which is not kept", effect->version);
    held->served[effect->step] = effect->version;
}

static void check_applied(sim_t *self, const tnd_parameters_effect_t *effect,
                          const sim_payload_t *push)
{
    struct sim_parameters *held = self->held;
    if (++held->applied[effect->step] > 1)
        sim_violate(self, "the push of step %" PRIu64 " is applied twice", effect->step);
    if (effect->version != held->version + 1 ||
        (!self->plan.arrival && effect->step != held->version))
        sim_violate(self, "step %" PRIu64 " makes version %" PRIu64 " after version %" PRIu64,
                    effect->step, effect->version, held->version);
    if (push->value != sim_gradient_of(held->values[held->served[effect->step]], push->ids))
        sim_violate(self, "step %" PRIu64 " was computed on other parameters than version %" PRIu64,
                    effect->step, held->served[effect->step]);
}

/* --- what the machine wants -------------------------------------------------------------------- */

static void deal(sim_t *self, const sim_actor_t *actor, const tnd_parameters_effect_t *effect)
{
    for (uint32_t lane = 0; lane < self->plan.lanes; lane++) {
        tnd_msg_t msg = {
            .kind = TND_MSG_DEAL, .generation = effect->generation, .to = self->joins[lane]};
        msg.deal.step = effect->step;
        msg.deal.life = effect->life;
        msg.deal.replica = effect->replica;
        sim_actor_control(self, actor, &msg);
    }
}

static void answer(sim_t *self, uint32_t id, tnd_msg_kind_t kind,
                   const tnd_parameters_effect_t *effect)
{
    tnd_msg_t msg = {.kind = kind, .from = id, .to = self->feeder_of[effect->replica]};
    msg.parameters.step = effect->step;
    msg.parameters.version = effect->version;
    msg.parameters.replica = effect->replica;
    if (kind == TND_MSG_SERVE) {
        sim_payload_t *values = sim_payload(self, 0, 0, SIM_FLYING);
        values->value = self->held->values[effect->version];
        msg.parameters.payload = values;
    }
    sim_actor_send(self, id, msg.to, &msg);
}

static void apply(sim_t *self, uint32_t id, const tnd_parameters_effect_t *effect)
{
    struct sim_parameters *held = self->held;
    sim_payload_t *push = effect->payload;
    check_applied(self, effect, push);
    if (self->violation[0])
        return;
    held->values[effect->version] = sim_hash(held->values[held->version], push->value);
    held->version = effect->version;
    memcpy(&holder_of(&self->actors[id])->applied[effect->step % self->plan.deal_window], push->ids,
           sizeof(sim_gradient_t));
    self->counts.pushes++;
    self->progress_at = self->now;
    sim_free(self, push, id);
}

static void tell_leader(sim_t *self, const sim_actor_t *actor, tnd_msg_kind_t kind,
                        const tnd_parameters_effect_t *effect)
{
    const holder_t *holder = holder_of(actor);
    tnd_msg_t msg = {.kind = kind, .generation = effect->generation, .to = TND_LEADER};
    if (kind == TND_MSG_COMMIT) {
        const sim_gradient_t *applied = &holder->applied[effect->step % self->plan.deal_window];
        msg.commit.step = effect->step;
        memcpy(msg.commit.digest, applied->digest, sizeof msg.commit.digest);
        msg.commit.rows = (uint32_t)applied->rows;
    } else {
        msg.until.step = effect->step;
    }
    sim_actor_control(self, actor, &msg);
}

static void perform(sim_t *self, uint32_t id, const sim_actor_t *actor)
{
    tnd_parameters_effect_t effect;
    while (!self->violation[0] && tnd_parameters_core_next(holder_of(actor)->core, &effect))
        switch (effect.kind) {
        case TND_PARAMETERS_DEAL:
            deal(self, actor, &effect);
            break;
        case TND_PARAMETERS_SERVE:
            check_served(self, id, &effect);
            if (!self->violation[0])
                answer(self, id, TND_MSG_SERVE, &effect);
            break;
        case TND_PARAMETERS_APPLY:
            apply(self, id, &effect);
            break;
        case TND_PARAMETERS_TAKEN:
            answer(self, id, TND_MSG_TAKEN, &effect);
            break;
        case TND_PARAMETERS_DROP:
            sim_free(self, effect.payload, id);
            break;
        case TND_PARAMETERS_HELD:
            tell_leader(self, actor, TND_MSG_HELD, &effect);
            break;
        case TND_PARAMETERS_COMMIT:
            tell_leader(self, actor, TND_MSG_COMMIT, &effect);
            break;
        case TND_PARAMETERS_REDO:
            tell_leader(self, actor, TND_MSG_REDO, &effect);
            break;
        }
}

void sim_holder_model(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_msg_t msg = {.kind = TND_MSG_MODEL, .to = TND_LEADER};
    actor->over = true;
    msg.generation = holder_of(actor)->generation;
    sim_actor_control(self, actor, &msg);
}

static void run(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    perform(self, id, actor);
    if (holder_of(actor)->generation > 0 && !actor->over &&
        tnd_parameters_core_over(holder_of(actor)->core))
        sim_holder_model(self, id);
}

/* --- messages ---------------------------------------------------------------------------------- */

/*  Some connections end before the replica hears that the holder has its push. */
static void cut(sim_t *self, uint32_t id, holder_t *holder, const tnd_push_note_t *note)
{
    if (holder->cuts == CUTS_MOST || sim_hash(self->plan.seed ^ USE_CUTS, note->step) % 12 > 0)
        return;
    holder->cuts++;
    sim_link_break(self, self->link_of[id][self->feeder_of[note->replica]] - 1u, true, true);
    self->faults_end = tnd_most(self->faults_end, self->now);
}

static void take_push(sim_t *self, uint32_t id, holder_t *holder, const tnd_msg_t *msg)
{
    tnd_error_t error;
    const tnd_push_note_t *note = &msg->push;
    sim_own(self, note->payload, SIM_FLYING, id);
    sim_actor_accept(
        self, id,
        tnd_parameters_core_push(holder->core, note->replica, note->step, note->payload, &error),
        &error);
    cut(self, id, holder, note);
}

/*  Starts no further step, and says how many it has started. */
static void take_halt(sim_t *self, const sim_actor_t *actor, uint32_t number)
{
    const holder_t *holder = holder_of(actor);
    tnd_msg_t msg = {.kind = TND_MSG_HALT, .generation = holder->generation, .to = TND_LEADER};
    msg.halt.step = tnd_parameters_core_started(holder->core);
    msg.halt.number = number;
    tnd_parameters_core_limit(holder->core, msg.halt.step);
    sim_actor_control(self, actor, &msg);
}

static void take_rewind(sim_t *self, uint32_t id, holder_t *holder, const tnd_msg_t *msg)
{
    uint64_t step = msg->rewind.cursor->step, dealt = tnd_parameters_core_dealt(holder->core);
    if (step > dealt)
        sim_violate(self, "%s goes back to step %" PRIu64 ", of which only %" PRIu64 " were dealt",
                    sim_name(self, id), step, dealt);
    holder->generation = msg->generation;
    tnd_parameters_core_rewind(holder->core, msg->generation, step);
}

static void take_gone(const sim_t *self, holder_t *holder, tnd_actor_id_t actor, tnd_life_t life)
{
    for (uint32_t r = 0; r < self->plan.dealt; r++)
        if (self->feeder_of[r] == actor)
            tnd_parameters_core_replica_gone(holder->core, r, life);
}

static void message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    sim_actor_t *actor = &self->actors[id];
    holder_t *holder = holder_of(actor);
    uint64_t started = tnd_parameters_core_started(holder->core);
    tnd_error_t error;
    switch (msg->kind) {
    case TND_MSG_READ:
        sim_actor_accept(self, id,
                         tnd_parameters_core_read(holder->core, msg->parameters.replica,
                                                  msg->parameters.step, &error),
                         &error);
        break;
    case TND_MSG_PUSH:
        take_push(self, id, holder, msg);
        break;
    case TND_MSG_REWIND:
        take_rewind(self, id, holder, msg);
        break;
    case TND_MSG_GONE:
        take_gone(self, holder, msg->gone.actor, msg->gone.life);
        break;
    case TND_MSG_BOOKED:
        tnd_parameters_core_booked(holder->core, msg->until.step);
        break;
    case TND_MSG_HALT:
        take_halt(self, actor, msg->halt.number);
        break;
    case TND_MSG_LIMIT:
        tnd_parameters_core_limit(holder->core, tnd_most(msg->limit.step, started));
        break;
    case TND_MSG_LAST:
        tnd_parameters_core_end(holder->core, tnd_most(msg->until.step, started));
        break;
    default:
        break;
    }
}

/* --- its life ---------------------------------------------------------------------------------- */

static void *create(sim_t *self, uint32_t id)
{
    const sim_plan_t *plan = &self->plan;
    const tnd_parameters_core_config_t config = {.replicas = plan->dealt,
                                                 .slots = plan->depth,
                                                 .window = plan->deal_window,
                                                 .order = plan->arrival ? TND_PARAMETERS_ARRIVAL
                                                                        : TND_PARAMETERS_STEPS,
                                                 .staleness = plan->staleness};
    holder_t *holder = sim_store_take(&self->store, sizeof *holder);
    (void)id;
    holder->applied = sim_store_take(&self->store, plan->deal_window * sizeof *holder->applied);
    holder->core = SIM_MAKE(self, tnd_parameters_core, &config);
    tnd_parameters_core_begin(holder->core, self->from.step, NULL, 0);
    return holder;
}

static void up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    for (uint32_t r = 0; r < self->plan.dealt; r++)
        if (self->feeder_of[r] == peer)
            tnd_parameters_core_replica_up(holder_of(&self->actors[id])->core, r,
                                           self->links[self->link_of[id][peer] - 1].end[1].birth);
}

static void lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    for (uint32_t r = 0; r < self->plan.dealt; r++)
        if (self->feeder_of[r] == peer)
            tnd_parameters_core_replica_away(holder_of(&self->actors[id])->core, r);
}

uint64_t sim_holder_started(const sim_actor_t *actor)
{
    return tnd_parameters_core_started(holder_of(actor)->core);
}

uint32_t sim_holder_blocked_on(const sim_actor_t *actor)
{
    return actor->over ? TND_WAIT_ENDED : tnd_parameters_core_blocked_on(holder_of(actor)->core);
}

const sim_role_t sim_holder = {
    .create = create, .run = run, .message = message, .up = up, .lost = lost};
