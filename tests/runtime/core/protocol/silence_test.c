/*  Covers runtime/core/protocol/link_end.h: pings, silence and long paths; time is stepped by hand. */
#include "tests/runtime/core/protocol/ends.h"

Test(silence, an_idle_end_pings_after_a_quarter_and_is_answered)
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

Test(silence, what_the_driver_sends_takes_the_place_of_pings)
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

Test(silence, two_idle_ends_stay_up)
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

Test(silence, silence_for_link_timeout_loses_either_end)
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

Test(silence, a_long_message_is_not_silence)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    unsigned words = 0;

    cr_assert_eq(ticks_moving(&binder, true, false, 100000 * MS, &words), TND_END_NOTHING);
    cr_assert_geq(words, 350, "it pings all the while, as its own bytes do not move");
    cr_assert_eq(ticks_moving(&binder, false, false, 200000 * MS, &words), TND_END_LOST);
    cr_assert_lt(binder.ticked_ns, 101300 * MS);
}

Test(silence, no_ping_is_queued_while_bytes_still_leave)
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

Test(silence, a_long_round_trip_is_not_silence_within_bounds)
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

/*  Every message takes two seconds to the other end; no other data is sent. */
Test(silence, a_handshake_over_a_long_way_succeeds)
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

/*  A connector, a binder and what each has sent: every message takes `way` to the other end, and
 *  the transport sees nothing of it. */
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

Test(silence, a_delay_that_the_transport_does_not_see_ends_no_connection)
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

Test(silence, a_handshake_gets_as_much_time_as_the_last_one_took)
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

Test(silence, an_end_that_was_away_gives_the_peer_what_was_left_of_its_time)
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

Test(silence, a_peer_that_has_died_meanwhile_is_lost_all_the_same)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    bring_up(&connector, &binder, 0);
    uint64_t now = 0;
    unsigned seen = 0;

    /* One that is always late counts a quarter of link_timeout each time, and one more to read. */
    for (; tnd_end_tick(&binder, false, now) == TND_END_NOTHING; seen++)
        now += 3000 * MS;
    cr_assert_eq(seen, 5);
}

/*  What came while it was away is read after the tick. */
Test(silence, an_end_that_is_away_again_and_again_reads_before_it_gives_up)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    tnd_msg_t pong = word(TND_MSG_PONG);
    bring_up(&connector, &binder, 0);
    uint64_t now = 0;
    for (int time = 0; time < 20; time++) {
        for (int away = 0; away < 4; away++)
            cr_assert_eq(tnd_end_tick(&binder, false, now += 400 * MS), TND_END_NOTHING);
        cr_assert_eq(tnd_end_heard(&binder, &pong, now), TND_END_NOTHING, "what lay unread");
    }
    for (int away = 0; away < 4; away++)
        cr_assert_eq(tnd_end_tick(&binder, false, now += 400 * MS), TND_END_NOTHING);
    cr_assert_eq(ticks(&binder, now + 250 * MS), TND_END_NOTHING);
    cr_assert_eq(tnd_end_tick(&binder, false, now + 250 * MS + 1), TND_END_LOST,
                 "nothing lay unread");
}

/*  Four absences count all but a millisecond of link_timeout. */
Test(silence, an_end_that_was_away_has_a_quarter_of_link_timeout_to_read_what_came)
{
    tnd_end_t connector = make(false, terms), binder = make(true, terms);
    tnd_msg_t pong = word(TND_MSG_PONG);
    bring_up(&connector, &binder, 0);
    uint64_t now = 0;
    cr_assert_eq(tnd_end_tick(&binder, false, now += 249 * MS), TND_END_NOTHING);
    for (int away = 0; away < 3; away++)
        cr_assert_eq(tnd_end_tick(&binder, false, now += 400 * MS), TND_END_NOTHING);
    tnd_end_t mute = binder;
    cr_assert_eq(tnd_end_tick(&binder, false, now + 250 * MS), TND_END_NOTHING);
    cr_assert_eq(tnd_end_heard(&binder, &pong, now + 250 * MS), TND_END_NOTHING, "it lay unread");
    cr_assert_eq(ticks(&binder, now + 1250 * MS - 1), TND_END_NOTHING);
    cr_assert_eq(ticks(&binder, now + 1250 * MS), TND_END_LOST);
    cr_assert_eq(tnd_end_tick(&mute, false, now + 250 * MS + 1), TND_END_LOST, "nothing came");
}

Test(silence, the_silence_clock_stops_while_the_peer_is_busy)
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
