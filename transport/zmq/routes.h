/*  transport/zmq/routes.h - where the peers of a bound port are found: by the identity of a
 * connection, or by a pipe.
 *
 *  Threads: the hub's.
 */
#ifndef TND_TRANSPORT_ZMQ_ROUTES_H
#define TND_TRANSPORT_ZMQ_ROUTES_H

#include "transport/inproc/mailbox.h"
#include "transport/zmq/connections.h"
#include "transport/zmq/monitor.h"

struct tnd_binder;

typedef struct {
    struct tnd_binder *binder;
    tnd_connection_t *peer;
    tnd_pipe_t *pipe; /* held; NULL: it has an identity */
    uint64_t hash;    /* of the identity */
    int fd;           /* -1: none, or gone */
    tnd_monitor_seen_t seen;
    bool gone; /* the connection has ended, what it brought is not read yet */
    uint32_t size;
    uint8_t id[256];
} tnd_route_t;

/*  Zeroed: nobody is known. */
typedef struct {
    tnd_route_t **items;
    uint32_t count, room;
} tnd_routes_t;

/*  One that is not kept yet. */
tnd_route_t *tnd_route_new(struct tnd_binder *binder, uint64_t hash, const void *id, size_t size,
                           int fd);
void tnd_routes_keep(tnd_routes_t *self, tnd_route_t *route);
/*  Takes it out, if it was kept, and frees it. */
void tnd_routes_drop(tnd_routes_t *self, tnd_route_t *route);
tnd_route_t *tnd_routes_find(const tnd_routes_t *self, uint64_t hash, const void *id, size_t size);
/*  The connection with this descriptor has ended; true: it was somebody's. */
bool tnd_routes_left(tnd_routes_t *self, int fd);

#endif
