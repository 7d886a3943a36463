/*  tools/bench/reduce/program.c - a program whose steps post values to a reducer. */
#include "tools/bench/reduce/program.h"

#include "runtime/base/allocation.h"

static tnd_graph_t *make_graph(const program_t *self, const float *rows, uint64_t count)
{
    char overlay[256];
    tnd_graph_t *graph = tnd_graph_new("bench", 7);
    tnd_graph_add(graph, "read", "reader", "source: memory");
    tnd_graph_array(graph, "read", "x", TND_F32, 1, &count, rows);
    tnd_graph_add(graph, "batch", "batcher", "size: 2, replicas: 2");
    tnd_graph_add(graph, "feed", "feeder", self->feeder);
    tnd_graph_add(graph, "mean", "reducer", "");
    tnd_graph_link(graph, "read -> batch -> feed <-> mean");
    snprintf(overlay, sizeof overlay,
             "port: %u\nhosts:\n"
             "  a: {address: 127.0.0.1, lanes: 1, actors: [read, batch, feed, mean]}\n"
             "  b: {address: 127.0.0.1, lanes: 1, actors: [read, batch, feed]}\n",
             self->port);
    if (self->port > 0) {
        tnd_graph_set(graph, "lanes", "2");
        tnd_graph_place(graph, overlay);
    }
    return graph;
}

void program_run(const program_t *self)
{
    uint64_t count = self->steps * PROGRAM_REPLICAS, step = 0;
    float *rows = tnd_allocate_zeroed(count, sizeof *rows);
    tnd_graph_t *graph = make_graph(self, rows, count);
    tnd_session_t *session = NULL;
    const char *host = self->port == 0 ? NULL : self->second ? "b" : "a";
    if (tnd_session_open(&session, graph, host) != TND_OK) {
        fprintf(stderr, "%s\n", tnd_graph_errors(graph));
        exit(1);
    }
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    for (; tnd_feed_next(feed) == TND_OK &&
           tnd_feed_run(feed, self->post, self->end, self->user) == TND_OK;
         step++)
        self->note(self->user, step);
    if (step != self->steps) {
        fprintf(stderr, "%s\n", tnd_session_error(session));
        exit(1);
    }
    (void)tnd_session_wait(session);
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    free(rows);
}
