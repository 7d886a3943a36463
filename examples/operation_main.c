/*  examples/operation_main.c - operation.yaml as a program that has operation.c linked in. */
#include <stdio.h>

#include "operation.h"

int main(void)
{
    tnd_graph_t *graph = tnd_graph_new("operation", 7);
    tnd_graph_source(graph, &tnd_source_ramp, NULL);
    tnd_graph_op(graph, &tnd_op_jitter, NULL);
    tnd_graph_add(graph, "read", "reader", "source: {ramp: {rows: 1000}}, epochs: 2");
    tnd_graph_add(graph, "prep", "preprocessor", "ops: [{jitter: {by: 0.5}}], workers: 2");
    tnd_graph_add(graph, "batch", "batcher", "size: 64");
    tnd_graph_add(graph, "feed", "feeder", NULL);
    tnd_graph_link(graph, "read -> prep -> batch -> feed");

    tnd_session_t *session = NULL;
    if (tnd_session_open(&session, graph, NULL) != TND_OK) {
        fputs(tnd_graph_errors(graph), stderr);
        tnd_graph_destroy(&graph);
        return 78;
    }
    char digest[33] = "";
    if (tnd_session_wait(session) != TND_OK)
        fprintf(stderr, "%s\n", tnd_session_error(session));
    (void)tnd_session_digest(session, "feed", digest);
    printf("stream %s\n", digest);
    tnd_status_t outcome = tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return outcome == TND_OK ? 0 : 1;
}
