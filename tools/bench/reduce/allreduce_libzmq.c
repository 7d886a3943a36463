/*  tools/bench/reduce/allreduce_libzmq.c - what libzmq alone makes of allreduce_sockets.c.
 *
 *  Four processes; each owns a quarter, and is connected to each owner by a PAIR over tcp.  Values travel in
 *  messages of 1 MiB, 8 of which are under way on each connection.  They are sent from where they are, and
 *  added where libzmq received them; results are copied out of their messages.
 *  Usage: allreduce_libzmq BYTES WARM COUNT; see allreduce_bound.h. */
#include <malloc.h>
#include <pthread.h>
#include <zmq.h>

#include "tools/bench/reduce/allreduce_bound.h"

enum { PIECE = 1 << 20, OPEN = 8, KEPT = 32 << 20 };

typedef struct {
    pthread_barrier_t meeting;
    char endpoints[BOUND_PROCESSES][BOUND_PROCESSES][64]; /* by owner, by member */
} common_t;

typedef struct {
    bound_member_t base;
    common_t *common;
    void *owners[BOUND_PROCESSES], *members[BOUND_PROCESSES]; /* sockets, by process */
} member_t;

static size_t pieces_of(const member_t *self, int quarter)
{
    size_t bytes = (bound_quarter(&self->base, quarter + 1) - bound_quarter(&self->base, quarter)) *
                   sizeof(float);
    return (bytes + PIECE - 1) / PIECE;
}

static float *piece_of(const member_t *self, int quarter, size_t piece, size_t *count_p)
{
    size_t most = PIECE / sizeof(float), begin = bound_quarter(&self->base, quarter) + piece * most,
           left = bound_quarter(&self->base, quarter + 1) - begin;
    *count_p = left < most ? left : most;
    return self->base.own + begin;
}

static void keep(void *data, void *hint)
{
    (void)data, (void)hint;
}

static void send_piece(const member_t *self, void *socket, int quarter, size_t piece)
{
    size_t count;
    zmq_msg_t message;
    float *values = piece_of(self, quarter, piece, &count);
    bound_check(zmq_msg_init_data(&message, values, count * sizeof *values, keep, NULL) == 0 &&
                zmq_msg_send(&message, socket, 0) >= 0);
}

static void receive(zmq_msg_t *message, void *socket)
{
    bound_check(zmq_msg_init(message) == 0 && zmq_msg_recv(message, socket, 0) >= 0);
}

/*  A piece of this process's quarter: waits for those of all others, and sends them the sum. */
static void add_piece(const member_t *self, size_t piece)
{
    size_t count;
    float *out = piece_of(self, self->base.number, piece, &count);
    const float *from[BOUND_PROCESSES];
    zmq_msg_t messages[BOUND_PROCESSES];
    for (int p = 0; p < BOUND_PROCESSES; p++)
        if (p != self->base.number)
            receive(&messages[p], self->members[p]);
    for (int p = 0; p < BOUND_PROCESSES; p++)
        from[p] = p == self->base.number ? out : zmq_msg_data(&messages[p]);
    bound_add(out, from, count);
    for (int p = 0; p < BOUND_PROCESSES; p++)
        if (p != self->base.number) {
            zmq_msg_close(&messages[p]);
            send_piece(self, self->members[p], self->base.number, piece);
        }
}

static void take_piece(const member_t *self, int quarter, size_t piece)
{
    size_t count;
    zmq_msg_t message;
    float *out = piece_of(self, quarter, piece, &count);
    receive(&message, self->owners[quarter]);
    memcpy(out, zmq_msg_data(&message), count * sizeof *out);
    zmq_msg_close(&message);
}

/*  Piece after piece, in step with the others: what was sent OPEN pieces ago is taken first. */
static void reduce(bound_member_t *base)
{
    const member_t *self = (const member_t *)base;
    size_t most = pieces_of(self, BOUND_PROCESSES - 1); /* no quarter has more */
    for (size_t step = 0; step < most + OPEN; step++) {
        for (int q = 0; q < BOUND_PROCESSES; q++)
            if (q != self->base.number && step < pieces_of(self, q))
                send_piece(self, self->owners[q], q, step);
        if (step < pieces_of(self, self->base.number))
            add_piece(self, step);
        for (int q = 0; q < BOUND_PROCESSES; q++)
            if (q != self->base.number && step >= OPEN && step - OPEN < pieces_of(self, q))
                take_piece(self, q, step - OPEN);
    }
}

static void *open_socket(void *context)
{
    int none = 0;
    void *socket = zmq_socket(context, ZMQ_PAIR);
    bound_check(socket != NULL && zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none) == 0 &&
                zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none) == 0);
    return socket;
}

static void connect_all(bound_member_t *base)
{
    member_t *self = (member_t *)base;
    void *context = zmq_ctx_new();
    for (int p = 0; p < BOUND_PROCESSES; p++) {
        char *endpoint = self->common->endpoints[self->base.number][p];
        size_t room = sizeof self->common->endpoints[0][0];
        self->members[p] = open_socket(context);
        bound_check(zmq_bind(self->members[p], "tcp://127.0.0.1:*") == 0 &&
                    zmq_getsockopt(self->members[p], ZMQ_LAST_ENDPOINT, endpoint, &room) == 0);
    }
    pthread_barrier_wait(&self->common->meeting);
    for (int q = 0; q < BOUND_PROCESSES; q++) {
        self->owners[q] = open_socket(context);
        bound_check(zmq_connect(self->owners[q], self->common->endpoints[q][self->base.number]) ==
                    0);
    }
}

/*  Also at the end, so that what is sent last has arrived. */
static void meet(bound_member_t *base)
{
    pthread_barrier_wait(&((member_t *)base)->common->meeting);
}

/*  Memory of messages that are freed is used again, as in the command. */
static void open_memory(bound_member_t *base)
{
    pthread_barrierattr_t shared;
    common_t *common = ((member_t *)base)->common = bound_share(sizeof *common);
    bound_check(pthread_barrierattr_init(&shared) == 0 &&
                pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) == 0 &&
                pthread_barrier_init(&common->meeting, &shared, BOUND_PROCESSES) == 0);
    mallopt(M_MMAP_THRESHOLD, KEPT);
    mallopt(M_TRIM_THRESHOLD, KEPT);
}

int main(int argc, char **argv)
{
    static const bound_way_t way = {
        .open = open_memory, .begin = connect_all, .reduce = reduce, .meet = meet};
    member_t self = {0};
    return bound_run(argc, argv, &way, &self.base);
}
