/*  tools/watch/listener.c - the address that `tundish watch` listens on, and its names. */
#include "tools/watch/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64 };

/*  Copies the host of `HOST:PORT` or `[HOST]:PORT`, without brackets.  Returns what follows it: a
 *  colon or the end; NULL if it is too long or has no closing bracket. */
static const char *split(const char *text, char *host, size_t room)
{
    bool bracket = *text == '[';
    text += bracket;
    size_t length = strcspn(text, bracket ? "]" : ":");
    if (length >= room || (bracket && text[length] != ']'))
        return NULL;
    memcpy(host, text, length);
    host[length] = '\0';
    return text + length + bracket;
}

static tnd_status_t bind_to(tnd_listener_t *self, const struct addrinfo *to, const char *text,
                            tnd_error_t *error)
{
    int on = 1;
    self->socket = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (self->socket < 0)
        return tnd_fail(error, "cannot listen on %s: %s", text, strerror(errno));
    (void)setsockopt(self->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (to->ai_family == AF_INET6)
        (void)setsockopt(self->socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } is;
    socklen_t size = sizeof is;
    if (bind(self->socket, to->ai_addr, to->ai_addrlen) == 0 &&
        listen(self->socket, BACKLOG) == 0 && getsockname(self->socket, &is.any, &size) == 0) {
        self->port = ntohs(is.any.sa_family == AF_INET ? is.v4.sin_port : is.v6.sin6_port);
        self->loopback = is.any.sa_family == AF_INET ? ntohl(is.v4.sin_addr.s_addr) >> 24 == 127
                                                     : IN6_IS_ADDR_LOOPBACK(&is.v6.sin6_addr) != 0;
        return TND_OK;
    }
    int reason = errno;
    tnd_listener_close(self);
    return tnd_fail(error, "cannot listen on %s: %s%s", text, strerror(reason),
                    reason == EADDRINUSE ? "; choose another port" : "");
}

tnd_status_t tnd_listener_open(tnd_listener_t *self, const char *text, tnd_error_t *error)
{
    *self = (tnd_listener_t){.socket = -1};
    const char *port = split(text, self->host, sizeof self->host);
    if (port == NULL || *port != ':' || self->host[0] == '\0' || port[1] == '\0' ||
        strspn(port + 1, "0123456789") != strlen(port + 1) || strlen(port + 1) > 5 ||
        atoi(port + 1) > UINT16_MAX)
        return tnd_fail(error, "'%s' is not ADDRESS:PORT, such as 127.0.0.1:9464 or [::1]:9464",
                        text);
    if (gethostname(self->name, sizeof self->name - 1) != 0)
        self->name[0] = '\0';
    struct addrinfo *found = NULL,
                    wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int why = getaddrinfo(self->host, port + 1, &wanted, &found);
    if (why != 0)
        return tnd_fail(error, "cannot listen on %s: %s", text, gai_strerror(why));
    tnd_status_t status = bind_to(self, found, text, error);
    freeaddrinfo(found);
    return status;
}

void tnd_listener_close(tnd_listener_t *self)
{
    if (self->socket >= 0)
        close(self->socket);
    self->socket = -1;
}

/*  Writes the address of this end of a connection; "" if it is not known. */
static void write_own(int connection, char *text, size_t room)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    text[0] = '\0';
    if (getsockname(connection, (struct sockaddr *)&own, &size) == 0)
        (void)getnameinfo((struct sockaddr *)&own, size, text, (socklen_t)room, NULL, 0,
                          NI_NUMERICHOST);
}

bool tnd_listener_is_host(const tnd_listener_t *self, int connection, const char *header)
{
    char host[256], own[256];
    const char *rest = header != NULL ? split(header, host, sizeof host) : NULL;
    if (rest == NULL || host[0] == '\0' || (*rest != '\0' && *rest != ':') ||
        (*rest == ':' && strspn(rest + 1, "0123456789") != strlen(rest + 1)))
        return false;
    write_own(connection, own, sizeof own);
    return strcasecmp(host, "localhost") == 0 || strcasecmp(host, self->host) == 0 ||
           strcasecmp(host, own) == 0 || (!self->loopback && strcasecmp(host, self->name) == 0);
}
