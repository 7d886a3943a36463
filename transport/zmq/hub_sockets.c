/*  transport/zmq/hub_sockets.c - the sockets of a hub: opening, monitor events, closing. */
#include <assert.h>
#include <time.h>

#include "transport/zmq/hub_internal.h"
#include "transport/zmq/local_peer.h"

enum {
    FRAME_SLACK = 64 * 1024,
    RECONNECT_MS = 1000000000 /* libzmq never reconnects: days after the socket was closed */
};

uint64_t tnd_zmq_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

tnd_peer_t tnd_zmq_inside(const tnd_zmq_hub_t *self)
{
    const tnd_admission_t *rules = self->config.admission;
    return (tnd_peer_t){.place = TND_PEER_LOCAL, .user = rules != NULL ? rules->self : 0};
}

void tnd_zmq_set(void *handle, int option, int value)
{
    int failed = zmq_setsockopt(handle, option, &value, sizeof value);
    assert(failed == 0);
}

/*  Unread messages are bounded at both ends of a connection between processes.  Beyond the bound
 *  tcp holds the sender back and its sends fail.  libzmq counts messages that were read only after
 *  half of the bound. */
static int high_water(const tnd_zmq_hub_t *self, uint32_t port)
{
    uint64_t most = 2 * (uint64_t)tnd_connections_unread(&self->peers, port);
    return most < INT32_MAX ? (int)most : INT32_MAX;
}

void *tnd_zmq_open(tnd_zmq_hub_t *self, int type, const char *endpoint, uint32_t port)
{
    void *handle = zmq_socket(tnd_context_zmq(self->context), type);
    if (handle == NULL)
        return NULL;
    tnd_zmq_set(handle, ZMQ_LINGER, 0);
    tnd_zmq_set(handle, ZMQ_SNDHWM, high_water(self, port));
    tnd_zmq_set(handle, ZMQ_RCVHWM, high_water(self, port));
    /* With RECONNECT_IVL -1 or ZMQ_IMMEDIATE, libzmq 4.3.4 discards unread messages of a connection
     * that ends. */
    tnd_zmq_set(handle, ZMQ_RECONNECT_IVL, RECONNECT_MS);
    tnd_zmq_set(handle, ZMQ_HANDSHAKE_IVL, TND_UNAUTHENTICATED_MS);
    tnd_zmq_set(handle, ZMQ_TCP_KEEPALIVE, 1);
    tnd_zmq_set(handle, ZMQ_IPV6, tnd_address_is_ipv6(endpoint));
    int64_t largest = (int64_t)self->config.frame_max + FRAME_SLACK;
    int failed = zmq_setsockopt(handle, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    assert(failed == 0);
    return handle;
}

void tnd_zmq_close(tnd_zmq_hub_t *self, tnd_socket_t *socket)
{
    tnd_sockets_close(&self->sockets, socket, self->linger_ns / 1000000);
}

static void watch_binder(tnd_binder_t *binder, tnd_monitor_event_t event, int fd, uint64_t now)
{
    if (event == TND_MONITOR_CAME) {
        tnd_unauthenticated_came(&binder->unauthenticated, fd, now);
    } else if (event == TND_MONITOR_LEFT) {
        binder->cut -= binder->cut > 0;
        tnd_binder_left(binder, fd);
    }
}

static void greet(tnd_zmq_hub_t *self, tnd_dial_t *dial)
{
    /* libzmq notes the connection only when its socket is used. */
    dial->socket.ready = tnd_socket_has_input(&dial->socket) || dial->socket.ready;
    dial->greets = true;
    if (self->config.admission != NULL)
        dial->other = tnd_local_peer(dial->fd);
    tnd_connections_flush(&self->peers, dial->peer, self->now);
}

static void watch_dial(tnd_zmq_hub_t *self, tnd_dial_t *dial, tnd_monitor_event_t event, int fd)
{
    if (event == TND_MONITOR_MADE) {
        dial->made = true;
        dial->peer->refused = false;
        dial->fd = fd;
    } else if (event == TND_MONITOR_READY) {
        greet(self, dial);
    } else if (event == TND_MONITOR_LEFT || event == TND_MONITOR_CLOSED) {
        dial->peer->refused = !dial->made;
        dial->fd = -1;
        dial->socket.gone = dial->socket.ready = true;
    }
}

void tnd_zmq_watch(tnd_zmq_hub_t *self, tnd_socket_t *socket)
{
    tnd_monitor_event_t event;
    int fd = -1;
    bool greeted = socket->dial != NULL && socket->dial->greets;
    socket->watch_ready = false;
    while (socket->watch != NULL && tnd_monitor_next(socket->watch, &event, &fd)) {
        if (socket->binder != NULL)
            watch_binder(socket->binder, event, fd, self->now);
        else
            watch_dial(self, socket->dial, event, fd);
    }
    /* The descriptor of a connection that ended may have been another one's when it was used. */
    if (socket->dial != NULL && !greeted && socket->gone)
        socket->dial->other = (tnd_peer_t){.place = TND_PEER_GONE};
    if (socket->binder != NULL)
        tnd_binder_dismiss(self, socket->binder);
}

void tnd_zmq_sweep(tnd_zmq_hub_t *self, tnd_socket_t *socket)
{
    socket->gone = false;
    if (socket->dial != NULL) {
        tnd_connections_gone(&self->peers, socket->dial->peer, "the connection ended", self->now);
        return;
    }
    tnd_binder_t *binder = socket->binder;
    for (uint32_t i = 0; i < binder->routes.count;)
        if (binder->routes.items[i]->gone) {
            /* Takes the route out of the list. */
            tnd_connections_gone(&self->peers, binder->routes.items[i]->peer,
                                 "the connection ended", self->now);
        } else {
            i++;
        }
}
