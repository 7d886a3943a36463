/*  tools/bench/links.c - blocks over a link of two hubs, and frames over bare libzmq.  */
#include "tools/bench/links.h"

#include <assert.h>

#include <czmq.h>

#include "tools/bench/bench.h"
#include "transport/hub/hubs.h"

enum { PRODUCER = 1, CONSUMER = 2 };

typedef struct {
    const bench_link_t *link;
    void *context;
    tnd_schema_t schema;
    tnd_terms_t terms;
    char actual[256];
    uint64_t copied;
} side_t;

static const tnd_schema_t *schema_of(void *context, uint32_t port, const tnd_msg_t *msg)
{
    (void)port, (void)msg;
    return &((side_t *)context)->schema;
}

static tnd_hub_t *open_hub(side_t *self, tnd_actor_id_t id)
{
    tnd_hub_config_t config = {.self = id,
                               .name = id == PRODUCER ? "producer" : "consumer",
                               .life = 1,
                               .link_timeout_ns = 10000000000,
                               .context = self,
                               .schema = schema_of,
                               .frame_max = 64 << 20};
    tnd_hub_t *hub = NULL;
    tnd_status_t status = tnd_hub_open(tnd_network->hub, &hub, self->context, &config, NULL);
    assert(status == TND_OK);
    return hub;
}

static void next_arrival(tnd_hub_t *hub, tnd_arrival_t *arrival)
{
    while (tnd_hub_receive(hub, arrival) != TND_OK)
        tnd_hub_wait(hub, TND_NEVER);
}

static void *produce(void *argument)
{
    side_t *self = argument;
    tnd_hub_t *hub = open_hub(self, PRODUCER);
    tnd_status_t status = tnd_hub_connect(hub, 0, CONSUMER, self->actual, &self->terms, NULL);
    assert(status == TND_OK);
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_pool_t *pool = tnd_pool_new(self->link->block_bytes);
    tnd_arrival_t arrival;
    uint64_t credit = 0, sent = 0;
    while (sent < self->link->blocks) {
        while (sent == credit) {
            next_arrival(hub, &arrival);
            if (arrival.kind == TND_ARRIVAL_MESSAGE)
                credit = arrival.msg.credit.blocks;
        }
        tnd_buffer_t *buffer = tnd_pool_take(pool);
        tnd_buffer_seal(buffer);
        tnd_block_t *block = tnd_block_pool_take(block_pool, &self->schema);
        block->columns[0] =
            (tnd_block_column_t){.base = tnd_buffer_data(buffer), .stride = 1, .buffer = buffer};
        uint32_t rows = (uint32_t)self->link->block_bytes;
        tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .from = PRODUCER, .to = CONSUMER};
        msg.block = (tnd_block_note_t){
            .first = sent * rows, .count = rows, .asked = rows, .rows = rows, .bytes = rows};
        block->note = msg.block;
        tnd_block_seal(block);
        msg.block.payload = block;
        status = tnd_hub_send(hub, 0, CONSUMER, &msg, TND_CARRY_BLOCK);
        assert(status == TND_OK);
        sent++;
    }
    do
        next_arrival(hub, &arrival);
    while (arrival.kind != TND_ARRIVAL_LOST);
    tnd_hub_counts_t counts;
    tnd_hub_counts(hub, &counts);
    self->copied = counts.bytes_copied;
    tnd_hub_close(&hub, 0);
    tnd_pool_destroy(&pool);
    tnd_block_pool_destroy(&block_pool);
    return NULL;
}

static void grant(tnd_hub_t *hub, uint64_t blocks)
{
    tnd_msg_t msg = {.kind = TND_MSG_CREDIT, .from = CONSUMER, .to = PRODUCER};
    msg.credit.blocks = blocks;
    tnd_status_t status = tnd_hub_send(hub, 0, PRODUCER, &msg, TND_CARRY_NOTHING);
    assert(status == TND_OK);
}

double bench_hubs(const bench_link_t *link, uint64_t *copied_p)
{
    side_t self = {.link = link, .context = tnd_network->create(), .terms = {.abi = 1}};
    tnd_status_t status = tnd_schema_add(&self.schema, "x", TND_U8, 0, NULL, NULL);
    assert(status == TND_OK);
    tnd_hub_t *hub = open_hub(&self, CONSUMER);
    status =
        tnd_hub_bind(hub, 0, link->endpoint, &self.terms, self.actual, sizeof self.actual, NULL);
    assert(status == TND_OK);
    pthread_t thread;
    pthread_create(&thread, NULL, produce, &self);
    tnd_arrival_t arrival;
    next_arrival(hub, &arrival);
    assert(arrival.kind == TND_ARRIVAL_UP);
    grant(hub, link->window);
    uint64_t begun = 0;
    for (uint32_t i = 0; i < link->blocks; i++) {
        next_arrival(hub, &arrival);
        assert(arrival.kind == TND_ARRIVAL_MESSAGE);
        tnd_msg_drop(&arrival.msg, arrival.carry);
        if (i == 0)
            begun = tnd_clock_now();
        if ((i + 1) % (link->window / 4) == 0)
            grant(hub, i + 1 + link->window);
    }
    uint64_t took = tnd_clock_now() - begun;
    tnd_hub_counts_t counts;
    tnd_hub_counts(hub, &counts);
    tnd_hub_close(&hub, 0);
    pthread_join(thread, NULL);
    *copied_p = self.copied + counts.bytes_copied;
    tnd_network->destroy(&self.context);
    return (double)took / (link->blocks - 1);
}

static void drop_buffer(void *data, void *hint)
{
    (void)data;
    tnd_buffer_t *buffer = hint;
    tnd_buffer_drop(&buffer);
}

/*  A CZMQ actor; the first message of its pipe is the endpoint. */
static void push(zsock_t *pipe, void *argument)
{
    const bench_link_t *link = argument;
    zsock_signal(pipe, 0);
    char *endpoint = zstr_recv(pipe);
    zsock_t *socket = zsock_new(ZMQ_PUSH);
    zsock_set_sndhwm(socket, (int)link->window / 2);
    int failed = zsock_connect(socket, "%s", endpoint);
    assert(failed == 0);
    zstr_free(&endpoint);
    tnd_pool_t *pool = tnd_pool_new(link->block_bytes);
    char header[64] = {0};
    for (uint32_t i = 0; i < link->blocks; i++) {
        tnd_buffer_t *buffer = tnd_pool_take(pool);
        zmq_msg_t msg;
        zmq_msg_init_data(&msg, tnd_buffer_data(buffer), link->block_bytes, drop_buffer, buffer);
        zmq_send(zsock_resolve(socket), header, sizeof header, ZMQ_SNDMORE);
        zmq_msg_send(&msg, zsock_resolve(socket), 0);
    }
    zsock_wait(pipe); /* the receiver has every block, so the pool can be freed */
    zsock_destroy(&socket);
    tnd_pool_destroy(&pool);
}

double bench_bare(const bench_link_t *link)
{
    zsock_t *socket = zsock_new(ZMQ_PULL);
    zsock_set_rcvhwm(socket, (int)link->window / 2);
    int port = zsock_bind(socket, "%s", link->endpoint);
    assert(port >= 0);
    zactor_t *pusher = zactor_new(push, (void *)(uintptr_t)link);
    zstr_send(pusher, zsock_endpoint(socket));
    uint64_t begun = 0;
    zmq_msg_t msg;
    zmq_msg_init(&msg);
    for (uint32_t i = 0; i < 2 * link->blocks; i++) {
        zmq_msg_recv(&msg, zsock_resolve(socket), 0);
        if (i == 1)
            begun = tnd_clock_now();
    }
    uint64_t took = tnd_clock_now() - begun;
    zmq_msg_close(&msg);
    zsock_signal(pusher, 0);
    zactor_destroy(&pusher);
    /* A closed socket gives its inproc name back later, on a thread of libzmq. */
    zsock_unbind(socket, "%s", zsock_endpoint(socket));
    zsock_destroy(&socket);
    return (double)took / (link->blocks - 1);
}
