/*  tools/bench/reduce/postings.c - 4,096 arrays of 4 KiB that a step posts, beside one of 16 MiB.
 *
 *  Steps post the one and the other in turn: two replicas on two devices of a process, and in two
 *  processes with one replica each.  Processor time of all processes, and wall time, from the first
 *  posting of a process to its `apply`; the ratio is that of medians.  Usage: bench_postings [--smoke | STEPS] */
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tundish/tundish.h>

#include "runtime/base/allocation.h"
#include "tools/bench/bench.h"

enum { SMOKE_PAIRS = 2, POSTINGS = 4096, FLOATS = 1024, REPLICAS = 2, WARM = 2 };

static const double goal = 1.2;

typedef struct {
    float *values[REPLICAS];
    uint64_t began_ns, took_ns;    /* of the first replica here in the last step */
    double cpu_began, cpu_seconds; /* of the process meanwhile */
    uint32_t first;
} bench_step_t;

static tnd_status_t post(tnd_replica_t *replica, void *user)
{
    bench_step_t *self = user;
    uint32_t id = tnd_replica_id(replica);
    size_t postings = tnd_replica_step(replica) % 2 ? POSTINGS : 1;
    size_t floats = (size_t)POSTINGS * FLOATS / postings;
    if (id == self->first)
        self->began_ns = tnd_clock_now(), self->cpu_began = bench_cpu_seconds();
    for (size_t p = 0; p < postings; p++)
        if (tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, self->values[id] + p * floats,
                               floats) != TND_OK)
            return TND_FAILED;
    return TND_OK;
}

static tnd_status_t end(tnd_replica_t *replica, void *user)
{
    bench_step_t *self = user;
    if (tnd_replica_id(replica) == self->first) {
        self->took_ns = tnd_clock_now() - self->began_ns;
        self->cpu_seconds = bench_cpu_seconds() - self->cpu_began;
    }
    return TND_OK;
}

static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        exit(1);
    close(fd);
    return ntohs(address.sin_port);
}

/*  `port` 0: one process. */
static tnd_graph_t *make_graph(uint16_t port, const float *rows, uint64_t count)
{
    char overlay[256];
    tnd_graph_t *graph = tnd_graph_new("postings", 7);
    tnd_graph_add(graph, "read", "reader", "source: memory");
    tnd_graph_array(graph, "read", "x", TND_F32, 1, &count, rows);
    tnd_graph_add(graph, "batch", "batcher", "size: 2, replicas: 2");
    tnd_graph_add(graph, "feed", "feeder", port ? "" : "devices: [\"cpu:0\", \"cpu:1\"]");
    tnd_graph_add(graph, "mean", "reducer", "");
    tnd_graph_link(graph, "read -> batch -> feed <-> mean");
    snprintf(overlay, sizeof overlay,
             "port: %u\nhosts:\n"
             "  a: {address: 127.0.0.1, lanes: 1, actors: [read, batch, feed, mean]}\n"
             "  b: {address: 127.0.0.1, lanes: 1, actors: [read, batch, feed]}\n",
             (unsigned)port);
    if (port > 0) {
        tnd_graph_set(graph, "lanes", "2");
        tnd_graph_place(graph, overlay);
    }
    return graph;
}

/*  What one process takes: milliseconds of many postings, and of one. */
typedef struct {
    bench_pairs_t wall, cpu;
} times_t;

static void note(times_t *times, int at, const bench_step_t *step)
{
    *(at % 2 ? &times->wall.values[at / 2] : &times->wall.bounds[at / 2]) =
        (double)step->took_ns * 1e-6;
    *(at % 2 ? &times->cpu.values[at / 2] : &times->cpu.bounds[at / 2]) = step->cpu_seconds * 1e3;
}

static void run(uint16_t port, const char *host, times_t *times, int pairs)
{
    uint64_t count = (uint64_t)(pairs + WARM) * 2 * REPLICAS;
    float *rows = tnd_allocate_zeroed(count, sizeof *rows);
    tnd_graph_t *graph = make_graph(port, rows, count);
    tnd_session_t *session = NULL;
    bench_step_t step = {.first = host != NULL && host[0] == 'b'};
    for (uint32_t r = 0; r < REPLICAS; r++)
        step.values[r] = tnd_allocate_zeroed((size_t)POSTINGS * FLOATS, sizeof(float));
    if (tnd_session_open(&session, graph, host) != TND_OK) {
        fprintf(stderr, "%s\n", tnd_graph_errors(graph));
        exit(1);
    }
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    int at = -2 * WARM;
    for (; tnd_feed_next(feed) == TND_OK && tnd_feed_run(feed, post, end, &step) == TND_OK; at++)
        if (at >= 0)
            note(times, at, &step);
    if (at != 2 * pairs) {
        fprintf(stderr, "%s\n", tnd_session_error(session));
        exit(1);
    }
    (void)tnd_session_wait(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    for (uint32_t r = 0; r < REPLICAS; r++)
        free(step.values[r]);
    free(rows);
}

/*  Wall time is shown beside processor time. */
static void print(const char *bench, times_t *times, int count)
{
    char name[64];
    double value = bench_median(times->cpu.values, (size_t)count);
    double bound = bench_median(times->cpu.bounds, (size_t)count);
    snprintf(name, sizeof name, "%s_cpu_ms", bench);
    bench_print(name, value, bound, value / bound, goal, value / bound <= goal);
    value = bench_median(times->wall.values, (size_t)count);
    bound = bench_median(times->wall.bounds, (size_t)count);
    snprintf(name, sizeof name, "%s_ms", bench);
    bench_show(name, value, bound, value / bound);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, BENCH_PAIRS_MOST);
    int pairs = wish.smoke ? SMOKE_PAIRS : wish.runs;
    times_t *times =
        mmap(NULL, 3 * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (times == MAP_FAILED)
        return 1;
    uint16_t port = free_port();
    pid_t other = fork();
    if (other == 0) {
        run(port, "b", &times[1], pairs);
        return 0;
    }
    run(port, "a", &times[0], pairs);
    int status;
    if (waitpid(other, &status, 0) != other || status != 0)
        return 1;
    for (int i = 0; i < pairs; i++) {
        times[0].cpu.values[i] += times[1].cpu.values[i];
        times[0].cpu.bounds[i] += times[1].cpu.bounds[i];
    }
    print("postings_between_processes", &times[0], pairs);
    run(0, NULL, &times[2], pairs);
    print("postings", &times[2], pairs);
    return 0;
}
