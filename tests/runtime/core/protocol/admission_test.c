/*  Covers core/protocol/admission.h: which processes may be at the other end of a connection. */
#include "runtime/core/protocol/admission.h"

#include <criterion/criterion.h>

enum { ROOT = 0, ALICE = 1000, BOB = 1001, CAROL = 1002 };

static tnd_admission_verdict_t judge(uint32_t self, uint32_t other)
{
    tnd_admission_t rules = {.self = self};
    return tnd_admission_judge(&rules, (tnd_peer_t){TND_PEER_LOCAL, other}, false);
}

static tnd_admission_verdict_t judge_listed(uint32_t self, uint32_t other)
{
    static const uint32_t users[] = {ALICE, BOB};
    tnd_admission_t rules = {.self = self, .users = users, .user_count = 2};
    return tnd_admission_judge(&rules, (tnd_peer_t){TND_PEER_LOCAL, other}, false);
}

Test(admission, a_process_of_the_same_user_takes_part)
{
    cr_assert_eq(judge(ALICE, ALICE), TND_ADMITTED);
    cr_assert_eq(judge(ROOT, ROOT), TND_ADMITTED);
}

Test(admission, one_of_another_user_does_not)
{
    cr_assert_eq(judge(ALICE, BOB), TND_ADMISSION_USER);
    cr_assert_eq(judge(ALICE, ROOT), TND_ADMISSION_USER);
    cr_assert_eq(judge(ROOT, ALICE), TND_ADMISSION_USER);
}

Test(admission, users_that_are_listed_take_part)
{
    cr_assert_eq(judge_listed(ALICE, BOB), TND_ADMITTED);
    cr_assert_eq(judge_listed(BOB, ALICE), TND_ADMITTED);
    cr_assert_eq(judge_listed(CAROL, BOB), TND_ADMITTED);
    cr_assert_eq(judge_listed(BOB, CAROL), TND_ADMISSION_USER, "each end has its own rule");
    cr_assert_eq(judge_listed(ROOT, CAROL), TND_ADMISSION_USER);
}

Test(admission, root_takes_part_with_users_that_are_listed)
{
    cr_assert_eq(judge_listed(ROOT, ALICE), TND_ADMITTED);
    cr_assert_eq(judge_listed(ALICE, ROOT), TND_ADMITTED);
    cr_assert_eq(judge_listed(CAROL, ROOT), TND_ADMISSION_USER);
}

Test(admission, root_and_users_that_are_listed_may_look)
{
    static const uint32_t users[] = {BOB};
    tnd_admission_t rules = {.self = ALICE, .users = users, .user_count = 1};
    tnd_admission_verdict_t verdicts[] = {
        tnd_admission_judge(&rules, (tnd_peer_t){TND_PEER_LOCAL, ROOT}, true),
        tnd_admission_judge(&rules, (tnd_peer_t){TND_PEER_LOCAL, BOB}, true),
        tnd_admission_judge(&rules, (tnd_peer_t){TND_PEER_LOCAL, CAROL}, true),
    };
    cr_assert_eq(verdicts[0], TND_ADMITTED);
    cr_assert_eq(verdicts[1], TND_ADMITTED);
    cr_assert_eq(verdicts[2], TND_ADMISSION_USER);
}

Test(admission, a_process_elsewhere_needs_an_insecure_run)
{
    tnd_admission_t rules = {.self = ALICE};
    cr_assert_eq(tnd_admission_judge(&rules, (tnd_peer_t){.place = TND_PEER_UNKNOWN}, false),
                 TND_ADMISSION_MACHINE);
    cr_assert_eq(tnd_admission_judge(&rules, (tnd_peer_t){.place = TND_PEER_UNKNOWN}, true),
                 TND_ADMISSION_MACHINE);
    rules.insecure = true;
    cr_assert_eq(tnd_admission_judge(&rules, (tnd_peer_t){.place = TND_PEER_UNKNOWN}, false),
                 TND_ADMITTED);
    cr_assert_eq(tnd_admission_judge(&rules, (tnd_peer_t){TND_PEER_LOCAL, BOB}, false),
                 TND_ADMISSION_USER, "a user of this machine is known");
}

Test(admission, nothing_is_decided_about_a_connection_that_has_ended)
{
    tnd_admission_t rules = {.self = ALICE, .insecure = true};
    cr_assert_eq(tnd_admission_judge(&rules, (tnd_peer_t){.place = TND_PEER_GONE}, false),
                 TND_ADMISSION_OVER);
}
