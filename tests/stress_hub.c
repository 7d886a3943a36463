/*  A plain program for every preset: an actor in the middle with peers that come and go in other
 *  threads, over inproc and tcp.  Rows are checked on arrival, payloads are counted at the end. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "transport/hub/hubs.h"

enum { WORKERS = 3, LIVES = 3, BLOCKS = 150, ROWS = 512, JOIN = 100 };

typedef struct {
    void *context;
    tnd_schema_t schema;
    tnd_terms_t terms;
    char endpoints[2][256]; /* inproc, tcp */
    atomic_uint finished;   /* workers */
    atomic_ulong taken_back;
    atomic_bool bound;
} scene_t;

typedef struct {
    scene_t *scene;
    uint32_t number;
} worker_t;

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static const tnd_schema_t *schema_of(void *context, uint32_t port, const tnd_msg_t *msg)
{
    (void)port, (void)msg;
    return &((scene_t *)context)->schema;
}

static tnd_hub_t *open_hub(scene_t *scene, tnd_actor_id_t self, const char *name, tnd_life_t life)
{
    tnd_hub_config_t config = {.self = self,
                               .name = name,
                               .life = life,
                               .link_timeout_ns = 5000000000,
                               .context = scene,
                               .schema = schema_of,
                               .frame_max = 1 << 20};
    tnd_hub_t *hub = NULL;
    tnd_status_t status = tnd_hub_open(tnd_network->hub, &hub, scene->context, &config, NULL);
    assert(status == TND_OK);
    return hub;
}

static tnd_msg_t make_block(tnd_block_pool_t *block_pool, tnd_pool_t *pool,
                            const tnd_schema_t *schema, uint64_t first)
{
    tnd_buffer_t *buffer = tnd_pool_take(pool);
    uint32_t *rows = tnd_buffer_data(buffer);
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (uint32_t)(first * 7 + i);
    tnd_buffer_seal(buffer);
    tnd_block_t *block = tnd_block_pool_take(block_pool, schema);
    block->columns[0] = (tnd_block_column_t){
        .base = tnd_buffer_data(buffer), .stride = sizeof(uint32_t), .buffer = buffer};
    block->note = (tnd_block_note_t){
        .first = first, .count = ROWS, .asked = ROWS, .rows = ROWS, .payload = block};
    tnd_block_seal(block);
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .to = JOIN, .block = block->note};
    return msg;
}

/*  Waits until the join is up, sends its blocks, waits for the join's word that all have come. */
static void live(scene_t *scene, uint32_t number, tnd_life_t life, tnd_block_pool_t *block_pool,
                 tnd_pool_t *pool)
{
    char name[16];
    snprintf(name, sizeof name, "worker.%u", number);
    tnd_hub_t *hub = open_hub(scene, number, name, life);
    const char *endpoint = scene->endpoints[number % 2];
    tnd_status_t status = tnd_hub_connect(hub, 0, JOIN, endpoint, &scene->terms, NULL);
    assert(status == TND_OK);
    uint64_t sent = 0;
    bool is_up = false, is_done = false;
    while (!is_done) {
        tnd_arrival_t arrival;
        while (tnd_hub_receive(hub, &arrival) == TND_OK) {
            assert(arrival.kind != TND_ARRIVAL_REFUSED);
            is_up = arrival.kind == TND_ARRIVAL_UP || (is_up && arrival.kind != TND_ARRIVAL_LOST);
            is_done = is_done || arrival.kind == TND_ARRIVAL_MESSAGE;
        }
        if (is_up && sent < BLOCKS) {
            tnd_msg_t msg = make_block(block_pool, pool, &scene->schema, sent);
            msg.from = number;
            if (tnd_hub_send(hub, 0, JOIN, &msg, TND_CARRY_BLOCK) == TND_OK)
                sent++;
            else
                tnd_msg_drop(&msg, TND_CARRY_BLOCK);
        } else if (!is_done) {
            tnd_hub_wait(hub, now_ns() + 1000000000);
        }
    }
    tnd_hub_close(&hub, 0);
}

static void *work(void *argument)
{
    worker_t *self = argument;
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_pool_t *pool = tnd_pool_new(ROWS * sizeof(uint32_t));
    for (tnd_life_t life = 1; life <= LIVES; life++)
        live(self->scene, self->number, life, block_pool, pool);
    atomic_fetch_add(&self->scene->taken_back, tnd_pool_out(pool) == 0 ? 1u : 0u);
    tnd_pool_destroy(&pool);
    tnd_block_pool_destroy(&block_pool);
    atomic_fetch_add(&self->scene->finished, 1);
    return NULL;
}

static void check_block(const tnd_msg_t *msg)
{
    const tnd_block_t *block = msg->block.payload;
    bool is_sealed = tnd_block_sealed(block);
    assert(is_sealed && block->note.rows == ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t value;
        memcpy(&value, tnd_block_row(block, 0, i), sizeof value);
        assert(value == (uint32_t)(msg->block.first * 7 + i));
    }
}

static void *join(void *argument)
{
    scene_t *scene = argument;
    tnd_hub_t *hub = open_hub(scene, JOIN, "join", 1);
    static const char *const wishes[2] = {"inproc://join", "tcp://127.0.0.1:*"};
    for (int i = 0; i < 2; i++) {
        tnd_status_t status = tnd_hub_bind(hub, 0, wishes[i], &scene->terms, scene->endpoints[i],
                                           sizeof scene->endpoints[i], NULL);
        assert(status == TND_OK);
    }
    atomic_store(&scene->bound, true);
    uint64_t next[WORKERS] = {0};
    uint32_t lives = 0;
    while (lives < WORKERS * LIVES) {
        tnd_arrival_t arrival;
        while (tnd_hub_receive(hub, &arrival) == TND_OK) {
            assert(arrival.kind != TND_ARRIVAL_REFUSED);
            if (arrival.kind == TND_ARRIVAL_UP)
                next[arrival.peer] = 0;
            if (arrival.kind != TND_ARRIVAL_MESSAGE)
                continue;
            assert(arrival.msg.block.first == next[arrival.peer]);
            next[arrival.peer]++;
            check_block(&arrival.msg);
            tnd_msg_drop(&arrival.msg, arrival.carry);
            if (next[arrival.peer] < BLOCKS)
                continue;
            tnd_msg_t done = {.kind = TND_MSG_HELD, .from = JOIN, .to = arrival.peer};
            tnd_status_t status = tnd_hub_send(hub, 0, arrival.peer, &done, TND_CARRY_NOTHING);
            assert(status == TND_OK);
            lives++;
        }
        tnd_hub_wait(hub, now_ns() + 1000000000);
    }
    while (atomic_load(&scene->finished) < WORKERS) {
        tnd_arrival_t arrival;
        while (tnd_hub_receive(hub, &arrival) == TND_OK)
            assert(arrival.kind != TND_ARRIVAL_MESSAGE);
        tnd_hub_wait(hub, now_ns() + 10000000);
    }
    tnd_hub_close(&hub, 0);
    return NULL;
}

int main(void)
{
    static scene_t scene;
    scene.context = tnd_network->create();
    scene.terms = (tnd_terms_t){.graph = {1, 2}, .schema = 3, .abi = 1};
    tnd_status_t status = tnd_schema_add(&scene.schema, "x", TND_U32, 0, NULL, NULL);
    assert(status == TND_OK);

    pthread_t threads[WORKERS + 1];
    worker_t workers[WORKERS];
    pthread_create(&threads[WORKERS], NULL, join, &scene);
    while (!atomic_load(&scene.bound))
        sched_yield();
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i] = (worker_t){&scene, i};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (uint32_t i = 0; i <= WORKERS; i++)
        pthread_join(threads[i], NULL);
    tnd_network->destroy(&scene.context);

    if (atomic_load(&scene.taken_back) != WORKERS) {
        fprintf(stderr, "stress_hub: payloads were not given back\n");
        return 1;
    }
    printf("stress_hub: %d blocks came whole and in order\n", WORKERS * LIVES * BLOCKS);
    return 0;
}
