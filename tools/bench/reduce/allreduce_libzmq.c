/*  tools/bench/reduce/allreduce_libzmq.c - what libzmq alone makes of allreduce_sockets.c.
 *
 *  Four processes; each owns a quarter, and is connected to each owner by a PAIR over tcp.  Values travel in
 *  messages of 1 MiB, 8 of which are under way on each connection.  They are sent from where they are, and
 *  added where libzmq received them; results are copied out of their messages.
 *  Usage: allreduce_libzmq BYTES WARM COUNT; prints as allreduce_sockets does. */
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "tools/bench/bench.h"

enum { PROCESSES = 4, PIECE = 1 << 20, OPEN = 8, KEPT = 32 << 20 };

typedef struct {
    pthread_barrier_t meeting;
    char endpoints[PROCESSES][PROCESSES][64]; /* by owner, by member */
    double seconds, cpu_seconds[PROCESSES];
} common_t;

typedef struct {
    common_t *common;
    float *own;
    size_t count;
    int number;
    void *owners[PROCESSES], *members[PROCESSES]; /* sockets, by process */
} member_t;

static void check(bool worked)
{
    if (!worked)
        exit(1);
}

static size_t begin_of(const member_t *self, int quarter)
{
    return self->count * (size_t)quarter / PROCESSES;
}

static size_t pieces_of(const member_t *self, int quarter)
{
    size_t bytes = (begin_of(self, quarter + 1) - begin_of(self, quarter)) * sizeof *self->own;
    return (bytes + PIECE - 1) / PIECE;
}

static float *piece_of(const member_t *self, int quarter, size_t piece, size_t *count_p)
{
    size_t most = PIECE / sizeof *self->own, begin = begin_of(self, quarter) + piece * most,
           left = begin_of(self, quarter + 1) - begin;
    *count_p = left < most ? left : most;
    return self->own + begin;
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
    check(zmq_msg_init_data(&message, values, count * sizeof *values, keep, NULL) == 0 &&
          zmq_msg_send(&message, socket, 0) >= 0);
}

static void receive(zmq_msg_t *message, void *socket)
{
    check(zmq_msg_init(message) == 0 && zmq_msg_recv(message, socket, 0) >= 0);
}

/*  A piece of this process's quarter: waits for those of all others, and sends them the sum. */
static void add_piece(const member_t *self, size_t piece)
{
    size_t count;
    float *out = piece_of(self, self->number, piece, &count);
    const float *from[PROCESSES];
    zmq_msg_t messages[PROCESSES];
    for (int p = 0; p < PROCESSES; p++)
        if (p != self->number)
            receive(&messages[p], self->members[p]);
    for (int p = 0; p < PROCESSES; p++)
        from[p] = p == self->number ? out : zmq_msg_data(&messages[p]);
    for (size_t i = 0; i < count; i++)
        out[i] = (from[0][i] + from[1][i]) + (from[2][i] + from[3][i]);
    for (int p = 0; p < PROCESSES; p++)
        if (p != self->number) {
            zmq_msg_close(&messages[p]);
            send_piece(self, self->members[p], self->number, piece);
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
static void reduce(const member_t *self)
{
    size_t most = pieces_of(self, PROCESSES - 1); /* no quarter has more */
    for (size_t step = 0; step < most + OPEN; step++) {
        for (int q = 0; q < PROCESSES; q++)
            if (q != self->number && step < pieces_of(self, q))
                send_piece(self, self->owners[q], q, step);
        if (step < pieces_of(self, self->number))
            add_piece(self, step);
        for (int q = 0; q < PROCESSES; q++)
            if (q != self->number && step >= OPEN && step - OPEN < pieces_of(self, q))
                take_piece(self, q, step - OPEN);
    }
}

static void *open_socket(void *context)
{
    int none = 0;
    void *socket = zmq_socket(context, ZMQ_PAIR);
    check(socket != NULL && zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none) == 0 &&
          zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none) == 0);
    return socket;
}

static void connect_all(member_t *self)
{
    void *context = zmq_ctx_new();
    for (int p = 0; p < PROCESSES; p++) {
        char *endpoint = self->common->endpoints[self->number][p];
        size_t room = sizeof self->common->endpoints[0][0];
        self->members[p] = open_socket(context);
        check(zmq_bind(self->members[p], "tcp://127.0.0.1:*") == 0 &&
              zmq_getsockopt(self->members[p], ZMQ_LAST_ENDPOINT, endpoint, &room) == 0);
    }
    pthread_barrier_wait(&self->common->meeting);
    for (int q = 0; q < PROCESSES; q++) {
        self->owners[q] = open_socket(context);
        check(zmq_connect(self->owners[q], self->common->endpoints[q][self->number]) == 0);
    }
}

static void run(member_t *self, int warm, int reductions)
{
    connect_all(self);
    for (int i = 0; i < warm; i++)
        reduce(self);
    double cpu = bench_cpu_seconds();
    uint64_t begin = tnd_clock_now();
    for (int i = 0; i < reductions; i++)
        reduce(self);
    self->common->cpu_seconds[self->number] = bench_cpu_seconds() - cpu;
    if (self->number == 0)
        self->common->seconds = (double)(tnd_clock_now() - begin) * 1e-9;
    pthread_barrier_wait(&self->common->meeting); /* what is sent last has arrived */
}

static common_t *new_common(void)
{
    pthread_barrierattr_t shared;
    common_t *common =
        mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(common != MAP_FAILED && pthread_barrierattr_init(&shared) == 0 &&
          pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) == 0 &&
          pthread_barrier_init(&common->meeting, &shared, PROCESSES) == 0);
    return common;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int warm = atoi(argv[2]), reductions = atoi(argv[3]);
    size_t bytes = strtoull(argv[1], NULL, 10);
    double copy = bench_copy_seconds(bytes), cpu = 0;
    member_t self = {.common = new_common(), .count = bytes / sizeof *self.own};
    /* Memory of messages that are freed is used again, as in the command. */
    mallopt(M_MMAP_THRESHOLD, KEPT);
    mallopt(M_TRIM_THRESHOLD, KEPT);
    for (self.number = 0; self.number < PROCESSES; self.number++)
        if (fork() == 0) {
            self.own = calloc(self.count + 1, sizeof *self.own);
            check(self.own != NULL);
            memset(self.own, 0, bytes);
            run(&self, warm, reductions);
            _exit(0);
        }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        check(wait(&status) >= 0 && status == 0);
        cpu += self.common->cpu_seconds[p];
    }
    printf("{\"seconds\":%.9f,\"cpu_seconds\":%.9f,\"copy_seconds\":%.9f}\n",
           self.common->seconds / reductions, cpu / reductions, copy);
    return 0;
}
