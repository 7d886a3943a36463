/*  transport/zmq/arrivals.c - reads one message and finds its peer. */
#include <stdatomic.h>

#include <xxhash.h>

#include "transport/zmq/hub_internal.h"

static tnd_route_t *find_route(const tnd_binder_t *self, uint64_t hash, zmq_msg_t *id,
                               zmq_msg_t *part)
{
    return tnd_routes_find(&self->routes, hash, zmq_msg_data(id), zmq_msg_size(id),
                           zmq_msg_get(part, ZMQ_SRCFD));
}

/*  The peer of a pipe; NULL if no HELLO was accepted on it. */
static tnd_connection_t *peer_of(const tnd_pipe_t *pipe, tnd_side_t side)
{
    if (side == TND_SIDE_DIALER)
        return ((const tnd_dial_t *)pipe->owners[side])->peer;
    return pipe->route != NULL ? ((const tnd_route_t *)pipe->route)->peer : NULL;
}

bool tnd_zmq_take_inproc(tnd_zmq_hub_t *self, tnd_inproc_message_t *message, tnd_arrival_t *arrival)
{
    tnd_pipe_t *pipe = message->pipe;
    bool is_mine = false;
    /* Messages for a side that was shut are dropped. */
    if (!atomic_load_explicit(&pipe->shut[message->side], memory_order_relaxed)) {
        tnd_connection_t *peer = peer_of(pipe, message->side);
        if (message->is_end) {
            if (peer != NULL)
                tnd_connections_gone(&self->peers, peer, "the peer has closed", self->now);
        } else if (message->side == TND_SIDE_BINDER && message->msg.kind == TND_MSG_HELLO) {
            tnd_binder_greet_pipe(self, pipe, &message->msg);
        } else if (peer != NULL) {
            is_mine = tnd_connections_deliver(&self->peers, peer, &message->msg, message->carry,
                                              self->now, arrival);
        }
    }
    if (is_mine) {
        message->owns_payload = false;
        if (message->carry == TND_CARRY_CURSOR) {
            self->frames.cursor = *message->msg.rewind.cursor;
            arrival->cursor = arrival->msg.rewind.cursor = &self->frames.cursor;
        }
    }
    tnd_inproc_message_drop(message);
    return is_mine;
}

static tnd_status_t take_note(tnd_connection_t *peer, zmq_msg_t *part, tnd_error_t *error)
{
    if (peer->end.state != TND_END_OPEN)
        return tnd_fail(error, "a note about memory came before the handshake");
    return tnd_zmq_note(peer, part, error);
}

static tnd_status_t unpack(tnd_zmq_hub_t *self, tnd_connection_t *peer, tnd_msg_t *msg,
                           const tnd_wire_form_t *form, zmq_msg_t *parts, int count,
                           tnd_error_t *error)
{
    const tnd_schema_t *schema = NULL;
    if (form->carry == TND_CARRY_BUFFER && count == 3 && zmq_msg_size(&parts[1]) == 0)
        return tnd_peer_memory_read(tnd_zmq_memory(peer), zmq_msg_data(&parts[2]),
                                    zmq_msg_size(&parts[2]),
                                    (tnd_buffer_t **)(void *)tnd_msg_payload(msg), error);
    if (self->config.schema != NULL &&
        (form->carry == TND_CARRY_BLOCK || form->carry == TND_CARRY_SLICE))
        schema = self->config.schema(self->config.context, peer->port, msg);
    return tnd_frames_unpack(&self->frames, msg, form, schema, parts, count, error);
}

static bool take_parts(tnd_zmq_hub_t *self, tnd_socket_t *socket, tnd_connection_t *peer,
                       uint64_t hash, zmq_msg_t *id, zmq_msg_t *parts, int count,
                       tnd_arrival_t *arrival)
{
    tnd_binder_t *binder = socket->binder;
    tnd_msg_t msg;
    tnd_wire_form_t form;
    tnd_error_t error;
    if (count == 1 && tnd_peer_memory_is_note(zmq_msg_data(&parts[0]), zmq_msg_size(&parts[0])) &&
        (peer != NULL || zmq_msg_size(&parts[0]) == TND_PEER_NOTE_BYTES)) {
        /* Without a peer it is late, as other messages of a connection that was given up are. */
        if (peer != NULL && take_note(peer, &parts[0], &error) != TND_OK)
            tnd_connections_violated(&self->peers, peer, error.text, self->now);
        return false;
    }
    tnd_status_t status =
        tnd_wire_decode(&msg, &form, zmq_msg_data(&parts[0]), zmq_msg_size(&parts[0]), &error);
    if (status == TND_OK && count > TND_FRAMES_MAX)
        status = tnd_fail(&error, "a message of %d frames", count);
    if (status == TND_OK && binder != NULL && msg.kind == TND_MSG_HELLO && count == 1) {
        tnd_zmq_watch(self, socket);
        self->peers.address = zmq_msg_gets(&parts[0], "Peer-Address");
        tnd_binder_greet(self, binder, hash, id, zmq_msg_get(&parts[0], ZMQ_SRCFD), &msg);
        self->peers.address = NULL;
        return false;
    }
    if (peer == NULL) {
        if (status != TND_OK && binder != NULL) {
            tnd_zmq_watch(self, socket);
            if (status == TND_REFUSED &&
                !tnd_unauthenticated_was_refused(&binder->unauthenticated, hash))
                tnd_binder_answer_version(self, binder, hash, id, error.text);
            tnd_binder_reject(self, binder, hash, id, &parts[0], status == TND_REFUSED, error.text);
        }
        return false;
    }
    if (status == TND_OK && msg.kind > TND_MSG_PONG)
        status = unpack(self, peer, &msg, &form, parts, count, &error);
    if (status != TND_OK) {
        if (binder == NULL && peer->end.state == TND_END_OPENING) {
            /* A WELCOME that cannot be decoded counts as a refusal. */
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

tnd_zmq_taken_t tnd_zmq_take(tnd_zmq_hub_t *self, tnd_socket_t *socket, tnd_arrival_t *arrival)
{
    void *handle = socket->data;
    zmq_msg_t id, parts[TND_FRAMES_MAX];
    zmq_msg_init(&id);
    if (socket->binder != NULL && zmq_msg_recv(&id, handle, ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&id);
        return TND_ZMQ_EMPTY;
    }
    int count = 0;
    size_t bytes = 0;
    bool has_more = true;
    for (; has_more; count++) {
        zmq_msg_t surplus;
        zmq_msg_t *part = count < TND_FRAMES_MAX ? &parts[count] : &surplus;
        zmq_msg_init(part);
        if (zmq_msg_recv(part, handle, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(part);
            break;
        }
        bytes += zmq_msg_size(part);
        has_more = zmq_msg_more(part);
        if (part == &surplus)
            zmq_msg_close(part);
    }
    int kept = count < TND_FRAMES_MAX ? count : TND_FRAMES_MAX;
    tnd_zmq_taken_t taken = TND_ZMQ_EMPTY;
    if (count > 0) {
        uint64_t hash = 0;
        tnd_connection_t *peer = NULL;
        if (socket->binder != NULL) {
            hash = XXH3_64bits(zmq_msg_data(&id), zmq_msg_size(&id));
            tnd_route_t *route = find_route(socket->binder, hash, &id, &parts[0]);
            peer = route == NULL ? NULL : route->peer;
        } else {
            peer = socket->dial->peer;
        }
        bool is_mine = take_parts(self, socket, peer, hash, &id, parts, count, arrival);
        self->peers.counts.bytes_in += bytes;
        taken = is_mine ? TND_ZMQ_MESSAGE : TND_ZMQ_INSIDE;
    }
    tnd_zmq_close_parts(parts, kept);
    zmq_msg_close(&id);
    return taken;
}
