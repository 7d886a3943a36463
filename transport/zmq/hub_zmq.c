/*  transport/zmq/hub_zmq.c - a hub: ipc and tcp over ZeroMQ, inproc by mailboxes.
 *
 *  A bound port is a ROUTER an endpoint, a connection a DEALER of its own under an identity that is
 *  never used again.  libzmq never reconnects for us: its reconnect comes back under the same
 *  identity, and a half-open connection would then stay dead for ever while sends succeed.
 */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>
#include <zmq.h>

#include "runtime/base/allocation.h"
#include "transport/address.h"
#include "transport/zmq/context.h"
#include "transport/zmq/frames.h"
#include "transport/hubs.h"
#include "transport/zmq/sockets.h"
#include "transport/inproc/mailbox.h"
#include "transport/zmq/connections.h"
#include "transport/zmq/routes.h"
#include "transport/zmq/unauthenticated.h"
#include "transport/zmq/monitor.h"

enum {
    FRAME_SLACK = 64 * 1024,
    CLOSE_WAIT_MS = 200,       /* for an endpoint to be free again */
    PARTING_LINGER_MS = 2000,  /* for a GOODBYE to leave a busy machine */
    RECONNECT_MS = 1000000000, /* never: days after the line was closed */
    BACKLOG = 128,             /* that wait to be accepted, beside those that are expected */
    IDENTITY_MAX = 128,
    LOOK_AGAIN_NS = 50 * 1000, /* between two looks of one who has other work */
    MAIL_BUDGET = 32           /* messages of this process before other lines have their turn */
};

typedef tnd_socket_t line_t;
typedef tnd_route_t route_t;

typedef struct tnd_binder {
    line_t line;
    uint32_t port;
    tnd_terms_t terms;
    char endpoint[TND_ADDRESS_SIZE];
    tnd_routes_t routes;
    tnd_unauthenticated_t strangers;
    uint32_t cut; /* connections that were cut and are not known to have ended */
} binder_t;

/*  A connection that this hub keeps. */
typedef struct tnd_dial {
    line_t line;
    tnd_pipe_t *pipe; /* in place of the line: inside the process, while it is open */
    tnd_connection_t *peer;
    bool made;   /* the transport's own connection is there, or was */
    bool greets; /* messages can be sent */
    int fd;      /* -1: none, or gone */
    tnd_monitor_seen_t seen;
    char endpoint[TND_ADDRESS_SIZE];
} dial_t;

typedef struct {
    tnd_hub_t base;
    tnd_context_t *context;
    tnd_hub_config_t config;
    tnd_connections_t peers;
    tnd_frames_t frames;
    tnd_pool_t *parcels;
    char name[32];
    char host[9];
    tnd_sockets_t lines;
    tnd_mailbox_t *mailbox;
    tnd_bells_t bells; /* of receivers that a later flush wakes */
    uint32_t mail_budget;
    uint64_t now, linger_ns, visitors_ns;
    binder_t **binders;
    uint32_t binder_count;
    bool looked;        /* a round of receives has begun: its end is TND_AGAIN */
    uint64_t looked_ns; /* when a receive found nothing known, and looked */
} hub_t;

static hub_t *hub_of(tnd_hub_t *hub)
{
    return (hub_t *)(void *)hub;
}

static uint64_t clock_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void set_int(void *socket, int option, int value)
{
    int failed = zmq_setsockopt(socket, option, &value, sizeof value);
    assert(failed == 0);
}

/*  What lies unread is bounded between processes, at both ends: behind it tcp holds the sender
 * back, and then its sends fail.  libzmq hears of what was read only after half of the bound.
 */
static int high_water(const hub_t *self, uint32_t port)
{
    uint64_t most = 2 * (uint64_t)tnd_connections_unread(&self->peers, port);
    return most < INT32_MAX ? (int)most : INT32_MAX;
}

static void *open_socket(hub_t *self, int type, const char *endpoint, uint32_t port)
{
    void *socket = zmq_socket(tnd_context_zmq(self->context), type);
    if (socket == NULL)
        return NULL;
    set_int(socket, ZMQ_LINGER, 0);
    set_int(socket, ZMQ_SNDHWM, high_water(self, port));
    set_int(socket, ZMQ_RCVHWM, high_water(self, port));
    /* Asked not to reconnect at all, or to send to complete connections alone (ZMQ_IMMEDIATE),
     * libzmq 4.3.4 throws away what came by a connection that ends before it was read.
     */
    set_int(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS);
    set_int(socket, ZMQ_HANDSHAKE_IVL, TND_UNAUTHENTICATED_MS);
    set_int(socket, ZMQ_TCP_KEEPALIVE, 1);
    set_int(socket, ZMQ_IPV6, tnd_address_is_ipv6(endpoint));
    int64_t largest = (int64_t)self->config.frame_max + FRAME_SLACK;
    int failed = zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    assert(failed == 0);
    return socket;
}

static void close_line(hub_t *self, line_t *line)
{
    tnd_sockets_close(&self->lines, line, self->linger_ns / 1000000);
}

/* --- routes -----------------------------------------------------------------------------------
 */

static route_t *find_route(const binder_t *self, uint64_t hash, zmq_msg_t *id)
{
    return tnd_routes_find(&self->routes, hash, zmq_msg_data(id), zmq_msg_size(id));
}

static route_t *new_route(binder_t *binder, uint64_t hash, zmq_msg_t *id, int fd)
{
    return tnd_route_new(binder, hash, zmq_msg_data(id), zmq_msg_size(id), fd);
}

static void dismiss_strangers(hub_t *self, binder_t *binder)
{
    self->peers.counts.refused +=
        tnd_unauthenticated_dismiss(&binder->strangers, self->now, &self->visitors_ns);
}

static void visitor_left(binder_t *self, int fd)
{
    tnd_unauthenticated_left(&self->strangers, fd);
    if (tnd_routes_left(&self->routes, fd))
        self->line.gone = self->line.ready = true;
}

static void drain_watch(hub_t *self, line_t *line)
{
    tnd_monitor_event_t event;
    int fd = -1;
    line->watch_ready = false;
    while (line->watch != NULL && tnd_monitor_next(line->watch, &event, &fd)) {
        if (line->binder != NULL) {
            if (event == TND_MONITOR_CAME) {
                tnd_unauthenticated_came(&line->binder->strangers, fd, self->now);
            } else if (event == TND_MONITOR_LEFT) {
                line->binder->cut -= line->binder->cut > 0;
                visitor_left(line->binder, fd);
            }
        } else if (event == TND_MONITOR_MADE) {
            line->dial->made = true;
            line->dial->peer->refused = false;
            line->dial->fd = fd;
        } else if (event == TND_MONITOR_READY) {
            /* Makes libzmq take note of the connection, which it would put off. */
            line->ready = tnd_socket_has_input(line) || line->ready;
            line->dial->greets = true;
            tnd_connections_flush(&self->peers, line->dial->peer, self->now);
        } else if (event == TND_MONITOR_LEFT || event == TND_MONITOR_CLOSED) {
            line->dial->peer->refused = !line->dial->made;
            line->dial->fd = -1;
            line->gone = true;
            line->ready = true;
        }
    }
    if (line->binder != NULL)
        dismiss_strangers(self, line->binder);
}

/*  All that the ended connections of this line brought has been read. */
static void sweep(hub_t *self, line_t *line)
{
    line->gone = false;
    if (line->dial != NULL) {
        tnd_connections_gone(&self->peers, line->dial->peer, "the connection ended", self->now);
        return;
    }
    binder_t *binder = line->binder;
    for (uint32_t i = 0; i < binder->routes.count;)
        if (binder->routes.items[i]->gone) {
            /* Takes the route out of the list. */
            tnd_connections_gone(&self->peers, binder->routes.items[i]->peer,
                                 "the connection ended", self->now);
        } else {
            i++;
        }
}

/* --- what peers.h asks for --------------------------------------------------------------------
 */

static bool carrier_open(tnd_hub_t *hub, tnd_connection_t *peer)
{
    hub_t *self = hub_of(hub);
    dial_t *dial = peer->wire;
    if (tnd_address_is_inproc(dial->endpoint)) {
        dial->pipe = tnd_context_connect(self->context, dial->endpoint, self->mailbox, dial);
        dial->greets = dial->pipe != NULL;
        peer->refused = dial->pipe == NULL;
        return dial->greets;
    }
    void *socket = open_socket(self, ZMQ_DEALER, dial->endpoint, peer->port);
    if (socket == NULL)
        return false;
    char identity[IDENTITY_MAX];
    snprintf(identity, sizeof identity, "%s.%ld.%u.%llx.%x", self->host, (long)getpid(),
             self->config.self, (unsigned long long)peer->end.life, peer->end.connection);
    zmq_setsockopt(socket, ZMQ_ROUTING_ID, identity, strlen(identity));
    void *watch = tnd_monitor_open(self->context, socket);
    if (watch == NULL) {
        zmq_close(socket);
        return false;
    }
    dial->line = (line_t){.dial = dial, .data = socket, .watch = watch};
    dial->made = dial->greets = false;
    dial->fd = -1;
    dial->seen = (tnd_monitor_seen_t){0};
    tnd_sockets_add(&self->lines, &dial->line);
    if (zmq_connect(socket, dial->endpoint) == 0)
        return true;
    close_line(self, &dial->line);
    return false;
}

static void shut_dial(hub_t *self, dial_t *dial, bool parting)
{
    if (dial->pipe != NULL)
        tnd_pipe_shut(dial->pipe, TND_SIDE_DIALER, self->parcels);
    else if (dial->line.data != NULL)
        tnd_sockets_close(&self->lines, &dial->line,
                          parting ? PARTING_LINGER_MS : self->linger_ns / 1000000);
    dial->pipe = NULL;
}

static void carrier_shut(tnd_hub_t *hub, tnd_connection_t *peer)
{
    hub_t *self = hub_of(hub);
    if (!peer->end.config.binder) {
        shut_dial(self, peer->wire, peer->parting);
        return;
    }
    route_t *route = peer->wire;
    if (route->pipe != NULL) {
        route->pipe->route = NULL;
        tnd_pipe_shut(route->pipe, TND_SIDE_BINDER, self->parcels);
    } else if (self->linger_ns == 0) {
        drain_watch(self, &route->binder->line);
        if (route->fd >= 0 && peer->parting) {
            /* The other side closes it when it has read the GOODBYE, or it is cut as a stranger. */
            tnd_unauthenticated_set_known(&route->binder->strangers, route->fd, false, self->now);
            dismiss_strangers(self, route->binder);
        } else if (route->fd >= 0) {
            tnd_monitor_cut(route->fd);
            route->binder->cut++;
        }
    }
    tnd_routes_drop(&route->binder->routes, route);
}

/*  Sends the frames to the peer.  False: it cannot be reached; the frames are still the caller's.
 */
static bool send_parts(tnd_connection_t *peer, zmq_msg_t *parts, int count)
{
    route_t *route = peer->end.config.binder ? peer->wire : NULL;
    line_t *line = route != NULL ? &route->binder->line : &((dial_t *)peer->wire)->line;
    void *socket = line->data;
    line->touched = true;
    if (route != NULL) {
        if (zmq_send(socket, route->id, route->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
            return false;
    }
    for (int i = 0; i < count; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0);
        if (zmq_msg_send(&parts[i], socket, flags) < 0) {
            /* The connection may go before the first frame; then libzmq takes the rest unsent. */
            assert(i == 0);
            return false;
        }
    }
    return true;
}

/*  The pipe to a peer inside the process; NULL: it is elsewhere, or away. */
static tnd_pipe_t *pipe_of(const tnd_connection_t *peer)
{
    return peer->end.config.binder ? ((const route_t *)peer->wire)->pipe
                                   : ((const dial_t *)peer->wire)->pipe;
}

static void close_parts(zmq_msg_t *parts, int count)
{
    for (int i = 0; i < count; i++)
        zmq_msg_close(&parts[i]);
}

/*  TND_AGAIN: libzmq does not take it, and errno says why. */
static tnd_status_t carry_over(hub_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                               tnd_carry_t carry)
{
    zmq_msg_t parts[TND_FRAMES_MAX];
    tnd_pipe_t *pipe = pipe_of(peer);
    if (pipe != NULL)
        return tnd_pipe_send(pipe, peer->end.config.binder ? TND_SIDE_BINDER : TND_SIDE_DIALER,
                             self->parcels, msg, carry, &self->bells)
                   ? TND_OK
                   : TND_AGAIN;
    int count = tnd_frames_pack(&self->frames, msg, carry, parts);
    if (tnd_msg_intact(msg, carry, NULL) != TND_OK) {
        close_parts(parts, count);
        return TND_FAILED;
    }
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += zmq_msg_size(&parts[i]);
    if (!send_parts(peer, parts, count)) {
        int number = zmq_errno();
        close_parts(parts, count);
        errno = number;
        return TND_AGAIN;
    }
    self->peers.counts.bytes_out += bytes;
    tnd_msg_t sent = *msg;
    tnd_msg_drop(&sent, carry);
    return TND_OK;
}

static bool carrier_say(tnd_hub_t *hub, tnd_connection_t *peer, const tnd_msg_t *msg)
{
    hub_t *self = hub_of(hub);
    if (!peer->end.config.binder && !((const dial_t *)peer->wire)->greets)
        return false;
    if (peer->end.config.binder && peer->wire == NULL)
        return false;
    return carry_over(self, peer, msg, TND_CARRY_NOTHING) == TND_OK;
}

static bool carrier_moved(tnd_hub_t *hub, tnd_connection_t *peer, uint64_t now,
                          tnd_movement_t *movement)
{
    (void)hub;
    if (!peer->end.config.binder) {
        dial_t *dial = peer->wire;
        return tnd_monitor_moved(dial->fd, &dial->seen, now, movement);
    }
    route_t *route = peer->wire;
    return route != NULL && tnd_monitor_moved(route->fd, &route->seen, now, movement);
}

static const tnd_connection_ops_t carrier = {carrier_open, carrier_shut, carrier_say,
                                             carrier_moved};

/* --- receiving --------------------------------------------------------------------------------
 */

/*  Whether the connection that a message came by is still the one that its descriptor names: that
 * is used again as soon as it has ended, but what it brought is read later.  libzmq says the end of
 * a connection to its socket before it closes the descriptor, and sends nothing to one that ended.
 */
static bool is_still_there(binder_t *binder, zmq_msg_t *id)
{
    void *socket = binder->line.data;
    int events = 0;
    size_t size = sizeof events;
    binder->line.touched = true;
    zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size); /* looks at what it was told */
    if (zmq_send(socket, zmq_msg_data(id), zmq_msg_size(id), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return false;
    zmq_send(socket, "", 0, ZMQ_DONTWAIT);
    return true;
}

/*  Turns away what does not speak as it should: the connection ends, the user is told once, however
 *  much of it was read already.  Peers of the first ZMTP do not say by which descriptor they came:
 *  then all who have not said who they are have to go; those who mean well come again.
 */
static void turn_away(hub_t *self, binder_t *binder, uint64_t hash, zmq_msg_t *id, zmq_msg_t *from,
                      bool answered, const char *why)
{
    if (tnd_unauthenticated_was_refused(&binder->strangers, hash))
        return;
    tnd_unauthenticated_refuse(&binder->strangers, hash);
    int fd = zmq_msg_get(from, ZMQ_SRCFD);
    const char *address = zmq_msg_gets(from, "Peer-Address");
    char text[256];
    snprintf(text, sizeof text, "a connection%s%s to %s was turned away: %s",
             address == NULL ? "" : " from ", address == NULL ? "" : address, binder->endpoint,
             why);
    tnd_connections_turned_away(&self->peers, binder->port, TND_NOBODY, text);
    if (answered || !is_still_there(binder, id))
        return; /* it goes by itself, or as one who has not said who he is */
    tnd_unauthenticated_cut(&binder->strangers, fd);
}

static void say_refuse(hub_t *self, route_t *route, const tnd_msg_t *refuse)
{
    tnd_connection_t nobody = {.port = route->binder->port, .id = refuse->to, .wire = route};
    nobody.end.config.binder = true;
    (void)carry_over(self, &nobody, refuse, TND_CARRY_NOTHING);
}

/*  Every version begins its headers with the version: the peer can read that much of a refusal. */
static void answer_other_version(hub_t *self, binder_t *binder, uint64_t hash, zmq_msg_t *id,
                                 const char *why)
{
    route_t *route = new_route(binder, hash, id, -1);
    tnd_msg_t refuse = {
        .kind = TND_MSG_REFUSE, .from = self->config.self, .to = TND_NOBODY, .refuse.why = why};
    say_refuse(self, route, &refuse);
    free(route);
}

/*  Whether a HELLO that came by `route` may come in: then the route is kept, and has a peer. */
static bool admit(hub_t *self, route_t *route, const tnd_msg_t *hello)
{
    binder_t *binder = route->binder;
    tnd_connections_refusal_t refusal;
    if (!tnd_connections_expects(&self->peers, binder->port, &binder->terms, hello, &refusal)) {
        say_refuse(self, route, &refusal.msg);
        return false;
    }
    route->peer =
        tnd_connections_hello(&self->peers, binder->port, &binder->terms, route, hello, self->now);
    tnd_unauthenticated_set_known(&binder->strangers, route->fd, route->peer != NULL, self->now);
    if (route->peer != NULL)
        tnd_routes_keep(&binder->routes, route);
    return route->peer != NULL;
}

/*  The first message of a connection to a bound port. */
static void greet(hub_t *self, binder_t *binder, uint64_t hash, zmq_msg_t *id, int fd,
                  const tnd_msg_t *msg)
{
    route_t *route = new_route(binder, hash, id, fd);
    if (!admit(self, route, msg))
        free(route);
}

/*  The first message of a pipe to a bound port.  One that is not let in stays without a route until
 *  its other side is shut.
 */
static void greet_pipe(hub_t *self, tnd_pipe_t *pipe, const tnd_msg_t *msg)
{
    binder_t *binder = pipe->owners[TND_SIDE_BINDER];
    route_t *route = tnd_route_new(binder, 0, "", 0, -1);
    route->pipe = pipe;
    tnd_pipe_hold(pipe);
    pipe->route = route;
    if (!admit(self, route, msg)) {
        pipe->route = NULL;
        tnd_pipe_drop(pipe);
        free(route);
    }
}

/*  The peer that a pipe belongs to; NULL: nobody has said HELLO, or was not let in. */
static tnd_connection_t *peer_of(const tnd_pipe_t *pipe, tnd_side_t side)
{
    if (side == TND_SIDE_DIALER)
        return ((const dial_t *)pipe->owners[side])->peer;
    return pipe->route != NULL ? ((const route_t *)pipe->route)->peer : NULL;
}

/*  Takes one message of this process. */
static bool take_parcel(hub_t *self, tnd_parcel_t *parcel, tnd_arrival_t *arrival)
{
    tnd_pipe_t *pipe = parcel->pipe;
    bool is_mine = false;
    /* What comes after this side was shut is not for anybody. */
    if (!atomic_load_explicit(&pipe->shut[parcel->side], memory_order_relaxed)) {
        tnd_connection_t *peer = peer_of(pipe, parcel->side);
        if (parcel->is_end) {
            if (peer != NULL)
                tnd_connections_gone(&self->peers, peer, "the peer has closed", self->now);
        } else if (parcel->side == TND_SIDE_BINDER && parcel->msg.kind == TND_MSG_HELLO) {
            greet_pipe(self, pipe, &parcel->msg);
        } else if (peer != NULL) {
            is_mine = tnd_connections_deliver(&self->peers, peer, &parcel->msg, parcel->carry,
                                              self->now, arrival);
        }
    }
    if (is_mine) {
        parcel->owns_payload = false;
        if (parcel->carry == TND_CARRY_CURSOR) {
            self->frames.cursor = *parcel->msg.rewind.cursor;
            arrival->cursor = arrival->msg.rewind.cursor = &self->frames.cursor;
        }
    }
    tnd_parcel_drop(parcel);
    return is_mine;
}

static bool take_parts(hub_t *self, line_t *line, tnd_connection_t *peer, uint64_t hash,
                       zmq_msg_t *id, zmq_msg_t *parts, int count, tnd_arrival_t *arrival)
{
    binder_t *binder = line->binder;
    tnd_msg_t msg;
    tnd_wire_form_t form;
    tnd_error_t error;
    tnd_status_t status =
        tnd_wire_decode(&msg, &form, zmq_msg_data(&parts[0]), zmq_msg_size(&parts[0]), &error);
    if (status == TND_OK && count > TND_FRAMES_MAX)
        status = tnd_fail(&error, "a message of %d frames", count);
    if (status == TND_OK && binder != NULL && msg.kind == TND_MSG_HELLO && count == 1) {
        drain_watch(self, line);
        greet(self, binder, hash, id, zmq_msg_get(&parts[0], ZMQ_SRCFD), &msg);
        return false;
    }
    if (peer == NULL) {
        if (status != TND_OK && binder != NULL) {
            drain_watch(self, line);
            if (status == TND_REFUSED && !tnd_unauthenticated_was_refused(&binder->strangers, hash))
                answer_other_version(self, binder, hash, id, error.text);
            turn_away(self, binder, hash, id, &parts[0], status == TND_REFUSED, error.text);
        }
        return false;
    }
    if (status == TND_OK && msg.kind > TND_MSG_PONG) {
        const tnd_schema_t *schema = NULL;
        if (form.carry == TND_CARRY_BLOCK || form.carry == TND_CARRY_SLICE)
            schema = self->config.schema == NULL
                         ? NULL
                         : self->config.schema(self->config.context, peer->port, &msg);
        status = tnd_frames_unpack(&self->frames, &msg, &form, schema, parts, count, &error);
    }
    if (status != TND_OK) {
        if (binder == NULL && peer->end.state == TND_END_OPENING) {
            /* Not even a WELCOME that can be read: as good as a refusal. */
            tnd_msg_t refuse = {.kind = TND_MSG_REFUSE, .from = peer->id, .refuse.why = error.text};
            (void)tnd_connections_heard(&self->peers, peer, &refuse, self->now);
        } else {
            tnd_connections_violated(&self->peers, peer, error.text, self->now);
        }
        return false;
    }
    if (tnd_connections_deliver(&self->peers, peer, &msg, form.carry, self->now, arrival))
        return true;
    tnd_msg_drop(&msg, form.carry);
    return false;
}

typedef enum { TAKEN_EMPTY, TAKEN_INSIDE, TAKEN_MESSAGE } taken_t;

/*  Reads one message of a line. */
static taken_t take(hub_t *self, line_t *line, tnd_arrival_t *arrival)
{
    void *socket = line->data;
    zmq_msg_t id, parts[TND_FRAMES_MAX];
    zmq_msg_init(&id);
    if (line->binder != NULL && zmq_msg_recv(&id, socket, ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&id);
        return TAKEN_EMPTY;
    }
    int count = 0;
    size_t bytes = 0;
    bool has_more = true;
    for (; has_more; count++) {
        zmq_msg_t surplus;
        zmq_msg_t *part = count < TND_FRAMES_MAX ? &parts[count] : &surplus;
        zmq_msg_init(part);
        if (zmq_msg_recv(part, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(part);
            break;
        }
        bytes += zmq_msg_size(part);
        has_more = zmq_msg_more(part);
        if (part == &surplus)
            zmq_msg_close(part);
    }
    int kept = count < TND_FRAMES_MAX ? count : TND_FRAMES_MAX;
    taken_t taken = TAKEN_EMPTY;
    if (count > 0) {
        uint64_t hash = 0;
        tnd_connection_t *peer = NULL;
        if (line->binder != NULL) {
            hash = XXH3_64bits(zmq_msg_data(&id), zmq_msg_size(&id));
            route_t *route = find_route(line->binder, hash, &id);
            peer = route == NULL ? NULL : route->peer;
        } else {
            peer = line->dial->peer;
        }
        bool is_mine = take_parts(self, line, peer, hash, &id, parts, count, arrival);
        self->peers.counts.bytes_in += bytes;
        taken = is_mine ? TAKEN_MESSAGE : TAKEN_INSIDE;
    }
    close_parts(parts, kept);
    zmq_msg_close(&id);
    return taken;
}

static void mind_the_time(hub_t *self)
{
    self->now = clock_now();
    tnd_connections_tick(&self->peers, self->now);
    if (self->now < self->visitors_ns)
        return;
    self->visitors_ns = TND_NEVER;
    for (uint32_t i = 0; i < self->binder_count; i++)
        dismiss_strangers(self, self->binders[i]);
}

/* --- the interface ----------------------------------------------------------------------------
 */

static tnd_status_t hub_open(tnd_hub_t **self_p, void *context, const tnd_hub_config_t *config,
                             tnd_error_t *error)
{
    tnd_mailbox_t *mailbox;
    TND_TRY(tnd_mailbox_new(&mailbox, config->name, error));
    hub_t *self = tnd_allocate(1, sizeof *self);
    *self = (hub_t){.base = {&tnd_hub_zmq},
                    .context = context,
                    .config = *config,
                    .mailbox = mailbox,
                    .now = clock_now(),
                    .visitors_ns = TND_NEVER};
    snprintf(self->name, sizeof self->name, "%s", config->name);
    if (gethostname(self->host, sizeof self->host) != 0 || self->host[0] == '\0')
        strcpy(self->host, "host");
    self->host[sizeof self->host - 1] = '\0';
    tnd_connections_init(&self->peers, &self->base, &carrier, config);
    tnd_sockets_init(&self->lines, tnd_mailbox_descriptor(mailbox));
    tnd_frames_init(&self->frames);
    self->parcels = tnd_pool_new(sizeof(tnd_parcel_t));
    *self_p = &self->base;
    return TND_OK;
}

static tnd_status_t bind_line(hub_t *self, binder_t *binder, const char *endpoint,
                              tnd_error_t *error)
{
    void *socket = open_socket(self, ZMQ_ROUTER, endpoint, binder->port);
    void *watch = socket != NULL ? tnd_monitor_open(self->context, socket) : NULL;
    if (watch == NULL) {
        int number = zmq_errno();
        if (socket != NULL)
            zmq_close(socket);
        return tnd_fail(error,
                        "%s: no socket for %s (%s): raise the limit of open files "
                        "(`ulimit -n`)",
                        self->name, endpoint, zmq_strerror(number));
    }
    set_int(socket, ZMQ_ROUTER_MANDATORY, 1);
    set_int(socket, ZMQ_ROUTER_HANDOVER, 0);
    /* A connection for which there is no room in the queue is tried again by the system after a
     * second.
     */
    set_int(socket, ZMQ_BACKLOG, BACKLOG + (int)self->config.callers);
    binder->line = (line_t){.binder = binder, .data = socket, .watch = watch};
    if (zmq_bind(socket, endpoint) != 0) {
        int number = zmq_errno();
        tnd_monitor_close(&binder->line.watch, socket);
        zmq_close(socket);
        return tnd_address_unbound(endpoint, self->name, number, error);
    }
    size_t length = sizeof binder->endpoint;
    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, binder->endpoint, &length);
    tnd_sockets_add(&self->lines, &binder->line);
    return TND_OK;
}

static tnd_status_t bind_inside(hub_t *self, binder_t *binder, const char *endpoint,
                                tnd_error_t *error)
{
    snprintf(binder->endpoint, sizeof binder->endpoint, "%s", endpoint);
    if (tnd_context_enter(self->context, binder->endpoint, self->mailbox, binder))
        return TND_OK;
    return tnd_address_unbound(endpoint, self->name, EADDRINUSE, error);
}

static tnd_status_t hub_bind(tnd_hub_t *hub, uint32_t port, const char *endpoint,
                             const tnd_terms_t *terms, char *actual, size_t room,
                             tnd_error_t *error)
{
    hub_t *self = hub_of(hub);
    TND_TRY(tnd_address_check(endpoint, self->name, error));
    if (tnd_address_is_served(endpoint))
        return tnd_address_unbound(endpoint, self->name, EADDRINUSE, error);
    binder_t *binder = tnd_allocate(1, sizeof *binder);
    *binder = (binder_t){.port = port, .terms = *terms, .strangers.expected = self->config.callers};
    tnd_status_t status = tnd_address_is_inproc(endpoint)
                              ? bind_inside(self, binder, endpoint, error)
                              : bind_line(self, binder, endpoint, error);
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
    hub_t *self = hub_of(hub);
    TND_TRY(tnd_address_check(endpoint, self->name, error));
    assert(tnd_connections_find(&self->peers, port, peer) == NULL);
    dial_t *dial = tnd_allocate(1, sizeof *dial);
    *dial = (dial_t){.fd = -1};
    snprintf(dial->endpoint, sizeof dial->endpoint, "%s", endpoint);
    self->now = clock_now();
    dial->peer = tnd_connections_connect(&self->peers, port, peer, terms, dial, self->now);
    tnd_connections_tick(&self->peers, self->now);
    return TND_OK;
}

static void hub_disconnect(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    free(tnd_connections_disconnect(&hub_of(hub)->peers, port, id));
}

static void hub_hurry(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    hub_t *self = hub_of(hub);
    self->now = clock_now();
    tnd_connections_connect_now(&self->peers, port, id, self->now);
}

static bool hub_refused(const tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id)
{
    const hub_t *self = (const hub_t *)(const void *)hub;
    const tnd_connection_t *peer = tnd_connections_find(&self->peers, port, id);
    return peer != NULL && peer->refused;
}

static void hub_expel(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id, const char *why)
{
    hub_t *self = hub_of(hub);
    self->now = clock_now();
    tnd_connections_disconnect_peer(&self->peers, port, id, why, self->now);
}

static void hub_rebirth(tnd_hub_t *hub, tnd_life_t life)
{
    hub_t *self = hub_of(hub);
    self->config.life = life;
    self->now = clock_now();
    tnd_connections_rebirth(&self->peers, life, self->now);
    tnd_connections_tick(&self->peers, self->now);
}

/*  Whether a send has just failed because what was sent before lies unread, and not because the
 *  connection has ended, which libzmq says of a connection of ours in the same way.
 */
static bool is_full(hub_t *self, const tnd_connection_t *peer)
{
    if (zmq_errno() != EAGAIN)
        return false;
    self->now = clock_now();
    if (peer->end.config.binder)
        return true;
    dial_t *dial = peer->wire;
    drain_watch(self, &dial->line);
    return !dial->line.gone;
}

static tnd_status_t hub_send(tnd_hub_t *hub, uint32_t port, tnd_actor_id_t id, const tnd_msg_t *msg,
                             tnd_carry_t carry)
{
    hub_t *self = hub_of(hub);
    tnd_connection_t *peer = tnd_connections_find(&self->peers, port, id);
    if (peer == NULL || peer->end.state != TND_END_OPEN)
        return TND_AGAIN;
    tnd_status_t status = carry_over(self, peer, msg, carry);
    if (status == TND_FAILED)
        return status;
    if (status != TND_OK) {
        /* Its end is on the way; what it brought before may still wait to be read. */
        if (pipe_of(peer) != NULL) {
            return TND_AGAIN;
        } else if (is_full(self, peer)) {
            tnd_connections_does_not_read(&self->peers, peer, self->now);
        } else if (peer->end.config.binder) {
            route_t *route = peer->wire;
            route->gone = true;
            route->binder->line.gone = route->binder->line.ready = true;
        } else {
            line_t *line = &((dial_t *)peer->wire)->line;
            line->gone = line->ready = true;
        }
        return TND_AGAIN;
    }
    self->peers.counts.messages_out++;
    tnd_end_said(&peer->end, clock_now());
    return TND_OK;
}

/*  The next message of this process, while it has its turn. */
static tnd_parcel_t *next_parcel(hub_t *self)
{
    if (self->mail_budget == 0)
        return NULL;
    tnd_parcel_t *parcel = tnd_mailbox_next(self->mailbox);
    if (parcel != NULL)
        self->mail_budget--;
    return parcel;
}

/*  Nothing is known to be there: whether a look has found something. */
static bool look_again(hub_t *self)
{
    bool is_end = self->looked;
    self->looked = false;
    if (self->lines.count == 0 || is_end || self->now < self->looked_ns + LOOK_AGAIN_NS)
        return false;
    self->looked_ns = self->now;
    self->looked = tnd_sockets_look(&self->lines);
    return self->looked;
}

static tnd_status_t hub_receive(tnd_hub_t *hub, tnd_arrival_t *arrival)
{
    hub_t *self = hub_of(hub);
    mind_the_time(self);
    for (;;) {
        if (tnd_connections_notice(&self->peers, arrival))
            return TND_OK;
        tnd_parcel_t *parcel = next_parcel(self);
        if (parcel != NULL) {
            if (take_parcel(self, parcel, arrival))
                return TND_OK;
            continue;
        }
        line_t *line = tnd_sockets_next(&self->lines);
        if (line == NULL && self->mail_budget == 0) {
            self->mail_budget = MAIL_BUDGET;
            continue;
        }
        if (line == NULL) {
            if (look_again(self))
                continue;
            tnd_bells_ring(&self->bells);
            return TND_AGAIN;
        }
        self->mail_budget = MAIL_BUDGET;
        self->looked = true;
        if (line->watch_ready) {
            drain_watch(self, line);
            continue;
        }
        switch (take(self, line, arrival)) {
        case TAKEN_MESSAGE:
            return TND_OK;
        case TAKEN_INSIDE:
            break;
        case TAKEN_EMPTY:
            line->ready = false;
            if (line->gone)
                sweep(self, line);
            break;
        }
    }
}

static int rounded_ms(uint64_t span_ns)
{
    uint64_t ms = (span_ns + 999999) / 1000000;
    return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

static tnd_status_t hub_wait(tnd_hub_t *hub, uint64_t until_ns)
{
    hub_t *self = hub_of(hub);
    mind_the_time(self);
    tnd_bells_ring(&self->bells);
    if (self->peers.notice_count > 0 || tnd_sockets_are_ready(&self->lines) ||
        !tnd_mailbox_doze(self->mailbox))
        return TND_OK;
    uint64_t until = until_ns;
    if (self->peers.deadline < until)
        until = self->peers.deadline;
    if (self->visitors_ns < until)
        until = self->visitors_ns;
    int wait_ms = -1;
    if (until != TND_NEVER)
        wait_ms = until <= self->now ? 0 : rounded_ms(until - self->now);
    (void)tnd_sockets_wait(&self->lines, wait_ms);
    tnd_mailbox_rise(self->mailbox);
    self->looked = true;
    return TND_OK;
}

static void hub_flush(tnd_hub_t *hub)
{
    tnd_bells_ring(&hub_of(hub)->bells);
}

static void hub_wake(tnd_hub_t *hub)
{
    tnd_mailbox_wake(hub_of(hub)->mailbox);
}

static void hub_counts(const tnd_hub_t *hub, tnd_hub_counts_t *counts)
{
    const hub_t *self = (const hub_t *)(const void *)hub;
    *counts = self->peers.counts;
    counts->bytes_copied = self->frames.copied;
}

/*  When it returns the endpoint can be bound again. */
static void close_binder(hub_t *self, binder_t *binder)
{
    assert(binder->routes.count == 0);
    if (binder->line.data == NULL) {
        tnd_context_leave(self->context, binder->endpoint);
    } else {
        /* libzmq 4.3.4 aborts when a connection fails just after its listener was unbound in the
         * middle of a message: those that were cut must be known to have failed.
         */
        tnd_monitor_await(binder->line.watch, TND_MONITOR_LEFT, binder->cut, CLOSE_WAIT_MS);
        tnd_socket_linger(&binder->line, self->linger_ns / 1000000);
        zmq_unbind(binder->line.data, binder->endpoint);
        tnd_monitor_await(binder->line.watch, TND_MONITOR_CLOSED, 1, CLOSE_WAIT_MS);
        close_line(self, &binder->line);
    }
    free(binder->routes.items);
    tnd_unauthenticated_free(&binder->strangers);
    free(binder);
}

static void hub_close(tnd_hub_t **self_p, uint64_t linger_ns)
{
    hub_t *self = hub_of(*self_p);
    *self_p = NULL;
    self->linger_ns = linger_ns;
    dial_t **dials = tnd_allocate(self->peers.count + 1u, sizeof *dials);
    uint32_t dial_count = 0;
    for (uint32_t i = 0; i < self->peers.count; i++)
        if (!self->peers.peers[i]->end.config.binder)
            dials[dial_count++] = self->peers.peers[i]->wire;
    tnd_connections_fini(&self->peers);
    tnd_bells_ring(&self->bells);
    for (uint32_t i = 0; i < dial_count; i++)
        free(dials[i]);
    free(dials);
    for (uint32_t i = 0; i < self->binder_count; i++)
        close_binder(self, self->binders[i]);
    free(self->binders);
    tnd_sockets_fini(&self->lines);
    tnd_mailbox_close(&self->mailbox);
    tnd_pool_destroy(&self->parcels);
    tnd_frames_fini(&self->frames);
    free(self);
}

const tnd_hub_ops_t tnd_hub_zmq = {
    .name = "zmq",
    .open = hub_open,
    .bind = hub_bind,
    .connect = hub_connect,
    .disconnect = hub_disconnect,
    .hurry = hub_hurry,
    .refused = hub_refused,
    .expel = hub_expel,
    .rebirth = hub_rebirth,
    .send = hub_send,
    .receive = hub_receive,
    .flush = hub_flush,
    .wait = hub_wait,
    .wake = hub_wake,
    .counts = hub_counts,
    .close = hub_close,
};
