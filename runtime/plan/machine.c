/*  runtime/plan/machine.c - the addresses of this machine. */
#include "runtime/plan/machine.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/plan/placement.h"

static bool equal(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)b)->sin_addr,
                      sizeof(struct in_addr)) == 0;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

bool tnd_machine_has(const char *address)
{
    if (tnd_placement_is_loopback(address))
        return true;
    struct addrinfo *found = NULL;
    struct ifaddrs *own = NULL;
    bool has = false;
    if (getaddrinfo(address, NULL, NULL, &found) == 0 && getifaddrs(&own) == 0)
        for (const struct addrinfo *a = found; a != NULL; a = a->ai_next)
            for (const struct ifaddrs *i = own; i != NULL; i = i->ifa_next)
                has = has || (i->ifa_addr != NULL && equal(a->ai_addr, i->ifa_addr));
    if (found != NULL)
        freeaddrinfo(found);
    if (own != NULL)
        freeifaddrs(own);
    return has;
}
