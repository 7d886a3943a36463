/*  tools/bench/reduce/allreduce_sockets.c - the bound of a reduction between machines.
 *
 *  Four processes, each connected to each other one by tcp.  Each sends the others their quarters of its f32
 *  values, adds its own quarter along the tree (0 + 1) + (2 + 3), and sends that to all, straight into place.
 *  Usage: allreduce_sockets BYTES WARM COUNT; see allreduce_bound.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/bench/reduce/allreduce_bound.h"

/*  What is sent to, or received from, another process in one exchange. */
typedef struct {
    char *data;
    size_t left;
} part_t;

typedef struct {
    bound_member_t base;
    int ends[BOUND_PROCESSES]
            [BOUND_PROCESSES]; /* of the connections: by process, to each other one */
    float *scratch[BOUND_PROCESSES];
} member_t;

static size_t bytes_of(const bound_member_t *self, int quarter)
{
    return (bound_quarter(self, quarter + 1) - bound_quarter(self, quarter)) * sizeof *self->own;
}

static void move(part_t *part, ssize_t moved)
{
    if (moved == 0)
        exit(1);
    if (moved < 0)
        return; /* it would wait */
    part->data += moved;
    part->left -= (size_t)moved;
}

/*  Sends and receives at the same time, so that none waits for a full socket. */
static void exchange(const member_t *self, part_t out[BOUND_PROCESSES], part_t in[BOUND_PROCESSES])
{
    const int *sockets = self->ends[self->base.number];
    for (bool more = true; more;) {
        struct pollfd polled[BOUND_PROCESSES];
        more = false;
        for (int p = 0; p < BOUND_PROCESSES; p++) {
            bool other = p != self->base.number;
            short events = (short)((out[p].left > 0 ? POLLOUT : 0) | (in[p].left > 0 ? POLLIN : 0));
            polled[p] = (struct pollfd){other && events ? sockets[p] : -1, events, 0};
            more = more || (other && events);
        }
        if (!more || poll(polled, BOUND_PROCESSES, -1) < 0)
            continue;
        for (int p = 0; p < BOUND_PROCESSES; p++) {
            if (polled[p].revents & POLLIN)
                move(&in[p], read(sockets[p], in[p].data, in[p].left));
            if (polled[p].revents & POLLOUT)
                move(&out[p], write(sockets[p], out[p].data, out[p].left));
        }
    }
}

static void reduce(bound_member_t *base)
{
    const member_t *self = (const member_t *)base;
    part_t out[BOUND_PROCESSES], in[BOUND_PROCESSES];
    size_t own_bytes = bytes_of(base, base->number);
    float *own = base->own + bound_quarter(base, base->number);
    const float *from[BOUND_PROCESSES];
    for (int p = 0; p < BOUND_PROCESSES; p++) {
        out[p] = (part_t){(char *)(base->own + bound_quarter(base, p)), bytes_of(base, p)};
        in[p] = (part_t){(char *)self->scratch[p], own_bytes};
        from[p] = p == base->number ? own : self->scratch[p];
    }
    exchange(self, out, in);
    bound_add(own, from, own_bytes / sizeof *own);
    for (int p = 0; p < BOUND_PROCESSES; p++) {
        out[p] = (part_t){(char *)own, own_bytes};
        in[p] = (part_t){(char *)(base->own + bound_quarter(base, p)), bytes_of(base, p)};
    }
    exchange(self, out, in);
}

/*  A connection of two processes, over the loopback device. */
static void connect_two(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        connect(ends[0], (struct sockaddr *)&address, length) != 0)
        exit(1);
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
    for (int e = 0; e < 2; e++)
        if (setsockopt(ends[e], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
            fcntl(ends[e], F_SETFL, O_NONBLOCK) != 0)
            exit(1);
}

static void connect_all(bound_member_t *base)
{
    member_t *self = (member_t *)base;
    for (int p = 0; p < BOUND_PROCESSES; p++)
        for (int q = 0; q < p; q++) {
            int pair[2];
            connect_two(pair);
            self->ends[p][q] = pair[0];
            self->ends[q][p] = pair[1];
        }
}

static void begin(bound_member_t *base)
{
    for (int p = 0; p < BOUND_PROCESSES; p++)
        ((member_t *)base)->scratch[p] = bound_allocate(bytes_of(base, base->number));
}

int main(int argc, char **argv)
{
    static const bound_way_t way = {.open = connect_all, .begin = begin, .reduce = reduce};
    member_t self = {0};
    return bound_run(argc, argv, &way, &self.base);
}
