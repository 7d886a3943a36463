/*  transport/hub/zmq.c - a hub: ipc and tcp over ZeroMQ, inproc by mailboxes. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "transport/hub/hubs.h"
#include "transport/zmq/hub_internal.h"

enum {
    LOOK_AGAIN_NS = 50 * 1000, /* between two polls of a hub whose owner does other work */
    MAIL_BUDGET = 32,          /* messages of this process before the sockets are read */
    INSIDE_BUDGET = 256        /* messages that are not the owner's, before it does other work */
};

static const tnd_hub_ops_t ops;

static void mind_the_time(tnd_zmq_hub_t *self)
{
    self->now = tnd_zmq_now();
    tnd_connections_tick(&self->peers, self->now);
    if (self->now < self->dismiss_ns)
        return;
    self->dismiss_ns = TND_NEVER;
    for (uint32_t i = 0; i < self->binder_count; i++)
        tnd_binder_dismiss(self, self->binders[i]);
}

static tnd_status_t hub_open(tnd_hub_t **self_p, void *context, const tnd_hub_config_t *config,
                             tnd_error_t *error)
{
    tnd_mailbox_t *mailbox;
    TND_TRY(tnd_mailbox_new(&mailbox, config->name, error));
    tnd_zmq_hub_t *self = tnd_allocate(1, sizeof *self);
    *self = (tnd_zmq_hub_t){.base = {&ops},
                            .context = context,
                            .config = *config,
                            .mailbox = mailbox,
                            .now = tnd_zmq_now(),
                            .dismiss_ns = TND_NEVER};
    snprintf(self->name, sizeof self->name, "%s", config->name);
    tnd_connections_init(&self->peers, &self->base, &tnd_zmq_carrier, config);
    tnd_sockets_init(&self->sockets, tnd_mailbox_descriptor(mailbox));
    tnd_frames_init(&self->frames);
    self->messages = tnd_pool_new(sizeof(tnd_inproc_message_t));
    *self_p = &self->base;
    return TND_OK;
}

static tnd_status_t hub_bind(tnd_hub_t *hub, uint32_t port, const char *endpoint,
                             const tnd_terms_t *terms, char *actual, size_t room,
                             tnd_error_t *error)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    TND_TRY(tnd_address_check(endpoint, self->name, error));
    if (!tnd_address_is_inproc(endpoint))
        TND_TRY(tnd_context_start(self->context, error));
    if (tnd_address_is_served(endpoint))
        return tnd_address_unbound(endpoint, self->name, EADDRINUSE, error);
    tnd_binder_t *binder = tnd_allocate(1, sizeof *binder);
    *binder = (tnd_binder_t){
        .port = port, .terms = *terms, .unauthenticated.expected = self->config.callers};
    tnd_status_t status = tnd_binder_bind(self, binder, endpoint, error);
    if (status != TND_OK) {
        free(binder);
        return status;
    }
    if (actual != NULL)
        snprintf(actual, room, "%s", binder->endpoint);
    self->binders = tnd_resize(self->binders, self->binder_count + 1u, sizeof *self->binders);
    self->binders[self->binder_count++] = binder;
    return TND_OK;
}

static tnd_status_t hub_connect(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t peer,
                                const char *endpoint, const tnd_terms_t *terms, tnd_error_t *error)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    TND_TRY(tnd_address_check(endpoint, self->name, error));
    if (!tnd_address_is_inproc(endpoint))
        TND_TRY(tnd_context_start(self->context, error));
    assert(tnd_connections_find(&self->peers, port, peer) == NULL);
    tnd_dial_t *dial = tnd_allocate(1, sizeof *dial);
    *dial = (tnd_dial_t){.fd = -1};
    snprintf(dial->endpoint, sizeof dial->endpoint, "%s", endpoint);
    self->now = tnd_zmq_now();
    dial->peer = tnd_connections_connect(&self->peers, port, peer, terms, dial, self->now);
    tnd_connections_tick(&self->peers, self->now);
    return TND_OK;
}

static void hub_disconnect(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    free(tnd_connections_disconnect(&tnd_zmq_hub(hub)->peers, port, id));
}

static void hub_connect_now(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    self->now = tnd_zmq_now();
    tnd_connections_connect_now(&self->peers, port, id, self->now);
}

static bool hub_refused(const tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    const tnd_zmq_hub_t *self = (const tnd_zmq_hub_t *)(const void *)hub;
    const tnd_connection_t *peer = tnd_connections_find(&self->peers, port, id);
    return peer != NULL && peer->refused;
}

static uint64_t hub_round_trip(const tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    const tnd_zmq_hub_t *self = (const tnd_zmq_hub_t *)(const void *)hub;
    const tnd_connection_t *peer = tnd_connections_find(&self->peers, port, id);
    return peer != NULL ? peer->end.round_ns : 0;
}

static void hub_disconnect_peer(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id, const char *why)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    self->now = tnd_zmq_now();
    tnd_connections_disconnect_peer(&self->peers, port, id, why, self->now);
}

static void hub_rebirth(tnd_hub_t *hub, tnd_life_t life)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    self->config.life = life;
    self->now = tnd_zmq_now();
    tnd_connections_rebirth(&self->peers, life, self->now);
    tnd_connections_tick(&self->peers, self->now);
}

/*  Whether a send has just failed because the peer does not read.  For a dialled connection libzmq
 *  reports its end by the same error. */
static bool is_full(tnd_zmq_hub_t *self, const tnd_connection_t *peer)
{
    if (zmq_errno() != EAGAIN)
        return false;
    self->now = tnd_zmq_now();
    if (peer->end.config.binder)
        return true;
    tnd_dial_t *dial = peer->wire;
    tnd_zmq_watch(self, &dial->socket);
    return !dial->socket.gone;
}

static tnd_status_t hub_send(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id, const tnd_msg_t *msg,
                             tnd_carry_t carry)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    tnd_connection_t *peer = tnd_connections_find(&self->peers, port, id);
    if (peer == NULL || peer->end.state != TND_END_OPEN)
        return TND_AGAIN;
    tnd_status_t status = tnd_zmq_send(self, peer, msg, carry);
    if (status == TND_FAILED)
        return status;
    if (status != TND_OK) {
        /* The end of the connection is reported once its messages were read. */
        if (tnd_zmq_pipe(peer) != NULL) {
            return TND_AGAIN;
        } else if (is_full(self, peer)) {
            tnd_connections_does_not_read(&self->peers, peer, self->now);
        } else if (peer->end.config.binder) {
            tnd_route_t *route = peer->wire;
            route->gone = true;
            route->binder->socket.gone = route->binder->socket.ready = true;
        } else {
            tnd_socket_t *socket = &((tnd_dial_t *)peer->wire)->socket;
            socket->gone = socket->ready = true;
        }
        return TND_AGAIN;
    }
    self->peers.counts.messages_out++;
    tnd_end_said(&peer->end, tnd_zmq_now());
    return TND_OK;
}

/*  The next message of this process, until their budget is used up. */
static tnd_inproc_message_t *next_inproc(tnd_zmq_hub_t *self)
{
    if (self->mail_budget == 0)
        return NULL;
    tnd_inproc_message_t *message = tnd_mailbox_next(self->mailbox);
    if (message != NULL)
        self->mail_budget--;
    return message;
}

/*  Whether a poll finds messages that were not known yet. */
static bool look_again(tnd_zmq_hub_t *self)
{
    bool is_end = self->looked;
    self->looked = false;
    if (self->sockets.count == 0 || is_end || self->now < self->looked_ns + LOOK_AGAIN_NS)
        return false;
    self->looked_ns = self->now;
    self->looked = tnd_sockets_look(&self->sockets);
    return self->looked;
}

static tnd_status_t hub_receive(tnd_hub_t *hub, tnd_arrival_t *arrival)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    mind_the_time(self);
    /* What peers send that were disconnected is dropped here, and may come without end. */
    for (unsigned inside = 0; inside < INSIDE_BUDGET;) {
        if (tnd_connections_notice(&self->peers, arrival))
            return TND_OK;
        tnd_inproc_message_t *message = next_inproc(self);
        if (message != NULL) {
            if (tnd_zmq_take_inproc(self, message, arrival))
                return TND_OK;
            continue;
        }
        tnd_socket_t *socket = tnd_sockets_next(&self->sockets);
        if (socket == NULL && self->mail_budget == 0) {
            self->mail_budget = MAIL_BUDGET;
            continue;
        }
        if (socket == NULL) {
            if (look_again(self))
                continue;
            tnd_sleepers_wake(&self->sleepers);
            return TND_AGAIN;
        }
        self->mail_budget = MAIL_BUDGET;
        self->looked = true;
        if (socket->watch_ready) {
            tnd_zmq_watch(self, socket);
            continue;
        }
        switch (tnd_zmq_take(self, socket, arrival)) {
        case TND_ZMQ_MESSAGE:
            return TND_OK;
        case TND_ZMQ_INSIDE:
            inside++;
            break;
        case TND_ZMQ_EMPTY:
            socket->ready = false;
            if (socket->gone)
                tnd_zmq_sweep(self, socket);
            break;
        }
    }
    tnd_sleepers_wake(&self->sleepers);
    return TND_AGAIN;
}

static int rounded_ms(uint64_t span_ns)
{
    uint64_t ms = (span_ns + 999999) / 1000000;
    return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

static tnd_status_t hub_wait(tnd_hub_t *hub, uint64_t until_ns)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    mind_the_time(self);
    tnd_sleepers_wake(&self->sleepers);
    if (self->peers.notice_count > 0 || tnd_sockets_are_ready(&self->sockets))
        return TND_OK;
    uint64_t until = until_ns;
    if (self->peers.deadline < until)
        until = self->peers.deadline;
    if (self->dismiss_ns < until)
        until = self->dismiss_ns;
    int wait_ms = -1;
    if (until != TND_NEVER)
        wait_ms = until <= self->now ? 0 : rounded_ms(until - self->now);
    if (self->sockets.count == 0) {
        tnd_mailbox_sleep(self->mailbox, wait_ms);
    } else if (tnd_mailbox_doze(self->mailbox)) {
        (void)tnd_sockets_wait(&self->sockets, wait_ms);
        tnd_mailbox_rise(self->mailbox);
        self->looked = true;
    }
    return TND_OK;
}

static void hub_flush(tnd_hub_t *hub)
{
    tnd_sleepers_wake(&tnd_zmq_hub(hub)->sleepers);
}

static void hub_wake(tnd_hub_t *hub)
{
    tnd_mailbox_wake(tnd_zmq_hub(hub)->mailbox);
}

static void hub_counts(const tnd_hub_t *hub, tnd_hub_counts_t *counts)
{
    const tnd_zmq_hub_t *self = (const tnd_zmq_hub_t *)(const void *)hub;
    *counts = self->peers.counts;
    counts->bytes_copied = self->frames.copied;
}

static void hub_close(tnd_hub_t **self_p, uint64_t linger_ns)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(*self_p);
    *self_p = NULL;
    self->linger_ns = linger_ns;
    tnd_dial_t **dials = tnd_allocate(self->peers.count + 1u, sizeof *dials);
    uint32_t dial_count = 0;
    for (uint32_t i = 0; i < self->peers.count; i++)
        if (!self->peers.peers[i]->end.config.binder)
            dials[dial_count++] = self->peers.peers[i]->wire;
    tnd_connections_fini(&self->peers);
    tnd_sleepers_wake(&self->sleepers);
    for (uint32_t i = 0; i < dial_count; i++)
        free(dials[i]);
    free(dials);
    for (uint32_t i = 0; i < self->binder_count; i++)
        tnd_binder_close(self, self->binders[i]);
    free(self->binders);
    tnd_sockets_fini(&self->sockets);
    tnd_mailbox_close(&self->mailbox);
    tnd_pool_destroy(&self->messages);
    tnd_frames_fini(&self->frames);
    free(self);
}

static const tnd_hub_ops_t ops = {
    .name = "zmq",
    .open = hub_open,
    .bind = hub_bind,
    .connect = hub_connect,
    .disconnect = hub_disconnect,
    .connect_now = hub_connect_now,
    .refused = hub_refused,
    .round_trip = hub_round_trip,
    .disconnect_peer = hub_disconnect_peer,
    .rebirth = hub_rebirth,
    .send = hub_send,
    .receive = hub_receive,
    .flush = hub_flush,
    .wait = hub_wait,
    .wake = hub_wake,
    .counts = hub_counts,
    .close = hub_close,
};

static void *create(void)
{
    /* One I/O thread carries more than a core can fill; a second one costs time on two cores. */
    return tnd_context_new(1);
}

static void destroy(void **context_p)
{
    tnd_context_t *context = *context_p;
    tnd_context_destroy(&context);
    *context_p = NULL;
}

static uint64_t now(const void *context)
{
    (void)context;
    return tnd_zmq_now();
}

/*  A thread of libzmq has an eventfd and an epoll, every socket an eventfd, and its monitor is two
 *  more sockets; a process has two such threads and waits for their end by another eventfd. */
const tnd_network_t tnd_network_zmq = {
    .hub = &ops,
    .create = create,
    .destroy = destroy,
    .now = now,
    .endpoints =
        (const char *const[]){"inproc://join", "ipc://@tundish-%ld", "tcp://127.0.0.1:*", NULL},
    .cost = {.context = 5, .hub = 1, .listener = 4, .dialled = 4, .accepted = 1},
};
