/*  transport/zmq/sockets.c - the sockets of a hub: polling, and whose turn it is. */
#include "transport/zmq/sockets.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include <zmq.h>

#include "runtime/base/allocation.h"
#include "transport/zmq/monitor.h"

enum {
    BUDGET = 32,      /* messages of one socket before the next has its turn */
    LOOK_EVERY = 256, /* messages between two polls of sockets that were not ready */
    CLOSE_LINGER_MS = 100
};

void tnd_sockets_init(tnd_sockets_t *self, int wake_fd)
{
    *self = (tnd_sockets_t){.wake_fd = wake_fd, .polled = tnd_allocate(1, sizeof *self->polled)};
}

void tnd_sockets_fini(tnd_sockets_t *self)
{
    assert(self->count == 0);
    free(self->items);
    free(self->polled);
}

static int descriptor_of(void *handle)
{
    int fd = -1;
    size_t size = sizeof fd;
    int failed = zmq_getsockopt(handle, ZMQ_FD, &fd, &size);
    assert(failed == 0);
    return fd;
}

bool tnd_socket_has_input(tnd_socket_t *socket)
{
    int events = 0;
    size_t size = sizeof events;
    int failed = zmq_getsockopt(socket->data, ZMQ_EVENTS, &events, &size);
    assert(failed == 0);
    return (events & ZMQ_POLLIN) != 0;
}

void tnd_sockets_add(tnd_sockets_t *self, tnd_socket_t *socket)
{
    assert((socket->binder == NULL) != (socket->dial == NULL));
    if (self->count == self->room) {
        self->room = self->room == 0 ? 8 : 2 * self->room;
        self->items = tnd_resize(self->items, self->room, sizeof *self->items);
        self->polled = tnd_resize(self->polled, 1 + 2 * (size_t)self->room, sizeof *self->polled);
    }
    socket->data_fd = descriptor_of(socket->data);
    socket->watch_fd = socket->watch != NULL ? descriptor_of(socket->watch) : -1;
    socket->touched = true;
    socket->watch_ready = socket->watch != NULL;
    self->items[self->count++] = socket;
}

void tnd_socket_linger(tnd_socket_t *socket, uint64_t linger_ms)
{
    /* libzmq 4.3.4 aborts when a connection fails just after its socket was closed without any
     * linger in the middle of a message. */
    if (socket->watch != NULL && linger_ms < CLOSE_LINGER_MS)
        linger_ms = CLOSE_LINGER_MS;
    int linger = linger_ms > INT32_MAX ? -1 : (int)linger_ms;
    int failed = zmq_setsockopt(socket->data, ZMQ_LINGER, &linger, sizeof linger);
    assert(failed == 0);
}

void tnd_sockets_close(tnd_sockets_t *self, tnd_socket_t *socket, uint64_t linger_ms)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i] == socket) {
            self->items[i] = self->items[--self->count];
            break;
        }
    tnd_socket_linger(socket, linger_ms);
    tnd_monitor_close(&socket->watch, socket->data);
    zmq_close(socket->data);
    *socket = (tnd_socket_t){.binder = socket->binder, .dial = socket->dial};
}

static bool look(tnd_sockets_t *self, int wait_ms)
{
    nfds_t count = 0;
    bool any = false;
    self->polled[count++] = (struct pollfd){.fd = self->wake_fd, .events = POLLIN};
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_socket_t *socket = self->items[i];
        if (socket->touched) {
            socket->touched = false;
            socket->ready = socket->ready || tnd_socket_has_input(socket);
        }
        any = any || socket->ready || socket->watch_ready;
        self->polled[count++] = (struct pollfd){.fd = socket->data_fd, .events = POLLIN};
        if (socket->watch != NULL)
            self->polled[count++] = (struct pollfd){.fd = socket->watch_fd, .events = POLLIN};
    }
    self->since_look = 0;
    if (poll(self->polled, count, any ? 0 : wait_ms) <= 0)
        return any;
    count = 1;
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_socket_t *socket = self->items[i];
        socket->ready = socket->ready || socket->gone || self->polled[count].revents != 0;
        count++;
        if (socket->watch != NULL)
            socket->watch_ready = socket->watch_ready || self->polled[count++].revents != 0;
        any = any || socket->ready || socket->watch_ready;
    }
    return any;
}

bool tnd_sockets_look(tnd_sockets_t *self)
{
    return look(self, 0);
}

bool tnd_sockets_wait(tnd_sockets_t *self, int wait_ms)
{
    bool any = look(self, wait_ms);
    uint64_t woken = 0;
    if (self->polled[0].revents != 0)
        (void)!read(self->wake_fd, &woken, sizeof woken);
    return any;
}

tnd_socket_t *tnd_sockets_next(tnd_sockets_t *self)
{
    if (self->count > 0 && self->since_look++ >= LOOK_EVERY)
        look(self, 0);
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t at = (self->turn + i) % self->count;
        tnd_socket_t *socket = self->items[at];
        if (!socket->ready && !socket->watch_ready)
            continue;
        if (i > 0 || self->budget == 0) {
            self->turn = at;
            self->budget = BUDGET;
        }
        if (--self->budget == 0)
            self->turn = at + 1;
        return socket;
    }
    return NULL;
}

bool tnd_sockets_are_ready(const tnd_sockets_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i]->ready || self->items[i]->watch_ready)
            return true;
    return false;
}
