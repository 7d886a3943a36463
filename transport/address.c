/*  transport/address.c - parses endpoints: inproc://NAME, ipc://PATH, tcp://HOST:PORT. */
#include "transport/address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <zmq.h>

#include "transport/connection_table.h"
#include "runtime/base/user.h"

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
