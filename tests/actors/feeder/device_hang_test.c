/*  tests/actors/feeder/device_hang_test.c - a program whose device never does what it was asked to. */
#include "tests/runtime/numbers_graph.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/host/session.h"

/*  AddressSanitizer asks for this: what a device may still access is leaked on purpose. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

enum { FEEDER = 3 };

/*  The numbers, on a simulated device with this fault. */
static tnd_graph_t *compose_on(numbers_t *numbers, const char *fault, char path[32])
{
    char text[80];
    strcpy(path, "/tmp/tundish-faults-XXXXXX");
    int file = mkstemp(path);
    cr_assert(file >= 0 && write(file, fault, strlen(fault)) == (ssize_t)strlen(fault));
    close(file);
    tnd_graph_t *graph = compose(numbers, TND_SOURCE_RANDOM, "epochs: 1", "");
    snprintf(text, sizeof text, "{faults: %s}", path);
    tnd_graph_set(graph, "feed.devices", "[sim:0]");
    tnd_graph_set(graph, "feed.sim", text);
    return graph;
}

static void await_copy(const tnd_session_t *session)
{
    uint64_t until = tnd_clock_now() + 20000000000u;
    const tnd_statistics_t *page = tnd_session_page(session, FEEDER);
    while ((page->devices[0].pending & 0xff) != TND_PENDING_COPY && tnd_clock_now() < until)
        sched_yield();
    cr_assert_eq(page->devices[0].pending & 0xff, TND_PENDING_COPY);
}

Test(device_hang, closing_a_session_ends_and_names_the_device)
{
    numbers_t numbers = {0};
    char path[32];
    tnd_session_t *session;
    tnd_graph_t *graph = compose_on(&numbers, "hang", path);
    tnd_graph_set(graph, "hung_after", "1s");
    cr_assert(tnd_session_open(&session, graph, NULL) == TND_OK, "%s", tnd_graph_errors(graph));
    cr_assert(tnd_session_feed(session, NULL) != NULL);
    await_copy(session);
    tnd_session_stop(session);
    tnd_status_t status = tnd_session_destroy(&session);
    unlink(path);
    cr_expect(status == TND_FAILED);
    cr_expect(strstr(tnd_graph_errors(graph), "feed: the copy of step 0 to sim:0 is not done") !=
                  NULL,
              "%s", tnd_graph_errors(graph));
    tnd_graph_destroy(&graph);
}

Test(device_hang, a_run_fails_after_hung_after_and_names_the_device)
{
    numbers_t numbers = {0};
    char path[32];
    tnd_graph_t *graph = compose_on(&numbers, "hang", path);
    tnd_graph_set(graph, "hung_after", "100ms");
    outcome_t outcome = run(graph);
    unlink(path);
    cr_expect(outcome.status == TND_FAILED);
    cr_expect_str_eq(outcome.error, "feed: sim:0 hangs: the copy of step 0 to sim:0 takes longer "
                                    "than 100 ms (hung_after)");
}

Test(device_hang, a_device_that_is_lost_ends_the_run)
{
    numbers_t numbers = {0};
    char path[32];
    outcome_t outcome = run(compose_on(&numbers, "late 1ms\nlost", path));
    unlink(path);
    cr_expect(outcome.status == TND_FAILED);
    cr_expect(strstr(outcome.error, "sim:0: the device was lost, as /tmp/tundish-faults-") != NULL,
              "%s", outcome.error);
}
