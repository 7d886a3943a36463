/*  runtime/meeting/liveness.c - whether processes that have met are alive until the run has connected them. */
#include "runtime/meeting/liveness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/meeting/meeting_file.h"
#include "runtime/meeting/roster_text.h"

/*  Connections that have not said their rank yet, at most. */
enum { UNKNOWN_MAX = 64, CONNECT_MS = 1000 };

#define NO_RANK UINT32_MAX

typedef struct {
    int file;
    uint32_t rank; /* NO_RANK: it has not said it yet */
} connection_t;

struct tnd_liveness {
    int file;      /* the listener of rank 0, or the connection of another one; -1: closed */
    uint32_t port; /* of rank 0 */
    uint64_t number;
    int idle_s, every_s; /* of probes */
    uint32_t size;
    uint32_t *hosts; /* by rank; NO_RANK: it is connected, or not of the run */
    bool *doubts;    /* by rank */
    connection_t *connections;
    uint32_t count, room;
};

typedef union {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} address_t;

/*  Of "*", "10.0.0.1" or "[::1]"; the size, 0: it is none of these. */
static socklen_t parse(const char *text, uint32_t port, address_t *address)
{
    char inside[TND_ROSTER_TEXT];
    memset(address, 0, sizeof *address);
    if (text[0] != '[') {
        address->four.sin_family = AF_INET;
        address->four.sin_port = htons((uint16_t)port);
        return strcmp(text, "*") == 0 || inet_pton(AF_INET, text, &address->four.sin_addr) == 1
                   ? sizeof address->four
                   : 0;
    }
    snprintf(inside, sizeof inside, "%s", text + 1);
    inside[strcspn(inside, "]")] = '\0';
    address->six.sin6_family = AF_INET6;
    address->six.sin6_port = htons((uint16_t)port);
    return inet_pton(AF_INET6, inside, &address->six.sin6_addr) == 1 ? sizeof address->six : 0;
}

static uint32_t port_of(int file)
{
    address_t address;
    socklen_t size = sizeof address;
    if (getsockname(file, &address.any, &size) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}

/*  Returns -1 if the port is not free. */
static int listen_at(const char *text, uint32_t port)
{
    const int on = 1;
    address_t address;
    socklen_t size = parse(text, port, &address);
    int file = size > 0
                   ? socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
                   : -1;
    if (file < 0)
        return -1;
    (void)setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(file, &address.any, size) == 0 && listen(file, TND_ROSTER_MAX) == 0)
        return file;
    close(file);
    return -1;
}

/* --- rank 0 ----------------------------------------------------------------------------------- */

tnd_liveness_t *tnd_liveness_listen(const char *address, uint32_t first, uint32_t last,
                                    uint32_t size, uint64_t dead_after_ns)
{
    int file = -1, seconds = (int)(dead_after_ns / 1000000000u);
    for (uint32_t port = first; port <= last && file < 0; port++)
        file = listen_at(address, port);
    if (file < 0)
        return NULL;
    tnd_liveness_t *self = tnd_allocate(1, sizeof *self);
    *self = (tnd_liveness_t){.file = file,
                             .port = port_of(file),
                             .number = tnd_meeting_file_life(),
                             .idle_s = seconds / 2 + 1,
                             .every_s = seconds / 6 + 1,
                             .size = size,
                             .hosts = tnd_allocate(size, sizeof *self->hosts),
                             .doubts = tnd_allocate_zeroed(size, sizeof *self->doubts),
                             .room = size + UNKNOWN_MAX};
    self->connections = tnd_allocate(self->room, sizeof *self->connections);
    for (uint32_t rank = 0; rank < size; rank++)
        self->hosts[rank] = NO_RANK;
    return self;
}

void tnd_liveness_invite(const tnd_liveness_t *self, char *text)
{
    text[0] = '\0';
    if (self != NULL)
        tnd_roster_alive_write(text, self->port, self->number);
}

void tnd_liveness_number(tnd_liveness_t *self, const tnd_roster_list_t *list)
{
    for (uint32_t i = 1; i < list->count; i++)
        self->hosts[list->processes[i].rank] = i;
}

static void drop(tnd_liveness_t *self, uint32_t index)
{
    connection_t *at = self->connections + index;
    close(at->file);
    memmove(at, at + 1, (--self->count - index) * sizeof *at);
}

static void probe(const tnd_liveness_t *self, int file)
{
    const int on = 1, times = 3;
    (void)setsockopt(file, IPPROTO_TCP, TCP_KEEPIDLE, &self->idle_s, sizeof self->idle_s);
    (void)setsockopt(file, IPPROTO_TCP, TCP_KEEPINTVL, &self->every_s, sizeof self->every_s);
    (void)setsockopt(file, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    (void)setsockopt(file, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/*  In the order in which they were opened. */
static void accept_all(tnd_liveness_t *self)
{
    int file;
    while (self->file >= 0 && self->count < self->room &&
           (file = accept4(self->file, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        probe(self, file);
        self->connections[self->count++] = (connection_t){file, NO_RANK};
    }
}

/*  False: the connection has ended. */
static bool look(int file, char *bytes, size_t size, int flags, size_t *count_p)
{
    ssize_t count = recv(file, bytes, size, flags | MSG_DONTWAIT);
    *count_p = count > 0 ? (size_t)count : 0;
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

/*  Reads the rank once it is there as a whole.  False: this is not a process that the run waits for. */
static bool introduce(const tnd_liveness_t *self, connection_t *connection)
{
    char word[TND_ROSTER_ALIVE_SIZE + 1];
    uint64_t number;
    uint32_t rank;
    size_t count;
    if (!look(connection->file, word, TND_ROSTER_ALIVE_SIZE, MSG_PEEK, &count))
        return false;
    if (count < TND_ROSTER_ALIVE_SIZE)
        return true;
    (void)look(connection->file, word, TND_ROSTER_ALIVE_SIZE, 0, &count);
    word[count] = '\0';
    if (!tnd_roster_alive_read(word, &rank, &number) || number != self->number ||
        rank >= self->size || self->hosts[rank] == NO_RANK)
        return false;
    connection->rank = rank;
    return true;
}

/*  Whether a later process has the same rank. */
static bool is_replaced(const tnd_liveness_t *self, uint32_t index)
{
    for (uint32_t c = index + 1; c < self->count; c++)
        if (self->connections[c].rank == self->connections[index].rank)
            return true;
    return false;
}

static void introduce_all(tnd_liveness_t *self)
{
    for (uint32_t c = self->count; c-- > 0;)
        if (self->connections[c].rank == NO_RANK && !introduce(self, &self->connections[c]))
            drop(self, c);
    for (uint32_t c = self->count; c-- > 0;)
        if (self->connections[c].rank != NO_RANK && is_replaced(self, c))
            drop(self, c);
}

void tnd_liveness_doubt(tnd_liveness_t *self, uint32_t rank)
{
    self->doubts[rank] = true;
}

/*  The next host of a doubtful process that has no connection, or NO_RANK. */
static uint32_t settle_doubt(tnd_liveness_t *self)
{
    uint32_t host = NO_RANK;
    for (uint32_t c = 0; c < self->count; c++)
        if (self->connections[c].rank != NO_RANK)
            self->doubts[self->connections[c].rank] = false;
    for (uint32_t rank = 1; rank < self->size && host == NO_RANK; rank++) {
        host = self->doubts[rank] ? self->hosts[rank] : NO_RANK;
        self->doubts[rank] = false;
    }
    return host;
}

bool tnd_liveness_ended(tnd_liveness_t *self, uint32_t *host_p)
{
    char byte;
    size_t count;
    accept_all(self);
    introduce_all(self);
    for (uint32_t c = 0; c < self->count; c++) {
        if (self->connections[c].rank == NO_RANK ||
            look(self->connections[c].file, &byte, 1, 0, &count))
            continue;
        *host_p = self->hosts[self->connections[c].rank];
        drop(self, c);
        return true;
    }
    *host_p = settle_doubt(self);
    return *host_p != NO_RANK;
}

void tnd_liveness_arrived(tnd_liveness_t *self, uint32_t host)
{
    bool waits = false;
    for (uint32_t rank = 0; rank < self->size; rank++) {
        if (self->hosts[rank] == host)
            self->hosts[rank] = NO_RANK;
        waits = waits || self->hosts[rank] != NO_RANK;
    }
    for (uint32_t c = self->count; c-- > 0;)
        if (self->connections[c].rank != NO_RANK &&
            self->hosts[self->connections[c].rank] == NO_RANK)
            drop(self, c);
    if (!waits)
        tnd_liveness_close(self);
}

/* --- the others ------------------------------------------------------------------------------- */

static bool connect_within(int file, const address_t *address, socklen_t size)
{
    struct pollfd ready = {.fd = file, .events = POLLOUT};
    int failure = 0;
    socklen_t room = sizeof failure;
    if (connect(file, &address->any, size) == 0)
        return true;
    return errno == EINPROGRESS && poll(&ready, 1, CONNECT_MS) == 1 &&
           getsockopt(file, SOL_SOCKET, SO_ERROR, &failure, &room) == 0 && failure == 0;
}

tnd_liveness_t *tnd_liveness_connect(const char *leader, uint32_t rank, const char *invitation)
{
    char word[TND_ROSTER_ALIVE_SIZE + 1];
    uint64_t number;
    uint32_t port;
    address_t address;
    if (!tnd_roster_alive_read(invitation, &port, &number) || port > 65535)
        return NULL;
    socklen_t size = parse(leader, port, &address);
    int file = size > 0
                   ? socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
                   : -1;
    if (file < 0)
        return NULL;
    tnd_roster_alive_write(word, rank, number);
    if (!connect_within(file, &address, size) ||
        send(file, word, TND_ROSTER_ALIVE_SIZE, MSG_NOSIGNAL) != TND_ROSTER_ALIVE_SIZE) {
        close(file);
        return NULL;
    }
    tnd_liveness_t *self = tnd_allocate(1, sizeof *self);
    *self = (tnd_liveness_t){.file = file};
    return self;
}

/* --- both ------------------------------------------------------------------------------------- */

void tnd_liveness_close(tnd_liveness_t *self)
{
    if (self == NULL)
        return;
    while (self->count > 0)
        drop(self, self->count - 1);
    if (self->file >= 0)
        close(self->file);
    self->file = -1;
}

void tnd_liveness_destroy(tnd_liveness_t **self_p)
{
    tnd_liveness_t *self = *self_p;
    *self_p = NULL;
    tnd_liveness_close(self);
    if (self != NULL) {
        free(self->hosts);
        free(self->doubts);
        free(self->connections);
    }
    free(self);
}
