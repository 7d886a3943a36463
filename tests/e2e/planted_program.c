/*  tests/e2e/planted_program.c - a program that takes long between its steps: FILE MICROSECONDS. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tundish/tundish.h>

static tnd_status_t step(tnd_replica_t *replica, void *user)
{
    (void)replica, (void)user;
    return TND_OK;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    const char *const files[] = {arguments[1]};
    long us = atol(arguments[2]);
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    tnd_graph_t *graph = tnd_graph_load(files, 1);
    tnd_session_t *session = NULL;
    if (tnd_session_open(&session, graph, NULL) != TND_OK)
        return fputs(tnd_graph_errors(graph), stderr), 78;
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    while (feed != NULL && tnd_feed_next(feed) == TND_OK) {
        nanosleep(&time, NULL);
        if (tnd_feed_run(feed, step, NULL, NULL) != TND_OK)
            break;
    }
    tnd_status_t outcome = tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return outcome == TND_OK ? 0 : 1;
}
