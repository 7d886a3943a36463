/*  tests/conformance/hub_handshake.h - the handshake of every hub. */
#ifndef TND_TESTS_CONFORMANCE_HUB_HANDSHAKE_H
#define TND_TESTS_CONFORMANCE_HUB_HANDSHAKE_H

#include "tests/conformance/hub_sites.h"

Test(hub, both_sides_see_the_other_come_up)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 5);
    site_open(&worker, &stage, WORKER, 7);
    site_bind(&join, &stage.terms);
    site_connect(&worker, &stage.terms);

    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_str_eq(join.trace, "up 2 life 7\n");
    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

Test(hub, a_worker_that_connects_before_the_join_binds_comes_up)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    /* An endpoint that can be connected to is known only once it was bound. */
    site_bind(&join, &stage.terms);
    tnd_hub_close(&join.hub, 0);
    site_connect(&worker, &stage.terms);
    cr_assert_eq(site_step(&worker), false);

    site_open(&join, &stage, JOIN, 2);
    site_bind(&join, &stage.terms);
    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

/*  Connects with other terms than the binder has and returns the text that both saw. */
static const char *refused_text(const tnd_terms_t *theirs)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    site_bind(&join, &stage.terms);
    site_connect(&worker, theirs);

    run_until(&worker, &join, &worker.refusals, 1);

    cr_assert_eq(join.refusals, 1);
    cr_assert_eq(strncmp(join.trace, "refused 2: ", 11), 0, "%s", join.trace);
    cr_assert_eq(strncmp(worker.trace, "refused 1: ", 11), 0, "%s", worker.trace);
    cr_assert_str_eq(join.trace + 11, worker.trace + 11);
    cr_assert_eq(join.ups + worker.ups, 0);
    part(&stage, &join, &worker);
    return join.trace;
}

Test(hub, another_graph_is_refused_on_both_sides)
{
    const char *text =
        refused_text(&(tnd_terms_t){.graph = {11, 99}, .schema = 13, .numeric = 14, .abi = 1});
    cr_assert_not_null(strstr(text, "graph"), "%s", text);
}

Test(hub, a_guest_need_not_know_the_graph)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    stage.guests = true;
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    site_bind(&join, &stage.terms);
    site_connect(&worker, &(tnd_terms_t){.schema = 13, .numeric = 14, .abi = 1});

    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

Test(hub, only_some_guests_are_accepted_at_a_time)
{
    enum { FIRST = 100 };
    static stage_t stage;
    static site_t join, guests[TND_GUESTS_MAX + 1], later;
    stage_open(&stage);
    stage.guests = true;
    site_open(&join, &stage, JOIN, 1);
    site_bind(&join, &stage.terms);
    for (uint32_t i = 0; i < TND_GUESTS_MAX; i++) {
        site_open(&guests[i], &stage, FIRST + i, 1);
        site_connect(&guests[i], &stage.terms);
        run_until(&guests[i], &join, &guests[i].ups, 1);
    }
    site_t *last = &guests[TND_GUESTS_MAX];
    site_open(last, &stage, FIRST + TND_GUESTS_MAX, 1);
    site_connect(last, &stage.terms);
    run_until(last, &join, &last->refusals, 1);
    cr_assert_not_null(strstr(last->trace, "others look at this run"), "%s", last->trace);
    cr_assert_eq(join.losts, 0, "the others stay");

    tnd_hub_close(&guests[0].hub, 0);
    run_until(&join, NULL, &join.losts, 1);
    site_open(&later, &stage, FIRST + TND_GUESTS_MAX + 1, 1);
    site_connect(&later, &stage.terms);
    run_until(&later, &join, &later.ups, 1);

    tnd_hub_close(&later.hub, 0);
    for (uint32_t i = 1; i <= TND_GUESTS_MAX; i++)
        tnd_hub_close(&guests[i].hub, 0);
    tnd_hub_close(&join.hub, 0);
    stage_close(&stage);
}

Test(hub, another_schema_is_refused_on_both_sides)
{
    const char *text =
        refused_text(&(tnd_terms_t){.graph = {11, 12}, .schema = 99, .numeric = 14, .abi = 1});
    cr_assert_not_null(strstr(text, "schema"), "%s", text);
}

Test(hub, another_arithmetic_is_refused_on_both_sides)
{
    const char *text =
        refused_text(&(tnd_terms_t){.graph = {11, 12}, .schema = 13, .numeric = 99, .abi = 1});
    cr_assert_not_null(strstr(text, "numeric"), "%s", text);
}

Test(hub, another_version_is_refused_on_both_sides)
{
    const char *text =
        refused_text(&(tnd_terms_t){.graph = {11, 12}, .schema = 13, .numeric = 14, .abi = 2});
    cr_assert_not_null(strstr(text, "version"), "%s", text);
}

Test(hub, another_arithmetic_is_accepted_if_the_terms_allow_it)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    site_bind(&join, &stage.terms);
    tnd_terms_t theirs = stage.terms;
    theirs.numeric = 99;
    theirs.tolerant = true;
    site_connect(&worker, &theirs);

    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_eq(join.refusals, 0);
    part(&stage, &join, &worker);
}

Test(hub, a_peer_that_expects_another_actor_is_refused_with_both_names)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    site_bind(&join, &stage.terms);
    cr_assert_eq(tnd_hub_connect(worker.hub, PORT_OUT, 77, stage.net.endpoint, &stage.terms, NULL),
                 TND_OK);

    run_until(&worker, &join, &worker.refusals, 1);

    cr_assert_not_null(strstr(worker.trace, "not actor 77"), "%s", worker.trace);
    cr_assert_not_null(strstr(join.trace, "not actor 77"), "%s", join.trace);
    part(&stage, &join, &worker);
}

/*  Lets both sites run until the binder has sent a connector to look elsewhere so many times. */
static void run_until_turned_away(site_t *join, site_t *worker, uint64_t times)
{
    uint64_t deadline = stage_now(join->stage) + DEADLINE_NS;
    tnd_hub_counts_t counts = {0};
    while (counts.refused < times) {
        if (!site_step(join) && !site_step(worker)) {
            cr_assert(stage_now(join->stage) < deadline);
            tnd_hub_wait(worker->hub, stage_now(join->stage) + 1000000);
            tnd_hub_wait(join->hub, stage_now(join->stage));
        }
        tnd_hub_counts(join->hub, &counts);
    }
}

Test(hub, a_peer_that_reaches_the_wrong_listener_dials_until_it_learns_the_endpoint)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    stage.search_ns = 3600000000000;
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    tnd_terms_t now = stage.terms, stale = stage.terms;
    now.listener = 5;
    stale.listener = 4;
    site_bind(&join, &now);
    site_connect(&worker, &stale);
    run_until_turned_away(&join, &worker, 3);
    cr_assert_str_eq(join.trace, "");
    cr_assert_str_eq(worker.trace, "");

    tnd_hub_disconnect(worker.hub, PORT_OUT, JOIN);
    site_connect(&worker, &now);
    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_str_eq(join.trace, "up 2 life 1\n");
    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

Test(hub, a_peer_that_only_reaches_wrong_listeners_is_refused_after_search_ns)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    stage.search_ns = 100000000;
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    tnd_terms_t now = stage.terms, unnamed = stage.terms;
    now.listener = 5;
    site_bind(&join, &now);
    site_connect(&worker, &unnamed);

    run_until(&worker, &join, &worker.refusals, 1);

    cr_assert_not_null(strstr(worker.trace, "refused 1: join listens here"), "%s", worker.trace);
    cr_assert_str_eq(join.trace, "");
    part(&stage, &join, &worker);
}

#endif
