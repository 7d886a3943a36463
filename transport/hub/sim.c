/*  transport/hub/sim.c - a hub on a simulated network.  */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/hub/hubs.h"
#include "transport/hub/sim.h"
#include "transport/zmq/connections.h"

enum { NAME_MAX_BYTES = 64 };

typedef struct hub hub_t;

static const tnd_hub_ops_t ops;

typedef struct {
    hub_t *hub;
    uint32_t port;
    tnd_terms_t terms;
    char name[NAME_MAX_BYTES];
} binder_t;

/*  A connection, from its dialler to its binder.  It exists while either end refers to it. */
typedef struct wire {
    hub_t *ends[2];            /* dialler, binder; NULL: it has left */
    tnd_connection_t *peer[2]; /* NULL: not known yet */
    bool cut[2];               /* messages of this end are lost */
    binder_t *binder;
    uint32_t letters;   /* in flight */
    uint32_t unread[2]; /* of them to this end */
} wire_t;

/*  One message in flight, or the notice that the other end has left. */
typedef struct letter {
    struct letter *next;
    uint64_t due;
    wire_t *wire;
    int to; /* the receiving end */
    bool farewell;
    tnd_carry_t carry;
    tnd_msg_t msg;
    tnd_cursor_t cursor;
    char text[256];
} letter_t;

typedef struct {
    tnd_connection_t *peer;
    wire_t *wire; /* NULL: no connection */
    char name[NAME_MAX_BYTES];
} dial_t;

struct hub {
    tnd_hub_t base;
    tnd_sim_network_t *net;
    tnd_connections_t peers;
    bool woken;
    tnd_cursor_t cursor;
    letter_t *first, **last;
};

struct tnd_sim_network {
    uint64_t now, latency_ns;
    binder_t **binders;
    uint32_t binder_count;
    wire_t **wires;
    uint32_t wire_count;
    uint32_t hubs;
};

static hub_t *hub_of(tnd_hub_t *hub)
{
    return (hub_t *)(void *)hub;
}

static void free_wire(tnd_sim_network_t *self, wire_t *wire)
{
    if (wire->ends[0] != NULL || wire->ends[1] != NULL || wire->letters > 0)
        return;
    for (uint32_t i = 0; i < self->wire_count; i++)
        if (self->wires[i] == wire)
            self->wires[i] = self->wires[--self->wire_count];
    free(wire);
}

static void drop_letter(letter_t *letter)
{
    tnd_msg_drop(&letter->msg, letter->carry);
    letter->wire->letters--;
    letter->wire->unread[letter->to]--;
    free(letter);
}

/*  Appends a letter to the queue of the end `to`. */
static void post(wire_t *wire, int to, letter_t *letter)
{
    hub_t *hub = wire->ends[to];
    letter->wire = wire;
    letter->to = to;
    letter->due = hub->net->now + hub->net->latency_ns;
    letter->next = NULL;
    *hub->last = letter;
    hub->last = &letter->next;
    wire->letters++;
    wire->unread[to]++;
}

static void leave(tnd_sim_network_t *net, wire_t *wire, int end)
{
    wire->ends[end] = NULL;
    wire->peer[end] = NULL;
    if (wire->ends[1 - end] != NULL && !wire->cut[end]) {
        letter_t *letter = tnd_allocate(1, sizeof *letter);
        *letter = (letter_t){.farewell = true};
        post(wire, 1 - end, letter);
    }
    free_wire(net, wire);
}

void tnd_sim_network_cut(tnd_sim_network_t *self, tnd_actor_id_t from, tnd_actor_id_t to)
{
    for (uint32_t i = 0; i < self->wire_count; i++)
        for (int end = 0; end < 2; end++) {
            wire_t *wire = self->wires[i];
            if (wire->ends[end] != NULL && wire->ends[1 - end] != NULL &&
                wire->ends[end]->peers.config.self == from &&
                wire->ends[1 - end]->peers.config.self == to)
                wire->cut[end] = true;
        }
}

static void forget_letters(hub_t *self, const wire_t *wire)
{
    for (letter_t **at = &self->first; *at != NULL;) {
        letter_t *letter = *at;
        if (letter->wire != wire || letter->farewell) {
            at = &letter->next;
            continue;
        }
        *at = letter->next;
        drop_letter(letter);
    }
    self->last = &self->first;
    while (*self->last != NULL)
        self->last = &(*self->last)->next;
}

void tnd_sim_network_break(tnd_sim_network_t *self, tnd_actor_id_t one, tnd_actor_id_t other)
{
    for (uint32_t i = 0; i < self->wire_count; i++) {
        wire_t *wire = self->wires[i];
        if (wire->ends[0] == NULL || wire->ends[1] == NULL)
            continue;
        tnd_actor_id_t a = wire->ends[0]->peers.config.self, b = wire->ends[1]->peers.config.self;
        if (!((a == one && b == other) || (a == other && b == one)))
            continue;
        for (int end = 0; end < 2; end++) {
            forget_letters(wire->ends[end], wire);
            letter_t *letter = tnd_allocate(1, sizeof *letter);
            *letter = (letter_t){.farewell = true};
            post(wire, end, letter);
            wire->cut[end] = true;
        }
    }
}

/*  Takes the payload.  Returns false, and takes nothing, if too much is unread. */
static bool transmit(wire_t *wire, int from, const tnd_msg_t *msg, tnd_carry_t carry)
{
    const tnd_connection_t *peer = wire->peer[from];
    if (peer != NULL &&
        wire->unread[1 - from] >= tnd_connections_unread(&wire->ends[from]->peers, peer->port))
        return false;
    letter_t *letter = tnd_allocate(1, sizeof *letter);
    memset(letter, 0, sizeof *letter);
    letter->msg = *msg;
    letter->carry = carry;
    if (carry == TND_CARRY_CURSOR)
        letter->cursor = *msg->rewind.cursor;
    if (msg->kind == TND_MSG_REFUSE) {
        snprintf(letter->text, sizeof letter->text, "%s", msg->refuse.why);
        letter->msg.refuse.why = letter->text;
    }
    if (wire->cut[from] || wire->ends[1 - from] == NULL) {
        tnd_msg_drop(&letter->msg, carry);
        free(letter);
        return true;
    }
    post(wire, 1 - from, letter);
    return true;
}

static binder_t *find_binder(const tnd_sim_network_t *self, const char *name)
{
    for (uint32_t i = 0; i < self->binder_count; i++)
        if (strcmp(self->binders[i]->name, name) == 0)
            return self->binders[i];
    return NULL;
}

static wire_t *wire_of(const tnd_connection_t *peer)
{
    return peer->end.config.binder ? peer->wire : ((dial_t *)peer->wire)->wire;
}

static bool carrier_open(tnd_hub_t *hub, tnd_connection_t *peer)
{
    hub_t *self = hub_of(hub);
    dial_t *dial = peer->wire;
    binder_t *binder = find_binder(self->net, dial->name);
    peer->refused = binder == NULL;
    if (binder == NULL)
        return false;
    wire_t *wire = tnd_allocate(1, sizeof *wire);
    *wire = (wire_t){.ends = {self, binder->hub}, .peer = {peer, NULL}, .binder = binder};
    self->net->wires =
        tnd_resize(self->net->wires, self->net->wire_count + 1u, sizeof *self->net->wires);
    self->net->wires[self->net->wire_count++] = wire;
    dial->wire = wire;
    return true;
}

static void carrier_shut(tnd_hub_t *hub, tnd_connection_t *peer)
{
    wire_t *wire = wire_of(peer);
    if (wire == NULL)
        return;
    if (!peer->end.config.binder)
        ((dial_t *)peer->wire)->wire = NULL;
    leave(hub_of(hub)->net, wire, peer->end.config.binder ? 1 : 0);
}

static bool carrier_say(tnd_hub_t *hub, tnd_connection_t *peer, const tnd_msg_t *msg)
{
    (void)hub;
    wire_t *wire = wire_of(peer);
    return wire != NULL && transmit(wire, peer->end.config.binder ? 1 : 0, msg, TND_CARRY_NOTHING);
}

/*  Messages in flight count as bytes that move, as on a slow link. */
static bool carrier_moved(tnd_hub_t *hub, tnd_connection_t *peer, uint64_t now,
                          tnd_movement_t *movement)
{
    (void)hub;
    const wire_t *wire = wire_of(peer);
    if (wire == NULL)
        return false;
    int end = peer->end.config.binder ? 1 : 0;
    *movement = (tnd_movement_t){.came_ns = wire->unread[end] > 0 ? now : 0,
                                 .went_ns = wire->unread[1 - end] > 0 ? now : 0};
    return true;
}

static const tnd_connection_ops_t carrier = {carrier_open, carrier_shut, carrier_say, carrier_moved,
                                             NULL};

static tnd_status_t hub_open(tnd_hub_t **self_p, void *context, const tnd_hub_config_t *config,
                             tnd_error_t *error)
{
    (void)error;
    hub_t *self = tnd_allocate(1, sizeof *self);
    *self = (hub_t){.base = {&ops}, .net = context};
    self->last = &self->first;
    self->net->hubs++;
    tnd_connections_init(&self->peers, &self->base, &carrier, config);
    *self_p = &self->base;
    return TND_OK;
}

static tnd_status_t hub_bind(tnd_hub_t *hub, uint32_t port, const char *endpoint,
                             const tnd_terms_t *terms, char *actual, size_t room,
                             tnd_error_t *error)
{
    hub_t *self = hub_of(hub);
    if (strlen(endpoint) >= NAME_MAX_BYTES)
        return tnd_fail(error, "%s: %s is too long", self->peers.config.name, endpoint);
    if (find_binder(self->net, endpoint) != NULL)
        return tnd_fail(error, "%s: %s is in use: choose another name", self->peers.config.name,
                        endpoint);
    binder_t *binder = tnd_allocate(1, sizeof *binder);
    *binder = (binder_t){.hub = self, .port = port, .terms = *terms};
    strcpy(binder->name, endpoint);
    tnd_sim_network_t *net = self->net;
    net->binders = tnd_resize(net->binders, net->binder_count + 1u, sizeof *net->binders);
    net->binders[net->binder_count++] = binder;
    if (actual != NULL)
        snprintf(actual, room, "%s", endpoint);
    return TND_OK;
}

static tnd_status_t hub_connect(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t peer,
                                const char *endpoint, const tnd_terms_t *terms, tnd_error_t *error)
{
    hub_t *self = hub_of(hub);
    if (strncmp(endpoint, "sim://", 6) != 0 || strlen(endpoint) >= NAME_MAX_BYTES)
        return tnd_fail(error, "%s: %.60s is not an endpoint of a simulated network",
                        self->peers.config.name, endpoint);
    dial_t *dial = tnd_allocate(1, sizeof *dial);
    *dial = (dial_t){0};
    strcpy(dial->name, endpoint);
    dial->peer = tnd_connections_connect(&self->peers, port, peer, terms, dial, self->net->now);
    tnd_connections_tick(&self->peers, self->net->now);
    return TND_OK;
}

static void hub_disconnect(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    free(tnd_connections_disconnect(&hub_of(hub)->peers, port, id));
}

static void hub_connect_now(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    hub_t *self = hub_of(hub);
    tnd_connections_connect_now(&self->peers, port, id, self->net->now);
}

static bool hub_refused(const tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    const hub_t *self = (const hub_t *)(const void *)hub;
    const tnd_connection_t *peer = tnd_connections_find(&self->peers, port, id);
    return peer != NULL && peer->refused;
}

static uint64_t hub_round_trip(const tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    const hub_t *self = (const hub_t *)(const void *)hub;
    const tnd_connection_t *peer = tnd_connections_find(&self->peers, port, id);
    return peer != NULL ? peer->end.round_ns : 0;
}

static void hub_disconnect_peer(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id, const char *why)
{
    hub_t *self = hub_of(hub);
    tnd_connections_disconnect_peer(&self->peers, port, id, why, self->net->now);
}

static void hub_rebirth(tnd_hub_t *hub, tnd_life_t life)
{
    hub_t *self = hub_of(hub);
    tnd_connections_rebirth(&self->peers, life, self->net->now);
    tnd_connections_tick(&self->peers, self->net->now);
}

static tnd_status_t hub_send(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id, const tnd_msg_t *msg,
                             tnd_carry_t carry)
{
    hub_t *self = hub_of(hub);
    tnd_connection_t *peer = tnd_connections_find(&self->peers, port, id);
    if (peer == NULL || peer->end.state != TND_END_OPEN)
        return TND_AGAIN;
    if (!transmit(wire_of(peer), peer->end.config.binder ? 1 : 0, msg, carry)) {
        tnd_connections_does_not_read(&self->peers, peer, self->net->now);
        return TND_AGAIN;
    }
    self->peers.counts.messages_out++;
    tnd_end_said(&peer->end, self->net->now);
    return TND_OK;
}

/*  Handles the first message of a connection to a bound port. */
static void greet(hub_t *self, wire_t *wire, const tnd_msg_t *msg)
{
    const binder_t *binder = wire->binder;
    tnd_connections_refusal_t refusal;
    if (!tnd_connections_expects(&self->peers, binder->port, &binder->terms, (tnd_peer_t){0}, msg,
                                 &refusal)) {
        transmit(wire, 1, &refusal.msg, TND_CARRY_NOTHING);
        leave(self->net, wire, 1);
        return;
    }
    wire->peer[1] = tnd_connections_hello(&self->peers, binder->port, &binder->terms, wire, msg,
                                          self->net->now);
    if (wire->peer[1] == NULL)
        leave(self->net, wire, 1);
}

/*  Returns true if the letter had a message for the user, now in `arrival`. */
static bool open_letter(hub_t *self, letter_t *letter, tnd_arrival_t *arrival)
{
    wire_t *wire = letter->wire;
    if (wire->ends[letter->to] != self)
        return false; /* this end has left */
    tnd_connection_t *peer = wire->peer[letter->to];
    if (letter->farewell) {
        if (peer != NULL)
            tnd_connections_gone(&self->peers, peer, "the connection ended", self->net->now);
        else
            leave(self->net, wire, letter->to);
        return false;
    }
    if (letter->to == 1 && letter->msg.kind == TND_MSG_HELLO) {
        greet(self, wire, &letter->msg);
        return false;
    }
    return peer != NULL && tnd_connections_deliver(&self->peers, peer, &letter->msg, letter->carry,
                                                   self->net->now, arrival);
}

static tnd_status_t hub_receive(tnd_hub_t *hub, tnd_arrival_t *arrival)
{
    hub_t *self = hub_of(hub);
    tnd_connections_tick(&self->peers, self->net->now);
    for (;;) {
        if (tnd_connections_notice(&self->peers, arrival))
            return TND_OK;
        letter_t *letter = self->first;
        if (letter == NULL || letter->due > self->net->now)
            return TND_AGAIN;
        self->first = letter->next;
        if (self->first == NULL)
            self->last = &self->first;
        bool is_mine = open_letter(self, letter, arrival);
        if (is_mine && letter->carry == TND_CARRY_CURSOR) {
            self->cursor = letter->cursor;
            arrival->cursor = arrival->msg.rewind.cursor = &self->cursor;
        }
        if (is_mine)
            letter->carry = TND_CARRY_NOTHING; /* the user owns the payload */
        wire_t *wire = letter->wire;
        drop_letter(letter);
        free_wire(self->net, wire);
        if (is_mine)
            return TND_OK;
    }
}

static void hub_flush(tnd_hub_t *hub)
{
    (void)hub; /* no hub sleeps */
}

static tnd_status_t hub_wait(tnd_hub_t *hub, uint64_t until_ns)
{
    hub_t *self = hub_of(hub);
    uint64_t until = until_ns;
    if (self->peers.deadline < until)
        until = self->peers.deadline;
    if (self->first != NULL && self->first->due < until)
        until = self->first->due;
    if (!self->woken && self->peers.notice_count == 0 && until != TND_NEVER &&
        until > self->net->now)
        self->net->now = until;
    self->woken = false;
    return TND_OK;
}

static void hub_wake(tnd_hub_t *hub)
{
    hub_of(hub)->woken = true;
}

static void hub_counts(const tnd_hub_t *hub, tnd_hub_counts_t *counts)
{
    *counts = ((const hub_t *)(const void *)hub)->peers.counts;
}

static void hub_close(tnd_hub_t **self_p, uint64_t linger_ns)
{
    (void)linger_ns;
    hub_t *self = hub_of(*self_p);
    tnd_sim_network_t *net = self->net;
    *self_p = NULL;
    for (uint32_t i = 0; i < self->peers.count; i++) {
        tnd_connection_t *peer = self->peers.peers[i];
        if (peer->end.config.binder)
            continue;
        dial_t *dial = peer->wire;
        carrier_shut(&self->base, peer);
        free(dial);
        peer->wire = NULL;
    }
    tnd_connections_fini(&self->peers);
    for (uint32_t i = 0; i < net->binder_count;)
        if (net->binders[i]->hub == self) {
            free(net->binders[i]);
            net->binders[i] = net->binders[--net->binder_count];
        } else {
            i++;
        }
    while (self->first != NULL) {
        letter_t *letter = self->first;
        wire_t *wire = letter->wire;
        self->first = letter->next;
        drop_letter(letter);
        free_wire(net, wire);
    }
    /* Connections to this hub without a HELLO. */
    for (uint32_t i = net->wire_count; i > 0; i--)
        if (i <= net->wire_count && net->wires[i - 1]->ends[1] == self)
            leave(net, net->wires[i - 1], 1);
    net->hubs--;
    free(self);
}

static const tnd_hub_ops_t ops = {
    .name = "sim",
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
    tnd_sim_network_t *self = tnd_allocate(1, sizeof *self);
    *self = (tnd_sim_network_t){.now = 1000000000, .latency_ns = 50000};
    return self;
}

static void destroy(void **context_p)
{
    tnd_sim_network_t *self = *context_p;
    *context_p = NULL;
    if (self == NULL)
        return;
    assert(self->hubs == 0 && self->binder_count == 0 && self->wire_count == 0);
    free(self->binders);
    free(self->wires);
    free(self);
}

static uint64_t now(const void *context)
{
    return ((const tnd_sim_network_t *)context)->now;
}

const tnd_network_t tnd_network_sim = {
    .hub = &ops,
    .create = create,
    .destroy = destroy,
    .now = now,
    .endpoints = (const char *const[]){"sim://join", NULL},
    .is_simulated = true,
};
