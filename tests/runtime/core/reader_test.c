/*  Covers runtime/core/reader.h: each promise in a short scenario, and all of them together under
 *  random schedules against a simple model. */
#include "runtime/core/reader.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { READER = 1, JOIN = 2, WORKERS = 10, REST = 1000000 };

static tnd_reader_core_t *make(uint32_t tickets_max, uint32_t workers_max)
{
    tnd_reader_core_config_t config = {.self = READER,
                                       .join = JOIN,
                                       .lane = 3,
                                       .tickets_max = tickets_max,
                                       .workers_max = workers_max,
                                       .rest_ns = REST};
    tnd_reader_core_t *self =
        tnd_reader_core_init(calloc(1, tnd_reader_core_bytes(&config)), &config);
    tnd_reader_core_rewind(self, 1);
    return self;
}

static tnd_msg_t ticket(uint32_t epoch, uint64_t first, uint32_t count, uint32_t attempt)
{
    tnd_msg_t msg = {.kind = TND_MSG_TICKET, .generation = 1, .from = JOIN, .to = READER};
    msg.ticket.first = first;
    msg.ticket.lane = 3;
    msg.ticket.epoch = epoch;
    msg.ticket.count = count;
    msg.ticket.attempt = attempt;
    return msg;
}

static void give(tnd_reader_core_t *self, uint32_t epoch, uint64_t first, uint32_t attempt)
{
    tnd_msg_t msg = ticket(epoch, first, 10, attempt);
    tnd_reader_core_ticket(self, &msg);
}

static void worker_up(tnd_reader_core_t *self, tnd_actor_id_t worker, uint64_t blocks)
{
    tnd_reader_core_worker_up(self, worker);
    tnd_reader_core_credit(self, worker, blocks, 1000000);
}

/*  The next effect must be a READ; the block is sent at once and takes one byte. */
static tnd_effect_t reads(tnd_reader_core_t *self)
{
    tnd_effect_t effect;
    cr_assert(tnd_reader_core_next(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_READ);
    cr_assert_eq(effect.msg.from, READER);
    cr_assert_eq(effect.msg.ticket.lane, 3);
    tnd_reader_core_sent(self, effect.msg.to, 1);
    return effect;
}

static void reads_first(tnd_reader_core_t *self, uint64_t first)
{
    cr_assert_eq(reads(self).msg.ticket.first, first);
}

static void is_idle(tnd_reader_core_t *self)
{
    tnd_effect_t effect;
    cr_assert_not(tnd_reader_core_next(self, 0, &effect));
}

Test(reader, tickets_go_out_sorted_by_position)
{
    tnd_reader_core_t *self = make(16, 4);
    give(self, 1, 0, 0);
    give(self, 0, 30, 0);
    give(self, 0, 10, 0);
    give(self, 0, 20, 0);
    cr_assert_eq(tnd_reader_core_waiting(self), 4);
    worker_up(self, WORKERS, 9);

    reads_first(self, 10);
    reads_first(self, 20);
    give(self, 0, 0, 0);
    reads_first(self, 0);
    reads_first(self, 30);
    cr_assert_eq(reads(self).msg.ticket.epoch, 1);
    is_idle(self);
    cr_assert_eq(tnd_reader_core_waiting(self), 0);
    free(self);
}

Test(reader, nothing_is_read_without_credit)
{
    tnd_reader_core_t *self = make(16, 4);
    give(self, 0, 0, 0);
    give(self, 0, 10, 0);
    is_idle(self);
    cr_assert(tnd_reader_core_blocked_on(self) & TND_WAIT_PEER);
    tnd_reader_core_worker_up(self, WORKERS);
    is_idle(self);
    cr_assert_eq(tnd_reader_core_blocked_on(self), TND_WAIT_CREDIT);

    tnd_reader_core_credit(self, WORKERS, 1, 100);
    reads_first(self, 0);
    is_idle(self);
    tnd_reader_core_credit(self, WORKERS, 1, 100);
    is_idle(self);
    tnd_reader_core_credit(self, WORKERS, 2, 100);
    reads_first(self, 10);
    cr_assert_eq(tnd_reader_core_blocked_on(self), TND_WAIT_INPUT);
    free(self);
}

Test(reader, bytes_are_overshot_by_one_block_at_most)
{
    tnd_reader_core_t *self = make(16, 4);
    for (uint64_t first = 0; first < 40; first += 10)
        give(self, 0, first, 0);
    tnd_reader_core_worker_up(self, WORKERS);
    tnd_reader_core_credit(self, WORKERS, 9, 100);
    tnd_effect_t effect;

    cr_assert(tnd_reader_core_next(self, 0, &effect));
    is_idle(self);
    tnd_reader_core_sent(self, WORKERS, 99);
    cr_assert(tnd_reader_core_next(self, 0, &effect));
    tnd_reader_core_sent(self, WORKERS, 500);
    is_idle(self);
    tnd_reader_core_credit(self, WORKERS, 9, 599);
    is_idle(self);
    tnd_reader_core_credit(self, WORKERS, 9, 600);
    cr_assert(tnd_reader_core_next(self, 0, &effect));
    free(self);
}

Test(reader, the_worker_with_the_most_free_credit_is_served)
{
    tnd_reader_core_t *self = make(16, 4);
    for (uint64_t first = 0; first < 60; first += 10)
        give(self, 0, first, 0);
    worker_up(self, WORKERS, 1);
    worker_up(self, WORKERS + 1, 3);
    worker_up(self, WORKERS + 2, 2);

    const tnd_actor_id_t most = WORKERS + 1;
    cr_assert_eq(reads(self).msg.to, most);
    unsigned given[3] = {0, 1, 0};
    for (int i = 0; i < 5; i++)
        given[reads(self).msg.to - WORKERS]++;
    cr_assert(given[0] == 1 && given[1] == 3 && given[2] == 2);
    free(self);
}

Test(reader, equal_workers_take_turns)
{
    tnd_reader_core_t *self = make(16, 4);
    for (uint64_t first = 0; first < 120; first += 10)
        give(self, 0, first, 0);
    uint64_t credit[3];
    for (uint32_t i = 0; i < 3; i++)
        worker_up(self, WORKERS + i, credit[i] = 4);
    tnd_actor_id_t order[12];

    for (int i = 0; i < 12; i++) {
        order[i] = reads(self).msg.to;
        uint32_t worker = order[i] - WORKERS;
        tnd_reader_core_credit(self, order[i], ++credit[worker], 1000000);
        if (i >= 3)
            cr_assert_eq(order[i], order[i - 3]);
    }
    cr_assert(order[0] != order[1] && order[1] != order[2] && order[0] != order[2]);
    free(self);
}

Test(reader, the_tickets_of_a_lost_worker_go_back_to_the_join)
{
    tnd_reader_core_t *self = make(16, 4);
    worker_up(self, WORKERS, 9);
    give(self, 0, 0, 0);
    give(self, 0, 10, 2);
    reads(self);
    reads(self);
    give(self, 0, 20, 0);
    tnd_reader_core_worker_lost(self, WORKERS);
    tnd_reader_core_worker_lost(self, WORKERS);
    tnd_effect_t effect;

    for (uint64_t first = 0; first <= 10; first += 10) {
        cr_assert(tnd_reader_core_next(self, 0, &effect));
        cr_assert_eq(effect.kind, TND_EFFECT_CONTROL);
        cr_assert_eq(effect.msg.kind, TND_MSG_LOST);
        cr_assert_eq(effect.msg.to, JOIN);
        cr_assert_eq(effect.msg.generation, 1);
        cr_assert_eq(effect.msg.ticket.first, first);
        cr_assert_eq(effect.msg.ticket.attempt, first == 0 ? 0 : 2);
        cr_assert_eq(effect.msg.ticket.count, 10);
    }
    is_idle(self);
    cr_assert_eq(tnd_reader_core_waiting(self), 1);
    free(self);
}

Test(reader, a_ticket_issued_again_is_placed_by_its_position)
{
    tnd_reader_core_t *self = make(16, 4);
    worker_up(self, WORKERS, 9);
    give(self, 0, 20, 0);
    reads(self);
    worker_up(self, WORKERS + 1, 9);
    give(self, 0, 0, 0);
    give(self, 0, 30, 0);
    give(self, 0, 20, 1);

    reads_first(self, 0);
    cr_assert_eq(reads(self).msg.ticket.attempt, 1);
    reads_first(self, 30);
    free(self);
}

static tnd_actor_id_t next_worker(tnd_reader_core_t *self, uint64_t now)
{
    tnd_effect_t effect;
    cr_assert(tnd_reader_core_next(self, now, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_READ);
    tnd_reader_core_sent(self, effect.msg.to, 1);
    return effect.msg.to;
}

Test(reader, an_overdue_ticket_goes_to_another_worker_and_the_late_one_rests)
{
    tnd_reader_core_t *self = make(64, 4);
    worker_up(self, WORKERS, 99);
    give(self, 0, 0, 0);
    cr_assert_eq(next_worker(self, 0), WORKERS);
    worker_up(self, WORKERS + 1, 9);
    give(self, 0, 0, 1);
    give(self, 0, 10, 0);
    give(self, 0, 20, 0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(next_worker(self, 1000), WORKERS + 1);
    cr_assert_eq(tnd_reader_core_deadline(self), 1000 + REST);
    free(self);
}

Test(reader, a_ticket_with_another_budget_is_another_one)
{
    tnd_reader_core_t *self = make(64, 4);
    worker_up(self, WORKERS, 99);
    give(self, 0, 0, 0);
    cr_assert_eq(next_worker(self, 0), WORKERS);
    worker_up(self, WORKERS + 1, 9);
    tnd_msg_t larger = ticket(0, 0, 10, 1);
    larger.ticket.budget = 700;
    tnd_reader_core_ticket(self, &larger);
    tnd_effect_t effect = reads(self);
    cr_assert(effect.msg.to == WORKERS && effect.msg.ticket.budget == 700, "it does not rest");
    free(self);
}

Test(reader, parts_of_a_ticket_are_forgotten_one_by_one)
{
    tnd_reader_core_t *self = make(4, 4);
    worker_up(self, WORKERS, 99);
    for (uint32_t at = 0; at < 10; at++) { /* each answer brings one row */
        tnd_msg_t rest = ticket(0, at, 10 - at, 0);
        rest.ticket.floor = (tnd_position_t){.index = at};
        tnd_reader_core_ticket(self, &rest);
        reads_first(self, at);
        cr_assert_not(tnd_reader_core_full(self));
    }
    free(self);
}

/*  The block of the whole ticket names that, so the join cannot use it for a piece of it. */
Test(reader, the_first_piece_of_a_cut_ticket_is_read_although_a_later_one_came_before)
{
    tnd_reader_core_t *self = make(16, 1);
    tnd_msg_t first = ticket(0, 0, 5, 1), second = ticket(0, 5, 5, 1);
    worker_up(self, WORKERS, 9);
    give(self, 0, 0, 0);
    reads_first(self, 0);
    tnd_reader_core_ticket(self, &second);
    reads_first(self, 5);
    tnd_reader_core_ticket(self, &first);
    cr_assert_eq(reads(self).msg.ticket.count, 5);
    first.ticket.attempt = 2;
    tnd_reader_core_ticket(self, &first); /* overdue, and no other worker could take it */
    is_idle(self);
    free(self);
}

Test(reader, a_late_worker_is_tried_with_one_ticket_and_trusted_once_the_floor_has_passed_it)
{
    tnd_reader_core_t *self = make(64, 4);
    worker_up(self, WORKERS, 99);
    give(self, 0, 0, 0);
    cr_assert_eq(next_worker(self, 0), WORKERS);
    worker_up(self, WORKERS + 1, 50);
    give(self, 0, 0, 1);
    cr_assert_eq(next_worker(self, 1000), WORKERS + 1);
    for (uint64_t first = 10; first < 60; first += 10)
        give(self, 0, first, 0);
    cr_assert_eq(next_worker(self, 1000 + REST), WORKERS);
    cr_assert_eq(next_worker(self, 1000 + REST), WORKERS + 1);
    cr_assert_eq(next_worker(self, 1000 + REST), WORKERS + 1);

    tnd_msg_t later = ticket(0, 70, 10, 0);
    later.ticket.floor = (tnd_position_t){.index = 20};
    tnd_reader_core_ticket(self, &later);
    cr_assert_eq(next_worker(self, 1000 + REST), WORKERS);
    cr_assert_eq(next_worker(self, 1000 + REST), WORKERS);
    free(self);
}

Test(reader, a_worker_that_is_late_again_rests_twice_as_long)
{
    tnd_reader_core_t *self = make(64, 4);
    worker_up(self, WORKERS, 99);
    give(self, 0, 0, 0);
    cr_assert_eq(next_worker(self, 0), WORKERS);
    worker_up(self, WORKERS + 1, 50);
    give(self, 0, 0, 1);
    cr_assert_eq(next_worker(self, 0), WORKERS + 1);
    give(self, 0, 10, 0);
    cr_assert_eq(next_worker(self, REST), WORKERS);
    give(self, 0, 10, 1);
    cr_assert_eq(next_worker(self, REST), WORKERS + 1);
    cr_assert_eq(tnd_reader_core_deadline(self), 3 * REST);
    free(self);
}

Test(reader, a_single_worker_is_given_nothing_twice_and_none_rests_alone)
{
    tnd_reader_core_t *self = make(64, 4);
    worker_up(self, WORKERS, 99);
    give(self, 0, 0, 0);
    cr_assert_eq(next_worker(self, 0), WORKERS);
    give(self, 0, 0, 1);
    is_idle(self);

    worker_up(self, WORKERS + 1, 50);
    give(self, 0, 0, 2);
    cr_assert_eq(next_worker(self, 0), WORKERS + 1);
    tnd_reader_core_worker_lost(self, WORKERS + 1);
    tnd_effect_t effect;
    cr_assert(tnd_reader_core_next(self, 0, &effect));
    cr_assert_eq(effect.msg.kind, TND_MSG_LOST);
    give(self, 0, 10, 0);
    cr_assert_eq(next_worker(self, 0), WORKERS);
    free(self);
}

Test(reader, only_the_workers_with_the_lowest_numbers_are_awake)
{
    tnd_reader_core_t *self = make(16, 4);
    worker_up(self, WORKERS + 2, 9);
    worker_up(self, WORKERS, 4);
    worker_up(self, WORKERS + 1, 4);
    tnd_reader_core_awake(self, 1);
    for (uint64_t first = 0; first < 60; first += 10)
        give(self, 0, first, 0);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(reads(self).msg.to, WORKERS);
    is_idle(self); /* the others have credit and sleep */
    cr_assert_eq(tnd_reader_core_blocked_on(self), TND_WAIT_CREDIT);
    cr_assert_eq(tnd_reader_core_room(self), 0);
    tnd_reader_core_awake(self, 2);
    cr_assert_eq(reads(self).msg.to, WORKERS + 1);
    cr_assert_eq(tnd_reader_core_room(self), 3);
    tnd_reader_core_awake(self, 3);
    cr_assert_eq(reads(self).msg.to, WORKERS + 2);
    free(self);
}

Test(reader, a_worker_that_is_woken_has_the_credit_that_it_had_left)
{
    tnd_reader_core_t *self = make(16, 4);
    worker_up(self, WORKERS, 0);
    worker_up(self, WORKERS + 1, 3);
    for (uint64_t first = 0; first < 60; first += 10)
        give(self, 0, first, 0);
    reads_first(self, 0);
    reads_first(self, 10);
    tnd_reader_core_awake(self, 1);
    is_idle(self);
    tnd_reader_core_awake(self, 2);
    reads_first(self, 20);
    is_idle(self);
    free(self);
}

Test(reader, the_loss_of_a_worker_that_is_awake_wakes_the_next_one)
{
    tnd_reader_core_t *self = make(16, 4);
    worker_up(self, WORKERS, 9);
    worker_up(self, WORKERS + 1, 9);
    tnd_reader_core_awake(self, 1);
    give(self, 0, 0, 0);
    cr_assert_eq(reads(self).msg.to, WORKERS);
    tnd_reader_core_worker_lost(self, WORKERS);
    tnd_effect_t effect;
    cr_assert(tnd_reader_core_next(self, 0, &effect));
    cr_assert_eq(effect.msg.kind, TND_MSG_LOST);
    give(self, 0, 0, 1);
    cr_assert_eq(reads(self).msg.to, WORKERS + 1);
    /* It sleeps again once the other one is back, and the loss of its ticket is reported. */
    worker_up(self, WORKERS, 9);
    give(self, 0, 10, 0);
    cr_assert_eq(reads(self).msg.to, WORKERS);
    tnd_reader_core_worker_lost(self, WORKERS + 1);
    cr_assert(tnd_reader_core_next(self, 0, &effect));
    cr_assert_eq(effect.msg.kind, TND_MSG_LOST);
    cr_assert_eq(effect.msg.ticket.first, 0);
    is_idle(self);
    free(self);
}

Test(reader, the_only_worker_that_is_awake_never_rests)
{
    tnd_reader_core_t *self = make(16, 4);
    worker_up(self, WORKERS, 9);
    worker_up(self, WORKERS + 1, 9);
    tnd_reader_core_awake(self, 1);
    give(self, 0, 0, 0);
    cr_assert_eq(reads(self).msg.to, WORKERS);
    give(self, 0, 0, 1); /* overdue, and no other worker could take it */
    is_idle(self);
    give(self, 0, 10, 0);
    reads_first(self, 10);
    /* What a sleeping worker is late with goes to one that is awake. */
    tnd_reader_core_worker_lost(self, WORKERS);
    tnd_effect_t effect;
    while (tnd_reader_core_next(self, 0, &effect))
        cr_assert_eq(effect.msg.kind, TND_MSG_LOST);
    give(self, 0, 20, 0);
    cr_assert_eq(reads(self).msg.to, WORKERS + 1);
    worker_up(self, WORKERS, 9);
    give(self, 0, 20, 1);
    cr_assert_eq(reads(self).msg.to, WORKERS);
    is_idle(self);
    free(self);
}

Test(reader, the_last_worker_that_stays_awake_ends_its_rest)
{
    tnd_reader_core_t *self = make(16, 4);
    worker_up(self, WORKERS, 9);
    worker_up(self, WORKERS + 1, 9);
    tnd_reader_core_awake(self, 2);
    give(self, 0, 0, 0);
    tnd_actor_id_t late = reads(self).msg.to;
    give(self, 0, 0, 1); /* the late one rests */
    cr_assert_neq(reads(self).msg.to, late);
    tnd_reader_core_awake(self, 1); /* which may leave only the late one */
    give(self, 0, 10, 0);
    cr_assert_eq(reads(self).msg.to, WORKERS);
    free(self);
}

Test(reader, a_higher_attempt_replaces_a_waiting_one_and_a_lower_is_ignored)
{
    tnd_reader_core_t *self = make(16, 4);
    tnd_msg_t halved = ticket(0, 0, 5, 1);
    give(self, 0, 0, 0);
    tnd_reader_core_ticket(self, &halved);
    give(self, 0, 0, 0);
    give(self, 0, 0, 1);
    cr_assert_eq(tnd_reader_core_waiting(self), 1);
    worker_up(self, WORKERS, 9);

    tnd_effect_t effect = reads(self);
    cr_assert_eq(effect.msg.ticket.attempt, 1);
    cr_assert_eq(effect.msg.ticket.count, 5);
    is_idle(self);
    free(self);
}

Test(reader, what_the_floor_has_passed_is_forgotten)
{
    tnd_reader_core_t *self = make(4, 4);
    worker_up(self, WORKERS, 99);
    give(self, 0, 0, 0);
    give(self, 0, 10, 0);
    reads(self);
    reads(self);
    tnd_msg_t msg = ticket(0, 20, 10, 0);
    msg.ticket.floor = (tnd_position_t){.epoch = 0, .index = 19};
    tnd_reader_core_ticket(self, &msg);
    reads(self);
    tnd_reader_core_worker_lost(self, WORKERS);
    tnd_effect_t effect;

    cr_assert(tnd_reader_core_next(self, 0, &effect));
    cr_assert_eq(effect.msg.ticket.first, 10, "above the floor by one position");
    cr_assert(tnd_reader_core_next(self, 0, &effect));
    cr_assert_eq(effect.msg.ticket.first, 20);
    is_idle(self);
    give(self, 0, 0, 5);
    cr_assert_eq(tnd_reader_core_waiting(self), 0, "below the floor");
    msg = ticket(1, 0, 10, 0);
    msg.ticket.floor = (tnd_position_t){.epoch = 1};
    tnd_reader_core_ticket(self, &msg);
    cr_assert_eq(tnd_reader_core_waiting(self), 1);
    for (uint64_t first = 10; first < 40; first += 10)
        give(self, 1, first, 0);
    cr_assert_eq(tnd_reader_core_waiting(self), 4, "epoch 0 has given its room back");
    free(self);
}

Test(reader, a_rewind_forgets_tickets_and_keeps_credit)
{
    tnd_reader_core_t *self = make(16, 4);
    worker_up(self, WORKERS, 2);
    give(self, 0, 0, 0);
    reads(self);
    give(self, 0, 10, 0);
    tnd_reader_core_rewind(self, 2);
    cr_assert_eq(tnd_reader_core_waiting(self), 0);
    give(self, 0, 20, 0);
    cr_assert_eq(tnd_reader_core_waiting(self), 0, "of the generation before");

    tnd_msg_t msg = ticket(0, 0, 10, 0);
    msg.generation = 3;
    tnd_reader_core_ticket(self, &msg);
    tnd_reader_core_rewind(self, 3);
    cr_assert_eq(tnd_reader_core_waiting(self), 1, "a newer ticket is the rewind");
    cr_assert_eq(reads(self).msg.generation, 3);
    msg.ticket.first = 10;
    tnd_reader_core_ticket(self, &msg);
    is_idle(self);
    cr_assert_eq(tnd_reader_core_blocked_on(self), TND_WAIT_CREDIT);
    tnd_reader_core_worker_lost(self, WORKERS);
    tnd_effect_t effect;
    cr_assert(tnd_reader_core_next(self, 0, &effect));
    cr_assert_eq(effect.msg.ticket.first, 0);
    is_idle(self);
    free(self);
}

Test(reader, credit_starts_from_zero_on_a_new_connection)
{
    tnd_reader_core_t *self = make(16, 4);
    worker_up(self, WORKERS, 9);
    tnd_reader_core_worker_lost(self, WORKERS);
    tnd_reader_core_credit(self, WORKERS, 10, 1000);
    tnd_reader_core_worker_up(self, WORKERS);
    give(self, 0, 0, 0);

    is_idle(self);
    free(self);
}

/*  Random schedules: a join that issues again what is lost, workers that come, go and take credit.
 *  Every position is delivered, no worker is given more than its credit or a block while it sleeps,
 *  and each READ is the lowest ticket waiting. */
static void run(unsigned seed)
{
    enum { TICKETS = 300, WINDOW = 24, PEERS = 7 };
    tnd_reader_core_t *self = make(WINDOW, PEERS);
    struct {
        uint32_t attempt;
        enum { UNISSUED, WAITING, SENT, DONE } state;
        uint32_t worker;
    } model[TICKETS] = {0};
    struct {
        bool up;
        uint64_t granted, sent;
    } peer[PEERS] = {0};
    uint32_t floor = 0, issued = 0, awake = PEERS;

    while (floor < TICKETS) {
        uint32_t w = (uint32_t)rand_r(&seed) % PEERS;
        switch (rand_r(&seed) % 8) {
        case 0:
        case 1:
        case 2:
            if (issued < TICKETS && issued < floor + WINDOW) {
                tnd_msg_t msg = ticket(issued / 100, issued % 100 * 10, 10, 0);
                msg.ticket.floor =
                    (tnd_position_t){.epoch = floor / 100, .index = floor % 100 * 10};
                tnd_reader_core_ticket(self, &msg);
                model[issued++].state = WAITING;
            }
            break;
        case 3:
        case 4:
            if (peer[w].up) {
                peer[w].granted += (unsigned)rand_r(&seed) % 3;
                tnd_reader_core_credit(self, WORKERS + w, peer[w].granted, UINT64_MAX);
            } else {
                tnd_reader_core_worker_up(self, WORKERS + w);
                memset(&peer[w], 0, sizeof peer[w]);
                peer[w].up = true;
            }
            break;
        case 5:
            if (rand_r(&seed) % 4 == 0) {
                tnd_reader_core_worker_lost(self, WORKERS + w);
                peer[w].up = false;
            } else if (rand_r(&seed) % 4 == 0) {
                awake = 1 + (uint32_t)rand_r(&seed) % PEERS;
                tnd_reader_core_awake(self, awake);
            }
            break;
        default: /* a block comes through */
            for (uint32_t i = floor; i < issued; i++)
                if (model[i].state == SENT && peer[model[i].worker].up && rand_r(&seed) % 2)
                    model[i].state = DONE;
            while (floor < issued && model[floor].state == DONE)
                floor++;
        }
        tnd_effect_t effect;
        while (tnd_reader_core_next(self, 0, &effect)) {
            uint32_t i = effect.msg.ticket.epoch * 100 + (uint32_t)effect.msg.ticket.first / 10;
            cr_assert_eq(effect.msg.ticket.attempt, model[i].attempt);
            if (effect.kind == TND_EFFECT_READ) {
                w = effect.msg.to - WORKERS;
                for (uint32_t k = floor; k < issued; k++)
                    cr_assert(model[k].state != WAITING || k >= i, "ticket %u before %u", i, k);
                cr_assert_eq(model[i].state, WAITING);
                cr_assert(peer[w].up && peer[w].sent++ < peer[w].granted);
                uint32_t lower = 0;
                for (uint32_t k = 0; k < w; k++)
                    lower += peer[k].up;
                cr_assert_lt(lower, awake);
                model[i].state = SENT;
                model[i].worker = w;
                tnd_reader_core_sent(self, effect.msg.to, 1);
            } else if (model[i].state == SENT) {
                cr_assert_not(peer[model[i].worker].up);
                model[i].state = WAITING;
                tnd_msg_t msg = ticket(i / 100, i % 100 * 10, 10, ++model[i].attempt);
                tnd_reader_core_ticket(self, &msg);
            }
        }
        uint32_t waiting = 0;
        for (uint32_t i = floor; i < issued; i++)
            waiting += model[i].state == WAITING;
        cr_assert_eq(tnd_reader_core_waiting(self), waiting);
    }
    free(self);
}

Test(reader, random_schedules_deliver_every_position)
{
    for (unsigned seed = 1; seed <= 200; seed++)
        run(seed);
}
