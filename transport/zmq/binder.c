/*  transport/zmq/binder.c - a bound port: listening, accepting peers, rejecting others. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/zmq/hub_internal.h"
#include "transport/zmq/local_peer.h"

enum {
    CLOSE_WAIT_MS = 200, /* for an endpoint to be free again */
    CUT_WAIT_MS = 2000,  /* for libzmq's thread to see the end of a connection, on a busy machine */
    BACKLOG = 128        /* connections that wait to be accepted, besides the expected peers */
};

void tnd_binder_dismiss(tnd_zmq_hub_t *self, tnd_binder_t *binder)
{
    self->peers.counts.refused +=
        tnd_unauthenticated_dismiss(&binder->unauthenticated, self->now, &self->dismiss_ns);
}

void tnd_binder_left(tnd_binder_t *self, int fd)
{
    tnd_unauthenticated_left(&self->unauthenticated, fd);
    if (tnd_routes_left(&self->routes, fd))
        self->socket.gone = self->socket.ready = true;
}

static tnd_route_t *new_route(tnd_binder_t *binder, uint64_t hash, zmq_msg_t *id, int fd)
{
    return tnd_route_new(binder, hash, zmq_msg_data(id), zmq_msg_size(id), fd);
}

static tnd_status_t say(tnd_zmq_hub_t *self, tnd_route_t *route, const tnd_msg_t *msg)
{
    tnd_connection_t unnamed = {.port = route->binder->port, .id = msg->to, .wire = route};
    unnamed.end.config.binder = true;
    return tnd_zmq_send(self, &unnamed, msg, TND_CARRY_NOTHING);
}

/*  Whether the connection of a route has not ended, so that its descriptor was its own until now.
 *  Messages are read after their connection ended, and the system reuses descriptors at once.  libzmq
 *  reports the end to its socket before it closes the descriptor, and sends nothing to a connection
 *  that ended.  A PONG changes nothing at either end. */
static bool is_still_there(tnd_zmq_hub_t *self, tnd_route_t *route)
{
    tnd_msg_t pong = {.kind = TND_MSG_PONG, .from = self->config.self, .to = TND_NOBODY};
    (void)tnd_socket_has_input(&route->binder->socket); /* processes reported ends */
    return say(self, route, &pong) == TND_OK;
}

/*  Peers of ZMTP 1 have no known descriptor.  All unauthenticated connections are cut then, and
 *  genuine peers connect again. */
void tnd_binder_reject(tnd_zmq_hub_t *self, tnd_binder_t *binder, uint64_t hash, zmq_msg_t *id,
                       zmq_msg_t *from, bool answered, const char *why)
{
    if (tnd_unauthenticated_was_refused(&binder->unauthenticated, hash))
        return;
    tnd_unauthenticated_refuse(&binder->unauthenticated, hash);
    int fd = zmq_msg_get(from, ZMQ_SRCFD);
    const char *address = zmq_msg_gets(from, "Peer-Address");
    char text[256];
    snprintf(text, sizeof text, "a connection%s%s to %s was rejected: %s",
             address == NULL ? "" : " from ", address == NULL ? "" : address, binder->endpoint,
             why);
    tnd_connections_turned_away(&self->peers, binder->port, TND_NOBODY, text);
    if (answered)
        return; /* the peer closes it, or it is cut as unauthenticated */
    tnd_route_t *route = new_route(binder, hash, id, fd);
    if (is_still_there(self, route))
        tnd_unauthenticated_cut(&binder->unauthenticated, fd);
    free(route);
}

void tnd_binder_answer_version(tnd_zmq_hub_t *self, tnd_binder_t *binder, uint64_t hash,
                               zmq_msg_t *id, const char *why)
{
    tnd_route_t *route = new_route(binder, hash, id, -1);
    tnd_msg_t refuse = {
        .kind = TND_MSG_REFUSE, .from = self->config.self, .to = TND_NOBODY, .refuse.why = why};
    (void)say(self, route, &refuse);
    free(route);
}

/*  The process that sent a HELLO. */
static tnd_peer_t find_other(tnd_zmq_hub_t *self, tnd_route_t *route)
{
    if (route->pipe != NULL || self->config.admission == NULL)
        return tnd_zmq_inside(self);
    tnd_peer_t other = tnd_local_peer(route->fd);
    return is_still_there(self, route) ? other : (tnd_peer_t){.place = TND_PEER_GONE};
}

/*  Whether the HELLO is accepted.  If so, the route is kept and has a peer. */
static bool admit(tnd_zmq_hub_t *self, tnd_route_t *route, const tnd_msg_t *hello)
{
    tnd_binder_t *binder = route->binder;
    tnd_connections_refusal_t refusal;
    if (!tnd_connections_expects(&self->peers, binder->port, &binder->terms,
                                 find_other(self, route), hello, &refusal)) {
        if (refusal.why[0] != '\0') /* or else it has gone, or dials again */
            (void)say(self, route, &refusal.msg);
        return false;
    }
    route->peer =
        tnd_connections_hello(&self->peers, binder->port, &binder->terms, route, hello, self->now);
    tnd_unauthenticated_set_known(&binder->unauthenticated, route->fd, route->peer != NULL,
                                  self->now);
    if (route->peer != NULL)
        tnd_routes_keep(&binder->routes, route);
    return route->peer != NULL;
}

void tnd_binder_greet(tnd_zmq_hub_t *self, tnd_binder_t *binder, uint64_t hash, zmq_msg_t *id,
                      int fd, const tnd_msg_t *msg)
{
    tnd_route_t *route = new_route(binder, hash, id, fd);
    if (!admit(self, route, msg))
        free(route);
}

void tnd_binder_greet_pipe(tnd_zmq_hub_t *self, tnd_pipe_t *pipe, const tnd_msg_t *msg)
{
    tnd_binder_t *binder = pipe->owners[TND_SIDE_BINDER];
    tnd_route_t *route = tnd_route_new(binder, 0, "", 0, -1);
    route->pipe = pipe;
    tnd_pipe_hold(pipe);
    pipe->route = route;
    if (!admit(self, route, msg)) {
        pipe->route = NULL;
        tnd_pipe_drop(pipe);
        free(route);
    }
}

static tnd_status_t bind_socket(tnd_zmq_hub_t *self, tnd_binder_t *binder, const char *endpoint,
                                tnd_error_t *error)
{
    void *handle = tnd_zmq_open(self, ZMQ_ROUTER, endpoint, binder->port);
    void *watch = handle != NULL ? tnd_monitor_open(self->context, handle) : NULL;
    if (watch == NULL) {
        int number = zmq_errno();
        if (handle != NULL)
            zmq_close(handle);
        return tnd_fail(error,
                        "%s: no socket for %s (%s): raise the limit of open files "
                        "(`ulimit -n`)",
                        self->name, endpoint, zmq_strerror(number));
    }
    tnd_zmq_set(handle, ZMQ_ROUTER_MANDATORY, 1);
    /* Without it, libzmq 4.3.4 never frees a connection that gives an identity in use.  Peers are
     * safe from those, because their identities are secret. */
    tnd_zmq_set(handle, ZMQ_ROUTER_HANDOVER, 1);
    /* The system retries a connection after a second if the queue is full. */
    tnd_zmq_set(handle, ZMQ_BACKLOG, BACKLOG + (int)self->config.callers);
    binder->socket = (tnd_socket_t){.binder = binder, .data = handle, .watch = watch};
    if (zmq_bind(handle, endpoint) != 0) {
        int number = zmq_errno();
        tnd_monitor_close(&binder->socket.watch, handle);
        zmq_close(handle);
        return tnd_address_unbound(endpoint, self->name, number, error);
    }
    size_t length = sizeof binder->endpoint;
    zmq_getsockopt(handle, ZMQ_LAST_ENDPOINT, binder->endpoint, &length);
    tnd_sockets_add(&self->sockets, &binder->socket);
    return TND_OK;
}

static tnd_status_t bind_inproc(tnd_zmq_hub_t *self, tnd_binder_t *binder, const char *endpoint,
                                tnd_error_t *error)
{
    snprintf(binder->endpoint, sizeof binder->endpoint, "%s", endpoint);
    if (tnd_context_enter(self->context, binder->endpoint, self->mailbox, binder))
        return TND_OK;
    return tnd_address_unbound(endpoint, self->name, EADDRINUSE, error);
}

tnd_status_t tnd_binder_bind(tnd_zmq_hub_t *self, tnd_binder_t *binder, const char *endpoint,
                             tnd_error_t *error)
{
    char resolved[TND_ADDRESS_SIZE];
    if (tnd_address_is_inproc(endpoint))
        return bind_inproc(self, binder, endpoint, error);
    TND_TRY(tnd_address_resolve(endpoint, true, self->name, resolved, error));
    return bind_socket(self, binder, resolved, error);
}

void tnd_binder_close(tnd_zmq_hub_t *self, tnd_binder_t *binder)
{
    assert(binder->routes.count == 0);
    if (binder->socket.data == NULL) {
        tnd_context_leave(self->context, binder->endpoint);
    } else {
        /* libzmq 4.3.4 aborts if a connection fails in the middle of a message and its listener was
         * unbound, or the linger of its socket is over.  So connections that were cut must have ended
         * first; the thread that says so has then let go of what was half sent. */
        tnd_monitor_await(binder->socket.watch, TND_MONITOR_LEFT, binder->cut, CUT_WAIT_MS);
        tnd_socket_linger(&binder->socket, self->linger_ns / 1000000);
        zmq_unbind(binder->socket.data, binder->endpoint);
        tnd_monitor_await(binder->socket.watch, TND_MONITOR_CLOSED, 1, CLOSE_WAIT_MS);
        tnd_zmq_close(self, &binder->socket);
    }
    free(binder->routes.items);
    tnd_unauthenticated_free(&binder->unauthenticated);
    free(binder);
}
