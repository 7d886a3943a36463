/*  transport/zmq/monitor.h - events of the connections of one socket.
 *
 *  The death of a peer is noticed here within a millisecond.  Connections are named by their file
 *  descriptor, which zmq_msg_get(ZMQ_SRCFD) gives for their messages.  Descriptors are reused: the
 *  caller must handle all events before it maps a descriptor to a peer.
 *
 *  Threads: the socket's. */
#ifndef TND_TRANSPORT_ZMQ_MONITOR_H
#define TND_TRANSPORT_ZMQ_MONITOR_H

#include "runtime/core/protocol/link_end.h"
#include "transport/zmq/context.h"

typedef enum {
    TND_MONITOR_NOTHING,
    TND_MONITOR_CAME,  /* a connection was accepted */
    TND_MONITOR_MADE,  /* the requested connection is established */
    TND_MONITOR_READY, /* the ZMTP handshake is done: messages can be sent */
    TND_MONITOR_LEFT,  /* it ended or failed */
    TND_MONITOR_CLOSED /* the endpoint no longer listens */
} tnd_monitor_event_t;

/*  Watches a socket that is neither bound nor connected yet.  Returns a socket to poll and to pass
 *  to the other functions. */
void *tnd_monitor_open(tnd_context_t *context, void *socket);
void tnd_monitor_close(void **self_p, void *socket);

/*  Returns the next event without waiting; false: none. */
bool tnd_monitor_next(void *self, tnd_monitor_event_t *event, int *fd);

/*  Waits for so many events of a kind, at most `wait_ms` for each. */
void tnd_monitor_await(void *self, tnd_monitor_event_t wanted, uint32_t count, int wait_ms);

/*  What was received by a tcp connection; zeroed before the first call. */
typedef struct {
    uint64_t bytes;
    uint32_t segments;
} tnd_monitor_seen_t;

/*  When data was last received and sent by the tcp connection `fd`, and the round-trip time.
 *  Duplicate data count, because they show that the path works.  Returns false if `fd` is not tcp.
 *  If the descriptor was just reused, one answer is about another connection. */
bool tnd_monitor_moved(int fd, tnd_monitor_seen_t *seen, uint64_t now, tnd_movement_t *movement);

/*  Ends a connection whose end was not reported yet. */
void tnd_monitor_cut(int fd);

#endif
