/*  tests/sim/reducer.c - a reducer: it combines the values of a round. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

static uint64_t combine(const tnd_post_note_t *posts, uint32_t count, uint32_t first,
                        uint32_t width)
{
    for (uint32_t i = 0; i < count; i++)
        if (posts[i].first == first && posts[i].count == width)
            return ((sim_payload_t *)posts[i].payload)->value;
    if (width <= 1)
        return 0;
    uint32_t half = (width + 1) / 2;
    return sim_tree_node(combine(posts, count, first, half),
                         combine(posts, count, first + half, width - half));
}

static void run(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_effect_t effect;
    while (tnd_reducer_core_next(actor->machine, sim_clock(self, actor->host), &effect))
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            if (effect.msg.kind == TND_MSG_RESULT) {
                sim_payload_t *copy = sim_payload(self, 0, 0, SIM_FLYING);
                copy->value = ((sim_payload_t *)effect.msg.post.payload)->value;
                effect.msg.post.payload = copy;
            } else {
                effect.msg.post.payload = NULL;
            }
            effect.msg.from = id;
            sim_actor_send(self, id, effect.msg.to, &effect.msg);
            break;
        case TND_EFFECT_REDUCE: {
            tnd_post_note_t posts[SIM_REPLICAS];
            uint32_t count =
                tnd_reducer_core_nodes(actor->machine, effect.msg.post.round,
                                       effect.msg.post.reducer_slot, posts, SIM_REPLICAS);
            sim_payload_t *root = sim_payload(self, 0, 0, id);
            root->value = combine(posts, count, 0, self->plan.replicas);
            tnd_reducer_core_reduced(actor->machine, &effect.msg, root);
            break;
        }
        case TND_EFFECT_DROP:
            sim_free(self, effect.payload, id);
            break;
        case TND_EFFECT_FORGET:
            sim_free(self, effect.payload ? effect.payload : effect.msg.post.payload, id);
            break;
        default:
            sim_violate(self, "%s asks for effect %d", sim_name(self, id), (int)effect.kind);
        }
}

/*  The reducer must name a rogue replica and its step, and refuse nothing else. */
static void reduced(sim_t *self, uint32_t id, tnd_status_t status, const tnd_error_t *error)
{
    const sim_plan_t *plan = &self->plan;
    char step[32];
    (void)snprintf(step, sizeof step, "in step %" PRIu64 " ", plan->rogue_step);
    if (status == TND_OK || plan->rogue == SIM_NONE ||
        strncmp(error->text, step, strlen(step)) != 0 ||
        strstr(error->text, sim_name(self, plan->rogue)) == NULL) {
        sim_actor_accept(self, id, status, error);
        return;
    }
    sim_say(self, "%s: %s", sim_name(self, id), error->text);
    self->rogue_found = self->over = true;
    self->counts.faults[SIM_ROGUE]++;
}

static void message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_error_t error;
    if (msg->kind == TND_MSG_POST) {
        sim_own(self, msg->post.payload, SIM_FLYING, id);
        reduced(self, id, tnd_reducer_core_post(actor->machine, msg, &error), &error);
    } else if (msg->kind == TND_MSG_PASSED) {
        reduced(self, id, tnd_reducer_core_passed(actor->machine, msg, &error), &error);
    } else if (msg->kind == TND_MSG_GOT) {
        tnd_reducer_core_got(actor->machine, msg);
    }
}

/*  A reducer that ends within its process releases the payloads of its rounds. */
static void end(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_effect_t effect;
    tnd_reducer_core_end(actor->machine);
    while (tnd_reducer_core_next(actor->machine, sim_clock(self, actor->host), &effect)) {
        if (effect.kind != TND_EFFECT_FORGET && effect.kind != TND_EFFECT_DROP)
            sim_violate(self, "%s ends, and asks for effect %d", sim_name(self, id),
                        (int)effect.kind);
        sim_free(self, effect.payload, id);
    }
    if (actor->payloads != 0)
        sim_violate(self, "%s ends, and keeps %u payloads", sim_name(self, id), actor->payloads);
}

static void *create(sim_t *self, uint32_t id)
{
    const sim_plan_t *plan = &self->plan;
    tnd_reducer_core_config_t config = {.self = id,
                                        .replicas = plan->replicas,
                                        .feeders = self->feeder_of,
                                        .names = self->feeder_names,
                                        .rounds_max = (plan->depth + 1) * SIM_REDUCTIONS};
    return SIM_MAKE(self, tnd_reducer_core, &config);
}

static void up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    tnd_reducer_core_feeder_up(self->actors[id].machine, peer);
}

static void lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    tnd_reducer_core_feeder_lost(self->actors[id].machine, peer);
}

const sim_role_t sim_reducer = {
    .create = create, .run = run, .message = message, .up = up, .lost = lost, .end = end};
