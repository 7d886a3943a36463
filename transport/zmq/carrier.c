/*  transport/zmq/carrier.c - opens, closes and sends on the connections of a hub. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "transport/zmq/hub_internal.h"

enum {
    PARTING_LINGER_MS = 2000, /* time for a GOODBYE to leave a busy machine */
    IDENTITY_BYTES = 17       /* a number that cannot be guessed, after a byte that is not 0 */
};

static void shut_dial(tnd_zmq_hub_t *self, tnd_dial_t *dial, bool parting)
{
    if (dial->pipe != NULL)
        tnd_pipe_shut(dial->pipe, TND_SIDE_DIALER, self->messages);
    else if (dial->socket.data != NULL)
        tnd_sockets_close(&self->sockets, &dial->socket,
                          parting ? PARTING_LINGER_MS : self->linger_ns / 1000000);
    dial->pipe = NULL;
    tnd_peer_memory_fini(&dial->memory);
}

/*  A new connection that gives the identity of an earlier one takes its place in the bound socket
 *  (binder.c), so identities are secret. */
static void set_identity(void *handle)
{
    uint8_t identity[IDENTITY_BYTES] = {'T'};
    ssize_t got = getrandom(identity + 1, sizeof identity - 1, 0);
    assert(got == sizeof identity - 1); /* so few bytes are never interrupted */
    (void)got;
    zmq_setsockopt(handle, ZMQ_ROUTING_ID, identity, sizeof identity);
}

static bool carrier_open(tnd_hub_t *hub, tnd_connection_t *peer)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    tnd_dial_t *dial = peer->wire;
    if (tnd_address_is_inproc(dial->endpoint)) {
        dial->pipe = tnd_context_connect(self->context, dial->endpoint, self->mailbox, dial);
        dial->greets = dial->pipe != NULL;
        dial->other = tnd_zmq_inside(self);
        peer->refused = dial->pipe == NULL;
        return dial->greets;
    }
    char endpoint[TND_ADDRESS_SIZE];
    tnd_error_t unresolved;
    if (tnd_address_resolve(dial->endpoint, false, self->name, endpoint, &unresolved) != TND_OK)
        return false; /* the name may be known later */
    void *handle = tnd_zmq_open(self, ZMQ_DEALER, endpoint, peer->port);
    if (handle == NULL)
        return false;
    set_identity(handle);
    void *watch = tnd_monitor_open(self->context, handle);
    if (watch == NULL) {
        zmq_close(handle);
        return false;
    }
    dial->socket = (tnd_socket_t){.dial = dial, .data = handle, .watch = watch};
    dial->made = dial->greets = false;
    dial->fd = -1;
    dial->other = (tnd_peer_t){.place = TND_PEER_GONE};
    dial->seen = (tnd_monitor_seen_t){0};
    tnd_sockets_add(&self->sockets, &dial->socket);
    if (zmq_connect(handle, endpoint) == 0)
        return true;
    tnd_zmq_close(self, &dial->socket);
    return false;
}

static void carrier_shut(tnd_hub_t *hub, tnd_connection_t *peer)
{
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    if (!peer->end.config.binder) {
        shut_dial(self, peer->wire, peer->parting);
        return;
    }
    tnd_route_t *route = peer->wire;
    if (route->pipe != NULL) {
        route->pipe->route = NULL;
        tnd_pipe_shut(route->pipe, TND_SIDE_BINDER, self->messages);
    } else if (self->linger_ns == 0) {
        tnd_zmq_watch(self, &route->binder->socket);
        if (route->fd >= 0 && peer->parting) {
            /* The peer closes it after GOODBYE; otherwise it is cut as unauthenticated. */
            tnd_unauthenticated_set_known(&route->binder->unauthenticated, route->fd, false,
                                          self->now);
            tnd_binder_dismiss(self, route->binder);
        } else if (route->fd >= 0) {
            tnd_monitor_cut(route->fd);
            route->binder->cut++;
        }
    }
    tnd_routes_drop(&route->binder->routes, route);
}

/*  Returns false if the peer cannot be reached; the caller then keeps the frames. */
static bool send_parts(tnd_connection_t *peer, zmq_msg_t *parts, int count)
{
    tnd_route_t *route = peer->end.config.binder ? peer->wire : NULL;
    tnd_socket_t *socket =
        route != NULL ? &route->binder->socket : &((tnd_dial_t *)peer->wire)->socket;
    void *handle = socket->data;
    socket->touched = true;
    if (route != NULL) {
        if (zmq_send(handle, route->id, route->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
            return false;
    }
    for (int i = 0; i < count; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0);
        if (zmq_msg_send(&parts[i], handle, flags) < 0) {
            /* If the connection ends after the first frame, libzmq discards the others. */
            assert(i == 0);
            return false;
        }
    }
    return true;
}

tnd_pipe_t *tnd_zmq_pipe(const tnd_connection_t *peer)
{
    return peer->end.config.binder ? ((const tnd_route_t *)peer->wire)->pipe
                                   : ((const tnd_dial_t *)peer->wire)->pipe;
}

void tnd_zmq_close_parts(zmq_msg_t *parts, int count)
{
    for (int i = 0; i < count; i++)
        zmq_msg_close(&parts[i]);
}

tnd_peer_memory_t *tnd_zmq_memory(const tnd_connection_t *peer)
{
    return peer->end.config.binder ? &((tnd_route_t *)peer->wire)->memory
                                   : &((tnd_dial_t *)peer->wire)->memory;
}

static bool send_note(tnd_connection_t *peer, const uint8_t note[TND_PEER_NOTE_BYTES])
{
    zmq_msg_t part;
    int failed = zmq_msg_init_size(&part, TND_PEER_NOTE_BYTES);
    assert(failed == 0);
    memcpy(zmq_msg_data(&part), note, TND_PEER_NOTE_BYTES);
    if (send_parts(peer, &part, 1))
        return true;
    zmq_msg_close(&part);
    return false;
}

tnd_status_t tnd_zmq_note(tnd_connection_t *peer, zmq_msg_t *part, tnd_error_t *error)
{
    uint8_t answer[TND_PEER_NOTE_BYTES];
    bool answers = false;
    TND_TRY(tnd_peer_memory_note(tnd_zmq_memory(peer), zmq_msg_data(part), zmq_msg_size(part),
                                 answer, &answers, error));
    /* A peer that gets no answer sends bytes. */
    if (answers)
        (void)send_note(peer, answer);
    return TND_OK;
}

/*  Whether the payload need not be sent, because the peer reads it where it is. */
static bool lends(tnd_connection_t *peer, const tnd_buffer_t *payload)
{
    uint8_t note[TND_PEER_NOTE_BYTES];
    tnd_offer_t offer = tnd_peer_memory_offer(tnd_zmq_memory(peer), payload, note);
    if (offer == TND_OFFER_NEW)
        (void)send_note(peer, note);
    return offer == TND_OFFER_TAKEN;
}

static int pack(tnd_zmq_hub_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                tnd_carry_t carry, zmq_msg_t parts[TND_FRAMES_MAX])
{
    tnd_msg_t copy = *msg;
    tnd_buffer_t *payload = carry == TND_CARRY_BUFFER ? *tnd_msg_payload(&copy) : NULL;
    if (payload == NULL || !lends(peer, payload))
        return tnd_frames_pack(&self->frames, msg, carry, parts);
    uint8_t reference[TND_PEER_REFERENCE_BYTES];
    tnd_peer_memory_refer(tnd_zmq_memory(peer), payload, reference);
    return tnd_frames_pack_reference(msg, reference, sizeof reference, parts);
}

tnd_status_t tnd_zmq_send(tnd_zmq_hub_t *self, tnd_connection_t *peer, const tnd_msg_t *msg,
                          tnd_carry_t carry)
{
    zmq_msg_t parts[TND_FRAMES_MAX];
    tnd_pipe_t *pipe = tnd_zmq_pipe(peer);
    if (pipe != NULL)
        return tnd_pipe_send(pipe, peer->end.config.binder ? TND_SIDE_BINDER : TND_SIDE_DIALER,
                             self->messages, msg, carry, &self->sleepers)
                   ? TND_OK
                   : TND_AGAIN;
    int count = pack(self, peer, msg, carry, parts);
    if (tnd_msg_intact(msg, carry, NULL) != TND_OK) {
        tnd_zmq_close_parts(parts, count);
        return TND_FAILED;
    }
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += zmq_msg_size(&parts[i]);
    if (!send_parts(peer, parts, count)) {
        int number = zmq_errno();
        tnd_zmq_close_parts(parts, count);
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
    tnd_zmq_hub_t *self = tnd_zmq_hub(hub);
    if (!peer->end.config.binder && !((const tnd_dial_t *)peer->wire)->greets)
        return false;
    if (peer->end.config.binder && peer->wire == NULL)
        return false;
    return tnd_zmq_send(self, peer, msg, TND_CARRY_NOTHING) == TND_OK;
}

static bool carrier_moved(tnd_hub_t *hub, tnd_connection_t *peer, uint64_t now,
                          tnd_movement_t *movement)
{
    (void)hub;
    if (!peer->end.config.binder) {
        tnd_dial_t *dial = peer->wire;
        return tnd_monitor_moved(dial->fd, &dial->seen, now, movement);
    }
    tnd_route_t *route = peer->wire;
    return route != NULL && tnd_monitor_moved(route->fd, &route->seen, now, movement);
}

static tnd_peer_t carrier_other(tnd_hub_t *hub, const tnd_connection_t *peer)
{
    (void)hub;
    return ((const tnd_dial_t *)peer->wire)->other;
}

const tnd_connection_ops_t tnd_zmq_carrier = {carrier_open, carrier_shut, carrier_say,
                                              carrier_moved, carrier_other};
