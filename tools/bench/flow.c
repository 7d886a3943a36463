/*  tools/bench/flow.c - runs a graph and measures it. */
#include "tools/bench/flow.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/host/session.h"

enum { HOSTS_MAX = 64, OVERLAY_BYTES = 8192 };

/*  A time, and the resources used until then. */
typedef struct {
    uint64_t at_ns;
    double cpu_seconds, rows;
} moment_t;

typedef struct {
    bool from_start; /* all steps are counted */
    moment_t first_epoch, last_step;
    double rows;
} count_t;

typedef struct {
    tnd_graph_t *graph;
    const char *host;
    const tnd_observer_t *observer;
    uint64_t steps;
    pthread_t thread;
} part_t;

static void observe_step(void *context, const tnd_step_record_t *record)
{
    count_t *count = context;
    count->rows += record->rows;
    if (!record->last_of_epoch && !count->from_start)
        return;
    moment_t now = {tnd_clock_now(), bench_cpu_seconds(), count->rows};
    if (record->epoch == 0 && !count->from_start)
        count->first_epoch = now;
    count->last_step = now;
}

static tnd_graph_t *compose(const bench_graph_t *wanted)
{
    bool works = wanted->preprocessor != NULL;
    tnd_graph_t *graph = tnd_graph_new("bench", 7);
    tnd_graph_add(graph, "read", "reader", wanted->reader);
    if (works)
        tnd_graph_add(graph, "prep", "preprocessor", wanted->preprocessor);
    if (wanted->cache != NULL)
        tnd_graph_add(graph, "keep", "cache", wanted->cache);
    tnd_graph_add(graph, "batch", "batcher", wanted->batcher);
    tnd_graph_add(graph, "feed", "feeder", wanted->feeder);
    char links[64];
    snprintf(links, sizeof links, "read ->%s%s batch -> feed", works ? " prep ->" : "",
             wanted->cache != NULL ? " keep ->" : "");
    tnd_graph_link(graph, links);
    return graph;
}

unsigned bench_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int file = socket(AF_INET, SOCK_STREAM, 0);
    if (file < 0 || bind(file, (struct sockaddr *)&address, size) != 0 ||
        getsockname(file, (struct sockaddr *)&address, &size) != 0)
        abort();
    close(file);
    return ntohs(address.sin_port);
}

static void write_overlay(const bench_graph_t *wanted, char *text)
{
    const char *prep = wanted->preprocessor != NULL ? " prep," : "";
    int used = snprintf(text, OVERLAY_BYTES, "port: %u\nhosts:\n", bench_free_port());
    for (uint32_t h = 0; h < wanted->hosts; h++)
        used += snprintf(text + used, OVERLAY_BYTES - (size_t)used,
                         "  h%u: {address: 127.0.0.1, lanes: 1, actors: [read,%s batch, feed]}\n",
                         h, prep);
}

static void *take_part(void *context)
{
    part_t *part = context;
    tnd_session_t *session = NULL;
    tnd_session_wishes_t wishes = {
        .host = part->host, .steps_max = part->steps, .observer = part->observer};
    if (tnd_session_open_with(&session, part->graph, &wishes) != TND_OK) {
        fputs(tnd_graph_errors(part->graph), stderr);
        exit(1);
    }
    if (tnd_session_wait(session) != TND_OK) {
        fprintf(stderr, "%s\n", tnd_session_error(session));
        exit(1);
    }
    (void)tnd_session_destroy(&session);
    return NULL;
}

bench_took_t bench_flow(const bench_graph_t *wanted)
{
    count_t count = {.from_start = wanted->steps > 0};
    tnd_observer_t observer = {.context = &count, .step = observe_step};
    uint32_t parts = wanted->hosts > 0 ? wanted->hosts : 1;
    part_t part[HOSTS_MAX];
    char overlay[OVERLAY_BYTES], lanes[16], names[HOSTS_MAX][8];
    if (wanted->hosts > 0)
        write_overlay(wanted, overlay);
    snprintf(lanes, sizeof lanes, "%u", parts);
    for (uint32_t p = 0; p < parts; p++) {
        snprintf(names[p], sizeof names[p], "h%u", p);
        part[p] = (part_t){.graph = compose(wanted),
                           .observer = p == 0 ? &observer : NULL,
                           .steps = wanted->steps > 0 ? wanted->steps : TND_UNKNOWN};
        if (wanted->hosts > 0) {
            part[p].host = names[p];
            tnd_graph_set(part[p].graph, "lanes", lanes);
            tnd_graph_place(part[p].graph, overlay);
        }
        if (tnd_graph_check(part[p].graph) != TND_OK) {
            fputs(tnd_graph_errors(part[p].graph), stderr);
            exit(1);
        }
    }
    count.first_epoch = (moment_t){.at_ns = tnd_clock_now(), .cpu_seconds = bench_cpu_seconds()};
    for (uint32_t p = 0; p < parts; p++)
        if (pthread_create(&part[p].thread, NULL, take_part, &part[p]) != 0)
            abort();
    for (uint32_t p = 0; p < parts; p++) {
        pthread_join(part[p].thread, NULL);
        tnd_graph_destroy(&part[p].graph);
    }
    const moment_t *from = &count.first_epoch, *to = &count.last_step;
    return (bench_took_t){.seconds = (double)(to->at_ns - from->at_ns) * 1e-9,
                          .cpu_seconds = to->cpu_seconds - from->cpu_seconds,
                          .rows = to->rows - from->rows};
}
