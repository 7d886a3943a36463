/*  Covers runtime/core/protocol/link_end.h: two ends and a wire of one array each way, time stepped
 * by hand.
 */
#include "runtime/core/protocol/link_end.h"

#include <string.h>

#include <criterion/criterion.h>

#define MS 1000000ull

enum { WORKER = 7, JOIN = 9 };

static const tnd_terms_t terms = {.graph = {1, 2}, .schema = 3, .numeric = 4, .abi = 5};

static tnd_end_t make(bool binder, tnd_terms_t its_terms)
{
    tnd_end_config_t config = {.self = binder ? JOIN : WORKER,
                               .peer = binder ? WORKER : JOIN,
                               .terms = its_terms,
                               .birth = binder ? 0 : 100,
                               .link_timeout_ns = 1000 * MS,
                               .binder = binder};
    tnd_end_t self;
    tnd_end_init(&self, &config, 100, 0);
    return self;
}

/*  What `self` says now must be one message of `kind`. */
static tnd_msg_t says(tnd_end_t *self, tnd_msg_kind_t kind, uint64_t now)
{
    tnd_msg_t msg, more;
    cr_assert(tnd_end_next(self, now, &msg));
    cr_assert_eq(msg.kind, kind);
    cr_assert_not(tnd_end_next(self, now, &more));
    return msg;
}

static tnd_msg_t hello_of(tnd_end_t *connector, uint64_t now)
{
    cr_assert_eq(tnd_end_tick(connector, false, now), TND_END_CONNECT);
    tnd_end_connected(connector, now);
    return says(connector, TND_MSG_HELLO, now);
}

static void bring_up(tnd_end_t *connector, tnd_end_t *binder, uint64_t now)
{
    tnd_msg_t hello = hello_of(connector, now);
    cr_assert_eq(tnd_end_heard(binder, &hello, now), TND_END_UP);
    tnd_msg_t welcome = says(binder, TND_MSG_WELCOME, now);
    cr_assert_eq(tnd_end_heard(connector, &welcome, now), TND_END_UP);
}

/*  Ticks whenever one is due before `now`, and then: what the last one says. */
static tnd_end_change_t ticks(tnd_end_t *self, uint64_t now)
{
    for (uint64_t due = tnd_end_deadline(self); due < now; due = tnd_end_deadline(self)) {
        tnd_msg_t ping;
        cr_assert_eq(tnd_end_tick(self, false, due), TND_END_NOTHING);
        (void)tnd_end_next(self, due, &ping);
    }
    return tnd_end_tick(self, false, now);
}

static tnd_msg_t word(tnd_msg_kind_t kind)
{
    return (tnd_msg_t){.kind = kind};
}

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
    cr_assert_str_eq(binder.why + strlen(binder.why) - 4, "file");
}

Test(link_end, zero_is_not_checked)
{
    const tnd_terms_t none = {.abi = 5};
    tnd_end_t a = make(false, terms), b = make(true, none);
    bring_up(&a, &b, 0);
}

Test(link_end, what_is_required_must_be_said)
{
    const tnd_terms_t none = {.abi = 5};
    tnd_end_t connector = make(false, none), binder = make(true, terms);
    tnd_msg_t hello = hello_of(&connector, 0);

    cr_assert_eq(tnd_end_heard(&binder, &hello, 1), TND_END_REFUSAL);
    cr_assert_not_null(strstr(binder.why, "graph"), "%s", binder.why);
}

Test(link_end, a_lie_does_not_end_the_connection_of_the_peer)
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

Test(link_end, the_end_of_a_connection_is_told_once)
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

Test(link_end, a_later_life_that_cannot_be_is_not_believed)
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

Test(link_end, an_idle_end_pings_after_a_quarter_and_is_answered)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    uint64_t now = tnd_end_deadline(&connector);
    cr_assert(now > 249 * MS && now < 251 * MS);

    cr_assert_eq(tnd_end_tick(&connector, false, now), TND_END_NOTHING);
    tnd_msg_t ping = says(&connector, TND_MSG_PING, now);
    cr_assert_eq(tnd_end_heard(&binder, &ping, now), TND_END_NOTHING);
    says(&binder, TND_MSG_PONG, now);
}

Test(link_end, what_the_driver_sends_takes_the_place_of_pings)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    tnd_msg_t msg;

    for (uint64_t now = 0; now < 3000 * MS; now += 100 * MS) {
        tnd_end_said(&connector, now);
        tnd_msg_t block = word(TND_MSG_BLOCK);
        tnd_end_heard(&connector, &block, now);
        cr_assert_eq(tnd_end_tick(&connector, false, now), TND_END_NOTHING);
        cr_assert_not(tnd_end_next(&connector, now, &msg));
    }
}

Test(link_end, two_idle_ends_stay_up)
{
    tnd_end_t end[2] = {make(false, terms), make(true, terms)};
    bring_up(&end[0], &end[1], 0);
    uint64_t now = 0;
    unsigned messages = 0;

    while (now < 60000 * MS) {
        uint64_t a = tnd_end_deadline(&end[0]), b = tnd_end_deadline(&end[1]);
        now = a < b ? a : b;
        for (int i = 0; i < 2; i++)
            cr_assert_eq(tnd_end_tick(&end[i], false, now), TND_END_NOTHING);
        for (bool more = true; more;) {
            more = false;
            for (int i = 0; i < 2; i++) {
                tnd_msg_t msg;
                while (tnd_end_next(&end[i], now, &msg)) {
                    cr_assert_eq(tnd_end_heard(&end[!i], &msg, now), TND_END_NOTHING);
                    more = true;
                    messages++;
                }
            }
        }
    }
    cr_assert(messages > 240 && messages < 1000, "%u messages in a minute", messages);
}

Test(link_end, silence_for_link_timeout_loses_either_end)
{
    tnd_end_t end[2] = {make(false, terms), make(true, terms)};
    bring_up(&end[0], &end[1], 0);

    for (int i = 0; i < 2; i++) {
        cr_assert_eq(ticks(&end[i], 1000 * MS - 1), TND_END_NOTHING);
        cr_assert_eq(ticks(&end[i], 1000 * MS), TND_END_LOST);
        cr_assert_eq(end[i].state, TND_END_CLOSED);
    }
    cr_assert_eq(end[0].connection, 1);
}

/*  Ticks as a driver does that sees the transport: bytes come, or go, all the time. */
static tnd_end_change_t ticks_moving(tnd_end_t *self, bool come, bool go, uint64_t until,
                                     unsigned *words)
{
    tnd_end_change_t change = TND_END_NOTHING;
    while (change == TND_END_NOTHING && tnd_end_deadline(self) < until) {
        uint64_t now = tnd_end_deadline(self);
        tnd_movement_t movement = {.came_ns = come ? now - 1 : 0, .went_ns = go ? now - 1 : 0};
        tnd_msg_t msg;
        if (tnd_end_is_quiet(self, now))
            tnd_end_moved(self, &movement);
        change = tnd_end_tick(self, false, now);
        while (tnd_end_next(self, now, &msg))
            ++*words;
    }
    return change;
}

Test(link_end, a_message_that_takes_long_is_no_silence)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    unsigned words = 0;

    cr_assert_eq(ticks_moving(&binder, true, false, 100000 * MS, &words), TND_END_NOTHING);
    cr_assert_geq(words, 350, "it pings all the while, as its own bytes do not move");
    cr_assert_eq(ticks_moving(&binder, false, false, 200000 * MS, &words), TND_END_LOST);
    cr_assert_lt(binder.ticked_ns, 101300 * MS);
}

Test(link_end, no_ping_is_queued_while_bytes_still_leave)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    unsigned words = 0;
    tnd_msg_t ping = word(TND_MSG_PING), msg;

    cr_assert_eq(ticks_moving(&binder, true, true, 100000 * MS, &words), TND_END_NOTHING);
    cr_assert_eq(words, 0);
    cr_assert_eq(tnd_end_heard(&binder, &ping, 100000 * MS), TND_END_NOTHING);
    cr_assert_not(tnd_end_next(&binder, 100000 * MS, &msg), "not even an answer");
    cr_assert_eq(ticks_moving(&binder, true, false, 101000 * MS, &words), TND_END_NOTHING);
    cr_assert_geq(words, 3);
}

Test(link_end, a_long_round_trip_is_no_silence_within_bounds)
{
    const struct {
        tnd_movement_t movement;
        uint64_t silent_ms;
    } cases[] = {
        {{.round_ns = 0}, 1000},
        {{.round_ns = 500 * MS}, 2000},
        {{.overdue = true}, 1000 + 1000 * TND_END_OVERDUE},
        {{.round_ns = UINT64_MAX / 4}, 1000 + 1000 * TND_END_PATIENCE},
        {{.round_ns = 4000 * MS, .overdue = true}, 1000 + 1000 * TND_END_PATIENCE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnd_end_t connector = make(false, terms), binder = make(true, terms);
        bring_up(&connector, &binder, 0);
        tnd_end_moved(&connector, &cases[i].movement);
        cr_assert_eq(ticks(&connector, cases[i].silent_ms * MS - 1), TND_END_NOTHING);
        cr_assert_eq(ticks(&connector, cases[i].silent_ms * MS), TND_END_LOST);
    }
}

/*  Every word takes two seconds to the other end, and nothing else passes. */
Test(link_end, a_handshake_over_a_long_way_succeeds)
{
    const uint64_t way = 2000 * MS;
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    tnd_end_change_t change = TND_END_LOST;
    uint64_t answer = 0;
    tnd_msg_t hello;

    for (unsigned attempt = 0; attempt < 8 && change == TND_END_LOST; attempt++) {
        answer = tnd_end_deadline(&connector) + 2 * way;
        hello = hello_of(&connector, tnd_end_deadline(&connector));
        for (change = TND_END_NOTHING;
             change == TND_END_NOTHING && tnd_end_deadline(&connector) < answer;)
            change = tnd_end_tick(&connector, false, tnd_end_deadline(&connector));
    }
    cr_assert_eq(tnd_end_heard(&binder, &hello, answer - way), TND_END_UP);
    tnd_msg_t welcome = says(&binder, TND_MSG_WELCOME, answer - way);
    cr_assert_eq(tnd_end_heard(&connector, &welcome, answer), TND_END_UP);
    cr_assert_lt(answer, 20000 * MS);
}

enum { ON_THE_WAY = 256 };

/*  A connector, a binder and what each has sent: every word takes `way` to the other end, and the
 *  transport sees nothing of it.
 */
typedef struct {
    tnd_end_t end[2];
    struct {
        tnd_msg_t msg;
        uint64_t arrives;
    } sent[2][ON_THE_WAY];
    unsigned first[2], count[2];
    uint64_t way[2];
    unsigned ups, losses; /* of the connector; at either end, of connections that were up */
    uint64_t up_at;       /* the last time */
} path_t;

static void path_changed(path_t *self, int side, tnd_end_change_t change, bool was_open,
                         uint64_t now)
{
    if (change == TND_END_CONNECT) {
        tnd_end_connected(&self->end[side], now);
        (void)tnd_end_disconnected(&self->end[1 - side], now);
        self->first[0] = self->count[0] = self->first[1] = self->count[1] = 0;
    }
    self->losses += change == TND_END_LOST && was_open;
    if (change == TND_END_UP && side == 0) {
        self->ups++;
        self->up_at = now;
    }
}

static void path_run(path_t *self, uint64_t from, uint64_t until)
{
    for (uint64_t now = from; now < until; now += 10 * MS)
        for (int side = 0; side < 2; side++) {
            tnd_end_t *end = &self->end[side];
            bool was_open = end->state == TND_END_OPEN;
            tnd_msg_t msg;
            path_changed(self, side, tnd_end_tick(end, false, now), was_open, now);
            for (int to = 1 - side; tnd_end_next(end, now, &msg); self->count[to]++) {
                unsigned at = (self->first[to] + self->count[to]) % ON_THE_WAY;
                cr_assert_lt(self->count[to], ON_THE_WAY);
                self->sent[to][at].msg = msg;
                self->sent[to][at].arrives = now + self->way[to];
            }
            while (self->count[side] > 0 && self->sent[side][self->first[side]].arrives <= now) {
                was_open = end->state == TND_END_OPEN;
                msg = self->sent[side][self->first[side]].msg;
                self->first[side] = (self->first[side] + 1) % ON_THE_WAY;
                self->count[side]--;
                path_changed(self, side, tnd_end_heard(end, &msg, now), was_open, now);
            }
        }
}

Test(link_end, a_delay_that_the_transport_does_not_see_ends_no_connection)
{
    const uint64_t ways[][2] = {{0, 4000 * MS}, {4000 * MS, 0}, {4000 * MS, 4000 * MS}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        static path_t path;
        path = (path_t){.end = {make(false, terms), make(true, terms)},
                        .way = {ways[i][0], ways[i][1]}};
        path_run(&path, 0, 120000 * MS);

        cr_assert_eq(path.ups, 1, "%u ups in case %zu", path.ups, i);
        cr_assert_eq(path.losses, 0);
        cr_assert_lt(path.up_at, 30000 * MS);
    }
}

Test(link_end, a_handshake_gets_as_much_time_as_the_last_one_took)
{
    static path_t path;
    path = (path_t){.end = {make(false, terms), make(true, terms)}, .way = {0, 4000 * MS}};
    path_run(&path, 0, 60000 * MS);

    (void)tnd_end_disconnected(&path.end[0], 60000 * MS);
    (void)tnd_end_disconnected(&path.end[1], 60000 * MS);
    path_run(&path, 60000 * MS, 120000 * MS);

    cr_assert_eq(path.ups, 2);
    cr_assert_lt(path.up_at, 64100 * MS, "the first attempt was given up");
}

Test(link_end, an_end_that_was_away_gives_the_peer_what_was_left_of_its_time)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    tnd_msg_t pong = word(TND_MSG_PONG);

    cr_assert_eq(ticks(&binder, 400 * MS), TND_END_NOTHING);
    cr_assert_eq(tnd_end_tick(&binder, false, 30400 * MS), TND_END_NOTHING, "it was away");
    cr_assert_eq(tnd_end_heard(&binder, &pong, 30400 * MS), TND_END_NOTHING, "what lay unread");
    cr_assert_eq(ticks(&binder, 31400 * MS - 1), TND_END_NOTHING);
    cr_assert_eq(ticks(&binder, 31400 * MS), TND_END_LOST);
}

Test(link_end, a_peer_that_has_died_meanwhile_is_lost_all_the_same)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    uint64_t now = 0;
    unsigned seen = 0;

    /* One that is always late counts a quarter of link_timeout each time. */
    for (; tnd_end_tick(&binder, false, now) == TND_END_NOTHING; seen++)
        now += 3000 * MS;
    cr_assert_eq(seen, 4);
}

Test(link_end, the_silence_clock_stops_while_the_peer_is_busy)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    uint64_t now;

    for (now = 0; now < 600 * MS; now += 100 * MS)
        cr_assert_eq(tnd_end_tick(&connector, false, now + 100 * MS), TND_END_NOTHING);
    for (; now < 60600 * MS; now += 100 * MS)
        cr_assert_eq(tnd_end_tick(&connector, true, now + 100 * MS), TND_END_NOTHING);
    cr_assert_eq(ticks(&connector, now + 400 * MS - 1), TND_END_NOTHING);
    cr_assert_eq(ticks(&connector, now + 400 * MS), TND_END_LOST);
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

Test(link_end, an_end_without_a_connection_hears_nothing)
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
