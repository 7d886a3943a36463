/*  Covers runtime/core/cache.h: which tickets a cache answers, which it passes on, and what becomes
 *  of the blocks that it keeps. */
#include "runtime/core/cache.h"
#include "runtime/core/lane/mixed_rows.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { CACHE = 1, JOIN = 2, READER = 3, OTHER_READER = 4, MAKER = 5, WORKER = 10, COUNT = 10 };

static const tnd_actor_id_t readers[] = {READER, OTHER_READER};

/*  The samples of these tickets are stored: positions below `below` of epochs from `epoch` on. */
typedef struct {
    uint32_t epoch;
    uint64_t below;
} stored_t;

static uint32_t find_stored(void *store, uint32_t epoch, uint64_t first, uint32_t count,
                            tnd_held_t *held)
{
    const stored_t *stored = store;
    uint32_t found = 0;
    while (found < count && epoch >= stored->epoch && first + found < stored->below)
        tnd_held_add(held, found++);
    return found;
}

static tnd_cache_core_t *make_of(tnd_cache_stored_fn *find, void *store, uint32_t reader_count)
{
    tnd_cache_core_config_t config = {.self = CACHE,
                                      .join = JOIN,
                                      .lane = 3,
                                      .readers = readers,
                                      .reader_count = reader_count,
                                      .makers_max = 2,
                                      .tickets_max = 16,
                                      .workers_max = 2,
                                      .rest_ns = 1000000,
                                      .stored = find,
                                      .store = store};
    tnd_cache_core_t *self = tnd_cache_core_init(calloc(1, tnd_cache_core_bytes(&config)), &config);
    tnd_cache_core_rewind(self, 1);
    tnd_cache_core_worker_up(self, WORKER);
    tnd_cache_core_credit(self, WORKER, 100, 1000000);
    return self;
}

static tnd_cache_core_t *make(stored_t *stored, uint32_t reader_count)
{
    return make_of(find_stored, stored, reader_count);
}

static tnd_msg_t ticket(uint32_t epoch, uint64_t first, uint32_t attempt, uint64_t floor)
{
    tnd_msg_t msg = {.kind = TND_MSG_TICKET, .generation = 1, .from = JOIN, .to = CACHE};
    msg.ticket.first = first;
    msg.ticket.lane = 3;
    msg.ticket.epoch = epoch;
    msg.ticket.count = COUNT;
    msg.ticket.attempt = attempt;
    msg.ticket.floor = (tnd_position_t){.index = floor};
    return msg;
}

static void give(tnd_cache_core_t *self, uint32_t epoch, uint64_t first, uint32_t attempt)
{
    tnd_msg_t msg = ticket(epoch, first, attempt, 0);
    tnd_cache_core_ticket(self, &msg);
}

/*  The next effect is a TICKET to a reader, of which these positions are held, a bit each; returns
 *  which reader. */
static tnd_actor_id_t passes_on_some(tnd_cache_core_t *self, uint64_t first, uint64_t held)
{
    tnd_effect_t effect;
    cr_assert(tnd_cache_core_next(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_CONTROL);
    cr_assert_eq(effect.msg.kind, TND_MSG_TICKET);
    cr_assert_eq(effect.msg.from, CACHE);
    cr_assert_eq(effect.msg.ticket.lane, 3);
    cr_assert_eq(effect.msg.ticket.count, COUNT);
    cr_assert_eq(effect.msg.ticket.first, first);
    cr_assert_eq(effect.msg.ticket.held.bits[0], held);
    return effect.msg.to;
}

static tnd_actor_id_t passes_on(tnd_cache_core_t *self, uint64_t first)
{
    return passes_on_some(self, first, 0);
}

/*  The next effect is a READ, of that payload, which was made without `held` positions; NULL: of the
 *  store. */
static void answers_some(tnd_cache_core_t *self, uint64_t first, uint32_t held, const void *payload)
{
    tnd_effect_t effect;
    cr_assert(tnd_cache_core_next(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_READ);
    cr_assert_eq(effect.msg.to, WORKER);
    cr_assert_eq(effect.msg.ticket.first, first);
    cr_assert_eq(effect.msg.ticket.count, COUNT);
    cr_assert_eq(effect.at, held);
    cr_assert_eq(effect.payload, payload);
    tnd_cache_core_sent(self, WORKER, 1);
}

static void answers(tnd_cache_core_t *self, uint64_t first, const void *payload)
{
    answers_some(self, first, 0, payload);
}

/*  The next effect tells the join of a ticket. */
static tnd_msg_t tells(tnd_cache_core_t *self, tnd_msg_kind_t kind, uint64_t first)
{
    tnd_effect_t effect;
    cr_assert(tnd_cache_core_next(self, 0, &effect));
    cr_assert_eq(effect.msg.kind, kind);
    cr_assert_eq(effect.msg.to, JOIN);
    cr_assert_eq(effect.msg.ticket.first, first);
    return effect.msg;
}

static void is_idle(tnd_cache_core_t *self)
{
    tnd_effect_t effect;
    cr_assert_not(tnd_cache_core_next(self, 0, &effect));
}

static bool block(tnd_cache_core_t *self, uint32_t epoch, uint64_t first, uint32_t attempt,
                  void *payload)
{
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .generation = 1, .from = MAKER, .to = CACHE};
    msg.block = (tnd_block_note_t){.first = first,
                                   .lane = 3,
                                   .epoch = epoch,
                                   .count = COUNT,
                                   .asked = COUNT,
                                   .attempt = attempt,
                                   .rows = COUNT,
                                   .payload = payload};
    return tnd_cache_core_block(self, &msg);
}

static void drops_nothing(tnd_cache_core_t *self)
{
    cr_assert_null(tnd_cache_core_drop(self));
}

Test(cache, stored_samples_are_answered_and_others_are_passed_on_to_the_readers_in_turn)
{
    stored_t stored = {.below = 20};
    tnd_cache_core_t *self = make(&stored, 2);
    for (uint64_t first = 0; first < 50; first += COUNT)
        give(self, 0, first, 0);
    tnd_actor_id_t one = passes_on(self, 20), two = passes_on(self, 30);
    cr_assert_neq(one, two);
    cr_assert_eq(passes_on(self, 40), one);
    answers(self, 0, NULL);
    answers(self, 10, NULL);
    is_idle(self);
    cr_assert_eq(tnd_cache_core_waiting(self), 3);
    cr_assert(tnd_cache_core_blocked_on(self) & TND_WAIT_INPUT);
    free(self);
}

/*  Positions 3, 7, 11 ... */
static uint32_t find_every_fourth(void *store, uint32_t epoch, uint64_t first, uint32_t count,
                                  tnd_held_t *held)
{
    (void)store, (void)epoch;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        if ((first + i) % 4 == 3) {
            tnd_held_add(held, i);
            found++;
        }
    return found;
}

Test(cache, a_ticket_is_passed_on_with_the_positions_that_are_stored)
{
    int payload;
    tnd_cache_core_t *self = make_of(find_every_fourth, NULL, 1);
    give(self, 0, 0, 0);
    give(self, 0, 10, 1);
    passes_on_some(self, 0, 1 << 3 | 1 << 7);
    passes_on_some(self, 10, 1 << 1 | 1 << 5 | 1 << 9);
    is_idle(self);
    cr_assert(block(self, 0, 0, 0, &payload));
    answers_some(self, 0, 2, &payload);
    cr_assert(block(self, 0, 10, 1, &payload));
    answers_some(self, 10, 3, &payload);
    is_idle(self);
    free(self);
}

Test(cache, a_later_attempt_leaves_out_what_was_stored_since)
{
    stored_t stored = {.below = 2};
    int payload;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 0, 0);
    passes_on_some(self, 0, 3);
    stored.below = 4;
    give(self, 0, 0, 1);
    passes_on_some(self, 0, 15);
    cr_assert(block(self, 0, 0, 0, &payload)); /* the first answer counts */
    answers_some(self, 0, 4, &payload);
    is_idle(self);
    free(self);
}

Test(cache, a_ticket_whose_samples_were_stored_since_is_answered_from_the_store)
{
    stored_t stored = {.below = 2};
    int payload;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 0, 0);
    passes_on_some(self, 0, 3);
    stored.below = COUNT;
    give(self, 0, 0, 1);
    answers(self, 0, NULL);
    cr_assert_not(block(self, 0, 0, 0, &payload));
    free(self);
}

Test(cache, a_position_has_the_rows_that_were_made_or_those_that_are_stored)
{
    static const uint32_t origin[] = {0, 2, 2, 4};
    const tnd_block_note_t note = {.count = 5, .rows = 4, .origin = origin};
    static const struct {
        bool stored;
        uint32_t first, rows;
    } expected[] = {{false, 0, 1}, {true, 1, 0}, {true, 1, 0}, {false, 3, 0}, {false, 3, 1}};
    tnd_mixed_rows_t rows = {.made = &note};
    for (uint32_t i = 0; i < note.count; i++) {
        uint32_t first;
        cr_assert_eq(tnd_mixed_rows_next(&rows, expected[i].stored, &first), expected[i].rows);
        cr_assert(expected[i].rows == 0 || first == expected[i].first);
    }
}

Test(cache, positions_beyond_those_that_a_ticket_can_leave_out_are_asked_for)
{
    tnd_held_t held = {0};
    uint64_t numbers[300];
    for (uint32_t i = 0; i < 300; i++) {
        numbers[i] = i;
        if (i % 2 == 0)
            tnd_held_add(&held, i);
    }
    cr_assert(tnd_held_has(&held, 254));
    cr_assert_not(tnd_held_has(&held, 255));
    cr_assert_not(tnd_held_has(&held, 256));
    cr_assert_eq(tnd_held_asked(&held, 300), 128 + 44);
    cr_assert_eq(tnd_held_leave_out(&held, numbers, 300), 128 + 44);
    cr_assert(numbers[0] == 1 && numbers[127] == 255 && numbers[128] == 256);
}

Test(cache, a_partly_stored_ticket_waits_for_the_epoch_before)
{
    stored_t stored = {.epoch = 1, .below = 4};
    int payload;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 90, 0);
    give(self, 1, 0, 0);
    passes_on(self, 90);
    is_idle(self);
    cr_assert(block(self, 0, 90, 0, &payload));
    stored.below = 7; /* this block had more samples of the ticket */
    passes_on_some(self, 0, 127);
    answers(self, 90, &payload);
    is_idle(self);
    free(self);
}

/*  The floor then passes what is before the second one, but the block still answers the first. */
Test(cache, a_block_answers_its_whole_ticket_although_a_later_one_begins_within_it)
{
    stored_t stored = {0};
    int payload;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 0, 0);
    passes_on(self, 0);
    cr_assert(block(self, 0, 0, 0, &payload));
    stored.below = 2 * COUNT;
    give(self, 0, 6, 0);
    answers(self, 0, &payload);
    answers(self, 6, NULL);
    free(self);
}

Test(cache, a_block_is_kept_until_the_floor_has_passed_it)
{
    stored_t stored = {0};
    int payload;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 0, 0);
    passes_on(self, 0);
    cr_assert(block(self, 0, 0, 0, &payload));
    cr_assert_eq(tnd_cache_core_held(self), 1);
    answers(self, 0, &payload);
    is_idle(self);
    drops_nothing(self);
    cr_assert_eq(tnd_cache_core_held(self), 1);
    cr_assert_eq(tnd_cache_core_waiting(self), 0);

    tnd_msg_t next = ticket(0, 10, 0, 9);
    tnd_cache_core_ticket(self, &next);
    drops_nothing(self);
    next = ticket(0, 20, 0, 10);
    tnd_cache_core_ticket(self, &next);
    cr_assert_eq(tnd_cache_core_drop(self), &payload);
    drops_nothing(self);
    cr_assert_eq(tnd_cache_core_held(self), 0);
    free(self);
}

Test(cache, a_block_whose_worker_was_lost_is_sent_again_without_its_reader)
{
    stored_t stored = {0};
    int payload;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 0, 0);
    passes_on(self, 0);
    cr_assert(block(self, 0, 0, 0, &payload));
    answers(self, 0, &payload);
    tnd_cache_core_worker_lost(self, WORKER);
    tells(self, TND_MSG_LOST, 0);
    tnd_cache_core_worker_up(self, WORKER);
    tnd_cache_core_credit(self, WORKER, 100, 1000000);
    give(self, 0, 0, 1);
    answers(self, 0, &payload);
    is_idle(self);
    drops_nothing(self);
    free(self);
}

Test(cache, a_ticket_with_another_count_needs_a_block_of_its_own)
{
    stored_t stored = {0};
    int payload;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 0, 0);
    passes_on(self, 0);
    cr_assert(block(self, 0, 0, 0, &payload));
    answers(self, 0, &payload);
    tnd_msg_t cut = ticket(0, 0, 1, 0);
    cut.ticket.count = 5;
    tnd_cache_core_ticket(self, &cut);
    cr_assert_eq(tnd_cache_core_drop(self), &payload);
    tnd_effect_t effect;
    cr_assert(tnd_cache_core_next(self, 0, &effect));
    cr_assert_eq(effect.msg.to, READER);
    cr_assert_eq(effect.msg.ticket.count, 5);
    /* The block of the first one is late, and not an answer to this one. */
    cr_assert_not(block(self, 0, 0, 0, &payload));
    free(self);
}

Test(cache, the_first_block_of_a_ticket_counts_and_others_remain_with_the_caller)
{
    stored_t stored = {0};
    int first, second;
    tnd_cache_core_t *self = make(&stored, 1);
    cr_assert_not(block(self, 0, 0, 0, &first));
    give(self, 0, 0, 0);
    passes_on(self, 0);
    give(self, 0, 0, 1);
    passes_on(self, 0);
    cr_assert(block(self, 0, 0, 0, &first));
    cr_assert_not(block(self, 0, 0, 1, &second));
    answers(self, 0, &first);
    is_idle(self);
    drops_nothing(self);
    free(self);
}

/*  A cache that was restarted hears of attempt 2 first.  An answer to attempt 1 lacks what its earlier life had
 *  stored. */
Test(cache, the_answer_to_an_attempt_of_an_earlier_life_is_ignored)
{
    stored_t stored = {0};
    int early, own;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 0, 2);
    passes_on(self, 0);
    cr_assert_not(block(self, 0, 0, 1, &early));
    give(self, 0, 0, 3);
    passes_on(self, 0);
    cr_assert_not(block(self, 0, 0, 1, &early));
    cr_assert(block(self, 0, 0, 2, &own));
    answers(self, 0, &own);
    is_idle(self);
    drops_nothing(self);
    free(self);
}

Test(cache, a_ticket_that_a_reader_lost_is_reported_and_forgotten)
{
    stored_t stored = {0};
    int payload;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 0, 1);
    passes_on(self, 0);
    tnd_msg_t lost = ticket(0, 0, 0, 0);
    lost.kind = TND_MSG_LOST;
    tnd_cache_core_lost(self, &lost);
    is_idle(self); /* that was an earlier attempt */
    lost.ticket.attempt = 1;
    tnd_cache_core_lost(self, &lost);
    cr_assert_not(tells(self, TND_MSG_LOST, 0).ticket.begun);
    cr_assert_eq(tnd_cache_core_waiting(self), 0);
    cr_assert_not(block(self, 0, 0, 1, &payload));
    free(self);
}

Test(cache, a_worker_that_died_with_a_ticket_that_it_began_is_reported)
{
    stored_t stored = {0};
    tnd_cache_core_t *self = make(&stored, 1);
    tnd_cache_core_maker_up(self, MAKER, (tnd_life_t)1);
    give(self, 0, 0, 0);
    passes_on(self, 0);
    tnd_msg_t begin = ticket(0, 0, 0, 0), go;
    begin.kind = TND_MSG_BEGIN;
    begin.from = MAKER;
    tnd_cache_core_begin(self, &begin);
    cr_assert(tnd_cache_core_go(self, &begin, &go));
    cr_assert_eq(go.to, MAKER);

    tnd_msg_t lost = ticket(0, 0, 0, 0);
    lost.kind = TND_MSG_LOST;
    tnd_cache_core_lost(self, &lost);
    is_idle(self);
    tnd_cache_core_maker_up(self, MAKER, (tnd_life_t)2);
    tells(self, TND_MSG_DIED, 0);
    cr_assert(tells(self, TND_MSG_LOST, 0).ticket.begun);
    is_idle(self);
    free(self);
}

Test(cache, a_lost_ticket_waits_for_its_worker_only_so_long)
{
    stored_t stored = {0};
    tnd_effect_t effect;
    tnd_cache_core_t *self = make(&stored, 1);
    tnd_cache_core_maker_up(self, MAKER, (tnd_life_t)1);
    give(self, 0, 0, 0);
    passes_on(self, 0);
    tnd_msg_t begin = ticket(0, 0, 0, 0), lost = ticket(0, 0, 0, 0);
    begin.kind = TND_MSG_BEGIN;
    begin.from = MAKER;
    lost.kind = TND_MSG_LOST;
    tnd_cache_core_begin(self, &begin);
    tnd_cache_core_lost(self, &lost);
    is_idle(self);
    cr_assert(tnd_cache_core_blocked_on(self) & TND_WAIT_PEER);
    uint64_t due = tnd_cache_core_deadline(self);
    cr_assert(due > 0 && due < TND_NEVER);
    cr_assert_not(tnd_cache_core_next(self, due - 1, &effect));
    cr_assert(tnd_cache_core_next(self, due, &effect));
    cr_assert_eq(effect.msg.kind, TND_MSG_LOST);
    cr_assert_eq(tnd_cache_core_deadline(self), TND_NEVER);
    free(self);
}

Test(cache, a_connection_of_the_same_life_is_not_a_death)
{
    stored_t stored = {0};
    tnd_cache_core_t *self = make(&stored, 1);
    tnd_cache_core_maker_up(self, MAKER, (tnd_life_t)1);
    give(self, 0, 0, 0);
    passes_on(self, 0);
    tnd_msg_t begin = ticket(0, 0, 0, 0);
    begin.kind = TND_MSG_BEGIN;
    begin.from = MAKER;
    tnd_cache_core_begin(self, &begin);
    tnd_cache_core_maker_up(self, MAKER, (tnd_life_t)1);
    is_idle(self);
    free(self);
}

Test(cache, an_epoch_waits_for_the_samples_of_the_one_before)
{
    stored_t stored = {.epoch = 1};
    int payload;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 90, 0);
    give(self, 1, 0, 0);
    give(self, 1, 10, 0);
    passes_on(self, 90);
    is_idle(self);
    cr_assert(block(self, 0, 90, 0, &payload));
    stored.below = 10; /* this block had the samples of one of the tickets */
    passes_on(self, 10);
    answers(self, 90, &payload);
    answers(self, 0, NULL);
    is_idle(self);
    free(self);
}

/*  The reader would not make that block again, because it has sent it. */
Test(cache, the_answer_to_an_earlier_attempt_counts_while_a_later_one_waits)
{
    static int made;
    stored_t stored = {.epoch = 9};
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 1, 0, 0);
    passes_on(self, 0);
    give(self, 0, 20, 0);
    passes_on(self, 20);
    give(self, 1, 0, 1);
    is_idle(self);
    cr_assert(block(self, 1, 0, 0, &made));
    answers(self, 0, &made);
    is_idle(self);
    free(self);
}

Test(cache, an_epoch_does_not_wait_once_the_store_is_full)
{
    stored_t stored = {0};
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 90, 0);
    give(self, 1, 0, 0);
    passes_on(self, 90);
    is_idle(self);
    tnd_cache_core_store_full(self);
    passes_on(self, 0);
    free(self);
}

Test(cache, a_rewind_forgets_all_tickets_and_gives_back_all_blocks)
{
    stored_t stored = {.below = 10};
    int sent, here;
    tnd_cache_core_t *self = make(&stored, 1);
    give(self, 0, 0, 0);
    give(self, 0, 10, 0);
    give(self, 0, 20, 0);
    give(self, 0, 30, 0);
    for (uint64_t first = 10; first < 40; first += COUNT)
        passes_on(self, first);
    cr_assert(block(self, 0, 10, 0, &sent));
    answers(self, 0, NULL);
    answers(self, 10, &sent);
    cr_assert(block(self, 0, 20, 0, &here));

    tnd_cache_core_rewind(self, 2);
    const void *one = tnd_cache_core_drop(self), *two = tnd_cache_core_drop(self);
    cr_assert((one == &sent && two == &here) || (one == &here && two == &sent));
    drops_nothing(self);
    is_idle(self);
    cr_assert_eq(tnd_cache_core_held(self), 0);
    cr_assert_eq(tnd_cache_core_waiting(self), 0);

    /* What belongs to the generation before is ignored, and what is stored remains stored. */
    cr_assert_not(block(self, 0, 30, 0, &here));
    give(self, 0, 0, 5);
    is_idle(self);
    tnd_msg_t msg = ticket(0, 0, 0, 0);
    msg.generation = 2;
    tnd_cache_core_ticket(self, &msg);
    answers(self, 0, NULL);
    free(self);
}

Test(cache, nothing_is_sent_without_credit)
{
    stored_t stored = {.below = 100};
    tnd_cache_core_t *self = make(&stored, 1);
    tnd_cache_core_worker_lost(self, WORKER);
    give(self, 0, 0, 0);
    is_idle(self);
    cr_assert_eq(tnd_cache_core_room(self), 0);
    tnd_cache_core_worker_up(self, WORKER);
    is_idle(self);
    cr_assert(tnd_cache_core_blocked_on(self) & TND_WAIT_CREDIT);
    tnd_cache_core_credit(self, WORKER, 1, 100);
    answers(self, 0, NULL);
    free(self);
}

Test(cache, so_many_tickets_fill_it)
{
    stored_t stored = {0};
    tnd_cache_core_t *self = make(&stored, 1);
    for (uint64_t i = 0; i < 15; i++)
        give(self, 0, i * COUNT, 0);
    cr_assert_not(tnd_cache_core_full(self));
    give(self, 0, 150, 0);
    cr_assert(tnd_cache_core_full(self));
    free(self);
}
