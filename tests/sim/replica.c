/*  tests/sim/replica.c - an actor with replicas to which a holder of parameters deals whole batches, as
 *  actors/feeder/dealt_replicas.c.
 *
 *  Its steps run one after the other.  Each must have all rows of its batch.  Some actors are slow. */
#include <inttypes.h>
#include <string.h>

#include "runtime/core/parameters/dealt_steps.h"
#include "tests/sim/cluster.h"

#include "tests/sim/holder.h"

enum { SLOTS = SIM_DEPTH + 1, SLOW = 10 };

typedef struct {
    tnd_dealt_steps_t *machine;
    uint64_t *slots[SLOTS];            /* rows */
    tnd_push_note_t pushed[2 * SLOTS]; /* until it is taken; the payload is the gradient */
} replica_t;

/*  A step that is to run. */
typedef struct {
    uint32_t replica, slot;
    tnd_slice_note_t slice;
    sim_payload_t *values;
} task_t;

typedef struct {
    uint32_t count, task_count;
    replica_t replicas[SIM_REPLICAS];
    task_t tasks[SIM_REPLICAS];
} carrier_t;

static carrier_t *carrier_of(const sim_actor_t *actor)
{
    return actor->machine;
}

/* --- steps ------------------------------------------------------------------------------------- */

static void start(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    uint64_t ns = self->plan.step_ns * (sim_hash(self->plan.seed, id) % 3 == 0 ? SLOW : 1);
    actor->device_busy = true;
    sim_after(self, sim_actor_span(self, actor, ns), SIM_AT_DEVICE, id, (uint32_t)actor->life, 0);
}

/*  The rows must be those of the whole batch; adds their digest. */
static void check_rows(sim_t *self, uint32_t id, const task_t *task, const uint64_t *rows,
                       uint64_t digest[2])
{
    uint64_t number = task->slice.step;
    const sim_step_t *step = &self->reference.steps[number];
    bool right = number < self->reference.step_count && task->slice.total == step->count[0];
    for (uint32_t i = 0; right && i < task->slice.total; i++) {
        right = rows[i] == self->reference.ids[step->first + step->offset[0] + i];
        sim_digest_add(digest, step->first + step->offset[0] + i, rows[i]);
    }
    if (self->print_rows)
        sim_print_rows(number, 0, rows, task->slice.total);
    if (!right)
        sim_violate(self, "%s has other rows than those of step %" PRIu64, sim_name(self, id),
                    number);
}

static tnd_push_note_t *unused(replica_t *replica)
{
    tnd_push_note_t *note = replica->pushed;
    while (note->payload != NULL)
        note++;
    return note;
}

static tnd_push_note_t *find(replica_t *replica, const void *gradient)
{
    for (uint32_t i = 0; i < sizeof replica->pushed / sizeof *replica->pushed; i++)
        if (replica->pushed[i].payload == gradient)
            return &replica->pushed[i];
    return NULL;
}

static sim_payload_t *compute(sim_t *self, uint32_t id, const task_t *task, replica_t *replica)
{
    uint64_t *rows = replica->slots[task->slot];
    sim_payload_t *gradient = sim_payload(self, SIM_GRADIENT_WORDS, 0, id);
    gradient->ids[0] = gradient->ids[1] = 0;
    gradient->ids[2] = task->slice.total;
    check_rows(self, id, task, rows, gradient->ids);
    memset(rows, 0xff, task->slice.total * sizeof *rows);
    gradient->value = sim_gradient_of(task->values->value, gradient->ids);
    *unused(replica) = (tnd_push_note_t){.step = task->slice.step,
                                         .digest = {gradient->ids[0], gradient->ids[1]},
                                         .replica = task->replica,
                                         .rows = task->slice.total,
                                         .epoch = task->slice.epoch,
                                         .count = 1,
                                         .last_of_epoch = task->slice.last_of_epoch,
                                         .payload = gradient};
    return gradient;
}

/* --- what the machines want -------------------------------------------------------------------- */

static void place(sim_t *self, uint32_t id, replica_t *replica,
                  const tnd_dealt_steps_effect_t *effect)
{
    sim_payload_t *rows = effect->slice.payload;
    if (effect->slice.offset + effect->slice.rows > self->plan.size ||
        rows->rows != effect->slice.rows)
        sim_violate(self, "%s places rows where no room is", sim_name(self, id));
    else
        memcpy(replica->slots[effect->slot] + effect->slice.offset, rows->ids,
               rows->rows * sizeof *rows->ids);
    sim_free(self, rows, id);
}

static void read(sim_t *self, uint32_t id, uint32_t number, uint64_t step)
{
    tnd_msg_t msg = {.kind = TND_MSG_READ, .from = id, .to = self->plan.reducer};
    msg.parameters.step = step;
    msg.parameters.replica = number;
    sim_actor_send(self, id, msg.to, &msg);
}

static void push(sim_t *self, uint32_t id, const tnd_push_note_t *note)
{
    tnd_msg_t msg = {.kind = TND_MSG_PUSH, .from = id, .to = self->plan.reducer};
    const sim_payload_t *gradient = note->payload;
    sim_payload_t *copy = sim_payload(self, SIM_GRADIENT_WORDS, 0, SIM_FLYING);
    copy->value = gradient->value;
    memcpy(copy->ids, gradient->ids, sizeof(sim_gradient_t));
    msg.push = *note;
    msg.push.payload = copy;
    sim_actor_send(self, id, msg.to, &msg);
}

static void forget(sim_t *self, uint32_t id, replica_t *replica, void *payload)
{
    tnd_push_note_t *note = find(replica, payload);
    if (note != NULL)
        note->payload = NULL;
    sim_free(self, payload, id);
}

static void perform(sim_t *self, uint32_t id, uint32_t number)
{
    sim_actor_t *actor = &self->actors[id];
    carrier_t *carrier = carrier_of(actor);
    uint32_t first = self->plan.feeder_first[id - self->plan.first_feeder];
    replica_t *replica = &carrier->replicas[number];
    tnd_dealt_steps_effect_t effect;
    while (!self->violation[0] && tnd_dealt_steps_next(replica->machine, &effect))
        switch (effect.kind) {
        case TND_DEALT_STEPS_PLACE:
            place(self, id, replica, &effect);
            break;
        case TND_DEALT_STEPS_DROP:
            sim_free(self, effect.slice.payload, id);
            break;
        case TND_DEALT_STEPS_READ:
            read(self, id, first + number, effect.step);
            break;
        case TND_DEALT_STEPS_RUN:
            carrier->tasks[carrier->task_count++] = (task_t){.replica = first + number,
                                                             .slot = effect.slot,
                                                             .slice = effect.slice,
                                                             .values = effect.payload};
            if (!actor->device_busy)
                start(self, id, actor);
            break;
        case TND_DEALT_STEPS_PUSH:
            push(self, id, find(replica, effect.payload));
            break;
        case TND_DEALT_STEPS_FORGET:
            forget(self, id, replica, effect.payload);
            break;
        }
}

void sim_replica_device(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    carrier_t *carrier = carrier_of(actor);
    task_t task = carrier->tasks[0];
    uint32_t number = task.replica - self->plan.feeder_first[id - self->plan.first_feeder];
    memmove(carrier->tasks, carrier->tasks + 1, --carrier->task_count * sizeof *carrier->tasks);
    actor->device_busy = false;
    if (carrier->task_count > 0)
        start(self, id, actor);
    sim_payload_t *gradient = compute(self, id, &task, &carrier->replicas[number]);
    sim_free(self, task.values, id);
    self->counts.dealt++;
    tnd_dealt_steps_done(carrier->replicas[number].machine, gradient);
    sim_actor_run(self, id);
}

static void run(sim_t *self, uint32_t id)
{
    for (uint32_t i = 0; i < carrier_of(&self->actors[id])->count; i++)
        perform(self, id, i);
}

/* --- messages ---------------------------------------------------------------------------------- */

static void message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    carrier_t *carrier = carrier_of(&self->actors[id]);
    uint32_t first = self->plan.feeder_first[id - self->plan.first_feeder];
    tnd_error_t error;
    if (msg->kind == TND_MSG_SLICE) {
        sim_own(self, msg->slice.payload, SIM_FLYING, id);
        sim_actor_accept(self, id,
                         tnd_dealt_steps_slice(
                             carrier->replicas[msg->slice.replica - first].machine, msg, &error),
                         &error);
    } else if (msg->kind == TND_MSG_SERVE) {
        sim_own(self, msg->parameters.payload, SIM_FLYING, id);
        tnd_dealt_steps_served(carrier->replicas[msg->parameters.replica - first].machine,
                               msg->parameters.step, msg->parameters.payload);
    } else if (msg->kind == TND_MSG_TAKEN) {
        tnd_dealt_steps_taken(carrier->replicas[msg->parameters.replica - first].machine,
                              msg->parameters.step);
    }
}

/* --- its life ---------------------------------------------------------------------------------- */

static void *create(sim_t *self, uint32_t id)
{
    const sim_plan_t *plan = &self->plan;
    carrier_t *carrier = sim_store_take(&self->store, sizeof *carrier);
    carrier->count = plan->feeder_replicas[id - plan->first_feeder];
    self->actors[id].device_busy = false;
    for (uint32_t i = 0; i < carrier->count; i++) {
        const tnd_dealt_steps_config_t config = {
            .replica = plan->feeder_first[id - plan->first_feeder] + i,
            .joins = plan->lanes,
            .slots = plan->depth,
            .window = plan->deal_window};
        carrier->replicas[i].machine = SIM_MAKE(self, tnd_dealt_steps, &config);
        for (uint32_t s = 0; s < SLOTS; s++)
            carrier->replicas[i].slots[s] =
                sim_store_take(&self->store, plan->size * sizeof(uint64_t));
    }
    return carrier;
}

static void up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    const carrier_t *carrier = carrier_of(&self->actors[id]);
    for (uint32_t i = 0; i < carrier->count && peer == self->plan.reducer; i++)
        tnd_dealt_steps_holder_up(carrier->replicas[i].machine);
}

static void lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    const carrier_t *carrier = carrier_of(&self->actors[id]);
    for (uint32_t i = 0; i < carrier->count && peer == self->plan.reducer; i++)
        tnd_dealt_steps_holder_lost(carrier->replicas[i].machine);
}

uint32_t sim_replica_blocked_on(const sim_actor_t *actor)
{
    const carrier_t *carrier = carrier_of(actor);
    uint32_t waits = 0;
    for (uint32_t i = 0; i < carrier->count; i++)
        waits |= tnd_dealt_steps_blocked_on(carrier->replicas[i].machine);
    return waits;
}

const sim_role_t sim_replica = {
    .create = create, .run = run, .message = message, .up = up, .lost = lost};
