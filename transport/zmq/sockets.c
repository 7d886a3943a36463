/*  transport/zmq/sockets.c - the sockets of a hub: which have something to read, and waiting for
 * it. */
#include "transport/zmq/sockets.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include <zmq.h>

#include "runtime/base/allocation.h"
#include "transport/zmq/monitor.h"

enum {
    BUDGET = 32,      /* messages of one line before the next has its turn */
    LOOK_EVERY = 256, /* messages between two looks at lines that were not ready */
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

static int descriptor_of(void *socket)
{
    int fd = -1;
    size_t size = sizeof fd;
    int failed = zmq_getsockopt(socket, ZMQ_FD, &fd, &size);
    assert(failed == 0);
    return fd;
}

bool tnd_socket_has_input(tnd_socket_t *line)
{
    int events = 0;
    size_t size = sizeof events;
    int failed = zmq_getsockopt(line->data, ZMQ_EVENTS, &events, &size);
    assert(failed == 0);
    return (events & ZMQ_POLLIN) != 0;
}

void tnd_sockets_add(tnd_sockets_t *self, tnd_socket_t *line)
{
    assert((line->binder == NULL) != (line->dial == NULL));
    if (self->count == self->room) {
        self->room = self->room == 0 ? 8 : 2 * self->room;
        self->items = tnd_resize(self->items, self->room, sizeof *self->items);
        self->polled = tnd_resize(self->polled, 1 + 2 * (size_t)self->room, sizeof *self->polled);
    }
    line->data_fd = descriptor_of(line->data);
    line->watch_fd = line->watch != NULL ? descriptor_of(line->watch) : -1;
    line->touched = true;
    line->watch_ready = line->watch != NULL;
    self->items[self->count++] = line;
}

void tnd_socket_linger(tnd_socket_t *line, uint64_t linger_ms)
{
    /* libzmq 4.3.4 aborts when a connection fails just after its socket was closed without any
     * linger in the middle of a message.
     */
    if (line->watch != NULL && linger_ms < CLOSE_LINGER_MS)
        linger_ms = CLOSE_LINGER_MS;
    int linger = linger_ms > INT32_MAX ? -1 : (int)linger_ms;
    int failed = zmq_setsockopt(line->data, ZMQ_LINGER, &linger, sizeof linger);
    assert(failed == 0);
}

void tnd_sockets_close(tnd_sockets_t *self, tnd_socket_t *line, uint64_t linger_ms)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i] == line) {
            self->items[i] = self->items[--self->count];
            break;
        }
    tnd_socket_linger(line, linger_ms);
    tnd_monitor_close(&line->watch, line->data);
    zmq_close(line->data);
    *line = (tnd_socket_t){.binder = line->binder, .dial = line->dial};
}

static bool look(tnd_sockets_t *self, int wait_ms)
{
    nfds_t count = 0;
    bool any = false;
    self->polled[count++] = (struct pollfd){.fd = self->wake_fd, .events = POLLIN};
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_socket_t *line = self->items[i];
        if (line->touched) {
            line->touched = false;
            line->ready = line->ready || tnd_socket_has_input(line);
        }
        any = any || line->ready || line->watch_ready;
        self->polled[count++] = (struct pollfd){.fd = line->data_fd, .events = POLLIN};
        if (line->watch != NULL)
            self->polled[count++] = (struct pollfd){.fd = line->watch_fd, .events = POLLIN};
    }
    self->since_look = 0;
    if (poll(self->polled, count, any ? 0 : wait_ms) <= 0)
        return any;
    count = 1;
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_socket_t *line = self->items[i];
        line->ready = line->ready || line->gone || self->polled[count].revents != 0;
        count++;
        if (line->watch != NULL)
            line->watch_ready = line->watch_ready || self->polled[count++].revents != 0;
        any = any || line->ready || line->watch_ready;
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
        tnd_socket_t *line = self->items[at];
        if (!line->ready && !line->watch_ready)
            continue;
        if (i > 0 || self->budget == 0) {
            self->turn = at;
            self->budget = BUDGET;
        }
        if (--self->budget == 0)
            self->turn = at + 1;
        return line;
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
