/*  tests/sim/validator.c - what actors, hosts and the leader accept: actors send no false messages
 *  here, so they accept all. */
#include <stdio.h>

#include "tests/sim/cluster.h"

/*  A worker serves a range of lanes; a worker beside several readers serves all lanes between theirs. */
static void take_lanes(sim_t *self, uint32_t id, tnd_party_t *party)
{
    uint32_t count = self->worker_lane_count[id];
    const uint32_t *lanes = self->worker_lanes[id];
    party->lane_first = count > 0 ? lanes[0] : 0;
    party->lane_count = count > 0 ? lanes[count - 1] - lanes[0] + 1 : 0;
}

void sim_validator_plan(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    uint64_t most = 0;
    for (uint32_t id = 0; id < plan->member_count; id++) {
        const tnd_member_t *member = &plan->members[id];
        tnd_party_t *party = &self->parties[id];
        *party = (tnd_party_t){.role = member->role, .host = member->host, .lane = member->lane};
        if (member->role == TND_ROLE_WORKER)
            take_lanes(self, id, party);
        if (member->role == TND_ROLE_FEEDER || member->role == TND_ROLE_REPLICA) {
            party->replica_first = plan->feeder_first[id - plan->first_feeder];
            party->replica_count = plan->feeder_replicas[id - plan->first_feeder];
        }
    }
    for (uint32_t l = 0; l < plan->lanes; l++)
        most = plan->count[l] > most ? plan->count[l] : most;
    self->membership = (tnd_membership_t){.parties = self->parties,
                                          .party_count = plan->member_count,
                                          .host_count = plan->hosts,
                                          .lanes = plan->lanes,
                                          .host_id = SIM_HOST_ID};
    self->bounds = (tnd_bounds_t){.lane_rows = plan->known ? most : TND_UNKNOWN,
                                  .bytes = plan->bytes,
                                  .rows_max = plan->more_most,
                                  .epochs = plan->epochs,
                                  .replicas = plan->dealt > 0 ? plan->dealt : plan->replicas};
}

tnd_validator_t *sim_validator_new(sim_t *self, uint32_t id)
{
    tnd_validator_config_t config = {
        .membership = self->membership, .bounds = self->bounds, .self = id};
    tnd_validator_t *validator = SIM_MAKE(self, tnd_validator, &config);
    tnd_validator_reached(validator, self->hosts[self->actors[id].host].generation);
    return validator;
}

static void turned_away(sim_t *self, const char *who, const tnd_msg_t *msg, const char *why)
{
    if (why != NULL)
        sim_violate(self, "%s turns away a message of kind %u from %s to %s: %s", who,
                    (unsigned)msg->kind, sim_name(self, msg->from), sim_name(self, msg->to), why);
}

void sim_validator_link(sim_t *self, uint32_t id, tnd_actor_id_t peer, const tnd_msg_t *msg)
{
    sim_actor_t *actor = &self->actors[id];
    turned_away(self, sim_name(self, id), msg,
                tnd_validator_link(actor->validator, peer, msg, sim_clock(self, actor->host)));
}

void sim_validator_control(sim_t *self, uint32_t id, const tnd_msg_t *msg)
{
    sim_actor_t *actor = &self->actors[id];
    turned_away(self, sim_name(self, id), msg,
                tnd_validator_control(actor->validator, msg, sim_clock(self, actor->host)));
}

void sim_validator_relay(sim_t *self, uint32_t host, uint32_t origin, const tnd_msg_t *msg)
{
    turned_away(self, self->host_names[host], msg,
                tnd_relay_speaks(&self->membership, host, origin, msg->from)
                    ? tnd_validator_relay(&self->membership, host, origin, msg)
                    : "it is of another host");
}

void sim_validator_report(sim_t *self, const tnd_msg_t *msg)
{
    turned_away(self, "the leader", msg, tnd_validator_report(&self->bounds, msg));
}

void sim_validator_confirm(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    uint64_t now = sim_clock(self, actor->host);
    tnd_validator_reached(actor->validator, self->hosts[actor->host].generation);
    tnd_actor_id_t peer =
        tnd_validator_unconfirmed(actor->validator, now, 2 * self->plan.dead_after_ns);
    if (peer != TND_NOBODY)
        sim_violate(self, "%s takes %s for a liar: the leader has not begun the rewind it spoke of",
                    sim_name(self, id), sim_name(self, peer));
}
