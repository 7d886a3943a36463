/*  transport/zmq/unauthenticated.h - connections to a bound port, and who of them has not said who
 * he is.
 *
 *  Anybody can connect.  Nobody may stay without saying HELLO, nor may many try at the same time:
 *  who is late, and the oldest of too many, are cut off.  Whoever was turned away for what he said
 *  is remembered for a while, so that it is said once, however much of it was read already.
 *
 *  Threads: the hub's.
 */
#ifndef TND_TRANSPORT_ZMQ_UNAUTHENTICATED_H
#define TND_TRANSPORT_ZMQ_UNAUTHENTICATED_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TND_UNAUTHENTICATED_MAX = 64, /* at the same time, beside those that are expected */
    /*  How long a connection may take to say HELLO.  With ZMTP's greeting that is five journeys, of
     *  several seconds each on a long path.
     */
    TND_UNAUTHENTICATED_MS = 30000
};

/*  A connection that was accepted, until it ends. */
typedef struct {
    int fd;
    bool known;
    uint64_t since_ns;
} tnd_visitor_t;

/*  Zeroed: nobody has come. */
typedef struct {
    uint32_t expected; /* peers that may come all at once, beside TND_UNAUTHENTICATED_MAX others */
    tnd_visitor_t *visitors; /* in order of coming */
    uint32_t count, room;
    uint64_t turned_away[TND_UNAUTHENTICATED_MAX]; /* a ring of hashes of identities */
    uint32_t turned_away_count;
} tnd_unauthenticated_t;

void tnd_unauthenticated_free(tnd_unauthenticated_t *self);
/*  A connection was accepted / has ended. */
void tnd_unauthenticated_came(tnd_unauthenticated_t *self, int fd, uint64_t now);
void tnd_unauthenticated_left(tnd_unauthenticated_t *self, int fd);
/*  It has said who it is, or is nobody's any more. */
void tnd_unauthenticated_set_known(tnd_unauthenticated_t *self, int fd, bool known, uint64_t now);
/*  Cuts off who is late, and who is too many; returns how many were too many.  *next_ns comes down
 *  to when somebody is late.
 */
uint32_t tnd_unauthenticated_dismiss(tnd_unauthenticated_t *self, uint64_t now, uint64_t *next_ns);
/*  Cuts off one, or all of them where nobody knows which (`fd` < 0). */
void tnd_unauthenticated_cut(tnd_unauthenticated_t *self, int fd);

/*  Whether the identity with that hash was turned away lately; remembers that it is. */
bool tnd_unauthenticated_was_refused(const tnd_unauthenticated_t *self, uint64_t hash);
void tnd_unauthenticated_refuse(tnd_unauthenticated_t *self, uint64_t hash);

#endif
