/*  tools/bench/reduce/begin.c - whether reductions between processes overlap with the steps that post them.
 *
 *  Two processes with a replica each.  A step posts four arrays of 4 MiB, and computes for as long as their
 *  reduction alone takes, a quarter after each; it sleeps meanwhile, as a host does whose device computes.  Steps
 *  take turns: one that only posts, one that computes after it has posted, and one that begins each array as it
 *  is posted.  With `apply: early`, `apply` awaits and updates array after array, for as long again.  From the
 *  start of a step to the end of its `apply`.  Usage: bench_begin [--smoke | STEPS] */
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tundish/tundish.h>

#include "runtime/base/allocation.h"
#include "tools/bench/bench.h"

enum { ARRAYS = 4, FLOATS = 1 << 20, REPLICAS = 2, WARM = 2, SMOKE_TURNS = 3, MOST = 60 };

typedef enum { ALONE, AFTER, BESIDE, WAYS } way_t;

typedef struct {
    float *values[ARRAYS];
    uint64_t quarter_ns; /* of a step, and of an update */
    uint64_t began_ns, took_ns;
    bool early;
} bench_step_t;

static way_t way_of(const tnd_replica_t *replica)
{
    return (way_t)(tnd_replica_step(replica) % WAYS);
}

static void compute(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                            .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&time, NULL);
}

static tnd_status_t post(tnd_replica_t *replica, void *user)
{
    bench_step_t *self = user;
    way_t way = way_of(replica);
    self->began_ns = tnd_clock_now();
    for (int a = 0; a < ARRAYS; a++) {
        if (tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, self->values[a], FLOATS) !=
                TND_OK ||
            (way == BESIDE && tnd_replica_begin(replica) != TND_OK))
            return TND_FAILED;
        if (way != ALONE)
            compute(self->quarter_ns);
    }
    return TND_OK;
}

static tnd_status_t update(tnd_replica_t *replica, void *user)
{
    bench_step_t *self = user;
    for (uint32_t a = 0; a < ARRAYS && self->early; a++) {
        if (tnd_replica_await(replica, a) != TND_OK)
            return TND_FAILED;
        if (way_of(replica) != ALONE)
            compute(self->quarter_ns);
    }
    self->took_ns = tnd_clock_now() - self->began_ns;
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

static tnd_graph_t *make_graph(uint16_t port, bool early, const float *rows, uint64_t count)
{
    char overlay[256];
    tnd_graph_t *graph = tnd_graph_new("begin", 7);
    tnd_graph_add(graph, "read", "reader", "source: memory");
    tnd_graph_array(graph, "read", "x", TND_F32, 1, &count, rows);
    tnd_graph_add(graph, "batch", "batcher", "size: 2, replicas: 2");
    tnd_graph_add(graph, "feed", "feeder", early ? "apply: early" : "");
    tnd_graph_add(graph, "mean", "reducer", "");
    tnd_graph_link(graph, "read -> batch -> feed <-> mean");
    snprintf(overlay, sizeof overlay,
             "port: %u\nhosts:\n"
             "  a: {address: 127.0.0.1, lanes: 1, actors: [read, batch, feed, mean]}\n"
             "  b: {address: 127.0.0.1, lanes: 1, actors: [read, batch, feed]}\n",
             (unsigned)port);
    tnd_graph_set(graph, "lanes", "2");
    tnd_graph_place(graph, overlay);
    return graph;
}

/*  Milliseconds of one process, by way, of the turns after the warm ones. */
typedef struct {
    double took[WAYS][MOST];
    double alone_ms; /* the last reduction alone */
} times_t;

/*  The first process measures how long reductions take alone; then both compute as long. */
static void note(times_t *times, bool first, int at, bench_step_t *step)
{
    double ms = (double)step->took_ns * 1e-6;
    if (at >= 0)
        times->took[at % WAYS][at / WAYS] = ms;
    if (first && (at + WARM * WAYS) % WAYS == ALONE)
        times->alone_ms = ms;
}

static void run(uint16_t port, bool first, bool early, times_t *times, times_t *of_first, int turns)
{
    uint64_t count = (uint64_t)(turns + WARM) * WAYS * REPLICAS;
    float *rows = tnd_allocate_zeroed(count, sizeof *rows);
    tnd_graph_t *graph = make_graph(port, early, rows, count);
    tnd_session_t *session = NULL;
    bench_step_t step = {.early = early};
    for (int a = 0; a < ARRAYS; a++)
        step.values[a] = tnd_allocate_zeroed(FLOATS, sizeof(float));
    if (tnd_session_open(&session, graph, first ? "a" : "b") != TND_OK) {
        fprintf(stderr, "%s\n", tnd_graph_errors(graph));
        exit(1);
    }
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    int at = -WARM * WAYS;
    for (; tnd_feed_next(feed) == TND_OK && tnd_feed_run(feed, post, update, &step) == TND_OK;
         at++) {
        note(times, first, at, &step);
        step.quarter_ns = (uint64_t)(of_first->alone_ms * 1e6) / ARRAYS;
    }
    if (at != turns * WAYS) {
        fprintf(stderr, "%s\n", tnd_session_error(session));
        exit(1);
    }
    (void)tnd_session_wait(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    for (int a = 0; a < ARRAYS; a++)
        free(step.values[a]);
    free(rows);
}

/*  The median of the quotients with the bound of the same turn: the step, which is as long as the reductions
 *  alone, and its update. */
static void print(const char *name, times_t *times, int turns, bool early, double goal)
{
    char bench[64];
    double ratios[WAYS][MOST], took[WAYS], ratio[WAYS];
    for (int way = 0; way < WAYS; way++) {
        for (int t = 0; t < turns; t++)
            ratios[way][t] = times->took[way][t] / (times->took[ALONE][t] * (early ? 2 : 1));
        ratio[way] = bench_median(ratios[way], (size_t)turns);
    }
    for (int way = 0; way < WAYS; way++)
        took[way] = bench_median(times->took[way], (size_t)turns);
    double bound = took[ALONE] * (early ? 2 : 1);
    snprintf(bench, sizeof bench, "begin_%s_ms", name);
    bench_print(bench, took[BESIDE], bound, ratio[BESIDE], goal, ratio[BESIDE] <= goal);
    snprintf(bench, sizeof bench, "begin_%s_not_ms", name);
    bench_show(bench, took[AFTER], bound, ratio[AFTER]);
    fflush(stdout);
}

static bool compare(const char *name, times_t *times, int turns, bool early, double goal)
{
    uint16_t port = free_port();
    int status;
    pid_t other = fork();
    if (other == 0) {
        run(port, false, early, &times[1], &times[0], turns);
        _exit(0);
    }
    run(port, true, early, &times[0], &times[0], turns);
    if (waitpid(other, &status, 0) != other || status != 0)
        return false;
    print(name, &times[0], turns, early, goal);
    return true;
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, MOST);
    int turns = wish.smoke ? SMOKE_TURNS : wish.runs;
    times_t *times =
        mmap(NULL, 2 * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (times == MAP_FAILED)
        return 1;
    return compare("step", times, turns, false, 1.15) &&
                   compare("step_and_update", times, turns, true, 1.3)
               ? 0
               : 1;
}
