/*  transport/zmq/unauthenticated.h - connections to a bound port without a valid HELLO.
 *
 *  Any process can connect.  A connection that does not send HELLO in time is cut.  If there are
 *  too many, the oldest is cut.  Identities that were refused are remembered for a while, so each
 *  is reported once, however many of its messages were read.
 *
 *  Threads: the hub's. */
#ifndef TND_TRANSPORT_ZMQ_UNAUTHENTICATED_H
#define TND_TRANSPORT_ZMQ_UNAUTHENTICATED_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TND_UNAUTHENTICATED_MAX = 64, /* at the same time, besides expected peers */
    /*  How long a connection may take to send HELLO.  With ZMTP's greeting it needs five one-way
     *  trips, of several seconds each on a slow path. */
    TND_UNAUTHENTICATED_MS = 30000
};

/*  A connection that was accepted, until it ends. */
typedef struct {
    int fd;
    bool known;
    uint64_t since_ns;
} tnd_visitor_t;

/*  Zeroed: no connections. */
typedef struct {
    uint32_t expected; /* peers that may connect at once, besides TND_UNAUTHENTICATED_MAX others */
    tnd_visitor_t *visitors; /* the oldest first */
    uint32_t count, room;
    uint64_t turned_away[TND_UNAUTHENTICATED_MAX]; /* a ring of hashes of identities */
    uint32_t turned_away_count;
} tnd_unauthenticated_t;

void tnd_unauthenticated_free(tnd_unauthenticated_t *self);
/*  Call these when a connection was accepted, and when it has ended. */
void tnd_unauthenticated_came(tnd_unauthenticated_t *self, int fd, uint64_t now);
void tnd_unauthenticated_left(tnd_unauthenticated_t *self, int fd);
/*  Records whether it sent a valid HELLO; its time to send one begins now. */
void tnd_unauthenticated_set_known(tnd_unauthenticated_t *self, int fd, bool known, uint64_t now);
/*  Cuts connections that are late or too many; returns how many were too many.  Lowers *next_ns to
 *  the time when the next one is late. */
uint32_t tnd_unauthenticated_dismiss(tnd_unauthenticated_t *self, uint64_t now, uint64_t *next_ns);
/*  Cuts one connection, or all without a HELLO if its descriptor is not known (`fd` < 0). */
void tnd_unauthenticated_cut(tnd_unauthenticated_t *self, int fd);

/*  Whether the identity with that hash was refused recently; records that it is. */
bool tnd_unauthenticated_was_refused(const tnd_unauthenticated_t *self, uint64_t hash);
void tnd_unauthenticated_refuse(tnd_unauthenticated_t *self, uint64_t hash);

#endif
