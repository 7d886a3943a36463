/*  Covers tools/report/bottleneck.h: from pages to the bottleneck. */
#include <errno.h>
#include <stdio.h>

#include "run_fixture.h"
#include "runtime/core/leader.h"
#include "runtime/notes/page_text.h"

TestSuite(bottleneck, .init = begin);

static void expect(const char *sentence, const char *actor)
{
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.sentence, sentence);
    cr_assert_str_eq(verdict.actor, actor);
    cr_assert_not(verdict.flows);
}

Test(bottleneck, a_step_on_another_host_is_found_through_the_reduction)
{
    waits(FEED_A, TND_WAIT_STEP | TND_WAIT_REDUCE);
    device(FEED_A, TND_DEVICE_REDUCE, 0);
    waits(FEED_C, TND_WAIT_STEP);
    device(FEED_C, TND_DEVICE_STEP, 3);
    expect("feed@a on host a waits for mean, which waits for replica 3 on host c (cpu:0), whose "
           "step 57 has been running for 12 s",
           "feed@c");
    cr_assert_eq(verdict.process, 13);
    cr_assert_str_eq(verdict.device, "cpu:0");
}

Test(bottleneck, a_worker_that_does_not_return_is_found_through_the_order)
{
    waits(BATCH, TND_WAIT_INPUT | TND_WAIT_ORDER);
    pages[PREP].state = TND_STATE_WORKING;
    pages[PREP].since_ns = now_ns - 3 * second_ns;
    processes[1].count = 0;
    expect("feed@a on host a waits for batch.0 on host a, which waits for prep.0 on host a, which "
           "has been inside one call of its work for 3.0 s",
           "prep.0");
}

Test(bottleneck, an_actor_that_is_woken_for_a_moment_still_waits)
{
    static tnd_statistics_t earlier[6];
    static tnd_inspected_t there[2];
    waits(BATCH, TND_WAIT_INPUT | TND_WAIT_ORDER);
    pages[PREP].state = TND_STATE_WORKING;
    pages[PREP].since_ns = now_ns - 3 * second_ns;
    memcpy(earlier, pages, sizeof pages);
    memcpy(there, processes, sizeof processes);
    there[0].actors = earlier;
    there[0].count = 5;
    there[1].actors = &earlier[FEED_C];
    before.processes = there;
    processes[1].count = there[1].count = 0;
    static const char waiting[] = "feed@a on host a waits for batch.0 on host a, which waits for "
                                  "prep.0 on host a, which has been inside one call of its work "
                                  "for 3.0 s";
    pages[FEED_A].state = TND_STATE_WORKING;
    pages[FEED_A].since_ns = now_ns - 19999999;
    expect(waiting, "prep.0");
    /* For longer, or with a row that it passed on, it works. */
    pages[FEED_A].since_ns = now_ns - 20000000;
    expect("feed@a on host a, which has been inside one call of its work for 20 ms", "feed@a");
    pages[FEED_A].since_ns = now_ns - 19999999;
    pages[FEED_A].rows_in = 1;
    expect("feed@a on host a, which is at work", "feed@a");
}

Test(bottleneck, a_stopped_process_is_named_with_the_way_to_continue_it)
{
    waits(FEED_A, TND_WAIT_REDUCE);
    device(FEED_A, TND_DEVICE_REDUCE, 0);
    waits(FEED_C, TND_WAIT_STEP);
    device(FEED_C, TND_DEVICE_STEP, 3);
    processes[1].stopped = true;
    expect("feed@a on host a waits for mean, which waits for feed@c on host c, whose process 13 is "
           "stopped; kill -CONT 13 continues it",
           "feed@c");
}

Test(bottleneck, actors_of_other_machines_are_reported)
{
    processes[0].count = 0;
    expect("feed@c on host c waits for input of an actor that does not run on this machine", "");
}

Test(bottleneck, another_run_of_the_same_name_is_not_looked_at)
{
    static tnd_run_page_t page;
    processes[0].record.page = processes[1].record.page = &page;
    waits(FEED_A, TND_WAIT_STEP | TND_WAIT_REDUCE);
    device(FEED_A, TND_DEVICE_REDUCE, 0);
    device(FEED_C, TND_DEVICE_STEP, 3);
    processes[1].session = 2;
    expect("feed@a waits for replicas of mean, which do not run on this machine", "");
    cr_assert_str_eq(verdict.word, "11", "the name means both");
    processes[1].killed = true;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.word, "fashion");
}

Test(bottleneck, a_batcher_without_a_slot_waits_for_the_feeder_that_has_none)
{
    waits(FEED_A, TND_WAIT_INPUT);
    waits(BATCH, TND_WAIT_WINDOW);
    waits(FEED_C, TND_WAIT_STEP);
    device(FEED_C, TND_DEVICE_STEP, 3);
    expect("feed@a on host a waits for batch.0 on host a, which waits for feed@c on host c, which "
           "waits for replica 3 on host c (cpu:0), whose step 57 has been running for 12 s",
           "feed@c");
}

Test(bottleneck, a_reader_without_credit_waits_for_the_worker_that_gives_none)
{
    processes[1].count = 0;
    waits(READ, TND_WAIT_CREDIT);
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    const char *way =
        "feed@a on host a waits for batch.0 on host a, which waits for prep.0 on "
        "host a, which waits for read.0 on host a, which waits for prep.0 on host a: ";
    cr_assert_eq(strncmp(verdict.sentence, way, strlen(way)), 0, "%s", verdict.sentence);
}

Test(bottleneck, a_batcher_without_a_watermark_waits_for_the_other_lane)
{
    processes[1].count = 0;
    strcpy(pages[MEAN].actor, "batch.1");
    pages[MEAN].role = TND_ROLE_JOIN;
    pages[MEAN].state = TND_STATE_WORKING;
    pages[MEAN].since_ns = now_ns - 4 * second_ns;
    waits(BATCH, TND_WAIT_MARK);
    expect("feed@a on host a waits for batch.0 on host a, which waits for batch.1 on host a, which "
           "has been inside one call of its work for 4.0 s",
           "batch.1");
}

Test(bottleneck, a_batcher_without_room_waits_for_what_is_upstream)
{
    processes[1].count = 0;
    waits(BATCH, TND_WAIT_MEMORY);
    pages[PREP].state = TND_STATE_RUNNING;
    pages[PREP].since_ns = now_ns - 2 * second_ns;
    expect("feed@a on host a waits for batch.0 on host a, which waits for prep.0 on host a, which "
           "has been busy for 2.0 s",
           "prep.0");
}

Test(bottleneck, waits_for_the_leader_and_completed_work_are_reported)
{
    processes[1].count = 0;
    waits(BATCH, TND_WAIT_LEADER);
    expect("feed@a on host a waits for batch.0 on host a, which waits for the leader", "");
    waits(BATCH, TND_WAIT_ENDED);
    expect("feed@a on host a waits for batch.0 on host a, which has done its part", "");
    pages[BATCH].state = TND_STATE_FAILED;
    expect("feed@a on host a waits for batch.0 on host a, which has failed", "batch.0");
    pages[BATCH].state = TND_STATE_ENDED;
    expect("feed@a on host a waits for batch.0 on host a, which has ended", "batch.0");
}

Test(bottleneck, a_connection_that_is_missing_is_followed_as_input_is)
{
    processes[1].count = 0;
    waits(BATCH, TND_WAIT_PEER);
    processes[0].stopped = true;
    expect("feed@a on host a, whose process 11 is stopped; kill -CONT 11 continues it", "feed@a");
    processes[0].stopped = false;
    processes[0].count = 1; /* the reader alone is here, and no feeder */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.sentence, "fashion begins, or ends: its actors here wait for the "
                                       "leader");
}

Test(bottleneck, a_program_that_does_not_pull_is_named)
{
    processes[1].count = 0;
    waits(FEED_A, TND_WAIT_STEP);
    device(FEED_A, TND_DEVICE_IDLE, 0);
    expect("feed@a on host a waits for its program, which has not asked for the next step for 10 s",
           "feed@a");
}

/*  The control thread of host a has not run for that time. */
static void hangs_control(uint64_t ns)
{
    static tnd_run_page_t page;
    page.written_ns = now_ns - ns;
    processes[0].record.page = &page;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
}

Test(bottleneck, a_ring_of_waits_is_a_bug_only_if_it_lasts)
{
    processes[1].count = 0;
    const char *way =
        "feed@a on host a waits for batch.0 on host a, which waits for prep.0 on host "
        "a, which waits for read.0 on host a, which waits for batch.0 on host a";
    /* The tickets of a reader come from the batcher. */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(strstr(verdict.sentence, "bug in tundish"), "%s", verdict.sentence);
    cr_assert_eq(verdict.state, TND_RUN_CYCLE);
    cr_assert_not_null(fault(TND_CAUSE_CYCLE));
    hangs_control(3 * second_ns - 1);
    cr_assert_eq(verdict.state, TND_RUN_CYCLE);
    hangs_control(3 * second_ns);
    cr_assert_eq(verdict.state, TND_RUN_STALLED, "the other threads wait for that of the control");
    cr_assert_not_null(
        strstr(verdict.sentence, "; meanwhile the control thread of host a has not run for 3.0 s"));
    processes[0].record.page = NULL;
    cr_assert_eq(strncmp(verdict.sentence, way, strlen(way)), 0, "%s", verdict.sentence);
    pages[PREP].waiting_ns = now_ns - second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(strstr(verdict.sentence, "try again"), "%s", verdict.sentence);
}

/*  An actor that failed, or has ended, while others wait for it. */
Test(bottleneck, an_actor_that_failed_is_named)
{
    static const tnd_state_t states[] = {TND_STATE_FAILED, TND_STATE_ENDED};
    static const char *const texts[] = {"read.0 on host a has failed",
                                        "read.0 on host a has ended"};
    processes[1].count = 0;
    for (unsigned i = 0; i < 2; i++) {
        pages[READ].state = states[i];
        tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
        cr_assert_eq(verdict.state, TND_RUN_STALLED);
        cr_assert_str_eq(fault(TND_CAUSE_FAILED)->text, texts[i]);
        cr_assert_str_eq(fault(TND_CAUSE_FAILED)->actor, "read.0");
        cr_assert_str_eq(fault(TND_CAUSE_FAILED)->action,
                         "read the log of the run: it has the reason");
    }
}

Test(bottleneck, a_ring_of_waits_is_not_a_bug_while_an_actor_works)
{
    processes[1].count = 0;
    pages[MEAN].state = TND_STATE_WORKING;
    pages[MEAN].since_ns = now_ns - 9 * second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(
        strstr(verdict.sentence,
               "; meanwhile mean on host a, which has been inside one call of its work for 9.0 s"),
        "%s", verdict.sentence);
    cr_assert_null(strstr(verdict.sentence, "bug"));
    cr_assert_not_null(fault(TND_CAUSE_HANGS));
}

Test(bottleneck, a_batcher_without_rows_is_followed_and_not_one_without_a_slot)
{
    pages[MEAN].role = TND_ROLE_JOIN; /* of another lane, which feed@a waits for too */
    pages[FEED_A].upstream[1] = true;
    waits(BATCH, TND_WAIT_WINDOW);
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    const char *way = "feed@a on host a waits for mean on host a";
    cr_assert_eq(strncmp(verdict.sentence, way, strlen(way)), 0, "%s", verdict.sentence);
    waits(BATCH, TND_WAIT_MARK);
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(strncmp(verdict.sentence, way, strlen(way)), 0, "%s", verdict.sentence);
}

Test(bottleneck, a_run_that_flows_names_the_busiest_actor)
{
    waits(FEED_A, TND_WAIT_STEP);
    device(FEED_A, TND_DEVICE_IDLE, 0);
    looked();
    pages[FEED_A].rows_out = 500;
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_STEP] = second_ns * 3 / 4;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert(verdict.flows);
    cr_assert_str_eq(verdict.sentence,
                     "fashion flows, 500 rows/s; busiest is the step of feed@a on "
                     "host a (cpu:0), at work 75 % of the time");
}

Test(bottleneck, a_killed_process_is_followed_until_another_takes_its_place)
{
    static tnd_inspected_t three[3];
    processes[0].count = 1; /* read.0 */
    processes[1] = (tnd_inspected_t){.path = "b",
                                     .run = "fashion",
                                     .host = "b",
                                     .process = 12,
                                     .count = 1,
                                     .killed = true,
                                     .last_ns = now_ns - 7 * second_ns,
                                     .actors = &pages[PREP]};
    memcpy(three, processes, sizeof processes);
    three[2] = (tnd_inspected_t){.path = "c",
                                 .run = "fashion",
                                 .host = "c",
                                 .process = 13,
                                 .count = 2,
                                 .actors = &pages[BATCH]};
    after = (tnd_inspection_t){.now_ns = now_ns, .count = 3, .processes = three};
    before = after;
    before.now_ns -= second_ns;
    expect("feed@a on host c waits for batch.0 on host c, which waits for prep.0 on host b, whose "
           "process 12 was killed or crashed, 7.0 s ago",
           "prep.0");
    cr_assert_eq(verdict.state, TND_RUN_STALLED);
    cr_assert_eq(fault(TND_CAUSE_KILLED)->since_ns, 7 * second_ns);
    cr_assert_eq(verdict.hop_count, 3);

    static tnd_inspected_t four[4];
    memcpy(four, three, sizeof three);
    four[3] = three[1];
    four[3].path[0] = 'd';
    four[3].killed = false;
    after.processes = four;
    after.count = 4;
    before = after;
    tnd_bottleneck_judge(&before, &after, &four[0], &verdict);
    for (uint32_t i = 0; i < verdict.fault_count; i++)
        cr_assert_neq(verdict.faults[i].cause, TND_CAUSE_KILLED);
}

Test(bottleneck, a_run_without_a_live_process_was_killed)
{
    processes[0].killed = processes[1].killed = true;
    processes[0].last_ns = now_ns - 3 * second_ns;
    processes[1].last_ns = now_ns - 9 * second_ns;
    pages[FEED_A].blocks_out = 2;
    pages[FEED_A].step = 1;
    tnd_bottleneck_judge(&before, &after, &processes[1], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_KILLED);
    cr_assert_str_eq(verdict.sentence, "fashion was killed or crashed 3.0 s ago: host a, process "
                                       "11; the last committed step is 1");
    cr_assert_eq(verdict.hop_count, 6);
    cr_assert_eq(verdict.hops[0].waits, TND_WAIT_INPUT);
    static tnd_run_page_t page = {.state = 5, .step = 42, .checkpoint_step = 30};
    processes[0].record.page = &page;
    tnd_bottleneck_judge(&before, &after, &processes[1], &verdict);
    cr_assert_str_eq(verdict.sentence,
                     "fashion was killed or crashed 3.0 s ago: host a, process 11; the last "
                     "committed step is 41, the last checkpoint is after step 29");
    /* The page of the run is up to a second old; a step is committed when all feeders are done. */
    pages[FEED_A].step = 44;
    pages[FEED_C].step = 43;
    pages[FEED_C].blocks_out = 40;
    tnd_bottleneck_judge(&before, &after, &processes[1], &verdict);
    cr_assert_not_null(strstr(verdict.sentence, "the last committed step is 43,"));
    static tnd_instance_record_t instances[] = {{.role = TND_ROLE_FEEDER},
                                                {.role = TND_ROLE_FEEDER}};
    processes[0].record.instances = instances;
    processes[0].record.shape.actors = 2;
    processes[1].count = 0; /* the other feeder is not seen */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(strstr(verdict.sentence, "the last committed step is 41,"));
}

Test(bottleneck, the_signal_that_killed_a_process_is_said_if_its_parent_saw_it)
{
    processes[0].killed = processes[1].killed = true;
    processes[0].last_ns = now_ns - 3 * second_ns;
    processes[0].killed_by = 9;
    tnd_bottleneck_judge(&before, &after, &processes[1], &verdict);
    cr_assert_not_null(
        strstr(verdict.sentence, "fashion was killed by signal 9 (Killed) 3.0 s ago"));
    cr_assert_str_eq(fault(TND_CAUSE_KILLED)->text,
                     "host a (read.0, prep.0, batch.0, feed@a, mean): process 11 was killed by "
                     "signal 9 (Killed) 3.0 s ago");
}

/*  A run of the leader's page, whose rows flow. */
static tnd_run_page_t *flows_by_the_page(void)
{
    static tnd_run_page_t page;
    looked();
    pages[FEED_A].rows_out = 500;
    page.state = TND_LEADER_CORE_RUNNING + 1;
    processes[0].record.page = &page;
    return &page;
}

Test(bottleneck, metrics_that_are_not_read_are_a_fault_of_a_run_that_flows)
{
    tnd_run_page_t *page = flows_by_the_page();
    strcpy(page->metrics_path, "m.fifo");
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_FLOWS, "no line waits");
    page->metrics_waits_ns = now_ns - second_ns / 2;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_FLOWS, "a line waits for a moment");
    page->metrics_waits_ns = now_ns - 4 * second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_SLOW);
    cr_assert_str_eq(fault(TND_CAUSE_OUTPUT)->text, "m.fifo, the file of the metrics, has taken "
                                                    "nothing for 4.0 s; the run continues");
    page->metrics_waits_ns = 0;
    page->metrics_dropped = 7;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(fault(TND_CAUSE_OUTPUT)->evidence, "7 lines were dropped");
    page->metrics_reason = ENOSPC;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(fault(TND_CAUSE_OUTPUT)->text,
                     "m.fifo, the file of the metrics, cannot be written: No space left on device; "
                     "the run continues, and writes no more of them");
}

/*  Host c has a replica, whose state is lost with it; the other one only works on rows. */
Test(bottleneck, a_host_with_replicas_is_not_said_to_come_back)
{
    tnd_run_page_t *page = flows_by_the_page();
    processes[1].killed = true;
    processes[1].last_ns = now_ns - second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(fault(TND_CAUSE_KILLED)->evidence, "the run ends without it");
    cr_assert_str_eq(fault(TND_CAUSE_KILLED)->action, "start the run again");
    page->checkpoint_step = 7;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(fault(TND_CAUSE_KILLED)->action, "start the run again with --resume");
    pages[FEED_C].role = TND_ROLE_WORKER;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(fault(TND_CAUSE_KILLED)->action,
                     "start it again by the same command with --host c");
}

Test(bottleneck, more_than_one_bad_row_in_a_hundred_is_a_fault)
{
    tnd_run_page_t *page = flows_by_the_page();
    page->read = 5000;
    page->bad = 50;
    static tnd_run_notes_t notes[TND_RUN_NOTES_KINDS];
    processes[0].record.notes = notes;
    tnd_run_notes_t *bad = &notes[TND_RUN_NOTES_BAD];
    tnd_run_notes_add(bad, "prep, operation 1", "record 17 of a.csv", "field 2 is empty", now_ns);
    tnd_run_notes_add(bad, "prep, operation 2", "record 3 of b.csv", "it has no end", now_ns);
    tnd_run_notes_add(bad, "read", "record 9 of c.csv", "a quote is open", now_ns);
    tnd_run_notes_add(bad, "read", "record 12 of c.csv", "a quote is open", now_ns);
    tnd_run_notes_count(bad, "prep, operation 1", 48);
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_FLOWS, "one in a hundred");
    page->bad = 51;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_SLOW);
    cr_assert_str_eq(fault(TND_CAUSE_BAD_ROWS)->text,
                     "1.02 % of the rows read are bad and not fed: 51 of 5000");
    cr_assert_str_eq(fault(TND_CAUSE_BAD_ROWS)->evidence,
                     "48 by prep, operation 1, such as record 17 of a.csv: field 2 is empty");
    cr_assert_str_eq(fault(TND_CAUSE_BAD_ROWS)->details,
                     "1 by prep, operation 2, such as record 3 of b.csv: it has no end\n"
                     "2 by read, such as record 9 of c.csv: a quote is open\n");
}

Test(bottleneck, checkpoints_that_fail_are_a_fault_until_one_is_written)
{
    tnd_run_page_t *page = flows_by_the_page();
    page->unwritten = 1;
    tnd_page_text_write(page->unwritten_why, TND_PAGE_WHY_WORDS, "/kept: No space left on device");
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_SLOW);
    cr_assert_str_eq(
        fault(TND_CAUSE_CHECKPOINTS)->text,
        "no checkpoint could be written, and 1 failed; a crash would lose the whole run");
    page->unwritten = 2;
    page->checkpoint_step = 60;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(fault(TND_CAUSE_CHECKPOINTS)->text,
                     "the last 2 checkpoints could not be written; a crash would lose all after "
                     "step 59");
    cr_assert_str_eq(fault(TND_CAUSE_CHECKPOINTS)->evidence, "/kept: No space left on device");
    page->unwritten = 0;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_FLOWS);
}

Test(bottleneck, a_reducer_that_is_stopped_is_named)
{
    static tnd_inspected_t three[3];
    processes[0].count = 4;
    memcpy(three, processes, sizeof processes);
    three[2] = (tnd_inspected_t){.path = "d",
                                 .run = "fashion",
                                 .host = "d",
                                 .process = 14,
                                 .count = 1,
                                 .stopped = true,
                                 .actors = &pages[MEAN]};
    after.processes = three;
    after.count = 3;
    before = after;
    waits(FEED_A, TND_WAIT_REDUCE);
    device(FEED_A, TND_DEVICE_REDUCE, 0);
    waits(FEED_C, TND_WAIT_REDUCE);
    device(FEED_C, TND_DEVICE_REDUCE, 1);
    expect("feed@a on host a waits for mean on host d, whose process 14 is stopped; kill -CONT 14 "
           "continues it",
           "mean");
}

Test(bottleneck, a_model_that_is_written_is_not_a_program_that_does_not_pull)
{
    processes[1].count = 0;
    waits(FEED_A, TND_WAIT_STEP);
    device(FEED_A, TND_DEVICE_KEEP, 0);
    expect("feed@a on host a waits for replica 0 on host a (cpu:0), which has been writing the "
           "model of step 57 for 12 s",
           "feed@a");
    cr_assert_eq(fault(TND_CAUSE_SAVES)->since_ns, 12 * second_ns);
}

Test(bottleneck, a_slow_run_flows_between_its_steps)
{
    uint64_t step_ns = 2 * second_ns;
    pages[FEED_A].blocks_out = 10;
    pages[FEED_A].rows_out = 640;
    pages[PREP].state = TND_STATE_WORKING;
    pages[PREP].since_ns = now_ns - second_ns;
    pages[PREP].begun_ns = now_ns - 50 * second_ns;
    for (uint64_t i = 0; i < 4; i++)
        pages[FEED_A].fed_ns[(9 - i) % TND_PAGE_FED] = now_ns - second_ns - i * step_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert(verdict.flows);
    cr_assert_float_eq(verdict.rows_per_second, 32, 1e-9);
    cr_assert_str_eq(verdict.actor, "prep.0");
    for (uint64_t i = 0; i < 4; i++)
        pages[FEED_A].fed_ns[(9 - i) % TND_PAGE_FED] = now_ns - 7 * second_ns - i * step_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not(verdict.flows);
    cr_assert_eq(verdict.state, TND_RUN_STALLED);
}

Test(bottleneck, faults_are_listed_while_rows_flow_most_serious_first)
{
    looked();
    pages[FEED_A].rows_out = 500;
    processes[1].stopped = true;
    pages[PREP].state = TND_STATE_WORKING;
    pages[PREP].since_ns = now_ns - 8 * second_ns;
    pages[READ].ready_ns = second_ns / 2;
    pages[READ].begun_ns = now_ns - 10 * second_ns;
    old[READ].begun_ns = pages[READ].begun_ns;
    after.load.processors = 2;
    after.load.runnable = 9;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_SLOW);
    cr_assert_eq(verdict.fault_count, 3);
    cr_assert_eq(verdict.faults[0].cause, TND_CAUSE_STOPPED);
    cr_assert_eq(verdict.faults[1].cause, TND_CAUSE_HANGS);
    cr_assert_str_eq(verdict.faults[1].actor, "prep.0");
    cr_assert_eq(verdict.faults[2].cause, TND_CAUSE_NO_PROCESSOR);
    cr_assert_str_eq(verdict.faults[2].actor, "read.0");
    after.load.runnable = 2;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.fault_count, 2);
    memset(&after.load, 0, sizeof after.load);
}

Test(bottleneck, the_turns_of_other_chains_do_not_make_a_chain_slower)
{
    tnd_pages_shape_t shape = {.actors = 6, .histories = 1};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    processes[0].record = tnd_run_record_at(memory, &shape);
    for (uint32_t i = 0; i < 6; i++)
        processes[0].record.instances[i].history = i == FEED_A ? 0 : UINT32_MAX;
    pages[FEED_A].rows_out = 6400;
    pages[FEED_A].blocks_out = 100;
    tnd_times_t busy = {.wait_in = 100}, idle = {.other = 100};
    for (uint32_t i = 0; i < 30; i++) {
        tnd_history_second_t *second = &processes[0].record.histories[0].seconds[i];
        second->rows = i < 15 || i >= 27 ? 1000 : 0;
        tnd_times_pack(second->rows > 0 ? &busy : &idle, second->shares);
    }
    processes[0].record.page->history_next = 30;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    for (uint32_t i = 0; i < verdict.fault_count; i++)
        cr_assert_neq(verdict.faults[i].cause, TND_CAUSE_SLOWER);
    free(memory);
}

Test(bottleneck, a_run_is_slower_than_its_best_seconds)
{
    tnd_pages_shape_t shape = {.actors = 6, .histories = 1};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    processes[0].record = tnd_run_record_at(memory, &shape);
    for (uint32_t i = 0; i < 6; i++)
        processes[0].record.instances[i].history = i == FEED_A ? 0 : UINT32_MAX;
    pages[FEED_A].rows_out = 6400;
    pages[FEED_A].blocks_out = 100;
    for (uint32_t i = 0; i < 30; i++)
        processes[0].record.histories[0].seconds[i].rows = i < 20 ? 1000 : 499;
    processes[0].record.page->history_next = 30;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(
        fault(TND_CAUSE_SLOWER)->text,
        "feed@a on host a fed 499 rows/s in the last 10 s, and 1000 in the best 10 s of "
        "the last minute");
    processes[0].record.histories[0].seconds[25].rows += 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    for (uint32_t i = 0; i < verdict.fault_count; i++)
        cr_assert_neq(verdict.faults[i].cause, TND_CAUSE_SLOWER);
    processes[0].record.histories[0].seconds[25].rows = 0;
    processes[0].record.page->history_next = 10; /* the first seconds are not judged */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    for (uint32_t i = 0; i < verdict.fault_count; i++)
        cr_assert_neq(verdict.faults[i].cause, TND_CAUSE_SLOWER);
    free(memory);
}

Test(bottleneck, the_file_that_a_reader_hangs_in_is_evidence)
{
    tnd_pages_shape_t shape = {.actors = 6, .hosts = 1, .details = 1};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    processes[0].record = tnd_run_record_at(memory, &shape);
    for (uint32_t i = 0; i < 6; i++)
        processes[0].record.instances[i].history = i == READ ? 0 : UINT32_MAX;
    tnd_actor_detail_read(&processes[0].record.details[0], "/data/a\nb.csv", 3, 96);
    pages[READ].state = TND_STATE_WORKING;
    pages[READ].since_ns = now_ns - 8 * second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(fault(TND_CAUSE_HANGS)->actor, "read.0");
    cr_assert_str_eq(fault(TND_CAUSE_HANGS)->evidence,
                     "reads /data/a?b.csv, record 3, from byte 96");
    pages[READ].state = TND_STATE_WAITING | (uint64_t)TND_WAIT_INPUT << 8;
    pages[PREP].state = TND_STATE_WORKING;
    pages[PREP].since_ns = now_ns - 8 * second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(fault(TND_CAUSE_HANGS)->actor, "prep.0");
    cr_assert_str_eq(fault(TND_CAUSE_HANGS)->evidence, "");
    free(memory);
}

/*  Host c is on another machine, and what is known of it is 3 s old. */
static void silence_c(tnd_presence_t presence, const char *machine_of_a)
{
    static tnd_run_page_t page[2];
    static tnd_host_record_t hosts[2];
    begin();
    memset(hosts, 0, sizeof hosts);
    page[0] = (tnd_run_page_t){.state = 1, .host = 0};
    page[1] = (tnd_run_page_t){.host = 1};
    strcpy(hosts[0].name, "a");
    strcpy(hosts[1].name, "c");
    hosts[1].presence = presence;
    processes[0].record = (tnd_run_record_t){.page = &page[0], .hosts = hosts, .shape.hosts = 2};
    processes[1].record = (tnd_run_record_t){.page = &page[1]};
    strcpy(processes[0].machine, machine_of_a);
    strcpy(processes[1].machine, "10.0.0.2");
    processes[1].silent_ns = now_ns - 3 * second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
}

static bool has_fault(tnd_cause_t cause)
{
    for (uint32_t i = 0; i < verdict.fault_count; i++)
        if (verdict.faults[i].cause == cause)
            return true;
    return false;
}

Test(bottleneck, a_silent_host_that_the_leader_here_hears_is_not_at_fault)
{
    silence_c(TND_PRESENCE_UP, "");
    cr_assert_not(has_fault(TND_CAUSE_AWAY), "%s", verdict.sentence);
    silence_c(TND_PRESENCE_AWAY, "");
    cr_assert_str_eq(fault(TND_CAUSE_AWAY)->host, "c");
    /* Seen by the leader's port, the leader may not have noticed yet. */
    silence_c(TND_PRESENCE_UP, "10.0.0.1");
    cr_assert_str_eq(fault(TND_CAUSE_AWAY)->host, "c");
}
