/*  tools/watch/listener.h - the address that `tundish watch` listens on, and its names.
 *
 *  A web page of another site can make a browser connect to this machine under a name of its own
 *  (DNS rebinding).  Its requests carry that name in their Host header, so only names of the address
 *  are accepted there.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_WATCH_LISTENER_H
#define TND_TOOLS_WATCH_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"

typedef struct {
    int socket;
    bool loopback; /* other machines cannot reach it */
    uint16_t port;
    char host[256]; /* as given, without brackets */
    char name[256]; /* of this machine */
} tnd_listener_t;

/*  Listens on `ADDRESS:PORT`, `[ADDRESS]:PORT` or `NAME:PORT`; port 0: a free one.
 *  Errors: the text is not such an address; it cannot be listened on. */
tnd_status_t tnd_listener_open(tnd_listener_t *self, const char *text,
                               tnd_error_t *error) TND_CHECKED;
void tnd_listener_close(tnd_listener_t *self);

/*  Whether a Host header is one of this listener, for a connection of it; NULL is not.  Any port is
 *  accepted, because `ssh -L` changes it. */
bool tnd_listener_is_host(const tnd_listener_t *self, int connection, const char *header);

#endif
