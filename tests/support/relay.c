/*  tests/support/relay.c - a tcp relay that fails on request.  */
#include "tests/support/relay.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS_MAX = 64, DIALLER = 0, TARGET = 1, PIECE_MAX = 65536 };

typedef struct {
    int fd[2];    /* -1: closed */
    bool swallow; /* what is read is not passed on */
} pair_t;

struct relay {
    pthread_t thread;
    pthread_mutex_t lock; /* of the pairs */
    pthread_cond_t passed;
    int listener, wake[2];
    struct sockaddr_in target;
    char endpoint[64];
    pair_t pairs[PAIRS_MAX];
    int count;
    size_t piece; /* what is passed on at once */
    bool trickle; /* and then rests */
    bool stop;
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

static void *run(void *argument)
{
    relay_t *self = argument;
    for (;;) {
        struct pollfd items[2 + 2 * PAIRS_MAX];
        items[0] = (struct pollfd){.fd = self->wake[0], .events = POLLIN};
        items[1] = (struct pollfd){.fd = self->listener, .events = POLLIN};
        pthread_mutex_lock(&self->lock);
        int count = self->count;
        for (int i = 0; i < 2 * count; i++)
            items[2 + i] = (struct pollfd){.fd = self->pairs[i / 2].fd[i % 2], .events = POLLIN};
        pthread_mutex_unlock(&self->lock);
        poll(items, (nfds_t)(2 + 2 * count), -1);

        pthread_mutex_lock(&self->lock);
        bool stop = self->stop;
        char byte;
        if (items[0].revents != 0)
            (void)!read(self->wake[0], &byte, 1);
        for (int i = 0; !stop && i < 2 * count; i++)
            if (items[2 + i].revents != 0 && self->pairs[i / 2].fd[i % 2] == items[2 + i].fd)
                pump(&self->pairs[i / 2], i % 2, self->piece);
        if (!stop && items[1].revents != 0)
            take_connection(self);
        struct timespec rest = {.tv_nsec = self->trickle ? 10 * 1000 * 1000 : 0};
        pthread_cond_broadcast(&self->passed);
        pthread_mutex_unlock(&self->lock);
        if (stop)
            return NULL;
        nanosleep(&rest, NULL);
    }
}

relay_t *relay_new(const char *target_endpoint)
{
    relay_t *self = calloc(1, sizeof *self);
    unsigned port = 0;
    int fields = sscanf(target_endpoint, "tcp://127.0.0.1:%u", &port);
    assert(self != NULL && fields == 1);
    self->piece = PIECE_MAX;
    self->target = (struct sockaddr_in){.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in here = self->target;
    here.sin_port = 0;
    socklen_t size = sizeof here;
    self->listener = socket(AF_INET, SOCK_STREAM, 0);
    int failed = bind(self->listener, (struct sockaddr *)&here, size) ||
                 listen(self->listener, 16) ||
                 getsockname(self->listener, (struct sockaddr *)&here, &size) || pipe(self->wake);
    assert(!failed);
    snprintf(self->endpoint, sizeof self->endpoint, "tcp://127.0.0.1:%u", ntohs(here.sin_port));
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->passed, NULL);
    failed = pthread_create(&self->thread, NULL, run, self);
    assert(!failed);
    return self;
}

static void nudge(relay_t *self)
{
    (void)!write(self->wake[1], "", 1);
}

void relay_destroy(relay_t **self_p)
{
    relay_t *self = *self_p;
    *self_p = NULL;
    pthread_mutex_lock(&self->lock);
    self->stop = true;
    pthread_mutex_unlock(&self->lock);
    nudge(self);
    pthread_join(self->thread, NULL);
    for (int i = 0; i < self->count; i++) {
        close_side(&self->pairs[i], DIALLER);
        close_side(&self->pairs[i], TARGET);
    }
    close(self->listener);
    close(self->wake[0]);
    close(self->wake[1]);
    pthread_cond_destroy(&self->passed);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

const char *relay_endpoint(const relay_t *self)
{
    return self->endpoint;
}

void relay_fail(relay_t *self, relay_fault_t fault)
{
    pthread_mutex_lock(&self->lock);
    for (int i = 0; i < self->count; i++) {
        pair_t *pair = &self->pairs[i];
        pair->swallow = true;
        if (fault == RELAY_CUT_DIALLER || fault == RELAY_CLOSE)
            close_side(pair, DIALLER);
        if (fault == RELAY_CUT_TARGET || fault == RELAY_CLOSE)
            close_side(pair, TARGET);
    }
    pthread_mutex_unlock(&self->lock);
    nudge(self);
}

void relay_trickle(relay_t *self, size_t bytes)
{
    pthread_mutex_lock(&self->lock);
    self->piece = bytes < PIECE_MAX ? bytes : PIECE_MAX;
    self->trickle = true;
    pthread_mutex_unlock(&self->lock);
    nudge(self);
}

static bool has_ended(const relay_t *self, int count)
{
    for (int i = 0; i < count; i++)
        if (self->pairs[i].fd[DIALLER] >= 0 || self->pairs[i].fd[TARGET] >= 0)
            return false;
    return true;
}

void relay_await_ended(relay_t *self)
{
    pthread_mutex_lock(&self->lock);
    int count = self->count;
    while (!has_ended(self, count))
        pthread_cond_wait(&self->passed, &self->lock);
    pthread_mutex_unlock(&self->lock);
}
