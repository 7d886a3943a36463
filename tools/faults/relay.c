/*  tools/faults/relay.c - a tcp relay between the hosts of a run, which fails on request. */
#include "tools/faults/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/thread.h"

enum { DIALER = 0, TARGET = 1, EVENTS = 64, ROOM = 256 << 10, PAIRS_MAX = 4096 };

typedef struct {
    int fd;
    uint32_t door, port;
} listener_t;

/*  What one side has sent and the other has not taken yet. */
typedef struct {
    char *bytes;
    size_t begin, end;
} store_t;

typedef struct {
    int fd[2];        /* -1: closed */
    uint32_t asks[2]; /* events that epoll watches it for */
    store_t from[2];
    uint32_t door, port;
    bool connecting; /* towards the target */
    bool swallow;    /* what is read is not passed on */
    bool used;
} pair_t;

struct tnd_relay {
    pthread_t thread;
    pthread_mutex_t lock; /* of all that follows */
    const tnd_relay_door_t *doors;
    bool *shut; /* by door */
    listener_t *listeners;
    uint32_t door_count, listener_count;
    pair_t *pairs;
    int poll, wake;
    uint64_t bytes;
    bool begun, stop;
};

/*  What an event is about: a listener, or a side of a pair. */
static uint64_t word_of_pair(uint32_t pair, int side)
{
    return 1ull << 32 | (uint64_t)pair << 1 | (unsigned)side;
}

static const uint64_t word_of_wake = 2ull << 32;

static void ask(tnd_relay_t *self, uint32_t index, int side, uint32_t events)
{
    pair_t *pair = &self->pairs[index];
    struct epoll_event event = {.events = events, .data.u64 = word_of_pair(index, side)};
    if (pair->fd[side] < 0 || pair->asks[side] == events)
        return;
    pair->asks[side] = events;
    epoll_ctl(self->poll, EPOLL_CTL_MOD, pair->fd[side], &event);
}

static void close_side(tnd_relay_t *self, uint32_t index, int side)
{
    pair_t *pair = &self->pairs[index];
    if (pair->fd[side] >= 0)
        close(pair->fd[side]);
    pair->fd[side] = -1;
    if (pair->fd[1 - side] >= 0)
        return;
    free(pair->from[DIALER].bytes);
    free(pair->from[TARGET].bytes);
    *pair = (pair_t){.fd = {-1, -1}};
}

static void close_pair(tnd_relay_t *self, uint32_t index)
{
    close_side(self, index, DIALER);
    close_side(self, index, TARGET);
}

/*  A side is watched for what it can do: bring more while there is room, take what waits for it. */
static void watch(tnd_relay_t *self, uint32_t index)
{
    const pair_t *pair = &self->pairs[index];
    for (int side = 0; side < 2; side++) {
        const store_t *brings = &pair->from[side], *takes = &pair->from[1 - side];
        uint32_t events = 0;
        if (pair->connecting)
            events = side == TARGET ? EPOLLOUT : 0;
        else
            events = (brings->begin == brings->end ? EPOLLIN : 0u) |
                     (takes->begin < takes->end ? EPOLLOUT : 0u);
        ask(self, index, side, events);
    }
}

/*  Sends what a side waits for; false: it is broken. */
static bool drain(tnd_relay_t *self, pair_t *pair, int side)
{
    store_t *takes = &pair->from[1 - side];
    while (takes->begin < takes->end) {
        ssize_t sent = send(pair->fd[side], takes->bytes + takes->begin, takes->end - takes->begin,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        takes->begin += (size_t)sent;
        self->bytes += (uint64_t)sent;
    }
    takes->begin = takes->end = 0;
    return true;
}

static void take_from(tnd_relay_t *self, uint32_t index, int side)
{
    pair_t *pair = &self->pairs[index];
    store_t *brings = &pair->from[side];
    ssize_t got = recv(pair->fd[side], brings->bytes, ROOM, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        bool alone = pair->swallow;
        close_side(self, index, side);
        if (!alone && self->pairs[index].used)
            close_side(self, index, 1 - side);
        return;
    }
    if (pair->swallow)
        return;
    brings->end = (size_t)got;
    if (!drain(self, pair, 1 - side))
        close_pair(self, index);
}

static void take_pair(tnd_relay_t *self, uint32_t index, int side, uint32_t events)
{
    pair_t *pair = &self->pairs[index];
    if (!pair->used || pair->fd[side] < 0)
        return;
    if (pair->connecting) {
        int failed = 0;
        socklen_t size = sizeof failed;
        if (side == DIALER)
            failed = 1;
        else
            getsockopt(pair->fd[side], SOL_SOCKET, SO_ERROR, &failed, &size);
        pair->connecting = false;
        if (failed != 0) {
            close_pair(self, index);
            return;
        }
    } else if ((events & EPOLLOUT) != 0 && !drain(self, pair, side)) {
        close_pair(self, index);
        return;
    } else if (pair->from[side].begin < pair->from[side].end) {
        /* It is not read meanwhile, so that can only be its end. */
        if ((events & (EPOLLHUP | EPOLLERR)) != 0)
            close_pair(self, index);
    } else if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        take_from(self, index, side);
    }
    if (self->pairs[index].used)
        watch(self, index);
}

static void set_no_delay(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static struct sockaddr_in place_of(uint32_t address, uint32_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(address)};
}

static void take_connection(tnd_relay_t *self, const listener_t *listener)
{
    int from = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    uint32_t index = 0;
    while (index < PAIRS_MAX && self->pairs[index].used)
        index++;
    if (from < 0)
        return;
    int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in target = place_of(self->doors[listener->door].inner, listener->port);
    if (to < 0 || index == PAIRS_MAX || self->shut[listener->door] ||
        (connect(to, (struct sockaddr *)&target, sizeof target) != 0 && errno != EINPROGRESS)) {
        close(from);
        if (to >= 0)
            close(to);
        return;
    }
    set_no_delay(from);
    set_no_delay(to);
    pair_t *pair = &self->pairs[index];
    *pair = (pair_t){.fd = {from, to},
                     .asks = {0, EPOLLOUT},
                     .from = {{.bytes = tnd_allocate(1, ROOM)}, {.bytes = tnd_allocate(1, ROOM)}},
                     .door = listener->door,
                     .port = listener->port,
                     .connecting = true,
                     .used = true};
    for (int side = 0; side < 2; side++) {
        struct epoll_event event = {.events = pair->asks[side],
                                    .data.u64 = word_of_pair(index, side)};
        epoll_ctl(self->poll, EPOLL_CTL_ADD, pair->fd[side], &event);
    }
}

static void *run(void *context)
{
    tnd_relay_t *self = context;
    pthread_setname_np(pthread_self(), "relay");
    for (bool stop = false; !stop;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(self->poll, events, EVENTS, -1);
        pthread_mutex_lock(&self->lock);
        for (int i = 0; i < count; i++) {
            uint64_t word = events[i].data.u64;
            uint64_t signals;
            if (word == word_of_wake)
                (void)!read(self->wake, &signals, sizeof signals);
            else if (word >> 32 == 0)
                take_connection(self, &self->listeners[word]);
            else
                take_pair(self, (uint32_t)word >> 1, (int)(word & 1), events[i].events);
        }
        stop = self->stop;
        pthread_mutex_unlock(&self->lock);
    }
    return NULL;
}

static tnd_status_t listen_at(tnd_relay_t *self, uint32_t door, uint32_t port, tnd_error_t *error)
{
    struct sockaddr_in here = place_of(self->doors[door].outer, port);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char text[INET_ADDRSTRLEN];
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) != 0 || listen(fd, 64) != 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        inet_ntop(AF_INET, &here.sin_addr, text, sizeof text);
        return tnd_fail(error, "cannot listen at %s:%u: %s", text, (unsigned)port, strerror(why));
    }
    self->listeners[self->listener_count] = (listener_t){.fd = fd, .door = door, .port = port};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = self->listener_count++};
    epoll_ctl(self->poll, EPOLL_CTL_ADD, fd, &event);
    return TND_OK;
}

tnd_status_t tnd_relay_open(tnd_relay_t **self_p, const tnd_relay_door_t *doors, uint32_t count,
                            tnd_error_t *error)
{
    tnd_relay_t *self = tnd_allocate_zeroed(1, sizeof *self);
    size_t ports = 0;
    for (uint32_t d = 0; d < count; d++)
        ports += doors[d].ports_last - doors[d].ports_first + 1;
    tnd_relay_door_t *own = tnd_allocate_zeroed(count, sizeof *own);
    memcpy(own, doors, count * sizeof *own);
    self->doors = own;
    self->door_count = count;
    self->shut = tnd_allocate_zeroed(count, sizeof *self->shut);
    self->listeners = tnd_allocate_zeroed(ports, sizeof *self->listeners);
    self->pairs = tnd_allocate_zeroed(PAIRS_MAX, sizeof *self->pairs);
    self->poll = epoll_create1(EPOLL_CLOEXEC);
    self->wake = eventfd(0, EFD_CLOEXEC);
    if (self->poll < 0 || self->wake < 0)
        abort();
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = word_of_wake};
    epoll_ctl(self->poll, EPOLL_CTL_ADD, self->wake, &event);
    pthread_mutex_init(&self->lock, NULL);
    tnd_status_t status = TND_OK;
    for (uint32_t d = 0; d < count && status == TND_OK; d++)
        for (uint32_t p = doors[d].ports_first; p <= doors[d].ports_last && status == TND_OK; p++)
            status = listen_at(self, d, p, error);
    *self_p = self;
    if (status != TND_OK) {
        tnd_relay_close(self_p);
        return status;
    }
    tnd_thread_create(&self->thread, run, self);
    self->begun = true;
    return TND_OK;
}

void tnd_relay_close(tnd_relay_t **self_p)
{
    tnd_relay_t *self = *self_p;
    uint64_t one = 1;
    *self_p = NULL;
    if (self == NULL)
        return;
    if (self->begun) {
        pthread_mutex_lock(&self->lock);
        self->stop = true;
        pthread_mutex_unlock(&self->lock);
        if (write(self->wake, &one, sizeof one) != (ssize_t)sizeof one)
            abort();
        pthread_join(self->thread, NULL);
    }
    for (uint32_t i = 0; i < PAIRS_MAX; i++)
        if (self->pairs[i].used)
            close_pair(self, i);
    for (uint32_t i = 0; i < self->listener_count; i++)
        close(self->listeners[i].fd);
    close(self->poll);
    close(self->wake);
    pthread_mutex_destroy(&self->lock);
    free((void *)(uintptr_t)self->doors);
    free(self->shut);
    free(self->listeners);
    free(self->pairs);
    free(self);
}

/*  With the lock. */
static void fail(tnd_relay_t *self, uint32_t index, tnd_relay_fault_t fault)
{
    pair_t *pair = &self->pairs[index];
    pair->swallow = true;
    for (int side = 0; side < 2; side++)
        pair->from[side].begin = pair->from[side].end = 0;
    switch (fault) {
    case TND_RELAY_CUT:
        close_pair(self, index);
        return;
    case TND_RELAY_CUT_DIALER:
        close_side(self, index, DIALER);
        break;
    case TND_RELAY_CUT_TARGET:
        close_side(self, index, TARGET);
        break;
    case TND_RELAY_SWALLOW:
        break;
    }
    if (self->pairs[index].used && !pair->connecting)
        watch(self, index);
}

uint32_t tnd_relay_fail(tnd_relay_t *self, uint32_t door, tnd_relay_fault_t fault, uint32_t port,
                        uint32_t except)
{
    uint32_t count = 0;
    pthread_mutex_lock(&self->lock);
    for (uint32_t i = 0; i < PAIRS_MAX; i++) {
        const pair_t *pair = &self->pairs[i];
        if (!pair->used || pair->swallow || pair->door != door ||
            (port != 0 ? pair->port != port : pair->port == except))
            continue;
        fail(self, i, fault);
        count++;
    }
    pthread_mutex_unlock(&self->lock);
    return count;
}

uint32_t tnd_relay_shut(tnd_relay_t *self, uint32_t door, bool shut)
{
    pthread_mutex_lock(&self->lock);
    self->shut[door] = shut;
    pthread_mutex_unlock(&self->lock);
    return shut ? tnd_relay_fail(self, door, TND_RELAY_CUT, 0, 0) : 0;
}

uint64_t tnd_relay_bytes(tnd_relay_t *self)
{
    pthread_mutex_lock(&self->lock);
    uint64_t bytes = self->bytes;
    pthread_mutex_unlock(&self->lock);
    return bytes;
}
