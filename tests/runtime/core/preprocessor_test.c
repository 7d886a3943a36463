/*  Covers runtime/core/preprocessor.h: each promise in a short scenario, and order, credit and
 *  payloads together under random schedules. */
#include "runtime/core/preprocessor.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { SELF = 1, READER = 10, JOIN = 20, LANES = 2, READERS = 3, WINDOW = 8, BYTES = 800 };

static const tnd_actor_id_t readers[READERS] = {READER + 2, READER, READER + 1};
static const uint32_t reader_lane[READERS] = {5, 4, 4};
static const tnd_actor_id_t joins[LANES] = {JOIN + 4, JOIN + 5};
static const uint32_t lane_number[LANES] = {4, 5};

static tnd_preprocessor_core_t *make(void)
{
    const tnd_preprocessor_core_config_t config = {.self = SELF,
                                                   .lanes = LANES,
                                                   .readers = readers,
                                                   .reader_lane = reader_lane,
                                                   .reader_count = READERS,
                                                   .joins = joins,
                                                   .lane_number = lane_number,
                                                   .window_blocks = WINDOW,
                                                   .window_bytes = BYTES};
    tnd_preprocessor_core_t *self =
        tnd_preprocessor_core_init(calloc(1, tnd_preprocessor_core_bytes(&config)), &config);
    tnd_preprocessor_core_rewind(self, 1);
    return self;
}

static void all_up(tnd_preprocessor_core_t *self)
{
    for (int i = 0; i < READERS; i++)
        tnd_preprocessor_core_peer_up(self, readers[i]);
    for (int i = 0; i < LANES; i++)
        tnd_preprocessor_core_peer_up(self, joins[i]);
}

static tnd_msg_t block(tnd_actor_id_t reader, uint32_t epoch, uint64_t first)
{
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .generation = 1, .from = reader, .to = SELF};
    msg.block.first = first;
    msg.block.epoch = epoch;
    msg.block.lane = reader == READER + 2 ? 5 : 4;
    msg.block.count = msg.block.asked = msg.block.rows = 10;
    msg.block.bytes = 10;
    msg.block.payload = (void *)(uintptr_t)(first + 1);
    return msg;
}

static void put(tnd_preprocessor_core_t *self, tnd_actor_id_t reader, uint32_t epoch,
                uint64_t first)
{
    tnd_msg_t msg = block(reader, epoch, first);
    tnd_preprocessor_core_block(self, &msg);
}

static tnd_effect_t does(tnd_preprocessor_core_t *self, tnd_effect_kind_t kind)
{
    tnd_effect_t effect;
    cr_assert(tnd_preprocessor_core_next(self, 0, &effect));
    cr_assert_eq(effect.kind, kind, "effect %d", (int)effect.kind);
    return effect;
}

static void is_idle(tnd_preprocessor_core_t *self)
{
    tnd_effect_t effect;
    cr_assert_not(tnd_preprocessor_core_next(self, 0, &effect));
}

/*  Takes the first credits, one a reader. */
static void take_credits(tnd_preprocessor_core_t *self)
{
    for (int i = 0; i < READERS; i++) {
        tnd_effect_t effect = does(self, TND_EFFECT_LINK);
        cr_assert_eq(effect.msg.kind, TND_MSG_CREDIT);
        cr_assert_eq(effect.msg.from, SELF);
        cr_assert_eq(effect.msg.credit.blocks, WINDOW);
        cr_assert_eq(effect.msg.credit.bytes, BYTES);
    }
    is_idle(self);
}

static void applies(tnd_preprocessor_core_t *self, uint64_t first)
{
    tnd_effect_t effect = does(self, TND_EFFECT_APPLY);
    cr_assert_eq(effect.msg.block.first, first);
    cr_assert_eq(effect.msg.from, SELF);
    cr_assert_eq(effect.msg.generation, 1);
    cr_assert_eq(effect.msg.block.payload, (void *)(uintptr_t)(first + 1));
    cr_assert_eq(effect.msg.to, JOIN + effect.msg.block.lane);
}

Test(preprocessor, blocks_are_applied_by_position_over_all_lanes)
{
    tnd_preprocessor_core_t *self = make();
    all_up(self);
    take_credits(self);
    put(self, READER, 1, 0);
    put(self, READER + 1, 0, 20);
    put(self, READER + 2, 0, 0);
    put(self, READER + 1, 0, 10);
    cr_assert_eq(tnd_preprocessor_core_waiting(self), 4);
    cr_assert(tnd_preprocessor_core_sound(self));

    for (uint64_t first = 0; first <= 20; first += 10)
        applies(self, first);
    does(self, TND_EFFECT_LINK);
    applies(self, 0);
    is_idle(self);
    cr_assert_eq(tnd_preprocessor_core_blocked_on(self), TND_WAIT_INPUT);
    free(self);
}

Test(preprocessor, equal_positions_go_by_lane)
{
    tnd_preprocessor_core_t *self = make();
    all_up(self);
    take_credits(self);
    put(self, READER + 2, 0, 0);
    put(self, READER, 0, 0);

    cr_assert_eq(does(self, TND_EFFECT_APPLY).msg.block.lane, 4);
    cr_assert_eq(does(self, TND_EFFECT_APPLY).msg.block.lane, 5);
    free(self);
}

Test(preprocessor, a_reader_gets_credit_once_its_join_is_up_too)
{
    tnd_preprocessor_core_t *self = make();
    tnd_preprocessor_core_peer_up(self, READER);
    tnd_preprocessor_core_peer_up(self, JOIN + 5);
    is_idle(self);
    cr_assert(tnd_preprocessor_core_blocked_on(self) & TND_WAIT_PEER);
    tnd_preprocessor_core_peer_up(self, JOIN + 4);
    cr_assert_eq(does(self, TND_EFFECT_LINK).msg.to, READER);
    is_idle(self);
    tnd_preprocessor_core_peer_up(self, READER + 2);
    cr_assert_eq(does(self, TND_EFFECT_LINK).msg.to, READER + 2);
    is_idle(self);
    free(self);
}

Test(preprocessor, credit_is_sent_when_a_quarter_of_the_window_is_free)
{
    tnd_preprocessor_core_t *self = make();
    all_up(self);
    take_credits(self);
    for (uint64_t first = 0; first < 80; first += 10)
        put(self, READER, 0, first);

    applies(self, 0);
    applies(self, 10);
    tnd_effect_t effect = does(self, TND_EFFECT_LINK);
    cr_assert_eq(effect.msg.to, READER);
    cr_assert_eq(effect.msg.credit.blocks, WINDOW + 2);
    cr_assert_eq(effect.msg.credit.bytes, BYTES + 20);
    applies(self, 20);
    applies(self, 30);
    cr_assert_eq(does(self, TND_EFFECT_LINK).msg.credit.blocks, WINDOW + 4);
    free(self);
}

/*  What the reader may have here, once `blocks` that took `cost` each are done. */
static uint64_t credit_after(uint64_t window_ns, uint64_t cost, int blocks, uint64_t idle)
{
    const tnd_preprocessor_core_config_t config = {.self = SELF,
                                                   .lanes = 1,
                                                   .readers = readers + 1,
                                                   .reader_lane = reader_lane + 1,
                                                   .reader_count = 1,
                                                   .joins = joins,
                                                   .lane_number = lane_number,
                                                   .window_blocks = WINDOW,
                                                   .window_bytes = BYTES,
                                                   .window_ns = window_ns};
    tnd_preprocessor_core_t *self =
        tnd_preprocessor_core_init(calloc(1, tnd_preprocessor_core_bytes(&config)), &config);
    tnd_effect_t effect;
    uint64_t granted = 0, now = 1;
    tnd_preprocessor_core_rewind(self, 1);
    tnd_preprocessor_core_peer_up(self, READER);
    tnd_preprocessor_core_peer_up(self, JOIN + 4);
    for (int done = 0; done <= blocks; done++) {
        bool applies = false;
        while (!applies && tnd_preprocessor_core_next(self, now, &effect)) {
            if (effect.kind == TND_EFFECT_LINK)
                granted = effect.msg.credit.blocks;
            applies = effect.kind == TND_EFFECT_APPLY;
        }
        if (done < blocks) {
            put(self, READER, 0, (uint64_t)done * 10);
            cr_assert(tnd_preprocessor_core_next(self, now, &effect));
            now += cost;
        }
    }
    while (tnd_preprocessor_core_next(self, now + idle, &effect))
        if (effect.kind == TND_EFFECT_LINK)
            granted = effect.msg.credit.blocks;
    free(self);
    return granted - (uint64_t)blocks;
}

Test(preprocessor, a_worker_asks_for_few_blocks_until_it_knows_how_long_one_takes)
{
    tnd_preprocessor_core_config_t config = {.self = SELF,
                                             .lanes = 1,
                                             .readers = readers + 1,
                                             .reader_lane = reader_lane + 1,
                                             .reader_count = 1,
                                             .joins = joins,
                                             .lane_number = lane_number,
                                             .window_blocks = WINDOW,
                                             .window_bytes = BYTES,
                                             .window_first = 2,
                                             .window_ns = 1000000};
    tnd_preprocessor_core_t *self =
        tnd_preprocessor_core_init(calloc(1, tnd_preprocessor_core_bytes(&config)), &config);
    tnd_effect_t effect;
    tnd_preprocessor_core_rewind(self, 1);
    tnd_preprocessor_core_peer_up(self, READER);
    tnd_preprocessor_core_peer_up(self, JOIN + 4);
    cr_assert(tnd_preprocessor_core_next(self, 1, &effect));
    cr_assert_eq(effect.msg.credit.blocks, 2);
    put(self, READER, 0, 0);
    cr_assert(tnd_preprocessor_core_next(self, 1, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_APPLY);
    put(self, READER, 0, 10);
    uint64_t granted = 0; /* the first block took 100 */
    while (tnd_preprocessor_core_next(self, 101, &effect))
        granted = effect.kind == TND_EFFECT_LINK ? effect.msg.credit.blocks : granted;
    cr_assert_geq(granted, WINDOW);
    free(self);
}

Test(preprocessor, a_slow_worker_asks_for_what_it_can_process_in_its_window)
{
    cr_assert_geq(credit_after(0, 1000, 20, 0), WINDOW - 1);
    cr_assert_geq(credit_after(8000, 1000, 20, 0), WINDOW - 1);
    cr_assert_leq(credit_after(8000, 2000, 20, 0), 4);
    cr_assert_eq(credit_after(8000, 8000, 20, 0), 1);
    cr_assert_eq(credit_after(8000, 100000, 20, 0), 1);
}

Test(preprocessor, a_slow_worker_that_gets_nothing_asks_for_more_again)
{
    cr_assert_leq(credit_after(8000, 2000, 20, 31000), 4);
    cr_assert_geq(credit_after(8000, 2000, 20, 32000), WINDOW - 1);
}

Test(preprocessor, bytes_alone_cause_credit_too)
{
    tnd_preprocessor_core_t *self = make();
    all_up(self);
    take_credits(self);
    tnd_msg_t msg = block(READER, 0, 0);
    msg.block.bytes = 5000;
    tnd_preprocessor_core_block(self, &msg);
    cr_assert(tnd_preprocessor_core_sound(self), "one block may go over the bytes");

    applies(self, 0);
    tnd_effect_t effect = does(self, TND_EFFECT_LINK);
    cr_assert_eq(effect.msg.credit.blocks, WINDOW + 1);
    cr_assert_eq(effect.msg.credit.bytes, BYTES + 5000);
    free(self);
}

Test(preprocessor, a_reader_that_exceeds_its_credit_is_detected)
{
    tnd_preprocessor_core_t *self = make();
    all_up(self);
    take_credits(self);
    for (uint64_t first = 0; first < WINDOW * 10; first += 10)
        put(self, READER, 0, first);
    cr_assert(tnd_preprocessor_core_sound(self));
    put(self, READER, 0, 1000);

    cr_assert_not(tnd_preprocessor_core_sound(self));
    free(self);
}

Test(preprocessor, a_rewind_drops_what_waits_and_gives_its_credit_back)
{
    tnd_preprocessor_core_t *self = make();
    all_up(self);
    take_credits(self);
    put(self, READER, 0, 0);
    put(self, READER, 0, 10);
    tnd_preprocessor_core_rewind(self, 2);
    put(self, READER, 0, 20);

    uintptr_t sum = 0;
    for (int i = 0; i < 3; i++)
        sum += (uintptr_t)does(self, TND_EFFECT_DROP).payload;
    cr_assert_eq(sum, 1 + 11 + 21, "the stale block too");
    tnd_effect_t effect = does(self, TND_EFFECT_LINK);
    cr_assert_eq(effect.msg.credit.blocks, WINDOW + 3);
    is_idle(self);
    free(self);
}

Test(preprocessor, a_newer_block_is_the_rewind)
{
    tnd_preprocessor_core_t *self = make();
    all_up(self);
    take_credits(self);
    put(self, READER, 0, 0);
    tnd_msg_t msg = block(READER, 0, 50);
    msg.generation = 2;
    tnd_preprocessor_core_block(self, &msg);
    tnd_preprocessor_core_rewind(self, 2);

    cr_assert_eq(does(self, TND_EFFECT_DROP).payload, (void *)1);
    tnd_effect_t effect = does(self, TND_EFFECT_APPLY);
    cr_assert_eq(effect.msg.block.first, 50);
    cr_assert_eq(effect.msg.generation, 2);
    free(self);
}

Test(preprocessor, a_lost_peer_ends_the_life)
{
    for (int which = 0; which < 2; which++) {
        tnd_preprocessor_core_t *self = make();
        all_up(self);
        take_credits(self);
        put(self, READER, 0, 0);
        put(self, READER + 2, 0, 10);
        tnd_preprocessor_core_peer_lost(self, which == 0 ? READER : JOIN + 5);
        tnd_preprocessor_core_peer_lost(self, READER + 1);
        tnd_preprocessor_core_peer_up(self, READER + 1);
        put(self, READER, 0, 20);

        for (int i = 0; i < 3; i++)
            does(self, TND_EFFECT_DROP);
        does(self, TND_EFFECT_RESET);
        is_idle(self);
        cr_assert_eq(tnd_preprocessor_core_blocked_on(self), TND_WAIT_PEER);
        tnd_preprocessor_core_peer_lost(self, READER + 2);
        is_idle(self);
        all_up(self);
        take_credits(self);
        free(self);
    }
}

Test(preprocessor, a_peer_that_never_came_up_cannot_be_lost)
{
    tnd_preprocessor_core_t *self = make();
    tnd_preprocessor_core_peer_up(self, READER);
    tnd_preprocessor_core_peer_lost(self, READER + 1);
    is_idle(self);
    free(self);
}

Test(preprocessor,
     a_block_that_was_lost_before_is_worked_on_once_its_join_knows_and_others_once_it_has_it)
{
    tnd_preprocessor_core_t *self = make();
    all_up(self);
    take_credits(self);
    tnd_msg_t msg = block(READER, 0, 10);
    msg.block.attempt = 1;
    msg.block.payload = (void *)(uintptr_t)11;
    tnd_preprocessor_core_block(self, &msg);
    put(self, READER, 0, 20);

    tnd_msg_t begin = does(self, TND_EFFECT_LINK).msg;
    cr_assert_eq(begin.kind, TND_MSG_BEGIN);
    cr_assert_eq(begin.to, JOIN + msg.block.lane);
    cr_assert(begin.ticket.first == 10 && begin.ticket.attempt == 1);
    is_idle(self);
    cr_assert_eq(tnd_preprocessor_core_waiting(self), 2);
    cr_assert(tnd_preprocessor_core_blocked_on(self) & TND_WAIT_ORDER);

    tnd_msg_t other = begin;
    other.ticket.attempt = 2;
    tnd_preprocessor_core_go(self, &other);
    is_idle(self);
    tnd_preprocessor_core_go(self, &begin);
    applies(self, 10);
    is_idle(self);
    cr_assert(tnd_preprocessor_core_blocked_on(self) & TND_WAIT_ORDER);
    tnd_preprocessor_core_go(self, &other);
    is_idle(self);
    tnd_preprocessor_core_go(self, &begin);
    applies(self, 20);
    free(self);
}

Test(preprocessor, a_rewind_drops_a_block_that_waits_to_begin)
{
    tnd_preprocessor_core_t *self = make();
    all_up(self);
    take_credits(self);
    tnd_msg_t msg = block(READER, 0, 10);
    msg.block.attempt = 1;
    msg.block.payload = (void *)(uintptr_t)11;
    tnd_preprocessor_core_block(self, &msg);
    tnd_msg_t begin = does(self, TND_EFFECT_LINK).msg;

    tnd_preprocessor_core_rewind(self, 2);
    tnd_preprocessor_core_go(self, &begin);

    cr_assert_eq(does(self, TND_EFFECT_DROP).payload, (void *)(uintptr_t)11);
    cr_assert(tnd_preprocessor_core_sound(self));
    cr_assert_eq(tnd_preprocessor_core_waiting(self), 0);
    free(self);
}

/*  Random schedules: readers that send what they may, rewinds, losses.  What is applied is the
 *  lowest that waits, every payload comes back once, and credit never runs dry while nothing waits.
 */
static void run(unsigned seed)
{
    tnd_preprocessor_core_t *self = make();
    struct {
        uint64_t blocks, bytes, sent_blocks, sent_bytes;
    } credit[READERS] = {0};
    uint32_t generation = 1;
    uintptr_t serial = 0;
    static bool out[4000];
    memset(out, 0, sizeof out);
    uint64_t applied = 0, given = 0, back = 0;
    bool resetting = true, begun = false;
    tnd_msg_t begin = {.kind = TND_MSG_BEGIN};

    for (int event = 0; event < 3000; event++) {
        uint32_t i = (uint32_t)rand_r(&seed) % READERS;
        int dice = rand_r(&seed) % 100;
        if (resetting) {
            all_up(self);
            resetting = false;
        } else if (dice < 1) {
            tnd_preprocessor_core_rewind(self, ++generation);
        } else if (dice < 2) {
            tnd_preprocessor_core_peer_lost(self, dice % 2 ? readers[i] : joins[i % LANES]);
        } else if (credit[i].sent_blocks < credit[i].blocks &&
                   credit[i].sent_bytes < credit[i].bytes) {
            tnd_msg_t msg =
                block(readers[i], (uint32_t)rand_r(&seed) % 2, (uint64_t)rand_r(&seed) % 1000);
            msg.generation = generation - (rand_r(&seed) % 20 == 0);
            msg.block.bytes = (uint64_t)rand_r(&seed) % 300;
            msg.block.payload = (void *)++serial;
            msg.block.attempt = (uint32_t)rand_r(&seed) % 2;
            out[serial] = true;
            given++;
            credit[i].sent_blocks++;
            credit[i].sent_bytes += msg.block.bytes;
            tnd_preprocessor_core_block(self, &msg);
        }
        if (begun && rand_r(&seed) % 4 == 0) {
            begin.kind = TND_MSG_GO;
            tnd_preprocessor_core_go(self, &begin);
            begun = false;
        }
        cr_assert(tnd_preprocessor_core_sound(self));
        tnd_effect_t effect;
        int work = rand_r(&seed) % 3;
        while (tnd_preprocessor_core_next(self, 0, &effect)) {
            cr_assert(tnd_preprocessor_core_sound(self));
            void *payload = effect.payload;
            if (effect.kind == TND_EFFECT_APPLY) {
                payload = effect.msg.block.payload;
                cr_assert_eq(effect.msg.generation, generation);
                cr_assert(!begun || begin.generation < generation);
                begun = effect.msg.block.attempt > 0; /* its join has it in a while */
                applied++;
            }
            if (payload != NULL) {
                cr_assert(out[(uintptr_t)payload]);
                out[(uintptr_t)payload] = false;
                back++;
            }
            if (effect.kind == TND_EFFECT_LINK && effect.msg.kind == TND_MSG_BEGIN) {
                begin = effect.msg;
                begun = true;
            } else if (effect.kind == TND_EFFECT_LINK)
                for (uint32_t k = 0; k < READERS; k++)
                    if (readers[k] == effect.msg.to) {
                        cr_assert(effect.msg.credit.blocks >= credit[k].blocks &&
                                  effect.msg.credit.bytes >= credit[k].bytes);
                        credit[k].blocks = effect.msg.credit.blocks;
                        credit[k].bytes = effect.msg.credit.bytes;
                    }
            if (effect.kind == TND_EFFECT_RESET) {
                memset(credit, 0, sizeof credit);
                resetting = true;
                begun = false;
            }
            if (effect.kind == TND_EFFECT_APPLY && work-- == 0)
                break;
        }
        if (tnd_preprocessor_core_waiting(self) == 0 && !resetting && event > 0)
            for (uint32_t k = 0; k < READERS; k++)
                cr_assert(credit[k].sent_blocks < credit[k].blocks &&
                          credit[k].sent_bytes < credit[k].bytes);
    }
    cr_assert_eq(given, back + tnd_preprocessor_core_waiting(self));
    cr_assert(applied > 500);
    free(self);
}

Test(preprocessor, random_schedules_keep_order_credit_and_payloads)
{
    for (unsigned seed = 1; seed <= 100; seed++)
        run(seed);
}
