/*  transport/zmq/monitor.h - what libzmq says about the connections of one socket.
 *
 *  A peer whose process died is noticed here within a millisecond, long before its silence tells.
 *  Connections are named by their file descriptor, the one that zmq_msg_get(ZMQ_SRCFD) gives for
 *  what came by them.  Descriptors are used again: whoever maps one to a peer must have drained
 *  the events before it looks at the peer's first message.
 *
 *  Threads: the socket's.
 */
#ifndef TND_TRANSPORT_ZMQ_MONITOR_H
#define TND_TRANSPORT_ZMQ_MONITOR_H

#include "runtime/core/protocol/link_end.h"
#include "transport/zmq/context.h"

typedef enum {
    TND_MONITOR_NOTHING,
    TND_MONITOR_CAME,  /* a connection was accepted */
    TND_MONITOR_MADE,  /* the connection that was asked for is made */
    TND_MONITOR_READY, /* the ZMTP handshake is done: messages can be sent */
    TND_MONITOR_LEFT,  /* it ended, or could not be made */
    TND_MONITOR_CLOSED /* the endpoint no longer listens */
} tnd_monitor_event_t;

/*  Begins to watch a socket that is neither bound nor connected yet.  Returns a socket to poll and
 *  to give to the other functions.
 */
void *tnd_monitor_open(tnd_context_t *context, void *socket);
void tnd_monitor_close(void **self_p, void *socket);

/*  The next event without waiting; false: none. */
bool tnd_monitor_next(void *self, tnd_monitor_event_t *event, int *fd);

/*  Waits for so many events of a kind, at most `wait_ms` for each. */
void tnd_monitor_await(void *self, tnd_monitor_event_t wanted, uint32_t count, int wait_ms);

/*  What has come by a tcp connection; zeroed before the first look. */
typedef struct {
    uint64_t bytes;
    uint32_t segments;
} tnd_monitor_seen_t;

/*  When data came and went last by the tcp connection `fd`, and what a round trip takes.  Data that
 *  came twice or out of order count: the path and the other system work.  False for connections
 *  other than tcp.  If the descriptor has just been used again, one answer is about another
 *  connection; the next event names the end of this one.
 */
bool tnd_monitor_moved(int fd, tnd_monitor_seen_t *seen, uint64_t now, tnd_movement_t *movement);

/*  Ends a connection that no event has said to have ended. */
void tnd_monitor_cut(int fd);

#endif
