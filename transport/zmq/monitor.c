/*  transport/zmq/monitor.c - events of the connections of one socket.  */
#include "transport/zmq/monitor.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/tcp.h> /* glibc's netinet/tcp.h has an older tcp_info */

#include <zmq.h>

enum {
    EVENTS = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
             ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
             ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
             ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
};

void *tnd_monitor_open(tnd_context_t *context, void *socket)
{
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "inproc://tundish-watch-%llu",
             (unsigned long long)tnd_context_number(context));
    if (zmq_socket_monitor(socket, endpoint, EVENTS) != 0)
        return NULL;
    void *self = zmq_socket(tnd_context_zmq(context), ZMQ_PAIR);
    if (self == NULL) {
        int number = zmq_errno();
        zmq_socket_monitor(socket, NULL, 0);
        errno = number;
        return NULL;
    }
    int none = 0;
    zmq_setsockopt(self, ZMQ_LINGER, &none, sizeof none);
    int failed = zmq_connect(self, endpoint);
    assert(failed == 0);
    return self;
}

void tnd_monitor_close(void **self_p, void *socket)
{
    if (*self_p == NULL)
        return;
    zmq_socket_monitor(socket, NULL, 0);
    zmq_close(*self_p);
    *self_p = NULL;
}

static tnd_monitor_event_t translate(uint16_t event, int value, int *fd)
{
    *fd = -1;
    switch (event) {
    case ZMQ_EVENT_ACCEPTED:
        *fd = value;
        return TND_MONITOR_CAME;
    case ZMQ_EVENT_CONNECTED:
        *fd = value;
        return TND_MONITOR_MADE;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        return TND_MONITOR_READY;
    case ZMQ_EVENT_DISCONNECTED:
        *fd = value;
        return TND_MONITOR_LEFT;
    case ZMQ_EVENT_CLOSED:
        return TND_MONITOR_CLOSED;
    case ZMQ_EVENT_CONNECT_RETRIED:
        return TND_MONITOR_LEFT;
    default:
        return TND_MONITOR_NOTHING;
    }
}

bool tnd_monitor_next(void *self, tnd_monitor_event_t *event, int *fd)
{
    zmq_msg_t msg;
    zmq_msg_init(&msg);
    bool is_there = zmq_msg_recv(&msg, self, ZMQ_DONTWAIT) >= 0;
    if (is_there) {
        uint16_t what = 0;
        int32_t value = 0;
        assert(zmq_msg_size(&msg) == sizeof what + sizeof value);
        memcpy(&what, zmq_msg_data(&msg), sizeof what);
        memcpy(&value, (const char *)zmq_msg_data(&msg) + sizeof what, sizeof value);
        *event = translate(what, value, fd);
        while (zmq_msg_more(&msg))
            if (zmq_msg_recv(&msg, self, ZMQ_DONTWAIT) < 0)
                break;
    }
    zmq_msg_close(&msg);
    return is_there;
}

void tnd_monitor_await(void *self, tnd_monitor_event_t wanted, uint32_t count, int wait_ms)
{
    zmq_pollitem_t item = {.socket = self, .events = ZMQ_POLLIN};
    while (count > 0 && zmq_poll(&item, 1, wait_ms) > 0) {
        tnd_monitor_event_t event;
        int fd;
        while (count > 0 && tnd_monitor_next(self, &event, &fd))
            count -= event == wanted;
    }
}

static uint64_t before(uint64_t now, uint32_t ago_ms)
{
    uint64_t ago_ns = ago_ms * 1000000ull;
    return ago_ns < now ? now - ago_ns : 0;
}

bool tnd_monitor_moved(int fd, tnd_monitor_seen_t *seen, uint64_t now, tnd_movement_t *movement)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info); /* an older kernel fills less of it */
    if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return false;
    movement->came_ns = 0;
    if (info.tcpi_bytes_received != seen->bytes)
        movement->came_ns = before(now, info.tcpi_last_data_recv);
    else if (info.tcpi_data_segs_in != seen->segments)
        movement->came_ns = now;
    movement->went_ns = before(now, info.tcpi_last_data_sent);
    /* The formula of the system's retransmission timeout. */
    movement->round_ns = (info.tcpi_rtt + 4ull * info.tcpi_rttvar) * 1000;
    movement->overdue = info.tcpi_unacked > 0;
    seen->bytes = info.tcpi_bytes_received;
    seen->segments = info.tcpi_data_segs_in;
    return true;
}

/*  libzmq reports the end of a connection before it closes the descriptor, so this one still
 *  belongs to the connection. */
void tnd_monitor_cut(int fd)
{
    shutdown(fd, SHUT_RDWR);
}
