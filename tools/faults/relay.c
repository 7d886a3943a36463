/*  tools/faults/relay.c - a tcp relay between the hosts of a run, which fails on request. */
#include "tools/faults/relay.h"

#include <arpa/inet.h>
#include <czmq.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "runtime/base/allocation.h"

enum { DIALER = 0, TARGET = 1, EVENTS = 64, ROOM = 256 << 10, PAIRS_MAX = 4096 };

typedef struct {
    int fd;
    uint32_t host, port;
} listener_t;

/*  Bytes that one side has sent and the other has not received yet. */
typedef struct {
    char *bytes;
    size_t begin, end;
} store_t;

typedef struct {
    int fd[2];        /* -1: closed */
    uint32_t asks[2]; /* its events in epoll */
    store_t from[2];
    uint32_t host, port;
    bool connecting; /* towards the target */
    bool swallow;    /* bytes that are read are discarded */
    bool used;
} pair_t;

/*  After the actor has started, its thread alone uses the other members. */
struct tnd_relay {
    zactor_t *actor;
    tnd_relay_host_t *hosts;
    bool *shut; /* by host */
    listener_t *listeners;
    uint32_t listener_count;
    pair_t *pairs;
    int poll;
    atomic_bool ended; /* orders what the thread wrote before what its closer reads */
};

/*  The data of an event: the index of a listener, or this for one side of a pair. */
static uint64_t word_of_pair(uint32_t pair, int side)
{
    return 1ull << 32 | (uint64_t)pair << 1 | (unsigned)side;
}

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

/*  A side is polled for input while its store is empty, and for output while bytes wait for it. */
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

/*  Sends the bytes for a side; false: its connection is broken. */
static bool drain(pair_t *pair, int side)
{
    store_t *takes = &pair->from[1 - side];
    while (takes->begin < takes->end) {
        ssize_t sent = send(pair->fd[side], takes->bytes + takes->begin, takes->end - takes->begin,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        takes->begin += (size_t)sent;
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
    if (!drain(pair, 1 - side))
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
    } else if ((events & EPOLLOUT) != 0 && !drain(pair, side)) {
        close_pair(self, index);
        return;
    } else if (pair->from[side].begin < pair->from[side].end) {
        /* This side is not being read, so the event means that it has ended. */
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
    struct sockaddr_in target = place_of(self->hosts[listener->host].inner, listener->port);
    if (to < 0 || index == PAIRS_MAX || self->shut[listener->host] ||
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
                     .host = listener->host,
                     .port = listener->port,
                     .connecting = true,
                     .used = true};
    for (int side = 0; side < 2; side++) {
        struct epoll_event event = {.events = pair->asks[side],
                                    .data.u64 = word_of_pair(index, side)};
        epoll_ctl(self->poll, EPOLL_CTL_ADD, pair->fd[side], &event);
    }
}

static void take_events(tnd_relay_t *self)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(self->poll, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        uint64_t word = events[i].data.u64;
        if (word >> 32 == 0)
            take_connection(self, &self->listeners[word]);
        else
            take_pair(self, (uint32_t)word >> 1, (int)(word & 1), events[i].events);
    }
}

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

static uint32_t fail_all(tnd_relay_t *self, uint32_t host, uint32_t fault, uint32_t port,
                         uint32_t except)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < PAIRS_MAX; i++) {
        const pair_t *pair = &self->pairs[i];
        if (!pair->used || pair->swallow || pair->host != host ||
            (port != 0 ? pair->port != port : pair->port == except))
            continue;
        fail(self, i, (tnd_relay_fault_t)fault);
        count++;
    }
    return count;
}

/*  Commands are FAIL, SHUT and OPEN with four numbers; each is answered by a count. */
static bool take_command(tnd_relay_t *self, zsock_t *pipe)
{
    char *command = NULL;
    uint32_t host = 0, fault = 0, port = 0, except = 0, count = 0;
    if (zsock_recv(pipe, "s4444", &command, &host, &fault, &port, &except) != 0)
        return false;
    bool stop = streq(command, "$TERM");
    if (!stop && !streq(command, "FAIL"))
        self->shut[host] = streq(command, "SHUT");
    if (streq(command, "FAIL") || streq(command, "SHUT"))
        count = fail_all(self, host, fault, port, except);
    if (!stop)
        zsock_send(pipe, "4", count);
    zstr_free(&command);
    return !stop;
}

static void run(zsock_t *pipe, void *context)
{
    tnd_relay_t *self = context;
    zpoller_t *poller = zpoller_new(pipe, &self->poll, NULL);
    zpoller_set_nonstop(poller, true);
    zsock_signal(pipe, 0);
    for (bool stop = false; !stop;) {
        if (zpoller_wait(poller, -1) == pipe)
            stop = !take_command(self, pipe);
        else
            take_events(self);
    }
    zpoller_destroy(&poller);
    atomic_store_explicit(&self->ended, true, memory_order_release);
}

static tnd_status_t listen_at(tnd_relay_t *self, uint32_t host, uint32_t port, tnd_error_t *error)
{
    struct sockaddr_in here = place_of(self->hosts[host].outer, port);
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
    self->listeners[self->listener_count] = (listener_t){.fd = fd, .host = host, .port = port};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = self->listener_count++};
    epoll_ctl(self->poll, EPOLL_CTL_ADD, fd, &event);
    return TND_OK;
}

tnd_status_t tnd_relay_open(tnd_relay_t **self_p, const tnd_relay_host_t *hosts, uint32_t count,
                            tnd_error_t *error)
{
    tnd_relay_t *self = tnd_allocate_zeroed(1, sizeof *self);
    size_t ports = 0;
    for (uint32_t h = 0; h < count; h++)
        ports += hosts[h].ports_last - hosts[h].ports_first + 1;
    self->hosts = tnd_allocate_zeroed(count, sizeof *self->hosts);
    memcpy(self->hosts, hosts, count * sizeof *hosts);
    self->shut = tnd_allocate_zeroed(count, sizeof *self->shut);
    self->listeners = tnd_allocate_zeroed(ports, sizeof *self->listeners);
    self->pairs = tnd_allocate_zeroed(PAIRS_MAX, sizeof *self->pairs);
    self->poll = epoll_create1(EPOLL_CLOEXEC);
    if (self->poll < 0)
        abort();
    tnd_status_t status = TND_OK;
    for (uint32_t h = 0; h < count && status == TND_OK; h++)
        for (uint32_t p = hosts[h].ports_first; p <= hosts[h].ports_last && status == TND_OK; p++)
            status = listen_at(self, h, p, error);
    *self_p = self;
    if (status != TND_OK) {
        tnd_relay_close(self_p);
        return status;
    }
    zsys_handler_set(NULL); /* the caller handles signals */
    self->actor = zactor_new(run, self);
    return TND_OK;
}

void tnd_relay_close(tnd_relay_t **self_p)
{
    tnd_relay_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    if (self->actor != NULL) {
        zactor_destroy(&self->actor); /* returns after run(), but ThreadSanitizer does not see it */
        while (!atomic_load_explicit(&self->ended, memory_order_acquire))
            continue;
    }
    for (uint32_t i = 0; i < PAIRS_MAX; i++)
        if (self->pairs[i].used)
            close_pair(self, i);
    for (uint32_t i = 0; i < self->listener_count; i++)
        close(self->listeners[i].fd);
    close(self->poll);
    free(self->hosts);
    free(self->shut);
    free(self->listeners);
    free(self->pairs);
    free(self);
}

static uint32_t command(tnd_relay_t *self, const char *name, uint32_t host, uint32_t fault,
                        uint32_t port, uint32_t except)
{
    uint32_t count = 0;
    zsock_send(self->actor, "s4444", name, host, fault, port, except);
    zsock_recv(self->actor, "4", &count);
    return count;
}

uint32_t tnd_relay_fail(tnd_relay_t *self, uint32_t host, tnd_relay_fault_t fault, uint32_t port,
                        uint32_t except)
{
    return command(self, "FAIL", host, fault, port, except);
}

uint32_t tnd_relay_shut(tnd_relay_t *self, uint32_t host, bool shut)
{
    return command(self, shut ? "SHUT" : "OPEN", host, TND_RELAY_CUT, 0, 0);
}
