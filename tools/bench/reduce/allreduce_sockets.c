/*  tools/bench/reduce/allreduce_sockets.c - the bound of a reduction between machines.
 *
 *  Four processes, each connected to each other one by tcp.  Each sends the others their quarters of its f32
 *  values, adds its own quarter along the tree (0 + 1) + (2 + 3), and sends that to all, straight into place.
 *  Usage: allreduce_sockets BYTES WARM COUNT; prints seconds and processor seconds per reduction, and the
 *  seconds of a memcpy of as many bytes. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/bench.h"

enum { PROCESSES = 4 };

typedef struct {
    double seconds, cpu_seconds[PROCESSES];
} common_t;

/*  What is sent to, or received from, another process in one exchange. */
typedef struct {
    char *data;
    size_t left;
} part_t;

typedef struct {
    common_t *common;
    float *own, *scratch[PROCESSES];
    size_t count;
    int number, sockets[PROCESSES];
} member_t;

static size_t begin_of(const member_t *self, int quarter)
{
    return self->count * (size_t)quarter / PROCESSES;
}

static size_t bytes_of(const member_t *self, int quarter)
{
    return (begin_of(self, quarter + 1) - begin_of(self, quarter)) * sizeof *self->own;
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
static void exchange(const member_t *self, part_t out[PROCESSES], part_t in[PROCESSES])
{
    for (bool more = true; more;) {
        struct pollfd polled[PROCESSES];
        more = false;
        for (int p = 0; p < PROCESSES; p++) {
            bool other = p != self->number;
            short events = (short)((out[p].left > 0 ? POLLOUT : 0) | (in[p].left > 0 ? POLLIN : 0));
            polled[p] = (struct pollfd){other && events ? self->sockets[p] : -1, events, 0};
            more = more || (other && events);
        }
        if (!more || poll(polled, PROCESSES, -1) < 0)
            continue;
        for (int p = 0; p < PROCESSES; p++) {
            if (polled[p].revents & POLLIN)
                move(&in[p], read(self->sockets[p], in[p].data, in[p].left));
            if (polled[p].revents & POLLOUT)
                move(&out[p], write(self->sockets[p], out[p].data, out[p].left));
        }
    }
}

static void add(const member_t *self)
{
    size_t begin = begin_of(self, self->number),
           count = bytes_of(self, self->number) / sizeof(float);
    const float *from[PROCESSES];
    float *out = self->own + begin;
    for (int p = 0; p < PROCESSES; p++)
        from[p] = p == self->number ? out : self->scratch[p];
    for (size_t i = 0; i < count; i++)
        out[i] = (from[0][i] + from[1][i]) + (from[2][i] + from[3][i]);
}

static void reduce(const member_t *self)
{
    part_t out[PROCESSES], in[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        out[p] = (part_t){(char *)(self->own + begin_of(self, p)), bytes_of(self, p)};
        in[p] = (part_t){(char *)self->scratch[p], bytes_of(self, self->number)};
    }
    exchange(self, out, in);
    add(self);
    for (int p = 0; p < PROCESSES; p++) {
        out[p] = (part_t){(char *)(self->own + begin_of(self, self->number)),
                          bytes_of(self, self->number)};
        in[p] = (part_t){(char *)(self->own + begin_of(self, p)), bytes_of(self, p)};
    }
    exchange(self, out, in);
}

static void run(const member_t *self, int warm, int reductions)
{
    memset(self->own, 0, self->count * sizeof *self->own);
    for (int i = 0; i < warm; i++)
        reduce(self);
    double cpu = bench_cpu_seconds();
    uint64_t begin = tnd_clock_now();
    for (int i = 0; i < reductions; i++)
        reduce(self);
    self->common->cpu_seconds[self->number] = bench_cpu_seconds() - cpu;
    if (self->number == 0)
        self->common->seconds = (double)(tnd_clock_now() - begin) * 1e-9;
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

static float *allocate(size_t bytes)
{
    float *memory = malloc(bytes + 1);
    if (memory == NULL)
        exit(1);
    return memset(memory, 0, bytes);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int ends[PROCESSES][PROCESSES], warm = atoi(argv[2]), reductions = atoi(argv[3]);
    size_t bytes = strtoull(argv[1], NULL, 10);
    double copy = bench_copy_seconds(bytes), cpu = 0;
    member_t self = {.count = bytes / sizeof *self.own};
    self.common =
        mmap(NULL, sizeof *self.common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (self.common == MAP_FAILED)
        return 1;
    for (int p = 0; p < PROCESSES; p++)
        for (int q = 0; q < p; q++) {
            int pair[2];
            connect_two(pair);
            ends[p][q] = pair[0];
            ends[q][p] = pair[1];
        }
    for (self.number = 0; self.number < PROCESSES; self.number++)
        if (fork() == 0) {
            memcpy(self.sockets, ends[self.number], sizeof self.sockets);
            self.own = allocate(bytes);
            for (int p = 0; p < PROCESSES; p++)
                self.scratch[p] = allocate(bytes_of(&self, self.number));
            run(&self, warm, reductions);
            _exit(0);
        }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        if (wait(&status) < 0 || status != 0)
            return 1;
    }
    for (int p = 0; p < PROCESSES; p++)
        cpu += self.common->cpu_seconds[p];
    printf("{\"seconds\":%.9f,\"cpu_seconds\":%.9f,\"copy_seconds\":%.9f}\n",
           self.common->seconds / reductions, cpu / reductions, copy);
    return 0;
}
