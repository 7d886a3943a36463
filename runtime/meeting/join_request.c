/*  runtime/meeting/join_request.c - asks for a free host of a running run. */
#include "runtime/meeting/join_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/data/text_payload.h"
#include "runtime/plan/pace.h"

static tnd_status_t ask(tnd_hub_t *hub, tnd_actor_id_t self, const char *pool)
{
    tnd_msg_t msg = {.kind = TND_MSG_JOIN_REQUEST, .from = self, .to = TND_LEADER};
    msg.note.payload = tnd_text_payload_of("%s", pool);
    tnd_status_t status = tnd_hub_send(hub, 0, tnd_host_id(0), &msg, TND_CARRY_BUFFER);
    if (status != TND_OK)
        tnd_msg_drop(&msg, TND_CARRY_BUFFER);
    return status;
}

static tnd_status_t take_answer(const tnd_plan_t *plan, const tnd_msg_t *msg, uint32_t *host_p,
                                tnd_error_t *error)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *why = tnd_text_payload_line(&reader);
    *host_p = (uint32_t)msg->note.number;
    if (msg->note.number < plan->host_count)
        return TND_OK;
    (void)tnd_fail(error, "%s", why != NULL ? why : "the leader has no free host");
    return TND_REFUSED;
}

static tnd_status_t converse(tnd_hub_t *hub, tnd_actor_id_t self, const tnd_plan_t *plan,
                             const char *pool, uint32_t *host_p, tnd_error_t *error)
{
    uint64_t until = tnd_clock_now() + plan->start_timeout_ns;
    while (tnd_clock_now() < until) {
        tnd_arrival_t arrival;
        if (tnd_hub_receive(hub, &arrival) != TND_OK) {
            TND_TRY(tnd_hub_wait(hub, until));
            continue;
        }
        if (arrival.kind == TND_ARRIVAL_UP)
            (void)ask(hub, self, pool); /* if the connection is lost again, it returns */
        if (arrival.kind == TND_ARRIVAL_REFUSED) {
            (void)tnd_fail(error, "refused by host %s, which leads: %s", plan->hosts[0].name,
                           arrival.why);
            return TND_REFUSED;
        }
        if (arrival.kind != TND_ARRIVAL_MESSAGE)
            continue;
        tnd_status_t status = TND_AGAIN;
        if (arrival.msg.kind == TND_MSG_JOIN_REQUEST)
            status = take_answer(plan, &arrival.msg, host_p, error);
        tnd_msg_drop(&arrival.msg, arrival.carry);
        if (status != TND_AGAIN)
            return status;
    }
    return tnd_fail(error,
                    "host %s, which leads the run, did not answer within %" PRIu64
                    " s: start it, or check whether tcp://%s:%" PRIu32 " can be reached from here",
                    plan->hosts[0].name, plan->start_timeout_ns / 1000000000u,
                    plan->hosts[0].address, plan->hosts[0].port);
}

/*  A number below the count of newcomers, and of attendees. */
static tnd_actor_id_t mix(uint64_t life)
{
    uint64_t mixed = (life ^ (uint64_t)getpid() << 32) * 0x9e3779b97f4a7c15u;
    return (tnd_actor_id_t)(mixed >> 36);
}

tnd_actor_id_t tnd_newcomer_id(uint64_t life)
{
    return TND_NEWCOMER_FIRST + mix(life);
}

tnd_actor_id_t tnd_attendee_id(uint64_t life)
{
    return TND_ATTENDEE_FIRST + mix(life);
}

tnd_status_t tnd_join_request(const tnd_network_t *network, const tnd_plan_t *plan,
                              const char *pool, uint32_t *host_p, tnd_error_t *error)
{
    uint64_t life = tnd_clock_read(CLOCK_REALTIME);
    tnd_hub_config_t config = {
        .self = tnd_newcomer_id(life),
        .name = pool,
        .life = life,
        .link_timeout_ns = tnd_pace_stretch(plan, plan->link_timeout_ns),
        .frame_max = 64 << 10,
        .admission = &plan->admission,
    };
    tnd_terms_t terms = {
        .graph = {plan->fingerprint[0], plan->fingerprint[1]},
        .abi = TND_WIRE_ABI,
    };
    char endpoint[TND_ENDPOINT_SIZE];
    snprintf(endpoint, sizeof endpoint, "tcp://%s:%" PRIu32, plan->hosts[0].address,
             plan->hosts[0].port);
    void *context = network->create();
    tnd_hub_t *hub = NULL;
    tnd_status_t status = tnd_hub_open(network->hub, &hub, context, &config, error);
    if (status == TND_OK)
        status = tnd_hub_connect(hub, 0, tnd_host_id(0), endpoint, &terms, error);
    if (status == TND_OK)
        status = converse(hub, config.self, plan, pool, host_p, error);
    tnd_hub_close(&hub, 0);
    network->destroy(&context);
    return status;
}
