/*  tests/conformance/hub_sites.h - hubs that record what arrives.
 *
 *  A test program defines `hub_fixture` and includes this.  Each site (a hub with an actor's
 *  number) writes what arrives into its trace; the tests state the expected traces, which are the
 *  same for all implementations.  Each wait is for an event, with a deadline. */
#ifndef TND_TESTS_CONFORMANCE_HUB_SITES_H
#define TND_TESTS_CONFORMANCE_HUB_SITES_H

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "transport/hub/hubs.h"

/*  A hub of the list, and an endpoint of one of its schemes. */
typedef struct {
    const tnd_network_t *network;
    void *context;
    char endpoint[200]; /* to bind; the same again after a close */
    bool trusts;        /* in one process: unread messages are bounded by credit alone */
} hub_fixture_t;

static hub_fixture_t hub_fixture(void);

static hub_fixture_t hub_fixture_of(const char *scheme)
{
    hub_fixture_t self = {.network = tnd_network_of(scheme), .trusts = !strcmp(scheme, "inproc")};
    cr_assert_not_null(self.network, "hubs.def does not list %s", scheme);
    self.context = self.network->create();
    const char *const *form = self.network->endpoints;
    while (*form != NULL && strncmp(*form, scheme, strlen(scheme)) != 0)
        form++;
    cr_assert_not_null(*form, "no endpoint of scheme %s", scheme);
    const char *process = strstr(*form, "%ld");
    if (process == NULL)
        snprintf(self.endpoint, sizeof self.endpoint, "%s", *form);
    else
        snprintf(self.endpoint, sizeof self.endpoint, "%.*s%ld", (int)(process - *form), *form,
                 (long)getpid());
    return self;
}

enum { JOIN = 1, WORKER = 2, PORT_IN = 0, PORT_OUT = 1 };

static const uint64_t DEADLINE_NS = 10000000000;

/*  Rows of an f32[3] and a u8: every implementation has to keep both apart. */
typedef struct {
    hub_fixture_t net;
    tnd_schema_t schema;
    tnd_block_pool_t *block_pool;
    tnd_pool_t *pool; /* of all payloads that are sent */
    tnd_terms_t terms;
    uint32_t unread;    /* messages of each port; 0: as usual */
    uint64_t search_ns; /* of sites that are opened from now on */
    bool guests;        /* all peers of such sites are guests */
    char actual[256];
} stage_t;

typedef struct {
    stage_t *stage;
    tnd_hub_t *hub;
    tnd_actor_id_t id;
    uint32_t ups, losts, refusals, messages;
    tnd_loss_t loss;                  /* the last */
    char trace[16384], lost_why[256]; /* why the last peer was lost */
} site_t;

static const tnd_schema_t *stage_schema(void *context, uint32_t port, const tnd_msg_t *msg)
{
    (void)port, (void)msg;
    return &((stage_t *)context)->schema;
}

static uint32_t stage_unread(void *context, uint32_t port)
{
    const stage_t *self = context;
    (void)port;
    return self->unread != 0 ? self->unread : TND_UNREAD;
}

static bool stage_is_guest(void *context, uint32_t port, tnd_actor_id_t peer)
{
    (void)port, (void)peer;
    return ((const stage_t *)context)->guests;
}

static void stage_open(stage_t *self)
{
    memset(self, 0, sizeof *self);
    self->net = hub_fixture();
    cr_assert_eq(tnd_schema_add(&self->schema, "x", TND_F32, 1, (uint64_t[]){3}, NULL), TND_OK);
    cr_assert_eq(tnd_schema_add(&self->schema, "y", TND_U8, 0, NULL, NULL), TND_OK);
    self->block_pool = tnd_block_pool_new();
    self->pool = tnd_pool_new(4096);
    self->terms = (tnd_terms_t){.graph = {11, 12}, .schema = 13, .numeric = 14, .abi = 1};
}

/*  The context waits for all that is still on its way; then every payload must be back. */
static void stage_close(stage_t *self)
{
    self->net.network->destroy(&self->net.context);
    cr_assert_eq(tnd_pool_out(self->pool), 0, "%zu payloads were lost", tnd_pool_out(self->pool));
    tnd_pool_destroy(&self->pool);
    tnd_block_pool_destroy(&self->block_pool);
}

static uint64_t stage_now(const stage_t *self)
{
    return self->net.network->now(self->net.context);
}

static void site_open_patient(site_t *self, stage_t *stage, tnd_actor_id_t id, tnd_life_t life,
                              uint64_t link_timeout_ns)
{
    *self = (site_t){.stage = stage, .id = id};
    tnd_hub_config_t config = {.self = id,
                               .name = id == JOIN ? "join" : "worker",
                               .life = life,
                               .link_timeout_ns = link_timeout_ns,
                               .search_ns = stage->search_ns,
                               .context = stage,
                               .schema = stage_schema,
                               .frame_max = 1 << 20,
                               .unread = stage_unread,
                               .is_guest = stage_is_guest};
    cr_assert_eq(
        tnd_hub_open(stage->net.network->hub, &self->hub, stage->net.context, &config, NULL),
        TND_OK);
}

static void site_open(site_t *self, stage_t *stage, tnd_actor_id_t id, tnd_life_t life)
{
    site_open_patient(self, stage, id, life, 1000000000);
}

static void site_bind(site_t *self, const tnd_terms_t *terms)
{
    tnd_error_t error = {.text = ""};
    cr_assert_eq(tnd_hub_bind(self->hub, PORT_IN, self->stage->net.endpoint, terms,
                              self->stage->actual, sizeof self->stage->actual, &error),
                 TND_OK, "%s", error.text);
    snprintf(self->stage->net.endpoint, sizeof self->stage->net.endpoint, "%.199s",
             self->stage->actual);
}

static void site_connect(site_t *self, const tnd_terms_t *terms)
{
    cr_assert_eq(tnd_hub_connect(self->hub, PORT_OUT, JOIN, self->stage->net.endpoint, terms, NULL),
                 TND_OK);
}

static void note(site_t *self, const char *format, ...)
{
    size_t length = strlen(self->trace);
    va_list list;
    va_start(list, format);
    vsnprintf(self->trace + length, sizeof self->trace - length, format, list);
    va_end(list);
}

static void note_rows(site_t *self, const tnd_block_t *block, uint32_t first, uint32_t rows)
{
    for (uint32_t i = first; i < first + rows; i++) {
        float x[3];
        memcpy(x, tnd_block_row(block, 0, i), sizeof x);
        note(self, " %g,%g,%g/%u", x[0], x[1], x[2], *(const uint8_t *)tnd_block_row(block, 1, i));
    }
}

static void note_offsets(site_t *self, const char *name, const uint32_t *offsets, uint32_t count)
{
    if (offsets == NULL)
        return;
    note(self, " %s", name);
    for (uint32_t i = 0; i < count; i++)
        note(self, " %u", offsets[i]);
}

static void note_message(site_t *self, tnd_arrival_t *arrival)
{
    tnd_msg_t *msg = &arrival->msg;
    note(self, "%u:", msg->kind);
    switch (arrival->carry) {
    case TND_CARRY_NOTHING:
        if (msg->kind == TND_MSG_TICKET)
            note(self, " ticket %llu", (unsigned long long)msg->ticket.first);
        break;
    case TND_CARRY_BLOCK: {
        const tnd_block_t *block = msg->block.payload;
        cr_assert(tnd_block_sealed(block));
        note(self, " block %llu+%u", (unsigned long long)msg->block.first, msg->block.count);
        note_rows(self, block, 0, msg->block.rows);
        note_offsets(self, "origin", msg->block.origin, msg->block.rows);
        note_offsets(self, "bad", msg->block.bad, msg->block.bad_count);
        break;
    }
    case TND_CARRY_SLICE: {
        const tnd_slice_t *slice = msg->slice.payload;
        cr_assert(tnd_slice_sealed(slice));
        note(self, " slice %llu", (unsigned long long)msg->slice.step);
        for (uint32_t i = 0; i < slice->piece_count; i++)
            note_rows(self, slice->pieces[i].block, slice->pieces[i].first, slice->pieces[i].rows);
        break;
    }
    case TND_CARRY_BUFFER: {
        tnd_buffer_t *buffer = *tnd_msg_payload(msg);
        note(self, " buffer %.*s", (int)tnd_buffer_size(buffer),
             (const char *)tnd_buffer_data(buffer));
        break;
    }
    case TND_CARRY_CURSOR:
        note(self, " cursor step %llu lanes %u", (unsigned long long)arrival->cursor->step,
             arrival->cursor->lanes);
        cr_assert_eq(msg->rewind.cursor, arrival->cursor);
        break;
    }
    note(self, "\n");
    tnd_msg_drop(msg, arrival->carry);
}

/*  Takes one arrival into the trace; false: there was none. */
static bool site_step(site_t *self)
{
    tnd_arrival_t arrival;
    if (tnd_hub_receive(self->hub, &arrival) != TND_OK)
        return false;
    switch (arrival.kind) {
    case TND_ARRIVAL_UP:
        self->ups++;
        note(self, "up %u", arrival.peer);
        if (self->id == JOIN)
            note(self, " life %llu", (unsigned long long)arrival.life);
        note(self, "\n");
        break;
    case TND_ARRIVAL_LOST:
        self->losts++;
        self->loss = arrival.loss;
        cr_assert_neq(arrival.why[0], '\0');
        snprintf(self->lost_why, sizeof self->lost_why, "%s", arrival.why);
        note(self, "lost %u\n", arrival.peer);
        break;
    case TND_ARRIVAL_REFUSED:
        self->refusals++;
        note(self, "refused %u: %s\n", arrival.peer, arrival.why);
        break;
    case TND_ARRIVAL_MESSAGE:
        self->messages++;
        note_message(self, &arrival);
        break;
    }
    return true;
}

/*  Runs both sites (the other may be NULL) until *count reaches `goal`. */
static void run_until(site_t *one, site_t *other, const uint32_t *count, uint32_t goal)
{
    uint64_t deadline = stage_now(one->stage) + DEADLINE_NS;
    while (*count < goal) {
        bool any = site_step(one);
        if (other != NULL)
            any = site_step(other) || any;
        if (any)
            continue;
        cr_assert(stage_now(one->stage) < deadline, "nothing more came; one:\n%s\nother:\n%s",
                  one->trace, other == NULL ? "" : other->trace);
        tnd_hub_wait(one->hub, stage_now(one->stage) + 1000000);
        if (other != NULL)
            tnd_hub_wait(other->hub, stage_now(one->stage));
    }
}

/*  Two sites whose link is up. */
static inline void meet(stage_t *stage, site_t *join, site_t *worker)
{
    stage_open(stage);
    site_open(join, stage, JOIN, 1);
    site_open(worker, stage, WORKER, 1);
    site_bind(join, &stage->terms);
    site_connect(worker, &stage->terms);
    run_until(join, worker, &join->ups, 1);
    run_until(worker, join, &worker->ups, 1);
    join->trace[0] = worker->trace[0] = '\0';
}

static void part(stage_t *stage, site_t *join, site_t *worker)
{
    if (worker != NULL)
        tnd_hub_close(&worker->hub, 0);
    if (join != NULL)
        tnd_hub_close(&join->hub, 0);
    stage_close(stage);
}

/*  A block of `rows` rows from position `first`; row p is (p, p + 0.25, -p) / p mod 256. */
static tnd_block_t *make_block(stage_t *stage, uint64_t first, uint32_t rows)
{
    tnd_block_t *block = tnd_block_pool_take(stage->block_pool, &stage->schema);
    block->note.first = first;
    block->note.count = block->note.asked = block->note.rows = rows;
    block->note.bytes = 13 * (uint64_t)rows;
    block->note.payload = block;
    for (uint32_t column = 0; column < 2 && rows > 0; column++) {
        tnd_buffer_t *buffer = tnd_pool_take(stage->pool);
        for (uint32_t i = 0; i < rows; i++) {
            float p = (float)(first + i);
            if (column == 0)
                memcpy((float *)tnd_buffer_data(buffer) + 3 * i, (float[]){p, p + 0.25f, -p}, 12);
            else
                ((uint8_t *)tnd_buffer_data(buffer))[i] = (uint8_t)(first + i);
        }
        tnd_buffer_seal(buffer);
        block->columns[column] = (tnd_block_column_t){
            .base = tnd_buffer_data(buffer), .stride = column == 0 ? 12 : 1, .buffer = buffer};
    }
    return block;
}

static tnd_msg_t block_message(tnd_block_t *block)
{
    tnd_block_seal(block);
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .from = WORKER, .to = JOIN, .block = block->note};
    msg.block.payload = block;
    return msg;
}

static void send_block(site_t *worker, tnd_block_t *block)
{
    tnd_msg_t msg = block_message(block);
    cr_assert_eq(tnd_hub_send(worker->hub, PORT_OUT, JOIN, &msg, TND_CARRY_BLOCK), TND_OK);
}

/*  Sends `count` tickets to the other site, and adds the trace they give to `expected`. */
static inline void send_tickets(site_t *site, tnd_actor_id_t from, unsigned count,
                                char expected[4096])
{
    tnd_actor_id_t to = from == WORKER ? JOIN : WORKER;
    for (unsigned i = 0; i < count; i++) {
        tnd_msg_t msg = {.kind = TND_MSG_TICKET, .from = from, .to = to, .ticket.first = i};
        cr_assert_eq(tnd_hub_send(site->hub, from == WORKER ? PORT_OUT : PORT_IN, to, &msg,
                                  TND_CARRY_NOTHING),
                     TND_OK);
        size_t used = strlen(expected);
        snprintf(expected + used, 4096 - used, "%u: ticket %u\n", TND_MSG_TICKET, i);
    }
}

#endif
