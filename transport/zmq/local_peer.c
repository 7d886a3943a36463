/*  transport/zmq/local_peer.c - which user of this machine is at the other end of a connection. */
#include "transport/zmq/local_peer.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ESTABLISHED = 1 };

/*  An end of a connection: an IPv4 address is mapped to IPv6. */
typedef struct {
    struct in6_addr address;
    unsigned port;
} end_t;

static struct in6_addr mapped(uint32_t ipv4)
{
    struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(&address.s6_addr[12], &ipv4, sizeof ipv4);
    return address;
}

static bool read_end(const struct sockaddr *from, end_t *end)
{
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)from;
        *end = (end_t){mapped(in->sin_addr.s_addr), ntohs(in->sin_port)};
    } else if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)from;
        *end = (end_t){in->sin6_addr, ntohs(in->sin6_port)};
    } else {
        return false;
    }
    return true;
}

static bool is_same(const end_t *a, const end_t *b)
{
    return a->port == b->port && memcmp(&a->address, &b->address, sizeof a->address) == 0;
}

/*  An address of the table: words of this machine's byte order, as they are in memory. */
static bool parse_end(const char *text, unsigned port, end_t *end)
{
    uint32_t words[4];
    size_t count = strlen(text) / 8;
    if (strlen(text) % 8 != 0 || (count != 1 && count != 4))
        return false;
    for (size_t w = 0; w < count; w++)
        if (sscanf(text + 8 * w, "%8" SCNx32, &words[w]) != 1)
            return false;
    end->port = port;
    if (count == 1)
        end->address = mapped(words[0]);
    else
        memcpy(&end->address, words, sizeof words);
    return true;
}

/*  Finds the user of the socket at `near` that is connected to `far`. */
static bool find_user(const char *table, const end_t *near, const end_t *far, uid_t *user)
{
    char line[512], address[2][40];
    unsigned port[2], state, number;
    bool found = false;
    FILE *file = fopen(table, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        end_t ends[2];
        found = sscanf(line, " %*u: %39[0-9A-Fa-f]:%x %39[0-9A-Fa-f]:%x %x %*s %*s %*s %u",
                       address[0], &port[0], address[1], &port[1], &state, &number) == 6 &&
                state == ESTABLISHED && parse_end(address[0], port[0], &ends[0]) &&
                parse_end(address[1], port[1], &ends[1]) && is_same(&ends[0], near) &&
                is_same(&ends[1], far);
    }
    if (file != NULL)
        fclose(file);
    if (found)
        *user = number;
    return found;
}

static bool is_of_this_machine(const struct in6_addr *address)
{
    struct ifaddrs *own = NULL;
    end_t end;
    bool loopback = IN6_IS_ADDR_LOOPBACK(address) ||
                    (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
    bool has = loopback || getifaddrs(&own) != 0;
    for (const struct ifaddrs *i = own; i != NULL && !has; i = i->ifa_next)
        has = i->ifa_addr != NULL && read_end(i->ifa_addr, &end) &&
              memcmp(&end.address, address, sizeof *address) == 0;
    if (own != NULL)
        freeifaddrs(own);
    return has;
}

static tnd_status_t refuse(tnd_error_t *error, const char *why)
{
    (void)tnd_fail(error, "%s", why);
    return TND_REFUSED;
}

static tnd_status_t judge(uid_t user, tnd_error_t *error)
{
    return user == geteuid() || user == 0
               ? TND_OK
               : refuse(error, "the run belongs to another user of this machine");
}

tnd_status_t tnd_local_peer_check(int fd, tnd_error_t *error)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    struct sockaddr_storage there = {.ss_family = AF_UNSPEC}, here = {.ss_family = AF_UNSPEC};
    socklen_t there_size = sizeof there, here_size = sizeof here;
    end_t far, near;
    uid_t user = 0;
    if (fd < 0 || getpeername(fd, (struct sockaddr *)&there, &there_size) != 0 ||
        getsockname(fd, (struct sockaddr *)&here, &here_size) != 0)
        return refuse(error, "its connection is not known");
    if (here.ss_family == AF_UNIX)
        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0
                   ? judge(credentials.uid, error)
                   : refuse(error, "the user of its connection is not known");
    if (!read_end((struct sockaddr *)&there, &far) || !read_end((struct sockaddr *)&here, &near))
        return refuse(error, "its connection is not known");
    if (find_user("/proc/net/tcp", &far, &near, &user) ||
        find_user("/proc/net/tcp6", &far, &near, &user))
        return judge(user, error);
    return is_of_this_machine(&far.address)
               ? refuse(error, "the user of the connection cannot be found in /proc/net/tcp")
               : TND_OK;
}
