/*  Covers runtime/core/reducer.h: each promise in a short scenario, and rounds under random
 *  schedules that lose connections and reducers. */
#include "runtime/core/reducer.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { SELF = 1, A = 10, B = 11, C = 12, REPLICAS = 4, ROUNDS = 4 };

static const tnd_actor_id_t feeders[REPLICAS] = {A, A, B, B};

static tnd_reducer_core_t *make_for(const tnd_actor_id_t *owners, uint32_t replicas)
{
    static const char *names[8];
    for (uint32_t i = 0; i < replicas; i++)
        names[i] = owners[i] == A ? "feed@a" : owners[i] == B ? "feed@b" : "feed@c";
    const tnd_reducer_core_config_t config = {.self = SELF,
                                              .replicas = replicas,
                                              .feeders = owners,
                                              .names = names,
                                              .rounds_max = ROUNDS};
    return tnd_reducer_core_init(calloc(1, tnd_reducer_core_bytes(&config)), &config);
}

static tnd_reducer_core_t *make(void)
{
    tnd_reducer_core_t *self = make_for(feeders, REPLICAS);
    tnd_reducer_core_feeder_up(self, A);
    tnd_reducer_core_feeder_up(self, B);
    return self;
}

static tnd_msg_t message(tnd_msg_kind_t kind, tnd_actor_id_t from, uint64_t round)
{
    tnd_msg_t msg = {.kind = kind, .from = from, .to = SELF};
    msg.post.round = round;
    return msg;
}

static tnd_msg_t node(tnd_actor_id_t from, uint64_t round, uint32_t first, uint32_t count)
{
    tnd_msg_t msg = message(TND_MSG_POST, from, round);
    msg.post.first = first;
    msg.post.count = count;
    msg.post.weight = 10 * count;
    msg.post.payload = (void *)(uintptr_t)(1000 * round + 10 * first + count);
    return msg;
}

static void post(tnd_reducer_core_t *self, tnd_actor_id_t from, uint64_t round, uint32_t first,
                 uint32_t count)
{
    tnd_msg_t msg = node(from, round, first, count);
    tnd_error_t error;
    cr_assert_eq(tnd_reducer_core_post(self, &msg, &error), TND_OK, "%s", error.text);
}

static tnd_effect_t does(tnd_reducer_core_t *self, tnd_effect_kind_t kind, uint64_t round)
{
    tnd_effect_t effect;
    cr_assert(tnd_reducer_core_next(self, 0, &effect));
    cr_assert_eq(effect.kind, kind, "effect %d", (int)effect.kind);
    if (kind != TND_EFFECT_DROP)
        cr_assert_eq(effect.msg.post.round, round);
    return effect;
}

static tnd_effect_t says(tnd_reducer_core_t *self, tnd_msg_kind_t kind, tnd_actor_id_t to,
                         uint64_t round)
{
    tnd_effect_t effect = does(self, TND_EFFECT_LINK, round);
    cr_assert_eq(effect.msg.kind, kind);
    cr_assert_eq(effect.msg.from, SELF);
    cr_assert_eq(effect.msg.to, to);
    return effect;
}

static void is_idle(tnd_reducer_core_t *self)
{
    tnd_effect_t effect;
    cr_assert_not(tnd_reducer_core_next(self, 0, &effect), "effect %d", (int)effect.kind);
}

static void got(tnd_reducer_core_t *self, tnd_actor_id_t from, uint64_t round)
{
    tnd_msg_t msg = message(TND_MSG_GOT, from, round);
    tnd_reducer_core_got(self, &msg);
}

/*  All posts of `round`, its REDUCE and its root. */
static void *reduce(tnd_reducer_core_t *self, uint64_t round)
{
    post(self, A, round, 0, 2);
    post(self, B, round, 2, 2);
    tnd_effect_t effect = does(self, TND_EFFECT_REDUCE, round);
    void *root = (void *)(uintptr_t)(1000 * round + 999);
    tnd_reducer_core_reduced(self, &effect.msg, root);
    return root;
}

static void is_closed(tnd_reducer_core_t *self, uint64_t round)
{
    says(self, TND_MSG_CLOSED, A, round);
    says(self, TND_MSG_CLOSED, B, round);
    cr_assert_eq(does(self, TND_EFFECT_FORGET, round).payload,
                 (void *)(uintptr_t)(1000 * round + 2));
    cr_assert_eq(does(self, TND_EFFECT_FORGET, round).payload,
                 (void *)(uintptr_t)(1000 * round + 22));
    tnd_effect_t effect = does(self, TND_EFFECT_FORGET, round);
    cr_assert_eq(effect.msg.kind, TND_MSG_RESULT);
    cr_assert_eq(effect.payload, (void *)(uintptr_t)(1000 * round + 999));
}

Test(reducer, a_round_is_reduced_once_all_leaves_are_covered)
{
    tnd_reducer_core_t *self = make();
    cr_assert_eq(tnd_reducer_core_blocked_on(self), TND_WAIT_INPUT);
    post(self, B, 7, 3, 1);
    post(self, A, 7, 0, 2);
    is_idle(self);
    cr_assert_eq(tnd_reducer_core_blocked_on(self), TND_WAIT_REDUCE);
    post(self, B, 7, 2, 1);

    tnd_effect_t effect = does(self, TND_EFFECT_REDUCE, 7);
    cr_assert_eq(effect.msg.post.weight, 40);
    cr_assert_eq(effect.msg.post.count, 4);
    is_idle(self);
    tnd_post_note_t posts[4];
    cr_assert_eq(tnd_reducer_core_nodes(self, 7, 0, posts, 4), 3);
    const uint32_t firsts[] = {0, 2, 3}, counts[] = {2, 1, 1};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(posts[i].first, firsts[i]);
        cr_assert_eq(posts[i].count, counts[i]);
        cr_assert_eq(posts[i].weight, 10 * counts[i]);
        cr_assert_eq(posts[i].payload, (void *)(uintptr_t)(7000 + 10 * firsts[i] + counts[i]));
    }
    cr_assert_eq(tnd_reducer_core_nodes(self, 8, 0, posts, 4), 0);
    free(self);
}

Test(reducer, the_result_goes_to_every_feeder_and_all_must_have_it)
{
    tnd_reducer_core_t *self = make();
    void *root = reduce(self, 1);
    cr_assert_eq(says(self, TND_MSG_RESULT, A, 1).msg.post.payload, root);
    cr_assert_eq(says(self, TND_MSG_RESULT, B, 1).msg.post.weight, 40);
    is_idle(self);
    got(self, A, 1);
    got(self, A, 1);
    is_idle(self);
    got(self, B, 1);
    is_closed(self, 1);
    is_idle(self);
    cr_assert_eq(tnd_reducer_core_blocked_on(self), TND_WAIT_INPUT);
    free(self);
}

Test(reducer, several_reductions_of_a_step_are_rounds_of_their_own)
{
    tnd_reducer_core_t *self = make();
    tnd_error_t error;
    for (uint32_t slot = 0; slot < 2; slot++) {
        tnd_msg_t msg = node(A, 1, 0, 2);
        msg.post.reducer_slot = slot;
        cr_assert_eq(tnd_reducer_core_post(self, &msg, &error), TND_OK);
    }
    for (uint32_t slot = 0; slot < 2; slot++) {
        tnd_msg_t msg = node(B, 1, 2, 2);
        msg.post.reducer_slot = slot;
        cr_assert_eq(tnd_reducer_core_post(self, &msg, &error), TND_OK);
        cr_assert_eq(does(self, TND_EFFECT_REDUCE, 1).msg.post.reducer_slot, slot);
        is_idle(self);
    }
    free(self);
}

Test(reducer, posting_twice_is_harmless)
{
    tnd_reducer_core_t *self = make();
    post(self, A, 1, 0, 2);
    post(self, A, 1, 0, 2);
    cr_assert_eq(does(self, TND_EFFECT_DROP, 1).payload, (void *)1002);
    is_idle(self);
    post(self, B, 1, 2, 2);
    does(self, TND_EFFECT_REDUCE, 1);
    post(self, B, 1, 2, 2);
    does(self, TND_EFFECT_DROP, 1);
    is_idle(self);
    free(self);
}

Test(reducer, a_post_to_a_closed_round_is_answered_closed)
{
    tnd_reducer_core_t *self = make();
    tnd_effect_t effect;
    for (uint64_t round = 1; round <= 3; round++) {
        reduce(self, round);
        got(self, A, round);
        got(self, B, round);
        while (tnd_reducer_core_next(self, 0, &effect)) {
        }
    }
    post(self, A, 1, 0, 2);
    cr_assert_eq(does(self, TND_EFFECT_DROP, 1).payload, (void *)1002);
    says(self, TND_MSG_CLOSED, A, 1);
    is_idle(self);
    got(self, B, 2);
    says(self, TND_MSG_CLOSED, B, 2);
    is_idle(self);
    free(self);
}

Test(reducer, a_feeder_that_is_back_gets_the_results_it_lacks)
{
    tnd_reducer_core_t *self = make();
    reduce(self, 1);
    says(self, TND_MSG_RESULT, A, 1);
    says(self, TND_MSG_RESULT, B, 1);
    got(self, A, 1);
    tnd_reducer_core_feeder_lost(self, A);
    tnd_reducer_core_feeder_lost(self, B);
    cr_assert(tnd_reducer_core_blocked_on(self) & TND_WAIT_PEER);
    reduce(self, 2);
    is_idle(self);
    tnd_reducer_core_feeder_up(self, B);
    says(self, TND_MSG_RESULT, B, 1);
    says(self, TND_MSG_RESULT, B, 2);
    is_idle(self);
    tnd_reducer_core_feeder_up(self, A);
    says(self, TND_MSG_RESULT, A, 2);
    is_idle(self);
    free(self);
}

Test(reducer, invalid_posts_fail_with_a_text)
{
    const struct {
        tnd_actor_id_t from;
        uint32_t first, count;
        const char *text;
    } cases[] = {
        {A, 1, 2, "no such node"},   {A, 0, 0, "no such node"},
        {B, 4, 1, "no such node"},   {B, UINT32_MAX, 2, "no such node"},
        {B, 0, 2, "feed@a carries"}, {A, 0, 4, "feed@b carries"},
        {A, 0, 2, "another node"},
    };
    tnd_reducer_core_t *self = make();
    post(self, A, 1, 1, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnd_msg_t msg = node(cases[i].from, 1, cases[i].first, cases[i].count);
        tnd_error_t error;
        cr_assert_eq(tnd_reducer_core_post(self, &msg, &error), TND_FAILED, "case %zu", i);
        cr_assert_not_null(strstr(error.text, cases[i].text), "%s", error.text);
        cr_assert_eq(does(self, TND_EFFECT_DROP, 1).payload, msg.post.payload);
        is_idle(self);
    }
    for (uint64_t round = 2; round <= ROUNDS; round++)
        post(self, A, round, 1, 1);
    tnd_msg_t msg = node(A, ROUNDS + 1, 1, 1);
    tnd_error_t error;
    cr_assert_eq(tnd_reducer_core_post(self, &msg, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "while 4 rounds are open"), "%s", error.text);
    free(self);
}

Test(reducer, a_round_that_one_side_has_seen_closed_is_closed_for_the_other)
{
    tnd_reducer_core_t *self = make();
    post(self, A, 5, 0, 2);
    is_idle(self);
    post(self, B, 6, 2, 2);
    says(self, TND_MSG_CLOSED, A, 5);
    says(self, TND_MSG_CLOSED, B, 5);
    cr_assert_eq(does(self, TND_EFFECT_FORGET, 5).payload, (void *)5002);
    is_idle(self);
    post(self, A, 6, 0, 2);
    does(self, TND_EFFECT_REDUCE, 6);
    is_idle(self);
    free(self);

    self = make();
    post(self, B, 6, 2, 2);
    post(self, A, 5, 0, 2);
    cr_assert_eq(does(self, TND_EFFECT_DROP, 5).payload, (void *)5002);
    says(self, TND_MSG_CLOSED, A, 5);
    is_idle(self);
    post(self, A, 6, 0, 2);
    does(self, TND_EFFECT_REDUCE, 6);
    free(self);
}

/*  A feeder reports that it posts nothing to slots [begin, end) of steps [first, last]. */
static tnd_status_t pass(tnd_reducer_core_t *self, tnd_actor_id_t from, tnd_passed_note_t passed,
                         tnd_error_t *error)
{
    tnd_msg_t msg = {.kind = TND_MSG_PASSED, .from = from, .to = SELF, .passed = passed};
    return tnd_reducer_core_passed(self, &msg, error);
}

static void has_done(tnd_reducer_core_t *self, tnd_actor_id_t from, uint64_t step, uint32_t slots)
{
    tnd_error_t error;
    cr_assert_eq(
        pass(self, from, (tnd_passed_note_t){step, step, slots, TND_PASSED_DONE, slots}, &error),
        TND_OK, "%s", error.text);
}

static tnd_msg_t leaf(tnd_actor_id_t from, uint64_t step, uint32_t slot)
{
    tnd_msg_t msg = node(from, step, from == A ? 0 : 2, 2);
    msg.post.reducer_slot = msg.post.reduction = slot;
    return msg;
}

static const char left_out[] =
    "in step 7 replica 0 (feed@a) posted to 2 reductions at least, replica 2 (feed@b) to 1: all "
    "replicas post the same reductions in the same order";

Test(reducer, a_reduction_left_out_is_told_with_step_replicas_and_counts)
{
    tnd_error_t error;
    for (int order = 0; order < 2; order++) {
        tnd_reducer_core_t *self = make();
        tnd_msg_t extra = leaf(A, 7, 1);
        if (order == 0) {
            cr_assert_eq(tnd_reducer_core_post(self, &extra, &error), TND_OK);
            cr_assert_eq(pass(self, B, (tnd_passed_note_t){7, 7, 1, TND_PASSED_DONE, 1}, &error),
                         TND_FAILED);
        } else {
            has_done(self, B, 7, 1);
            cr_assert_eq(tnd_reducer_core_post(self, &extra, &error), TND_FAILED);
            cr_assert_eq(does(self, TND_EFFECT_DROP, 7).payload, extra.post.payload);
        }
        cr_assert_str_eq(error.text, left_out);
        free(self);
    }
}

Test(reducer, a_feeder_that_continues_has_done_the_steps_between_like_the_last_one_reported)
{
    tnd_error_t error;
    tnd_reducer_core_t *self = make();
    has_done(self, B, 3, 1);
    tnd_msg_t extra = leaf(A, 7, 1), later = leaf(B, 8, 0);
    cr_assert_eq(tnd_reducer_core_post(self, &extra, &error), TND_OK);
    cr_assert_eq(tnd_reducer_core_post(self, &later, &error), TND_FAILED);
    cr_assert_str_eq(error.text, left_out);
    free(self);

    self = make();
    has_done(self, B, 3, 1);
    cr_assert_eq(tnd_reducer_core_post(self, &extra, &error), TND_OK);
    cr_assert_eq(pass(self, B, (tnd_passed_note_t){8, 8, 2, TND_PASSED_DONE, 2}, &error),
                 TND_FAILED);
    cr_assert_str_eq(error.text, left_out);
    free(self);
}

Test(reducer, a_value_that_went_to_another_reducer_is_missed_at_once)
{
    tnd_error_t error;
    tnd_reducer_core_t *self = make();
    tnd_msg_t first = leaf(A, 7, 0);
    cr_assert_eq(tnd_reducer_core_post(self, &first, &error), TND_OK);
    cr_assert_eq(pass(self, B, (tnd_passed_note_t){7, 7, 1, 2, 2}, &error), TND_OK,
                 "of another slot");
    cr_assert_eq(pass(self, B, (tnd_passed_note_t){7, 7, 0, 1, 1}, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "replica 2 (feed@b)"), "%s", error.text);
    free(self);
}

Test(reducer, what_a_feeder_has_done_and_does_not_post_again_was_closed)
{
    tnd_reducer_core_t *self = make();
    post(self, A, 5, 0, 2);
    has_done(self, B, 5, 1);
    says(self, TND_MSG_CLOSED, A, 5);
    says(self, TND_MSG_CLOSED, B, 5);
    cr_assert_eq(does(self, TND_EFFECT_FORGET, 5).payload, (void *)5002);
    is_idle(self);
    free(self);

    self = make();
    has_done(self, B, 5, 1);
    post(self, A, 5, 0, 2);
    cr_assert_eq(does(self, TND_EFFECT_DROP, 5).payload, (void *)5002);
    says(self, TND_MSG_CLOSED, A, 5);
    is_idle(self);
    free(self);
}

Test(reducer, a_root_that_no_feeder_waits_for_comes_back)
{
    tnd_reducer_core_t *self = make();
    tnd_msg_t msg = message(TND_MSG_POST, SELF, 9);
    int root;
    tnd_reducer_core_reduced(self, &msg, &root);
    cr_assert_eq(does(self, TND_EFFECT_DROP, 9).payload, &root);
    is_idle(self);
    free(self);
}

Test(reducer, one_feeder_may_own_the_root)
{
    const tnd_actor_id_t alone[] = {A, A, A};
    tnd_reducer_core_t *self = make_for(alone, 3);
    tnd_reducer_core_feeder_up(self, A);
    post(self, A, 1, 0, 3);
    does(self, TND_EFFECT_REDUCE, 1);
    free(self);
}

/*  Random schedules: three feeders post leaf by leaf, in order, at most ROUNDS unclosed; messages
 *  in flight are lost with connections, and the reducer's whole state now and then.  Every feeder
 *  gets the root of every round and hears that it is closed; no root is made of fewer than all
 *  leaves. */
enum { LEAVES = 6, FEEDERS = 3, LAST = 40, PIPE = 256 };

typedef struct {
    tnd_msg_t up[PIPE], down[PIPE];
    uint32_t up_head, up_tail, down_head, down_tail;
    bool connected;
    uint64_t next[2]; /* round that each of its two leaves posts next */
    uint64_t closed;  /* all below are closed */
    bool has[LAST], shut[LAST];
} side_t;

static void send_up(side_t *side, tnd_msg_t msg)
{
    cr_assert_lt(side->up_tail - side->up_head, PIPE);
    side->up[side->up_tail++ % PIPE] = msg;
}

static void drain(tnd_reducer_core_t *self, side_t *sides)
{
    tnd_effect_t effect;
    while (tnd_reducer_core_next(self, 0, &effect)) {
        if (effect.kind == TND_EFFECT_REDUCE) {
            tnd_post_note_t posts[LEAVES];
            cr_assert_eq(tnd_reducer_core_nodes(self, effect.msg.post.round, 0, posts, LEAVES),
                         LEAVES);
            tnd_reducer_core_reduced(self, &effect.msg, (void *)1);
        } else if (effect.kind == TND_EFFECT_LINK) {
            side_t *side = &sides[effect.msg.to - A];
            cr_assert(side->connected);
            cr_assert_lt(side->down_tail - side->down_head, PIPE);
            side->down[side->down_tail++ % PIPE] = effect.msg;
        }
    }
}

static void disconnect(tnd_reducer_core_t *self, side_t *side, uint32_t i)
{
    if (side->connected)
        tnd_reducer_core_feeder_lost(self, A + i);
    side->connected = false;
    side->up_head = side->up_tail = side->down_head = side->down_tail = 0;
}

static void connect_again(tnd_reducer_core_t *self, side_t *side, uint32_t i)
{
    side->connected = true;
    tnd_reducer_core_feeder_up(self, A + i);
    for (uint64_t round = side->closed; round < LAST; round++)
        for (uint32_t leaf = 0; leaf < 2; leaf++)
            if (!side->shut[round] && round < side->next[leaf])
                send_up(side, node(A + i, round, 2 * i + leaf, 1));
}

static void receive(side_t *side, uint32_t i)
{
    tnd_msg_t msg = side->down[side->down_head++ % PIPE];
    uint64_t round = msg.post.round;
    if (msg.kind == TND_MSG_RESULT) {
        side->has[round] = true;
        send_up(side, message(TND_MSG_GOT, A + i, round));
        return;
    }
    cr_assert_eq(msg.kind, TND_MSG_CLOSED);
    cr_assert(side->has[round], "round %lu closed without a result", (unsigned long)round);
    side->shut[round] = true;
    while (side->closed < LAST && side->shut[side->closed])
        side->closed++;
}

static void run(unsigned seed)
{
    const tnd_actor_id_t owners[LEAVES] = {A, A, B, B, C, C};
    tnd_reducer_core_t *self = make_for(owners, LEAVES);
    static side_t sides[FEEDERS];
    memset(sides, 0, sizeof sides);

    for (int events = 0;; events++) {
        cr_assert_lt(events, 100000, "seed %u", seed);
        uint32_t i = (uint32_t)rand_r(&seed) % FEEDERS, done = 0;
        side_t *side = &sides[i];
        int dice = events < 20000 ? rand_r(&seed) % 200 : 10 + rand_r(&seed) % 190;
        if (dice == 0) {
            for (uint32_t k = 0; k < FEEDERS; k++)
                disconnect(self, &sides[k], k);
            free(self);
            self = make_for(owners, LEAVES);
        } else if (dice < 3) {
            disconnect(self, side, i);
        } else if (!side->connected) {
            connect_again(self, side, i);
        } else if (dice < 70) {
            uint32_t leaf = dice % 2;
            uint64_t round = side->next[leaf];
            if (round < LAST && round < side->closed + ROUNDS &&
                (round == 0 || round < 2 || side->has[round - 2])) {
                side->next[leaf]++;
                send_up(side, node(A + i, round, 2 * i + leaf, 1));
            }
        } else if (dice < 140 && side->up_head < side->up_tail) {
            tnd_msg_t msg = side->up[side->up_head++ % PIPE];
            tnd_error_t error;
            if (msg.kind == TND_MSG_POST)
                cr_assert_eq(tnd_reducer_core_post(self, &msg, &error), TND_OK, "%s", error.text);
            else
                tnd_reducer_core_got(self, &msg);
        } else if (dice >= 140 && side->down_head < side->down_tail) {
            receive(side, i);
        }
        drain(self, sides);
        for (uint32_t k = 0; k < FEEDERS; k++) {
            uint64_t has = 0;
            while (has < LAST && sides[k].has[has])
                has++;
            done += has == LAST;
        }
        if (done == FEEDERS)
            break;
    }
    free(self);
}

Test(reducer, random_schedules_give_every_feeder_every_root)
{
    for (unsigned seed = 1; seed <= 60; seed++)
        run(seed);
}

Test(reducer, ending_returns_every_payload_and_sends_nothing)
{
    tnd_reducer_core_t *self = make();
    tnd_effect_t effect;

    reduce(self, 0);
    says(self, TND_MSG_RESULT, A, 0);
    post(self, A, 1, 0, 2);
    post(self, A, 1, 0, 2);
    tnd_reducer_core_end(self);
    uintptr_t sum = 0;
    uint32_t count = 0;
    for (; tnd_reducer_core_next(self, 0, &effect); count++) {
        cr_assert(effect.kind == TND_EFFECT_FORGET || effect.kind == TND_EFFECT_DROP);
        sum += (uintptr_t)effect.payload;
    }
    cr_assert_eq(count, 5);
    cr_assert_eq(sum, 2 + 22 + 999 + 1002 + 1002);
    cr_assert_eq(tnd_reducer_core_open(self), 0);
    free(self);
}
