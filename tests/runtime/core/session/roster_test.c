/*  Covers runtime/core/session/roster.h: who has come, who is refused, and when the list is complete. */
#include "runtime/core/session/roster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 4, UNTIL = 100 };

static tnd_roster_t roster;
static tnd_roster_seat_t seats[SIZE];

static tnd_roster_request_t process(uint32_t rank, const char *address)
{
    tnd_roster_request_t request = {.process = {.rank = rank}, .size = SIZE, .graph = {7, 8}};
    snprintf(request.job, sizeof request.job, "slurm job 17");
    snprintf(request.process.address, TND_ROSTER_TEXT, "%s", address);
    snprintf(request.reached, TND_ROSTER_TEXT, "10.0.0.1");
    return request;
}

static void begin(void)
{
    tnd_roster_request_t own = process(0, "");
    memset(seats, 0, sizeof seats);
    cr_assert_leq(tnd_roster_bytes(SIZE), sizeof seats);
    tnd_roster_init(&roster, seats, &own, UNTIL);
}

TestSuite(roster, .init = begin);

/*  A process comes by a connection of the number of its rank, or another. */
static tnd_roster_verdict_t come(uint32_t rank, tnd_actor_id_t peer)
{
    tnd_roster_request_t request = process(rank, "10.0.0.9");
    return tnd_roster_come(&roster, &request, peer);
}

Test(roster, once_the_run_is_under_way_each_that_comes_is_late_or_of_another_one)
{
    tnd_roster_request_t own = process(0, ""), late = process(2, "10.0.0.9");
    cr_assert_eq(tnd_roster_come_late(&own, &late), TND_ROSTER_LATE);
    late.process.rank = 0;
    cr_assert_eq(tnd_roster_come_late(&own, &late), TND_ROSTER_DOUBLED);
    late.process.rank = SIZE;
    cr_assert_eq(tnd_roster_come_late(&own, &late), TND_ROSTER_OTHER_SIZE);
    late.process.rank = SIZE - 1;
    late.graph[1]++;
    cr_assert_eq(tnd_roster_come_late(&own, &late), TND_ROSTER_OTHER_GRAPH);
    late.job[0] = '\0';
    cr_assert_eq(tnd_roster_come_late(&own, &late), TND_ROSTER_ELSEWHERE);
    own.job[0] = '\0'; /* without a name, another graph is another job */
    cr_assert_eq(tnd_roster_come_late(&own, &late), TND_ROSTER_ELSEWHERE);
    late.graph[1]--;
    cr_assert_eq(tnd_roster_come_late(&own, &late), TND_ROSTER_LATE);
}

Test(roster, one_that_is_lost_before_it_has_the_list_is_doubtful)
{
    tnd_roster_process_t processes[SIZE];
    cr_assert_eq(come(1, 1), TND_ROSTER_TAKEN);
    cr_assert_eq(come(2, 2), TND_ROSTER_TAKEN);
    cr_assert_eq(come(3, 3), TND_ROSTER_TAKEN);
    cr_assert_eq(tnd_roster_close(&roster, processes), SIZE);
    for (uint32_t rank = 0; rank < SIZE; rank++)
        cr_expect_not(tnd_roster_is_doubtful(&roster, rank), "rank %u waits", rank);
    tnd_roster_told(&roster, 1);
    cr_assert(tnd_roster_leave(&roster, 2));
    cr_assert(tnd_roster_leave(&roster, 3));
    cr_assert_eq(come(3, 3), TND_ROSTER_TAKEN, "it comes again for the list");
    cr_expect_not(tnd_roster_is_doubtful(&roster, 1));
    cr_expect(tnd_roster_is_doubtful(&roster, 2));
    cr_expect_not(tnd_roster_is_doubtful(&roster, 3));
    tnd_roster_told(&roster, 3);
    cr_expect_not(tnd_roster_is_doubtful(&roster, 3));
    cr_expect_eq(tnd_roster_count(&roster), 0);
}

Test(roster, one_that_was_left_out_is_not_doubtful)
{
    tnd_roster_process_t processes[SIZE];
    roster.rest_count = SIZE, roster.least = 2;
    cr_assert_eq(come(1, 1), TND_ROSTER_TAKEN);
    cr_assert_eq(come(2, 2), TND_ROSTER_TAKEN);
    cr_assert(tnd_roster_leave(&roster, 2));
    cr_assert_eq(tnd_roster_close(&roster, processes), 2);
    cr_expect_not(tnd_roster_is_doubtful(&roster, 2));
    cr_expect_not(tnd_roster_is_doubtful(&roster, 3));
}

Test(roster, a_process_that_cannot_take_part_ends_the_meeting_unless_it_can_be_spared)
{
    tnd_roster_request_t bad = process(2, "10.0.0.9");
    snprintf(bad.declines, sizeof bad.declines, "a.yaml: no such file");
    memset(bad.graph, 0, sizeof bad.graph); /* which it does not know */
    cr_assert_eq(tnd_roster_come(&roster, &bad, 2), TND_ROSTER_DECLINED);
    cr_assert_eq(tnd_roster_count(&roster), 0);
    roster.rest_first = 2, roster.rest_count = SIZE - 2, roster.least = 1;
    cr_assert_eq(tnd_roster_come(&roster, &bad, 2), TND_ROSTER_SPARED);
    bad.process.rank = 1;
    cr_assert_eq(tnd_roster_come(&roster, &bad, 1), TND_ROSTER_DECLINED, "it is not of the rest");
    cr_assert_eq(come(1, 1), TND_ROSTER_TAKEN);
    cr_assert_eq(tnd_roster_come(&roster, &bad, 9), TND_ROSTER_SPARED, "another one has the rank");
    cr_assert_eq(tnd_roster_come_late(&roster.own, &bad), TND_ROSTER_SPARED);
    bad.process.rank = SIZE;
    cr_assert_eq(tnd_roster_come(&roster, &bad, 9), TND_ROSTER_OTHER_SIZE);
    bad.job[0] = '\0';
    cr_assert_eq(tnd_roster_come(&roster, &bad, 9), TND_ROSTER_ELSEWHERE);
}

Test(roster, all_that_come_to_a_rank_0_that_cannot_take_part_are_told)
{
    snprintf(roster.own.declines, sizeof roster.own.declines, "a.yaml: no such file");
    roster.rest_count = SIZE, roster.least = 1;
    cr_assert_eq(come(1, 1), TND_ROSTER_DECLINED);
    tnd_roster_request_t bad = process(2, "10.0.0.9");
    snprintf(bad.declines, sizeof bad.declines, "the same");
    cr_assert_eq(tnd_roster_come(&roster, &bad, 2), TND_ROSTER_DECLINED);
    bad.job[0] = '\0';
    cr_assert_eq(tnd_roster_come(&roster, &bad, 2), TND_ROSTER_ELSEWHERE);
}

static void come_all(void)
{
    for (uint32_t rank = 1; rank < SIZE; rank++)
        cr_assert_eq(come(rank, rank), TND_ROSTER_TAKEN);
}

Test(roster, it_is_complete_when_all_have_come)
{
    cr_expect_not(tnd_roster_is_complete(&roster, 0));
    cr_expect_eq(come(3, 3), TND_ROSTER_TAKEN);
    cr_expect_eq(come(1, 1), TND_ROSTER_TAKEN);
    cr_expect_not(tnd_roster_is_complete(&roster, 0));
    cr_expect_eq(come(2, 2), TND_ROSTER_TAKEN);
    cr_expect(tnd_roster_is_complete(&roster, 0));
    cr_expect_not(tnd_roster_is_late(&roster, UNTIL));
}

Test(roster, who_was_lost_before_the_end_is_late_after_it)
{
    tnd_roster_process_t list[SIZE];
    roster.rest_count = SIZE;
    roster.least = 2;
    cr_expect_eq(come(1, 1), TND_ROSTER_TAKEN);
    cr_expect_eq(come(2, 2), TND_ROSTER_TAKEN);
    cr_expect(tnd_roster_leave(&roster, 2));
    cr_expect(tnd_roster_is_complete(&roster, UNTIL));
    cr_expect_eq(tnd_roster_close(&roster, list), 2);
    cr_expect_eq(come(2, 2), TND_ROSTER_LATE, "the list does not have it");
    cr_expect_eq(come(1, 1), TND_ROSTER_TAKEN);
}

Test(roster, who_looks_for_another_life_is_sent_elsewhere)
{
    tnd_roster_request_t request = process(1, "10.0.0.9");
    roster.own.life = 5;
    request.life = 4;
    cr_expect_eq(tnd_roster_come(&roster, &request, 1), TND_ROSTER_ELSEWHERE);
    request.life = 5;
    cr_expect_eq(tnd_roster_come(&roster, &request, 1), TND_ROSTER_TAKEN);
    cr_expect_eq(come(2, 2), TND_ROSTER_TAKEN, "it was told where the leader is");
}

Test(roster, who_is_lost_may_come_again_by_another_connection)
{
    come_all();
    cr_expect(tnd_roster_leave(&roster, 2));
    cr_expect_not(tnd_roster_leave(&roster, 2));
    cr_expect_not(tnd_roster_is_complete(&roster, 0));
    cr_expect_eq(come(2, 9), TND_ROSTER_TAKEN);
    cr_expect(tnd_roster_is_complete(&roster, 0));
}

Test(roster, a_rank_is_given_once)
{
    cr_expect_eq(come(1, 1), TND_ROSTER_TAKEN);
    cr_expect_eq(come(1, 5), TND_ROSTER_DOUBLED);
    cr_expect_eq(come(1, 1), TND_ROSTER_TAKEN, "the same process asks twice");
    cr_expect_eq(come(0, 6), TND_ROSTER_DOUBLED);
    cr_expect_eq(seats[1].peer, 1);
}

Test(roster, processes_of_other_jobs_are_sent_elsewhere)
{
    tnd_roster_request_t other = process(1, "10.0.0.9");
    snprintf(other.job, sizeof other.job, "slurm job 18");
    cr_expect_eq(tnd_roster_come(&roster, &other, 1), TND_ROSTER_ELSEWHERE);
    cr_expect_not(seats[1].is_here);
}

Test(roster, in_one_job_graph_and_size_are_the_same)
{
    tnd_roster_request_t other = process(1, "10.0.0.9");
    other.size = 5;
    cr_expect_eq(tnd_roster_come(&roster, &other, 1), TND_ROSTER_OTHER_SIZE);
    other = process(4, "10.0.0.9");
    cr_expect_eq(tnd_roster_come(&roster, &other, 1), TND_ROSTER_OTHER_SIZE, "beyond the last");
    other = process(1, "10.0.0.9");
    other.graph[1]++;
    cr_expect_eq(tnd_roster_come(&roster, &other, 1), TND_ROSTER_OTHER_GRAPH);
}

Test(roster, without_a_job_another_graph_is_another_job)
{
    tnd_roster_request_t own = process(0, ""), other;
    own.job[0] = '\0';
    tnd_roster_init(&roster, seats, &own, UNTIL);
    other = own;
    other.process.rank = 1;
    cr_expect_eq(tnd_roster_come(&roster, &other, 1), TND_ROSTER_TAKEN);
    other.process.rank = 2;
    other.graph[0]++;
    cr_expect_eq(tnd_roster_come(&roster, &other, 2), TND_ROSTER_ELSEWHERE);
    other.graph[0]--;
    other.size++;
    cr_expect_eq(tnd_roster_come(&roster, &other, 2), TND_ROSTER_ELSEWHERE);
}

Test(roster, at_the_end_of_the_time_enough_hosts_of_the_rest_go_on)
{
    roster.rest_first = 1;
    roster.rest_count = 3;
    roster.least = 2;
    cr_expect_eq(come(1, 1), TND_ROSTER_TAKEN);
    cr_expect_not(tnd_roster_is_late(&roster, UNTIL - 1));
    cr_expect(tnd_roster_is_late(&roster, UNTIL), "one of two that are enough");
    cr_expect_eq(come(3, 3), TND_ROSTER_TAKEN);
    cr_expect_not(tnd_roster_is_complete(&roster, UNTIL - 1));
    cr_expect(tnd_roster_is_complete(&roster, UNTIL));
    cr_expect_not(tnd_roster_is_late(&roster, UNTIL));
}

Test(roster, a_named_host_is_always_needed)
{
    roster.rest_first = 2;
    roster.rest_count = 2;
    roster.least = 1;
    cr_expect_eq(come(2, 2), TND_ROSTER_TAKEN);
    cr_expect_eq(come(3, 3), TND_ROSTER_TAKEN);
    cr_expect(tnd_roster_is_late(&roster, UNTIL));
    cr_expect_eq(come(1, 1), TND_ROSTER_TAKEN);
    cr_expect_not(tnd_roster_is_late(&roster, UNTIL));
}

Test(roster, a_closed_one_is_given_again_only_to_those_on_it)
{
    tnd_roster_process_t list[SIZE];
    roster.rest_first = 1;
    roster.rest_count = 3;
    roster.least = 1;
    cr_expect_eq(come(3, 3), TND_ROSTER_TAKEN);
    cr_expect_eq(tnd_roster_close(&roster, list), 2);
    cr_expect_eq(list[1].rank, 3);
    cr_expect_eq(come(1, 1), TND_ROSTER_LATE);
    cr_expect(tnd_roster_leave(&roster, 3));
    cr_expect_eq(tnd_roster_count(&roster), 0);
    cr_expect_eq(come(3, 8), TND_ROSTER_LATE, "another process of its rank");
    cr_expect_eq(come(3, 3), TND_ROSTER_TAKEN);
    cr_expect_eq(tnd_roster_count(&roster), 1);
}

Test(roster, the_leader_has_the_address_by_which_other_machines_reach_it)
{
    tnd_roster_process_t list[SIZE];
    tnd_roster_request_t near = process(1, "127.0.0.1"), far = process(3, "10.0.0.3");
    snprintf(near.reached, TND_ROSTER_TEXT, "127.0.1.1");
    cr_expect_eq(tnd_roster_come(&roster, &near, 1), TND_ROSTER_TAKEN);
    cr_expect_eq(come(2, 2), TND_ROSTER_TAKEN);
    cr_expect_eq(tnd_roster_come(&roster, &far, 3), TND_ROSTER_TAKEN);
    cr_expect_eq(tnd_roster_close(&roster, list), SIZE);
    cr_expect_str_eq(list[0].address, "10.0.0.1");
    cr_expect_str_eq(list[1].address, "10.0.0.1", "it is on the leader's machine");
    cr_expect_str_eq(list[3].address, "10.0.0.3");
}

Test(roster, alone_on_its_machine_the_leader_is_at_loopback)
{
    tnd_roster_process_t list[SIZE];
    for (uint32_t rank = 1; rank < SIZE; rank++) {
        tnd_roster_request_t near = process(rank, "127.0.0.1");
        snprintf(near.reached, TND_ROSTER_TEXT, "127.0.1.1");
        cr_expect_eq(tnd_roster_come(&roster, &near, rank), TND_ROSTER_TAKEN);
    }
    cr_expect_eq(tnd_roster_close(&roster, list), SIZE);
    for (uint32_t rank = 0; rank < SIZE; rank++)
        cr_expect_str_eq(list[rank].address, "127.0.0.1");
}

Test(roster, a_session_means_its_own_roster_unless_processes_without_one_may_come)
{
    cr_expect_eq(tnd_roster_listener(17, false), 17);
    cr_expect_eq(tnd_roster_listener(0, false), 0, "no processes met");
    cr_expect_eq(tnd_roster_listener(17, true), 0);
}
