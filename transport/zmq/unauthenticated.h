/*  transport/zmq/unauthenticated.h - connections to a bound port, and who of them has not said who
 * he is.
 *
 *  Anybody can connect.  Nobody may stay without saying HELLO, nor may many try at the same time:
 *  who is late, and the oldest of too many, are cut off.  Whoever was turned away for what he said
 *  is remembered for a while, so that it is said once, however much of it was read already.
 *
 *  Threads: the hub's.
 */
#ifndef TND_TRANSPORT_STRANGERS_H
#define TND_TRANSPORT_STRANGERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TND_STRANGERS_MAX = 64, /* at the same time, beside those that are expected */
    TND_STRANGER_MS = 10000 /* how long one may take: a few journeys on a slow link */
};

/*  A connection that was accepted, until it ends. */
typedef struct {
    int fd;
    bool known;
    uint64_t since_ns;
} tnd_visitor_t;

/*  Zeroed: nobody has come. */
typedef struct {
    uint32_t expected;       /* peers that may come all at once, beside TND_STRANGERS_MAX others */
    tnd_visitor_t *visitors; /* in order of coming */
    uint32_t count, room;
    uint64_t turned_away[TND_STRANGERS_MAX]; /* a ring of hashes of identities */
    uint32_t turned_away_count;
} tnd_strangers_t;

void tnd_strangers_free(tnd_strangers_t *self);
/*  A connection was accepted / has ended. */
void tnd_strangers_came(tnd_strangers_t *self, int fd, uint64_t now);
void tnd_strangers_left(tnd_strangers_t *self, int fd);
/*  It has said who it is, or is nobody's any more. */
void tnd_strangers_set_known(tnd_strangers_t *self, int fd, bool known, uint64_t now);
/*  Cuts off who is late, and who is too many; returns how many were too many.  *next_ns comes down
 *  to when somebody is late.
 */
uint32_t tnd_strangers_dismiss(tnd_strangers_t *self, uint64_t now, uint64_t *next_ns);
/*  Cuts off one, or all of them where nobody knows which (`fd` < 0). */
void tnd_strangers_cut(tnd_strangers_t *self, int fd);

/*  Whether the identity with that hash was turned away lately; remembers that it is. */
bool tnd_strangers_was_refused(const tnd_strangers_t *self, uint64_t hash);
void tnd_strangers_refuse(tnd_strangers_t *self, uint64_t hash);

#endif
