/*  tests/stress_sessions.c - sessions come and go in one process, however they end, and leave
 *  nothing: no descriptor, no thread, and under AddressSanitizer no memory. */
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tundish/tundish.h>
#include <unistd.h>

enum { SESSIONS = 60, ROWS = 4096, ROW_BYTES = 16, WAYS = 8 };

static char file[64];

static void write_data(void)
{
    snprintf(file, sizeof file, "/tmp/tundish-sessions-%d.npy", (int)getpid());
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    int used =
        snprintf(header + 10, sizeof header - 10,
                 "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", ROWS, ROW_BYTES);
    header[10 + used] = ' ';
    header[sizeof header - 1] = '\n';
    FILE *out = fopen(file, "wb");
    if (out == NULL)
        abort();
    fwrite(header, 1, sizeof header, out);
    for (int i = 0; i < ROWS * ROW_BYTES; i++)
        fputc(i % 251, out);
    fclose(out);
}

static int entries(const char *folder)
{
    int count = 0;
    DIR *open = opendir(folder);
    if (open == NULL)
        abort();
    while (readdir(open) != NULL)
        count++;
    closedir(open);
    return count;
}

static void fail(const char *what, int way, const tnd_graph_t *graph)
{
    fprintf(stderr, "way %d: %s: %s\n", way, what, tnd_graph_errors(graph));
    exit(1);
}

typedef enum { ONE, LEADER_ELSEWHERE, ROUNDS_BETWEEN } hosts_t;

static const char *const placements[] = {
    [LEADER_ELSEWHERE] = "port: 7393\nhosts:\n"
                         "  a: {address: 127.0.0.1, actors: [read, prep, batch]}\n"
                         "  b: {address: 127.0.0.1, actors: [feed]}\n",
    [ROUNDS_BETWEEN] = "port: 7394\nhosts:\n"
                       "  a: {address: 127.0.0.1, actors: [read, prep, batch, feed, mean]}\n"
                       "  b: {address: 127.0.0.1, actors: [feed]}\n",
};

static tnd_graph_t *make_graph(hosts_t hosts, const char *epochs)
{
    char options[256];
    snprintf(options, sizeof options, "source: {npy: {image: \"%s\"}}, shuffle: global, epochs: %s",
             file, epochs);
    tnd_graph_t *graph = tnd_graph_new("sessions", 7);
    tnd_graph_add(graph, "read", "reader", options);
    tnd_graph_add(graph, "prep", "preprocessor",
                  "ops: [{scale: {column: image, to: f32, range: [0, 1]}}]");
    tnd_graph_add(graph, "batch", "batcher", "size: 64, replicas: 2");
    tnd_graph_add(graph, "feed", "feeder", "depth: 2");
    if (hosts == ROUNDS_BETWEEN)
        tnd_graph_add(graph, "mean", "reducer", "");
    tnd_graph_link(graph, hosts == ROUNDS_BETWEEN ? "read -> prep -> batch -> feed <-> mean"
                                                  : "read -> prep -> batch -> feed");
    if (hosts != ONE)
        tnd_graph_place(graph, placements[hosts]);
    return graph;
}

static tnd_status_t look(tnd_replica_t *replica, void *context)
{
    (void)context;
    const float *rows = tnd_replica_column(replica, "image");
    return tnd_replica_rows(replica) == 0 || rows[0] <= 1 ? TND_OK : TND_FAILED;
}

typedef struct {
    tnd_feed_t *feed;
    sem_t begun, asked;
} lingering_t;

/*  A step that is active when the session is stopped, and continues for a while. */
static tnd_status_t linger(tnd_replica_t *replica, void *context)
{
    lingering_t *self = context;
    if (tnd_replica_id(replica) != 0)
        return TND_OK;
    sem_post(&self->begun);
    while (sem_wait(&self->asked) != 0) {
    }
    return TND_OK;
}

static void *pull(void *context)
{
    lingering_t *self = context;
    if (tnd_feed_next(self->feed) != TND_OK)
        return NULL;
    tnd_status_t status = tnd_feed_run(self->feed, linger, NULL, self);
    while (status == TND_OK && tnd_feed_next(self->feed) == TND_OK)
        status = tnd_feed_run(self->feed, look, NULL, NULL);
    return NULL;
}

static void stop_in_a_step(tnd_session_t *session, tnd_feed_t *feed)
{
    lingering_t lingering = {.feed = feed};
    pthread_t program;
    sem_init(&lingering.begun, 0, 0);
    sem_init(&lingering.asked, 0, 0);
    if (pthread_create(&program, NULL, pull, &lingering) != 0)
        abort();
    while (sem_wait(&lingering.begun) != 0) {
    }
    tnd_session_stop(session);
    sem_post(&lingering.asked);
    pthread_join(program, NULL);
    sem_destroy(&lingering.begun);
    sem_destroy(&lingering.asked);
}

enum { POSTS = 3, POST_FLOATS = 5000 };

/*  One of two hosts; `fails_at`: the step that its replica fails in, with a post on its way. */
typedef struct {
    const char *host;
    uint64_t fails_at;
    float posted[POSTS][POST_FLOATS];
} side_t;

static tnd_status_t post_or_fail(tnd_replica_t *replica, void *context)
{
    side_t *side = context;
    bool fails = tnd_replica_step(replica) == side->fails_at;
    for (int i = 0; i < POSTS; i++) {
        side->posted[i][0] = (float)i;
        if (tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, side->posted[i], POST_FLOATS) !=
            TND_OK)
            return TND_FAILED;
    }
    return fails ? TND_FAILED : TND_OK;
}

static void *run_side(void *context)
{
    side_t *side = context;
    tnd_graph_t *graph = make_graph(ROUNDS_BETWEEN, "100000");
    tnd_session_t *session = NULL;
    if (tnd_session_open(&session, graph, side->host) != TND_OK)
        fail("not opened", WAYS - 1, graph);
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    if (feed == NULL)
        fail(tnd_session_error(session), WAYS - 1, graph);
    while (tnd_feed_next(feed) == TND_OK && tnd_feed_run(feed, post_or_fail, NULL, side) == TND_OK)
        ;
    if (tnd_session_destroy(&session) == TND_OK)
        fail("a step failed, but not the run", WAYS - 1, graph);
    tnd_graph_destroy(&graph);
    return NULL;
}

/*  The other host has posted, and waits for results that never come. */
static void fail_between_rounds(uint64_t step)
{
    side_t *sides = calloc(2, sizeof *sides);
    pthread_t other;
    if (sides == NULL)
        abort();
    sides[0].host = "a";
    sides[1].host = "b";
    sides[0].fails_at = step % 2 ? step : UINT64_MAX;
    sides[1].fails_at = step % 2 ? UINT64_MAX : step;
    if (pthread_create(&other, NULL, run_side, &sides[1]) != 0)
        abort();
    run_side(&sides[0]);
    pthread_join(other, NULL);
    free(sides);
}

/*  To its end; drained in its midst; stopped; pulled from and left; alone of two hosts; no data;
 *  stopped while a step runs; failed in the midst of rounds over two hosts. */
static void run_one(int way, int turn)
{
    if (way == WAYS - 1) {
        fail_between_rounds((uint64_t)turn);
        return;
    }
    tnd_graph_t *graph = make_graph(way == 4 ? LEADER_ELSEWHERE : ONE, way == 0 ? "2" : "100000");
    if (way == 5)
        tnd_graph_set(graph, "batch.size", "0");
    tnd_session_t *session = NULL;
    tnd_status_t status = tnd_session_open(&session, graph, way == 4 ? "b" : NULL);
    if ((status == TND_OK) != (way != 5))
        fail("opened, or not", way, graph);
    tnd_feed_t *feed = way < 4 || way == 6 ? tnd_session_feed(session, "feed") : NULL;
    if ((way < 4 || way == 6) && feed == NULL)
        fail(tnd_session_error(session), way, graph);
    for (int step = 0; step < 20 && way > 0 && way < 4; step++)
        if (tnd_feed_next(feed) != TND_OK || tnd_feed_run(feed, look, NULL, NULL) != TND_OK)
            fail(tnd_session_error(session), way, graph);
    if (way == 1)
        tnd_session_drain(session);
    if (way == 2)
        tnd_session_stop(session);
    while (way < 2 && tnd_feed_next(feed) == TND_OK)
        if (tnd_feed_run(feed, look, NULL, NULL) != TND_OK)
            fail(tnd_session_error(session), way, graph);
    if (way == 6)
        stop_in_a_step(session, feed);
    status = tnd_session_destroy(&session);
    tnd_status_t wanted = way == 0 || way == 5 ? TND_OK : TND_STOPPED;
    if (status != wanted)
        fail("another end than expected", way, graph);
    tnd_graph_destroy(&graph);
}

int main(void)
{
    write_data();
    for (int way = 0; way < WAYS; way++)
        run_one(way, 0);
    int files = entries("/proc/self/fd"), tasks = entries("/proc/self/task");
    for (int i = 0; i < SESSIONS; i++)
        run_one(i % WAYS, i / WAYS);
    int files_left = entries("/proc/self/fd") - files,
        tasks_left = entries("/proc/self/task") - tasks;
    unlink(file);
    printf("%d sessions left %d descriptors and %d threads\n", SESSIONS, files_left, tasks_left);
    return files_left == 0 && tasks_left == 0 ? 0 : 1;
}
