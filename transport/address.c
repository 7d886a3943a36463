/*  transport/address.c - parses endpoints: inproc://NAME, ipc://PATH, tcp://HOST:PORT. */
#include "transport/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <zmq.h>

#include "runtime/base/user.h"
#include "transport/connection_table.h"

static const char inproc[] = "inproc://", ipc[] = "ipc://", tcp[] = "tcp://";

static bool begins(const char *address, const char *with)
{
    return strncmp(address, with, strlen(with)) == 0;
}

tnd_status_t tnd_address_check(const char *address, const char *name, tnd_error_t *error)
{
    if (strlen(address) >= TND_ADDRESS_SIZE)
        return tnd_fail(error, "%s: the endpoint %.60s... is too long", name, address);
    if (!begins(address, inproc) && !begins(address, ipc) && !begins(address, tcp))
        return tnd_fail(error,
                        "%s: %s is not an endpoint: it must begin with inproc://, ipc:// or tcp://",
                        name, address);
    return TND_OK;
}

bool tnd_address_is_inproc(const char *address)
{
    return begins(address, inproc);
}

/*  The parts of tcp://HOST:PORT, the host without brackets; false: it is not such an endpoint. */
static bool split(const char *address, char host[TND_ADDRESS_SIZE], const char **port_p)
{
    const char *at = address + strlen(tcp), *colon = strrchr(address, ':');
    if (!begins(address, tcp) || colon <= at || strlen(address) >= TND_ADDRESS_SIZE)
        return false;
    size_t length = (size_t)(colon - at);
    if (at[0] == '[' && at[length - 1] == ']') {
        at++;
        length -= 2;
    }
    memcpy(host, at, length);
    host[length] = '\0';
    *port_p = colon + 1;
    return true;
}

/*  Whether a socket of this machine can have the address. */
static bool is_own(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool own = fd >= 0 && bind(fd, address->ai_addr, address->ai_addrlen) == 0;
    if (fd >= 0)
        close(fd);
    return own;
}

/*  The first address of a family; that of this machine, where it has to be one. */
static const struct addrinfo *choose(const struct addrinfo *list, int family, bool own)
{
    while (list != NULL && (list->ai_family != family || (own && !is_own(list))))
        list = list->ai_next;
    return list;
}

static void print_numbers(const struct addrinfo *list, char *text, size_t room)
{
    size_t used = 0;
    char number[INET6_ADDRSTRLEN + 16];
    text[0] = '\0';
    for (; list != NULL && used < room; list = list->ai_next)
        if (getnameinfo(list->ai_addr, list->ai_addrlen, number, sizeof number, NULL, 0,
                        NI_NUMERICHOST) == 0)
            used +=
                (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", number);
}

static tnd_status_t look_up(const char *host, bool listens, const char *name,
                            char number[TND_ADDRESS_SIZE], tnd_error_t *error)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int reason = getaddrinfo(host, NULL, &hints, &list);
    if (reason != 0)
        return tnd_fail(error, "%s: the name %s cannot be resolved: %s", name, host,
                        reason == EAI_SYSTEM ? strerror(errno) : gai_strerror(reason));
    const struct addrinfo *chosen = choose(list, AF_INET, listens);
    if (chosen == NULL)
        chosen = choose(list, AF_INET6, listens);
    char numbers[160];
    print_numbers(list, numbers, sizeof numbers);
    if (chosen != NULL)
        reason = getnameinfo(chosen->ai_addr, chosen->ai_addrlen, number, TND_ADDRESS_SIZE, NULL, 0,
                             NI_NUMERICHOST);
    freeaddrinfo(list);
    if (chosen != NULL && reason == 0)
        return TND_OK;
    return tnd_fail(error,
                    "%s: %s was resolved to %s, which is not an address of this machine: correct "
                    "`address:` of this host in the topology, or add `listen:`",
                    name, host, numbers);
}

tnd_status_t tnd_address_resolve(const char *address, bool listens, const char *name,
                                 char resolved[TND_ADDRESS_SIZE], tnd_error_t *error)
{
    char host[TND_ADDRESS_SIZE], number[TND_ADDRESS_SIZE];
    const char *port;
    struct in_addr four;
    snprintf(resolved, TND_ADDRESS_SIZE, "%s", address);
    if (!split(address, host, &port) || strcmp(host, "*") == 0 ||
        inet_pton(AF_INET, host, &four) == 1)
        return TND_OK;
    bool six = strchr(host, ':') != NULL;
    if (!six)
        TND_TRY(look_up(host, listens, name, number, error));
    const char *found = six ? host : number;
    six = strchr(found, ':') != NULL;
    int size = snprintf(resolved, TND_ADDRESS_SIZE, "%s%s%s%s:%s", tcp, six ? "[" : "", found,
                        six ? "]" : "", port);
    return size < TND_ADDRESS_SIZE
               ? TND_OK
               : tnd_fail(error, "%s: the endpoint %.60s... is too long", name, address);
}

bool tnd_address_is_ipv6(const char *address)
{
    return begins(address, "tcp://[");
}

bool tnd_address_is_served(const char *address)
{
    if (!begins(address, ipc))
        return false;
    const char *path = address + strlen(ipc);
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    size_t size = strlen(path);
    if (size >= sizeof place.sun_path)
        return false;
    memcpy(place.sun_path, path, size);
    if (path[0] == '@')
        place.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    bool is_served = connect(fd, (struct sockaddr *)&place, length) == 0 || errno == EAGAIN;
    close(fd);
    return is_served;
}

/*  Names the user whose program listens at a tcp port. */
static tnd_status_t in_use(const char *address, const char *name, tnd_error_t *error)
{
    const char *port = strrchr(address, ':');
    char holder[TND_USER_ROOM];
    uint32_t user;
    if (!begins(address, tcp) ||
        !tnd_connection_table_listener((uint32_t)strtoul(port + 1, NULL, 10), &user))
        return tnd_fail(error,
                        "%s: %s is in use: end the program that listens there, or choose another "
                        "port",
                        name, address);
    tnd_user_name(user, holder);
    return tnd_fail(error, "%s: %s is in use by a program of user %s: %schoose another port", name,
                    address, holder, user == geteuid() ? "end it, or " : "");
}

tnd_status_t tnd_address_unbound(const char *address, const char *name, int number,
                                 tnd_error_t *error)
{
    switch (number) {
    case EADDRINUSE:
        return in_use(address, name, error);
    case EADDRNOTAVAIL:
    case ENODEV:
        return tnd_fail(error,
                        "%s: %s is not an address of this machine: correct the address of this "
                        "host in the topology",
                        name, address);
    case EACCES:
        return tnd_fail(error, "%s: no permission to listen at %s: choose a port above 1023", name,
                        address);
    case ENAMETOOLONG:
        return tnd_fail(error, "%s: %s is too long for a local socket: use a shorter path", name,
                        address);
    default:
        return tnd_fail(error, "%s: cannot listen at %s: %s", name, address, zmq_strerror(number));
    }
}
