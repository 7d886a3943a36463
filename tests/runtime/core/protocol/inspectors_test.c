/*  Covers runtime/core/protocol/inspectors.h: how often inspectors may ask, and which are refused. */
#include "runtime/core/protocol/inspectors.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/numeric/random.h"
#include "runtime/core/protocol/effect.h"

enum { HOSTS = 3, A = TND_INSPECTOR_FIRST, B };

#define MS UINT64_C(1000000)
/*  Times are far from 0, as those of a real clock. */
#define START (UINT64_C(1000) * 1000 * MS)

static tnd_inspectors_t *self;

static void begin(void)
{
    self = tnd_inspectors_init(calloc(1, tnd_inspectors_bytes(HOSTS)), HOSTS, 7);
}

static void end(void)
{
    free(self);
}

TestSuite(inspectors, .init = begin, .fini = end);

static const char *ask(tnd_actor_id_t who, uint32_t host, uint64_t number, uint64_t now)
{
    tnd_look_question_t question = {.life = who, .since = host, .from = now};
    return tnd_inspectors_ask(self, who, (number & ~UINT64_C(0xffffffff)) | host, &question, now);
}

/*  Passes the next question on, which must be this one, and answers it.  Returns its number. */
static uint64_t answer(tnd_actor_id_t who, uint32_t host, size_t bytes, uint64_t now)
{
    tnd_look_turn_t turn;
    uint64_t number = 0;
    cr_assert(tnd_inspectors_next(self, now, &turn));
    cr_assert(turn.inspector == who && turn.host == host, "%x %u", turn.inspector, turn.host);
    cr_assert_eq(turn.question.life, who);
    cr_assert(tnd_inspectors_answered(self, who, host, bytes, &number));
    cr_assert_eq((uint32_t)number, host);
    return number;
}

Test(inspectors, a_question_is_passed_on_and_its_answer_allows_the_next)
{
    tnd_look_turn_t turn;
    cr_assert_null(tnd_inspectors_came(self, A, START));
    cr_assert_null(ask(A, 1, 0, START));
    uint64_t number = answer(A, 1, 1000, START);
    cr_assert(!tnd_inspectors_next(self, START, &turn));
    cr_assert_null(ask(A, 1, number, START));
    cr_assert_neq(answer(A, 1, 1000, START), number);
}

Test(inspectors, one_that_asks_again_before_the_answer_is_refused)
{
    cr_assert_null(tnd_inspectors_came(self, A, START));
    cr_assert_null(ask(A, 1, 0, START));
    cr_assert_not_null(ask(A, 1, 0, START + MS));
    cr_assert_not_null(ask(A, 2, 0, START + MS), "it is forgotten");
    cr_assert_eq(tnd_inspectors_due(self), TND_NEVER);
}

Test(inspectors, one_that_does_not_read_its_answers_is_refused)
{
    cr_assert_null(tnd_inspectors_came(self, A, START));
    cr_assert_null(ask(A, 1, 0, START));
    uint64_t number = answer(A, 1, 1000, START);
    /* A question that crossed with the answer is dropped; a second one was no accident. */
    uint64_t later = START + TND_LOOK_AGAIN_NS;
    cr_assert_null(ask(A, 1, 0, later));
    tnd_look_turn_t turn;
    cr_assert(!tnd_inspectors_next(self, later, &turn));
    cr_assert_not_null(ask(A, 1, number + (UINT64_C(1) << 32), later + MS));
}

Test(inspectors, one_that_hears_nothing_of_a_host_may_ask_again)
{
    tnd_look_turn_t turn;
    uint64_t later = START + TND_LOOK_AGAIN_NS, number;
    cr_assert_null(tnd_inspectors_came(self, A, START));
    cr_assert_null(ask(A, 1, 0, START));
    cr_assert(tnd_inspectors_next(self, START, &turn));
    cr_assert_null(ask(A, 1, 0, later));
    (void)answer(A, 1, 10, later);
    cr_assert(!tnd_inspectors_answered(self, A, 1, 10, &number), "the first answer comes late");
}

Test(inspectors, answers_that_no_inspector_awaits_are_dropped)
{
    uint64_t number;
    cr_assert(!tnd_inspectors_answered(self, A, 0, 10, &number));
    cr_assert(!tnd_inspectors_answered(self, 0, 0, 10, &number));
    cr_assert_null(tnd_inspectors_came(self, A, START));
    cr_assert(!tnd_inspectors_answered(self, A, 0, 10, &number), "not asked");
    cr_assert_null(ask(A, 0, 0, START));
    cr_assert(!tnd_inspectors_answered(self, A, 0, 10, &number), "not passed on");
    tnd_look_turn_t turn;
    cr_assert(tnd_inspectors_next(self, START, &turn));
    cr_assert(!tnd_inspectors_answered(self, A, HOSTS, 10, &number));
    cr_assert(!tnd_inspectors_answered(self, B, 0, 10, &number));
    cr_assert(!tnd_inspectors_answered(self, A, 0, TND_LOOK_BYTES + 1, &number));
    cr_assert(tnd_inspectors_answered(self, A, 0, TND_LOOK_BYTES, &number));
}

Test(inspectors, a_host_that_does_not_exist_is_refused)
{
    cr_assert_null(tnd_inspectors_came(self, A, START));
    cr_assert_not_null(ask(A, HOSTS, 0, START));
    cr_assert_not_null(ask(B, 0, 0, START), "it never came");
}

Test(inspectors, only_a_few_may_look)
{
    for (tnd_actor_id_t i = 0; i < TND_INSPECTORS_MAX; i++)
        cr_assert_null(tnd_inspectors_came(self, A + i, START));
    cr_assert_not_null(tnd_inspectors_came(self, A + TND_INSPECTORS_MAX, START));
    cr_assert_null(tnd_inspectors_came(self, A, START), "the same one returns");
    tnd_inspectors_gone(self, B);
    cr_assert_null(tnd_inspectors_came(self, A + TND_INSPECTORS_MAX, START));
}

Test(inspectors, a_lease_ends_two_seconds_after_the_last_question)
{
    cr_assert_eq(tnd_inspectors_due(self), TND_NEVER);
    cr_assert_null(tnd_inspectors_came(self, A, START));
    cr_assert_eq(tnd_inspectors_due(self), START + 2000 * MS);
    cr_assert_null(ask(A, 0, 0, START + 500 * MS));
    (void)answer(A, 0, 10, START + 500 * MS);
    cr_assert_eq(tnd_inspectors_due(self), START + 2500 * MS);
    cr_assert_eq(tnd_inspectors_expired(self, START + 2500 * MS - 1), TND_NOBODY);
    cr_assert_eq(tnd_inspectors_expired(self, START + 2500 * MS), A);
    cr_assert_eq(tnd_inspectors_expired(self, START + 2500 * MS), TND_NOBODY);
    cr_assert_eq(tnd_inspectors_due(self), TND_NEVER);
}

/*  Two inspectors ask for all hosts as often as they may, for ten seconds; answers are of any size. */
Test(inspectors, all_answers_together_keep_the_rate_and_take_turns)
{
    static uint64_t numbers[2][HOSTS], got[2][HOSTS];
    tnd_random_t random;
    tnd_random_init(&random, 1, 0, 0, 0);
    uint64_t now = START, sum = 0;
    cr_assert_null(tnd_inspectors_came(self, A, now));
    cr_assert_null(tnd_inspectors_came(self, B, now));
    for (uint32_t w = 0; w < 2; w++)
        for (uint32_t h = 0; h < HOSTS; h++)
            cr_assert_null(ask(A + w, h, 0, now));
    while (now < START + 10000 * MS) {
        tnd_look_turn_t turn;
        if (!tnd_inspectors_next(self, now, &turn)) {
            uint64_t due = tnd_inspectors_due(self);
            cr_assert(due > now && due < now + 1000 * MS, "it waits for the budget");
            now = due;
            continue;
        }
        uint32_t w = turn.inspector - A;
        size_t bytes = 1000 + (size_t)tnd_random_below(&random, TND_LOOK_BYTES - 1000);
        cr_assert(tnd_inspectors_answered(self, turn.inspector, turn.host, bytes,
                                          &numbers[w][turn.host]));
        cr_assert_null(ask(turn.inspector, turn.host, numbers[w][turn.host], now));
        sum += bytes;
        got[w][turn.host]++;
    }
    cr_assert(sum >= 9900000 && sum <= 10000000 + TND_LOOK_RATE / 4 + TND_LOOK_BYTES, "%lu",
              (unsigned long)sum);
    for (uint32_t w = 0; w < 2; w++)
        for (uint32_t h = 0; h < HOSTS; h++)
            cr_assert(got[w][h] >= got[0][0] - 1 && got[w][h] <= got[0][0] + 1, "equal turns");
}

/*  Any events in any order: no more answers than questions, never more inspectors than allowed. */
Test(inspectors, random_events_keep_the_rules)
{
    tnd_random_t random;
    tnd_random_init(&random, 3, 0, 0, 0);
    uint64_t now = START;
    uint32_t asked = 0, answered = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        tnd_actor_id_t who = A + (tnd_actor_id_t)tnd_random_below(&random, 6);
        uint64_t number = tnd_random_below(&random, HOSTS + 1);
        tnd_look_turn_t turn;
        now += tnd_random_below(&random, 50) * MS;
        switch (tnd_random_below(&random, 6)) {
        case 0:
            (void)tnd_inspectors_came(self, who, now);
            break;
        case 1:
            tnd_inspectors_gone(self, who);
            break;
        case 2:
            asked += ask(who, (uint32_t)number, 0, now) == NULL;
            break;
        case 3:
            if (tnd_inspectors_next(self, now, &turn))
                cr_assert(tnd_is_inspector(turn.inspector) && turn.host < HOSTS);
            break;
        case 4:
            answered += tnd_inspectors_answered(self, who, (uint32_t)number, 100, &number);
            break;
        default:
            who = tnd_inspectors_expired(self, now);
            cr_assert(who == TND_NOBODY || tnd_is_inspector(who));
            break;
        }
        cr_assert(answered <= asked);
    }
    cr_assert(answered > 0);
}
