/*  tests/support/relay.c - a tcp relay that fails on request.  */
#include "tests/support/relay.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <stdatomic.h>

#include <czmq.h>

enum { PAIRS_MAX = 64, DIALLER = 0, TARGET = 1, PIECE_MAX = 65536, REST_MS = 10 };

typedef struct {
    int fd[2];    /* -1: closed */
    bool swallow; /* bytes that are read are discarded */
} pair_t;

/*  After the actor has started, its thread alone uses the other members. */
struct relay {
    zactor_t *actor;
    int listener;
    struct sockaddr_in target;
    char endpoint[64];
    pair_t pairs[PAIRS_MAX];
    int count;
    int awaited;       /* pairs whose end the caller waits for; -1: none */
    size_t piece;      /* bytes that are forwarded at once */
    bool trickle;      /* with a rest after each piece */
    atomic_bool ended; /* orders what the thread wrote before what its closer reads */
};

static void close_side(pair_t *pair, int side)
{
    if (pair->fd[side] >= 0)
        close(pair->fd[side]);
    pair->fd[side] = -1;
}

static int no_delay(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void take_connection(relay_t *self)
{
    int from = accept(self->listener, NULL, NULL);
    if (from < 0)
        return;
    int to = socket(AF_INET, SOCK_STREAM, 0);
    assert(to >= 0 && self->count < PAIRS_MAX);
    if (connect(to, (struct sockaddr *)&self->target, sizeof self->target) != 0) {
        close(from);
        close(to);
        return;
    }
    self->pairs[self->count++] = (pair_t){.fd = {no_delay(from), no_delay(to)}};
}

static void pump(pair_t *pair, int side, size_t piece)
{
    char bytes[PIECE_MAX];
    ssize_t size = recv(pair->fd[side], bytes, piece, MSG_DONTWAIT);
    if (size <= 0) {
        close_side(pair, side);
        if (!pair->swallow && pair->fd[1 - side] >= 0)
            shutdown(pair->fd[1 - side], SHUT_WR);
        return;
    }
    if (pair->swallow || pair->fd[1 - side] < 0)
        return;
    for (ssize_t done = 0; done < size;) {
        ssize_t sent = send(pair->fd[1 - side], bytes + done, (size_t)(size - done), MSG_NOSIGNAL);
        if (sent <= 0) {
            close_side(pair, DIALLER);
            close_side(pair, TARGET);
            return;
        }
        done += sent;
    }
}

static void fail(relay_t *self, relay_fault_t fault)
{
    for (int i = 0; i < self->count; i++) {
        pair_t *pair = &self->pairs[i];
        pair->swallow = true;
        if (fault == RELAY_CUT_DIALLER || fault == RELAY_CLOSE)
            close_side(pair, DIALLER);
        if (fault == RELAY_CUT_TARGET || fault == RELAY_CLOSE)
            close_side(pair, TARGET);
    }
}

static bool has_ended(const relay_t *self, int count)
{
    for (int i = 0; i < count; i++)
        if (self->pairs[i].fd[DIALLER] >= 0 || self->pairs[i].fd[TARGET] >= 0)
            return false;
    return true;
}

/*  Obeys a command and signals that it is done; false: the relay ends. */
static bool obey(relay_t *self, zsock_t *pipe)
{
    zmsg_t *msg = zmsg_recv(pipe);
    char *command = msg != NULL ? zmsg_popstr(msg) : NULL;
    char *value = msg != NULL ? zmsg_popstr(msg) : NULL;
    bool goes = command != NULL && strcmp(command, "$TERM") != 0;
    if (goes && strcmp(command, "AWAIT") == 0) {
        self->awaited = self->count;
    } else if (goes) {
        size_t number = strtoul(value, NULL, 10);
        if (strcmp(command, "FAIL") == 0)
            fail(self, (relay_fault_t)number);
        self->trickle = self->trickle || strcmp(command, "TRICKLE") == 0;
        if (strcmp(command, "TRICKLE") == 0)
            self->piece = number < PIECE_MAX ? number : PIECE_MAX;
        zsock_signal(pipe, 0);
    }
    zstr_free(&command);
    zstr_free(&value);
    zmsg_destroy(&msg);
    return goes;
}

static void run(zsock_t *pipe, void *argument)
{
    relay_t *self = argument;
    zsock_signal(pipe, 0);
    for (bool goes = true; goes;) {
        zmq_pollitem_t items[2 + 2 * PAIRS_MAX] = {
            {.socket = zsock_resolve(pipe), .events = ZMQ_POLLIN},
            {.fd = self->listener, .events = ZMQ_POLLIN}};
        int sides[2 + 2 * PAIRS_MAX], count = 2;
        for (int side = 0; side < 2 * self->count; side++)
            if (self->pairs[side / 2].fd[side % 2] >= 0) {
                sides[count] = side;
                items[count++] = (zmq_pollitem_t){.fd = self->pairs[side / 2].fd[side % 2],
                                                  .events = ZMQ_POLLIN};
            }
        zmq_poll(items, count, -1);
        if (items[0].revents != 0)
            goes = obey(self, pipe);
        for (int i = 2; goes && i < count; i++)
            if (items[i].revents != 0 && self->pairs[sides[i] / 2].fd[sides[i] % 2] == items[i].fd)
                pump(&self->pairs[sides[i] / 2], sides[i] % 2, self->piece);
        if (goes && items[1].revents != 0)
            take_connection(self);
        if (self->awaited >= 0 && has_ended(self, self->awaited)) {
            self->awaited = -1;
            zsock_signal(pipe, 0);
        }
        if (self->trickle)
            zclock_sleep(REST_MS);
    }
    atomic_store_explicit(&self->ended, true, memory_order_release);
}

relay_t *relay_new(const char *target_endpoint)
{
    relay_t *self = calloc(1, sizeof *self);
    unsigned port = 0;
    int fields = sscanf(target_endpoint, "tcp://127.0.0.1:%u", &port);
    assert(self != NULL && fields == 1);
    self->piece = PIECE_MAX;
    self->awaited = -1;
    self->target = (struct sockaddr_in){.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in here = self->target;
    here.sin_port = 0;
    socklen_t size = sizeof here;
    self->listener = socket(AF_INET, SOCK_STREAM, 0);
    int failed = bind(self->listener, (struct sockaddr *)&here, size) ||
                 listen(self->listener, 16) ||
                 getsockname(self->listener, (struct sockaddr *)&here, &size);
    assert(!failed);
    snprintf(self->endpoint, sizeof self->endpoint, "tcp://127.0.0.1:%u", ntohs(here.sin_port));
    self->actor = zactor_new(run, self);
    assert(self->actor != NULL);
    return self;
}

void relay_destroy(relay_t **self_p)
{
    relay_t *self = *self_p;
    *self_p = NULL;
    zactor_destroy(&self->actor); /* returns after run(), but ThreadSanitizer does not see it */
    while (!atomic_load_explicit(&self->ended, memory_order_acquire))
        continue;
    for (int i = 0; i < self->count; i++) {
        close_side(&self->pairs[i], DIALLER);
        close_side(&self->pairs[i], TARGET);
    }
    close(self->listener);
    free(self);
}

const char *relay_endpoint(const relay_t *self)
{
    return self->endpoint;
}

static void command(relay_t *self, const char *name, size_t number)
{
    char value[24];
    snprintf(value, sizeof value, "%zu", number);
    zstr_sendx(self->actor, name, value, NULL);
    zsock_wait(self->actor);
}

void relay_fail(relay_t *self, relay_fault_t fault)
{
    command(self, "FAIL", fault);
}

void relay_trickle(relay_t *self, size_t bytes)
{
    command(self, "TRICKLE", bytes);
}

void relay_await_ended(relay_t *self)
{
    command(self, "AWAIT", 0);
}
