/*  runtime/meeting/foreign_ports.c - whether other programs have all ports at which a leader may listen. */
#include "runtime/meeting/foreign_ports.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/clock.h"

enum { PORTS_MAX = 16 };

/*  A peer of ZeroMQ greets as soon as it has the connection. */
static const uint64_t greeting_ns = 600000000;
static const unsigned char greeting = 0xff; /* the first byte */

/*  Begins to connect; -1: nothing listens there. */
static int dial(const char *address, uint32_t port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char host[64], service[16];
    snprintf(host, sizeof host, "%s", address[0] == '[' ? address + 1 : address);
    host[strcspn(host, "]")] = '\0';
    snprintf(service, sizeof service, "%u", (unsigned)port);
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return -1;
    int file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file >= 0 && connect(file, found->ai_addr, found->ai_addrlen) != 0 &&
        errno != EINPROGRESS) {
        close(file);
        file = -1;
    }
    freeaddrinfo(found);
    return file;
}

typedef enum { WAITS, FOREIGN, OTHERWISE } verdict_t;

/*  Of a connection that can be read, or has ended. */
static verdict_t judge(int file)
{
    unsigned char byte;
    int why = 0;
    socklen_t size = sizeof why;
    if (getsockopt(file, SOL_SOCKET, SO_ERROR, &why, &size) != 0 || why == ECONNREFUSED)
        return OTHERWISE;
    return recv(file, &byte, 1, MSG_DONTWAIT) == 1 && byte == greeting ? OTHERWISE : FOREIGN;
}

/*  At the end of the time: whether the connection was accepted. */
static verdict_t judge_silent(int file)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    return getpeername(file, (struct sockaddr *)&peer, &size) == 0 ? FOREIGN : OTHERWISE;
}

/*  Whether all are foreign; a file that was judged is -1. */
static bool watch(struct pollfd *files, uint32_t count)
{
    uint64_t until = tnd_clock_now() + greeting_ns;
    uint32_t waiting = count;
    while (waiting > 0) {
        uint64_t now = tnd_clock_now();
        int ready = poll(files, count, now < until ? (int)((until - now) / 1000000u) + 1 : 0);
        for (uint32_t i = 0; i < count; i++) {
            if (files[i].fd < 0 || (files[i].revents == 0 && now < until))
                continue;
            if ((files[i].revents != 0 ? judge(files[i].fd) : judge_silent(files[i].fd)) ==
                OTHERWISE)
                return false;
            files[i].fd = -1;
            waiting--;
        }
        if (ready < 0 && errno != EINTR)
            return false;
    }
    return true;
}

bool tnd_foreign_ports_are_all(const char *address, const uint32_t *ports, uint32_t count)
{
    struct pollfd files[PORTS_MAX];
    int opened[PORTS_MAX];
    uint32_t used = 0;
    while (used < count && used < PORTS_MAX && (opened[used] = dial(address, ports[used])) >= 0) {
        files[used] = (struct pollfd){.fd = opened[used], .events = POLLIN};
        used++;
    }
    bool all = used > 0 && used == count && watch(files, used);
    for (uint32_t i = 0; i < used; i++)
        close(opened[i]);
    return all;
}
