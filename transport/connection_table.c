/*  transport/connection_table.c - the users of tcp sockets, as in /proc/net/tcp and tcp6. */
#include "transport/connection_table.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ESTABLISHED = 1, LISTENS = 10 };

/*  An end of a connection: an IPv4 address is mapped to IPv6. */
typedef struct {
    struct in6_addr address;
    unsigned port;
} end_t;

/*  A line of the table. */
typedef struct {
    end_t own, other;
    unsigned state, user;
    bool is_used; /* by a process */
} entry_t;

static struct in6_addr mapped(uint32_t ipv4)
{
    struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(&address.s6_addr[12], &ipv4, sizeof ipv4);
    return address;
}

static end_t end_of(const tnd_socket_address_t *from)
{
    if (from->any.sa_family == AF_INET)
        return (end_t){mapped(from->v4.sin_addr.s_addr), ntohs(from->v4.sin_port)};
    return (end_t){from->v6.sin6_addr, ntohs(from->v6.sin6_port)};
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

static bool parse_entry(const char *line, entry_t *entry)
{
    char address[2][40];
    unsigned port[2];
    unsigned long inode;
    if (sscanf(line, " %*u: %39[0-9A-Fa-f]:%x %39[0-9A-Fa-f]:%x %x %*s %*s %*s %u %*u %lu",
               address[0], &port[0], address[1], &port[1], &entry->state, &entry->user,
               &inode) != 7)
        return false;
    entry->is_used = inode != 0;
    return parse_end(address[0], port[0], &entry->own) &&
           parse_end(address[1], port[1], &entry->other);
}

/*  Finds the entry of that state with the ends that are given. */
static bool search(const char *table, unsigned state, const end_t *own, const end_t *other,
                   uint32_t *user_p)
{
    char line[512];
    bool found = false;
    FILE *file = fopen(table, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        entry_t entry;
        found = parse_entry(line, &entry) && entry.is_used && entry.state == state &&
                (other != NULL ? is_same(&entry.own, own) && is_same(&entry.other, other)
                               : entry.own.port == own->port);
        if (found)
            *user_p = entry.user;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

bool tnd_connection_table_find(const tnd_socket_address_t *own, const tnd_socket_address_t *other,
                               uint32_t *user_p)
{
    end_t ends[2] = {end_of(own), end_of(other)};
    return search("/proc/net/tcp", ESTABLISHED, &ends[0], &ends[1], user_p) ||
           search("/proc/net/tcp6", ESTABLISHED, &ends[0], &ends[1], user_p);
}

bool tnd_connection_table_listener(uint32_t port, uint32_t *user_p)
{
    end_t own = {.port = port};
    return search("/proc/net/tcp", LISTENS, &own, NULL, user_p) ||
           search("/proc/net/tcp6", LISTENS, &own, NULL, user_p);
}
