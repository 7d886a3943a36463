/*  transport/zmq/routes.h - finds the peers of a bound port by identity or by pipe.
 *
 *  Threads: the hub's. */
#ifndef TND_TRANSPORT_ZMQ_ROUTES_H
#define TND_TRANSPORT_ZMQ_ROUTES_H

#include "transport/inproc/mailbox.h"
#include "transport/zmq/connections.h"
#include "transport/zmq/monitor.h"
#include "transport/zmq/peer_memory.h"

struct tnd_binder;

typedef struct {
    struct tnd_binder *binder;
    tnd_connection_t *peer;
    tnd_pipe_t *pipe; /* held; NULL: it has an identity */
    uint64_t hash;    /* of the identity */
    int fd;           /* -1: none, or gone */
    int source;       /* the descriptor that its messages came by */
    tnd_monitor_seen_t seen;
    tnd_peer_memory_t memory;
    bool gone; /* the connection has ended, its messages are not all read */
    uint32_t size;
    uint8_t id[256];
} tnd_route_t;

/*  Zeroed: no routes. */
typedef struct {
    tnd_route_t **items;
    uint32_t count, room;
} tnd_routes_t;

/*  A route that is not in the list yet. */
tnd_route_t *tnd_route_new(struct tnd_binder *binder, uint64_t hash, const void *id, size_t size,
                           int fd);
void tnd_routes_keep(tnd_routes_t *self, tnd_route_t *route);
/*  Removes it from the list, if it is there, and frees it. */
void tnd_routes_drop(tnd_routes_t *self, tnd_route_t *route);
/*  The route whose messages have this identity and come by this descriptor. */
tnd_route_t *tnd_routes_find(const tnd_routes_t *self, uint64_t hash, const void *id, size_t size,
                             int source);
/*  The connection with this descriptor has ended; returns whether it had a route. */
bool tnd_routes_left(tnd_routes_t *self, int fd);

#endif
