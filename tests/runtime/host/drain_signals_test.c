/*  Covers tnd_session_drain_on_signals. */
#include <signal.h>

#include "tests/runtime/numbers_graph.h"

static volatile sig_atomic_t own;

static void count(int number)
{
    (void)number;
    own++;
}

static tnd_session_t *begin(tnd_graph_t *graph, tnd_feed_t **feed_p)
{
    tnd_session_t *session = NULL;
    cr_assert_eq(tnd_session_open(&session, graph, NULL), TND_OK, "%s", tnd_graph_errors(graph));
    *feed_p = tnd_session_feed(session, "feed");
    cr_assert_eq(tnd_feed_next(*feed_p), TND_OK);
    return session;
}

Test(drain_signals, each_signal_drains_and_the_programs_action_returns)
{
    static const int numbers[] = {SIGTERM, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < 3; i++) {
        numbers_t numbers_of = {.unknown = false};
        struct sigaction action = {.sa_handler = count}, after;
        tnd_feed_t *feed;
        tnd_graph_t *graph = compose(&numbers_of, TND_SOURCE_RANDOM, "epochs: forever", "");
        cr_assert_eq(sigaction(numbers[i], &action, NULL), 0);
        tnd_session_t *session = begin(graph, &feed);
        cr_assert_eq(tnd_session_drain_on_signals(session), TND_OK);
        cr_assert_eq(tnd_session_drain_on_signals(session), TND_OK);
        raise(numbers[i]);
        raise(numbers[i]);
        tnd_status_t status;
        while ((status = tnd_feed_next(feed)) == TND_OK)
            ;
        cr_assert_eq(status, TND_STOPPED);
        cr_assert_eq(own, (sig_atomic_t)i);
        cr_assert_eq(tnd_session_destroy(&session), TND_STOPPED);
        cr_assert_eq(sigaction(numbers[i], NULL, &after), 0);
        cr_assert(after.sa_handler == count);
        raise(numbers[i]);
        cr_assert_eq(own, (sig_atomic_t)(i + 1));
        tnd_graph_destroy(&graph);
    }
}

Test(drain_signals, one_that_comes_before_the_session_drains_it)
{
    numbers_t numbers_of = {.unknown = false};
    struct sigaction action = {.sa_handler = count};
    tnd_graph_t *graph = compose(&numbers_of, TND_SOURCE_RANDOM, "epochs: forever", "");
    tnd_session_t *session = NULL;
    cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
    cr_assert_eq(tnd_session_drain_on_signals(NULL), TND_OK);
    raise(SIGUSR1);
    cr_assert_eq(tnd_session_open(&session, graph, NULL), TND_OK, "%s", tnd_graph_errors(graph));
    cr_assert_eq(tnd_session_drain_on_signals(NULL), TND_FAILED);
    tnd_feed_t *feed = tnd_session_feed(session, "feed"); /* NULL if the actors had not started */
    cr_assert(feed == NULL || tnd_feed_next(feed) == TND_STOPPED);
    cr_assert(feed != NULL || strcmp(tnd_session_error(session), "drained before the start") == 0);
    cr_assert_eq(own, 0);
    cr_assert_eq(tnd_session_destroy(&session), TND_STOPPED);
    raise(SIGUSR1);
    cr_assert_eq(own, 1);
    tnd_graph_destroy(&graph);
}

Test(drain_signals, one_session_of_a_process_has_them)
{
    numbers_t one = {.unknown = false}, two = {.unknown = false};
    tnd_feed_t *feed, *other_feed;
    tnd_graph_t *graph = compose(&one, TND_SOURCE_RANDOM, "epochs: forever", "");
    tnd_graph_t *other = compose(&two, TND_SOURCE_RANDOM, "epochs: forever", "");
    tnd_session_t *session = begin(graph, &feed), *second = begin(other, &other_feed);
    cr_assert_eq(tnd_session_drain_on_signals(session), TND_OK);
    cr_assert_eq(tnd_session_drain_on_signals(second), TND_FAILED);
    cr_assert_str_eq(tnd_session_error(second), "another session of this process is drained on "
                                                "signals: destroy it before");
    (void)tnd_session_destroy(&session);
    cr_assert_eq(tnd_session_drain_on_signals(second), TND_OK);
    (void)tnd_session_destroy(&second);
    tnd_graph_destroy(&graph);
    tnd_graph_destroy(&other);
}
