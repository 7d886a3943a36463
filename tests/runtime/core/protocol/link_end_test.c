/*  Covers runtime/core/protocol/link_end.h: handshake, back-off and lives; time is stepped by hand. */
#include "tests/runtime/core/protocol/ends.h"

Test(link_end, a_hello_that_fits_brings_both_ends_up)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);

    cr_assert_eq(tnd_end_deadline(&connector), 0);
    cr_assert_eq(tnd_end_deadline(&binder), TND_NEVER);
    tnd_msg_t hello = hello_of(&connector, 5);
    cr_assert_eq(hello.from, WORKER);
    cr_assert_eq(hello.to, JOIN);
    cr_assert_eq(hello.hello.life, 100);
    cr_assert_eq(hello.hello.connection, 0);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 6), TND_END_UP);
    tnd_msg_t welcome = says(&binder, TND_MSG_WELCOME, 6);
    cr_assert_eq(tnd_end_heard(&connector, &welcome, 7), TND_END_UP);
    cr_assert_eq(connector.state, TND_END_OPEN);
    cr_assert_eq(binder.state, TND_END_OPEN);
}

Test(link_end, a_socket_is_asked_for_once)
{
    tnd_end_t connector = make(false, terms);

    cr_assert_eq(tnd_end_tick(&connector, false, 0), TND_END_CONNECT);
    cr_assert_eq(tnd_end_tick(&connector, false, 1), TND_END_NOTHING);
    tnd_msg_t msg;
    cr_assert_not(tnd_end_next(&connector, 1, &msg), "no HELLO before the socket is open");
}

Test(link_end, terms_that_differ_are_refused_by_name_at_both_ends)
{
    const struct {
        tnd_terms_t theirs;
        const char *name;
    } cases[] = {
        {{.graph = {1, 9}, .schema = 3, .numeric = 4, .abi = 5}, "graph"},
        {{.graph = {9, 2}, .schema = 3, .numeric = 4, .abi = 5}, "graph"},
        {{.graph = {1, 2}, .schema = 9, .numeric = 4, .abi = 5}, "schema"},
        {{.graph = {1, 2}, .schema = 3, .numeric = 9, .abi = 5}, "numeric: tolerant"},
        {{.graph = {1, 2}, .schema = 3, .numeric = 4, .abi = 9}, "version"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnd_end_t connector = make(false, cases[i].theirs), binder = make(true, terms);
        tnd_msg_t hello = hello_of(&connector, 0);
        cr_assert_eq(tnd_end_heard(&binder, &hello, 1), TND_END_REFUSAL);
        cr_assert_not_null(strstr(binder.why, cases[i].name), "%s", binder.why);
        tnd_msg_t refuse = says(&binder, TND_MSG_REFUSE, 1);
        cr_assert_eq(tnd_end_heard(&connector, &refuse, 2), TND_END_REFUSAL);
        cr_assert_str_eq(connector.why, binder.why);
        cr_assert_eq(tnd_end_deadline(&connector), TND_NEVER);
        cr_assert_eq(tnd_end_tick(&connector, false, 99999 * MS), TND_END_NOTHING);
    }
}

Test(link_end, the_longest_sentence_fits)
{
    const tnd_terms_t most = {.graph = {UINT64_MAX, UINT64_MAX}, .abi = 5};
    tnd_end_t connector = make(false, most), binder = make(true, terms);
    binder.config.self = binder.config.peer = UINT32_MAX;
    tnd_msg_t hello = hello_of(&connector, 0);

    cr_assert_eq(tnd_end_heard(&binder, &hello, 1), TND_END_REFUSAL);
    cr_assert_str_eq(binder.why + strlen(binder.why) - 5, "--set");
}

Test(link_end, zero_is_not_checked)
{
    const tnd_terms_t none = {.abi = 5};
    tnd_end_t a = make(false, terms), b = make(true, none);
    bring_up(&a, &b, 0);
}

Test(link_end, required_terms_must_be_present)
{
    const tnd_terms_t none = {.abi = 5};
    tnd_end_t connector = make(false, none), binder = make(true, terms);
    tnd_msg_t hello = hello_of(&connector, 0);

    cr_assert_eq(tnd_end_heard(&binder, &hello, 1), TND_END_REFUSAL);
    cr_assert_not_null(strstr(binder.why, "graph"), "%s", binder.why);
}

Test(link_end, a_false_hello_does_not_end_the_connection_of_the_peer)
{
    const tnd_life_t lives[] = {0, 1ull << 63, UINT64_MAX, 200};
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);

    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        tnd_msg_t hello = {.kind = TND_MSG_HELLO, .from = WORKER, .to = JOIN}, more;
        hello.hello.life = hello.hello.birth = lives[i];
        hello.hello.connection = UINT32_MAX;
        if (lives[i] != 200)
            hello.hello.terms = terms; /* that one knows none of them */
        cr_assert_eq(tnd_end_heard(&binder, &hello, 1), TND_END_REFUTED);
        cr_assert_neq(binder.why[0], '\0');
        tnd_msg_t refuse = tnd_end_refute(&binder);
        cr_assert_str_eq(refuse.refuse.why, binder.why);
        cr_assert_not(tnd_end_next(&binder, 1, &more), "the peer itself is not told");
        cr_assert(binder.state == TND_END_OPEN && binder.life == 100);
    }
    tnd_end_disconnected(&connector, 1);
    tnd_msg_t again = hello_of(&connector, 20 * MS);
    cr_assert_eq(tnd_end_heard(&binder, &again, 20 * MS), TND_END_LOST);
    cr_assert_eq(tnd_end_heard(&binder, &again, 20 * MS), TND_END_UP);
}

Test(link_end, an_impossible_life_is_refused_before_the_peer_has_come)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    tnd_msg_t hello = {.kind = TND_MSG_HELLO, .from = WORKER, .to = JOIN};
    hello.hello.life = 1ull << 63;
    hello.hello.terms = terms;

    cr_assert_eq(tnd_end_heard(&binder, &hello, 0), TND_END_REFUSAL);
    says(&binder, TND_MSG_REFUSE, 0);
    bring_up(&connector, &binder, 1);
}

Test(link_end, tolerance_on_either_side_accepts_another_numeric)
{
    tnd_terms_t other = terms, tolerant = terms;
    other.numeric = 99;
    tolerant.tolerant = true;
    tnd_end_t a = make(false, other), b = make(true, tolerant);
    bring_up(&a, &b, 0);
    other.tolerant = true;
    tnd_end_t c = make(false, other), d = make(true, terms);
    bring_up(&c, &d, 0);
}

Test(link_end, a_refused_peer_is_accepted_once_it_fits)
{
    tnd_terms_t other = terms;
    other.schema = 99;
    tnd_end_t wrong = make(false, other), right = make(false, terms), binder = make(true, terms);
    tnd_msg_t hello = hello_of(&wrong, 0);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 1), TND_END_REFUSAL);
    says(&binder, TND_MSG_REFUSE, 1);
    right.life = 101;

    bring_up(&right, &binder, 2);
}

Test(link_end, only_the_listener_that_was_bound_is_meant)
{
    tnd_terms_t bound = terms, before = terms;
    bound.listener = 5;
    before.listener = 4;
    tnd_end_t now = make(false, bound), stale = make(false, before), unnamed = make(false, terms);
    tnd_msg_t meant = hello_of(&now, 0), other = hello_of(&stale, 0), any = hello_of(&unnamed, 0);

    cr_assert(tnd_end_is_meant(&bound, &meant));
    cr_assert_not(tnd_end_is_meant(&bound, &other));
    cr_assert_not(tnd_end_is_meant(&bound, &any));
    cr_assert(tnd_end_is_meant(&terms, &other));
}

Test(link_end, another_listener_is_asked_again_until_search_ns_are_over)
{
    tnd_end_t connector = make(false, terms);
    connector.config.search_ns = 100 * MS;
    const tnd_msg_t refuse = {
        .kind = TND_MSG_REFUSE, .refuse.why = "moved", .refuse.elsewhere = true};
    uint64_t now = 0;
    for (; now < 100 * MS; now = tnd_end_deadline(&connector)) {
        hello_of(&connector, now);
        cr_assert_eq(tnd_end_heard(&connector, &refuse, now), TND_END_LOST);
        cr_assert_geq(tnd_end_deadline(&connector), now + 10 * MS);
    }
    hello_of(&connector, now);

    cr_assert_eq(tnd_end_heard(&connector, &refuse, now), TND_END_REFUSAL);
    cr_assert_str_eq(connector.why, "moved");
}

Test(link_end, a_welcome_ends_the_search_for_the_listener)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    connector.config.search_ns = 100 * MS;
    const tnd_msg_t refuse = {.kind = TND_MSG_REFUSE, .refuse.why = "", .refuse.elsewhere = true};
    hello_of(&connector, 0);
    cr_assert_eq(tnd_end_heard(&connector, &refuse, 0), TND_END_LOST);
    bring_up(&connector, &binder, 50 * MS);
    cr_assert_eq(tnd_end_disconnected(&connector, 150 * MS), TND_END_LOST);

    hello_of(&connector, 200 * MS);
    cr_assert_eq(tnd_end_heard(&connector, &refuse, 200 * MS), TND_END_LOST);
}

Test(link_end, an_unanswered_hello_is_given_up_after_link_timeout)
{
    tnd_end_t connector = make(false, terms);

    hello_of(&connector, 0);
    cr_assert_eq(ticks(&connector, 1000 * MS - 1), TND_END_NOTHING);
    cr_assert_eq(tnd_end_deadline(&connector), 1000 * MS);
    cr_assert_eq(tnd_end_tick(&connector, false, 1000 * MS), TND_END_LOST);
    cr_assert_eq(connector.state, TND_END_CLOSED);
}

Test(link_end, the_back_off_is_a_quarter_of_the_time_away)
{
    const uint64_t waits[] = {10, 10, 10, 10, 10, 12500, 15625, 19531};
    tnd_end_t connector = make(false, terms);
    uint64_t now = 0;

    for (uint32_t i = 0; i < 8; i++) {
        uint64_t wait = waits[i] < 1000 ? waits[i] * MS : waits[i] * MS / 1000;
        tnd_msg_t hello = hello_of(&connector, now);
        cr_assert_eq(hello.hello.connection, i);
        cr_assert_eq(tnd_end_disconnected(&connector, now), TND_END_LOST);
        cr_assert_eq(tnd_end_deadline(&connector) / 1000, (now + wait) / 1000);
        now = tnd_end_deadline(&connector);
        cr_assert_eq(tnd_end_tick(&connector, false, now - 1), TND_END_NOTHING);
    }
    now = 60000 * MS;
    hello_of(&connector, now);
    cr_assert_eq(tnd_end_disconnected(&connector, now), TND_END_LOST);
    cr_assert_eq(tnd_end_deadline(&connector), now + 1000 * MS);
}

Test(link_end, the_time_that_an_attempt_took_is_no_back_off)
{
    tnd_end_t connector = make(false, terms);

    hello_of(&connector, 0);
    cr_assert_eq(ticks(&connector, 1000 * MS), TND_END_LOST);
    cr_assert_eq(tnd_end_deadline(&connector), 1010 * MS);
}

Test(link_end, a_peer_that_is_known_to_listen_is_dialled_at_once)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);

    hello_of(&connector, 0);
    tnd_end_disconnected(&connector, 0);
    hello_of(&connector, 4000 * MS);
    tnd_end_connect_now(&connector, 4000 * MS);
    cr_assert_eq(connector.state, TND_END_OPENING, "what is under way goes on");
    tnd_end_disconnected(&connector, 4000 * MS);
    cr_assert_eq(tnd_end_deadline(&connector), 5000 * MS);
    tnd_end_connect_now(&connector, 4100 * MS);
    cr_assert_eq(tnd_end_deadline(&connector), 4100 * MS);
    bring_up(&connector, &binder, 4100 * MS);
    tnd_end_connect_now(&connector, 4200 * MS);
    tnd_end_connect_now(&binder, 4200 * MS);
    cr_assert_eq(connector.state, TND_END_OPEN);
    cr_assert_eq(binder.state, TND_END_OPEN);
}

Test(link_end, a_welcome_starts_the_back_off_anew)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);

    for (int i = 0; i < 5; i++) {
        uint64_t now = connector.retry_ns;
        hello_of(&connector, now);
        tnd_end_disconnected(&connector, now);
    }
    uint64_t now = connector.retry_ns;
    bring_up(&connector, &binder, now);
    cr_assert_eq(tnd_end_disconnected(&connector, now), TND_END_LOST);
    cr_assert_eq(tnd_end_deadline(&connector), now + 10 * MS);
}

Test(link_end, the_end_of_a_connection_is_reported_once)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);

    cr_assert_eq(tnd_end_disconnected(&binder, 0), TND_END_NOTHING);
    bring_up(&connector, &binder, 0);
    cr_assert_eq(tnd_end_disconnected(&binder, 1), TND_END_LOST);
    cr_assert_eq(tnd_end_disconnected(&binder, 1), TND_END_NOTHING);
}

Test(link_end, a_later_identity_at_a_binder_is_lost_first_and_then_up)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    tnd_end_disconnected(&connector, 1);

    tnd_msg_t hello = hello_of(&connector, 20 * MS);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 20 * MS), TND_END_LOST);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 20 * MS), TND_END_UP);
    says(&binder, TND_MSG_WELCOME, 20 * MS);

    hello.hello.life = 101;
    hello.hello.connection = 0;
    cr_assert_eq(tnd_end_heard(&binder, &hello, 21 * MS), TND_END_LOST);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 21 * MS), TND_END_UP);
}

Test(link_end, a_late_hello_of_a_dead_connection_changes_nothing)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    tnd_msg_t old = hello_of(&connector, 0);
    tnd_end_disconnected(&connector, 1);
    bring_up(&connector, &binder, 20 * MS);

    cr_assert_eq(tnd_end_heard(&binder, &old, 21 * MS), TND_END_NOTHING);
    cr_assert_eq(binder.state, TND_END_OPEN);
    old.hello.life = 99;
    old.hello.connection = 77;
    cr_assert_eq(tnd_end_heard(&binder, &old, 21 * MS), TND_END_STALE);
    cr_assert_eq(binder.state, TND_END_OPEN);
    tnd_end_disconnected(&binder, 22 * MS);
    cr_assert_eq(tnd_end_heard(&binder, &old, 23 * MS), TND_END_STALE);
    cr_assert_eq(binder.state, TND_END_CLOSED);
}

/*  The binder knows a later life; `connector` says HELLO, is told so, and this comes of it. */
static tnd_end_change_t is_told(tnd_end_t *connector, tnd_end_t *binder, uint64_t now)
{
    tnd_msg_t hello = hello_of(connector, now);
    cr_assert_eq(tnd_end_heard(binder, &hello, now), TND_END_STALE);
    tnd_msg_t stale = tnd_end_stale(binder);
    return tnd_end_heard(connector, &stale, now);
}

Test(link_end, an_actor_that_starts_after_its_clock_went_back_is_accepted)
{
    tnd_end_t old = make(false, terms), young = make(false, terms), binder = make(true, terms);
    bring_up(&old, &binder, 0);
    tnd_end_disconnected(&binder, 1);
    young.life = 30;

    cr_assert_eq(is_told(&young, &binder, 0), TND_END_LOST);
    cr_assert_gt(young.life, old.life);
    bring_up(&young, &binder, 10 * MS);
    cr_assert_eq(binder.life, young.life);
    tnd_end_rebirth(&young, 31, 20 * MS);
    tnd_msg_t hello = hello_of(&young, 20 * MS);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 20 * MS), TND_END_LOST, "later all the same");
}

/*  A connecting end of an actor that is born then. */
static tnd_end_t born_at(tnd_life_t birth)
{
    tnd_end_t self = make(false, terms);
    self.life = self.config.birth = birth;
    return self;
}

/*  Two processes start after the clock of their host went back; a HELLO of the first is still under
 *  way when the second has been accepted.  The births are on both sides of a second, and as close as
 *  two births may be. */
Test(link_end, a_late_hello_of_a_dead_process_with_a_raised_life_changes_nothing)
{
    const tnd_life_t known = 1ull << 60, births[][2] = {{(1 << 30) - 1, 1 << 30},
                                                        {5 << 16, 6 << 16},
                                                        {(6 << 16) - 1, 6 << 16},
                                                        {1000 * MS, 3601 * 1000 * MS}};
    for (size_t i = 0; i < sizeof births / sizeof *births; i++) {
        tnd_end_t first = born_at(known), dead = born_at(births[i][0]),
                  live = born_at(births[i][1]);
        tnd_end_t binder = make(true, terms);
        bring_up(&first, &binder, 0);
        tnd_end_disconnected(&binder, 1);
        cr_assert_eq(is_told(&dead, &binder, 2), TND_END_LOST);
        tnd_msg_t late = hello_of(&dead, 20 * MS);
        cr_assert_eq(is_told(&live, &binder, 21 * MS), TND_END_LOST);
        bring_up(&live, &binder, 40 * MS);

        cr_assert_eq(tnd_end_heard(&binder, &late, 41 * MS), TND_END_STALE);
        cr_assert_eq(binder.state, TND_END_OPEN);
        cr_assert_eq(binder.life, live.life);
    }
}

Test(link_end, a_predecessor_that_wakes_is_refused)
{
    tnd_end_t old = make(false, terms), young = make(false, terms), binder = make(true, terms);
    bring_up(&old, &binder, 0);
    young.life = 30;

    /* It still looks alive: as with a clock that goes on, the later process takes its place. */
    cr_assert_eq(is_told(&young, &binder, 0), TND_END_LOST);
    tnd_msg_t hello = hello_of(&young, 10 * MS);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 10 * MS), TND_END_LOST);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 10 * MS), TND_END_UP);

    tnd_end_disconnected(&old, 11 * MS);
    cr_assert_eq(is_told(&old, &binder, 5000 * MS), TND_END_REFUSAL);
    cr_assert_not_null(strstr(old.why, "another process"), "%s", old.why);
    tnd_end_rebirth(&old, 400, 5001 * MS);
    cr_assert_eq(tnd_end_deadline(&old), TND_NEVER, "nor in a life of its own");
    tnd_end_disconnected(&binder, 5002 * MS);
    cr_assert_eq(binder.life, young.life);
}

Test(link_end, of_two_processes_that_start_at_once_one_stays)
{
    tnd_end_t one = make(false, terms), other = make(false, terms), binder = make(true, terms);
    one.life = 50, other.life = 40;
    tnd_msg_t first = hello_of(&one, 0);
    cr_assert_eq(tnd_end_heard(&binder, &first, 0), TND_END_UP);
    says(&binder, TND_MSG_WELCOME, 0); /* and is lost on the way */
    tnd_end_disconnected(&one, 1);
    cr_assert_eq(is_told(&other, &binder, 1), TND_END_LOST);
    cr_assert_eq(tnd_end_disconnected(&binder, 2), TND_END_LOST);
    bring_up(&other, &binder, 20 * MS);

    /* Neither was known by name when it came: the later one stays. */
    cr_assert_eq(is_told(&one, &binder, 30 * MS), TND_END_LOST);
    tnd_msg_t again = hello_of(&one, 60 * MS);
    cr_assert_eq(tnd_end_heard(&binder, &again, 60 * MS), TND_END_LOST);
    cr_assert_eq(tnd_end_heard(&binder, &again, 60 * MS), TND_END_UP);
    says(&binder, TND_MSG_WELCOME, 60 * MS);
    tnd_end_disconnected(&other, 61 * MS);
    cr_assert_eq(is_told(&other, &binder, 90 * MS), TND_END_REFUSAL);
}

Test(link_end, an_impossible_later_life_is_refused)
{
    tnd_end_t connector = make(false, terms);
    hello_of(&connector, 0);
    tnd_msg_t stale = word(TND_MSG_STALE);

    stale.hello.life = UINT64_MAX;
    cr_assert_eq(tnd_end_heard(&connector, &stale, 1), TND_END_NOTHING);
    stale.hello.life = connector.life;
    cr_assert_eq(tnd_end_heard(&connector, &stale, 1), TND_END_NOTHING, "an answer come late");
    cr_assert_eq(connector.state, TND_END_OPENING);
    cr_assert_eq(connector.life, 100);
}

Test(link_end, a_rebirth_starts_at_once_under_the_new_life)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    tnd_end_rebirth(&connector, 200, 5 * MS);

    cr_assert_eq(tnd_end_deadline(&connector), 5 * MS);
    tnd_msg_t hello = hello_of(&connector, 5 * MS);
    cr_assert_eq(hello.hello.life, 200);
    cr_assert_eq(hello.hello.connection, 0);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 5 * MS), TND_END_LOST);
    cr_assert_eq(tnd_end_heard(&binder, &hello, 5 * MS), TND_END_UP);
    cr_assert(binder.life == 200 && binder.birth == 100, "it is the same that goes on");
}

Test(link_end, an_end_without_a_connection_ignores_messages)
{
    tnd_end_t binder = make(true, terms);
    tnd_msg_t msg;

    for (int kind = TND_MSG_WELCOME; kind < TND_MSG_KINDS; kind++) {
        tnd_msg_t stray = word((tnd_msg_kind_t)kind);
        stray.refuse.why = "no";
        cr_assert_eq(tnd_end_heard(&binder, &stray, 1), TND_END_NOTHING);
        cr_assert_not(tnd_end_next(&binder, 1, &msg));
    }
}
