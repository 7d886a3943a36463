/*  Covers tools/report/bottleneck.h: from pages to the bottleneck. */
#include "tools/report/bottleneck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/protocol/effect.h"

static const uint64_t second_ns = 1000000000, now_ns = UINT64_C(100000000000);

/*  read.0 -> prep.0 -> batch.0 -> feed@a, feed@c <-> mean: host a has the first three, a feeder and
 *  the reducer, c the other feeder. */
enum { READ, PREP, BATCH, FEED_A, MEAN, FEED_C };

static tnd_statistics_t pages[6];
static tnd_inspected_t processes[2];
static tnd_inspection_t before, after;
static tnd_verdict_t verdict;

static void join(uint32_t from, uint32_t to)
{
    tnd_statistics_t *a = &pages[from], *b = &pages[to];
    a->peers[a->peer_count++] = to;
    b->upstream[b->peer_count] = true;
    b->peers[b->peer_count++] = from;
}

static void waits(uint32_t who, uint32_t for_what)
{
    pages[who].state = TND_STATE_WAITING | (uint64_t)for_what << 8;
    pages[who].waiting_ns = now_ns - 10 * second_ns;
}

static void device(uint32_t who, tnd_device_state_t state, uint32_t replica)
{
    pages[who].device_count = 1;
    strcpy(pages[who].devices[0].name, "cpu:0");
    pages[who].devices[0].state = (uint64_t)state | (uint64_t)replica << 8;
    pages[who].devices[0].since_ns = now_ns - 12 * second_ns;
    pages[who].devices[0].step = 57;
}

static void begin(void)
{
    static const char *const names[] = {"read.0", "prep.0", "batch.0", "feed@a", "mean", "feed@c"};
    static const tnd_role_t roles[] = {TND_ROLE_READER, TND_ROLE_WORKER,  TND_ROLE_JOIN,
                                       TND_ROLE_FEEDER, TND_ROLE_REDUCER, TND_ROLE_FEEDER};
    memset(pages, 0, sizeof pages);
    for (uint32_t i = 0; i < 6; i++) {
        strcpy(pages[i].actor, names[i]);
        pages[i].role = roles[i];
        pages[i].instance = i;
        waits(i, TND_WAIT_INPUT);
    }
    join(READ, PREP);
    join(PREP, BATCH);
    join(BATCH, FEED_A);
    join(BATCH, FEED_C);
    join(FEED_A, MEAN);
    join(FEED_C, MEAN);
    processes[0] = (tnd_inspected_t){
        .path = "a", .run = "fashion", .host = "a", .process = 11, .count = 5, .actors = pages};
    processes[1] = (tnd_inspected_t){.path = "c",
                                     .run = "fashion",
                                     .host = "c",
                                     .process = 13,
                                     .count = 1,
                                     .actors = &pages[FEED_C]};
    before = (tnd_inspection_t){.now_ns = now_ns - second_ns, .count = 2, .processes = processes};
    after = (tnd_inspection_t){.now_ns = now_ns, .count = 2, .processes = processes};
}

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
    waits(FEED_A, TND_WAIT_STEP | TND_WAIT_REDUCE);
    device(FEED_A, TND_DEVICE_REDUCE, 0);
    device(FEED_C, TND_DEVICE_STEP, 3);
    processes[1].session = 2;
    expect("feed@a waits for replicas of mean, which do not run on this machine", "");
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

Test(bottleneck, a_ring_of_waits_is_a_bug_only_if_it_lasts)
{
    processes[1].count = 0;
    const char *way =
        "feed@a on host a waits for batch.0 on host a, which waits for prep.0 on host "
        "a, which waits for read.0 on host a, which waits for batch.0 on host a";
    /* The tickets of a reader come from the batcher. */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(strstr(verdict.sentence, "bug in tundish"), "%s", verdict.sentence);
    cr_assert_eq(strncmp(verdict.sentence, way, strlen(way)), 0, "%s", verdict.sentence);
    pages[PREP].waiting_ns = now_ns - second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(strstr(verdict.sentence, "try again"), "%s", verdict.sentence);
}

Test(bottleneck, a_run_that_flows_names_the_busiest_actor)
{
    static tnd_statistics_t old[6];
    static tnd_inspected_t olds[2];
    waits(FEED_A, TND_WAIT_STEP);
    device(FEED_A, TND_DEVICE_IDLE, 0);
    for (int i = 0; i < 6; i++)
        memcpy(&old[i], &pages[i], sizeof old[i]);
    memcpy(olds, processes, sizeof olds);
    olds[0].actors = old;
    olds[1].actors = &old[FEED_C];
    before.processes = olds;
    pages[FEED_A].rows_out = 500;
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_STEP] = second_ns * 3 / 4;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert(verdict.flows);
    cr_assert_str_eq(verdict.sentence,
                     "fashion flows, 500 rows/s; busiest is the step of feed@a on "
                     "host a (cpu:0), at work 75 % of the time");
}

static const tnd_fault_t *fault(tnd_cause_t cause)
{
    for (uint32_t i = 0; i < verdict.fault_count; i++)
        if (verdict.faults[i].cause == cause)
            return &verdict.faults[i];
    cr_assert_fail("no fault of this cause: %s", verdict.sentence);
    return NULL;
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

Test(bottleneck, metrics_that_are_not_read_are_a_fault_of_a_run_that_flows)
{
    static tnd_run_page_t page = {.metrics_path = "m.fifo"};
    static tnd_statistics_t old[6];
    static tnd_inspected_t olds[2];
    for (int i = 0; i < 6; i++)
        memcpy(&old[i], &pages[i], sizeof old[i]);
    memcpy(olds, processes, sizeof olds);
    olds[0].actors = old;
    before.processes = olds;
    pages[FEED_A].rows_out = 500;
    processes[0].record.page = &page;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_FLOWS, "no line waits");
    page.metrics_waits_ns = now_ns - second_ns / 2;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_FLOWS, "a line waits for a moment");
    page.metrics_waits_ns = now_ns - 4 * second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_SLOW);
    cr_assert_str_eq(fault(TND_CAUSE_OUTPUT)->text, "m.fifo, the file of the metrics, has taken "
                                                    "nothing for 4.0 s; the run continues");
    page.metrics_waits_ns = 0;
    page.metrics_dropped = 7;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(fault(TND_CAUSE_OUTPUT)->evidence, "7 lines were dropped");
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
    static tnd_statistics_t old[6];
    static tnd_inspected_t olds[2];
    for (int i = 0; i < 6; i++)
        memcpy(&old[i], &pages[i], sizeof old[i]);
    memcpy(olds, processes, sizeof olds);
    olds[0].actors = old;
    olds[1].actors = &old[FEED_C];
    before.processes = olds;
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

Test(bottleneck, a_connection_limits_if_bytes_are_on_the_way_and_both_ends_wait)
{
    static tnd_statistics_t old[6];
    static tnd_inspected_t olds[2];
    processes[0].count = 2;
    processes[1].count = 2;
    processes[1].actors = &pages[BATCH];
    for (int i = 0; i < 6; i++) {
        pages[i].begun_ns = now_ns - 10 * second_ns;
        memcpy(&old[i], &pages[i], sizeof old[i]);
    }
    memcpy(olds, processes, sizeof olds);
    olds[0].actors = old;
    olds[1].actors = &old[BATCH];
    before.processes = olds;
    pages[FEED_A].rows_out = 500;
    old[BATCH].bytes_in = 1000000;
    pages[BATCH].bytes_in = 2000000;
    pages[PREP].bytes_out = 5000000;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_SLOW);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_LINK);
    cr_assert_str_eq(fault(TND_CAUSE_LINK)->text,
                     "the connection prep.0 -> batch.0 (host a to host c) is slow: 1.00 MB/s, and "
                     "both ends wait for it");
    /* The host of another actor was restarted; then that of one end, whose counts begin anew. */
    tnd_pages_shape_t shape = {.actors = 6, .hosts = 2};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    processes[0].record = tnd_run_record_at(memory, &shape);
    for (uint32_t i = 0; i < 6; i++) {
        tnd_instance_record_t *instance = &processes[0].record.instances[i];
        snprintf(instance->actor, sizeof instance->actor, "%.*s",
                 (int)strcspn(pages[i].actor, ".@"), pages[i].actor);
        instance->role = (uint32_t)pages[i].role;
    }
    processes[0].record.hosts[1].restarts = 1;
    for (uint32_t alone = READ; alone <= PREP; alone++) {
        for (uint32_t i = 0; i < 6; i++)
            processes[0].record.instances[i].host = i == alone;
        tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
        cr_assert_eq(verdict.limit.bound == TND_BOUND_LINK, alone == READ);
    }
    free(memory);
    processes[0].record = (tnd_run_record_t){0};
    pages[PREP].bytes_out = 2010000; /* 10 ms of what is sent: a healthy network */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_FLOWS);
}

/*  A second of the history of an actor: a share of it at work, the rest without input. */
static void add_second(uint32_t who, uint64_t number, double work, double step)
{
    tnd_times_t times = {.cpu = (uint64_t)(work * 1e9), .wait_in = (uint64_t)((1 - work) * 1e9)};
    tnd_history_second_t *second = &processes[0].record.histories[who].seconds[number];
    second->rows = who == FEED_A ? 1000 : 0;
    tnd_times_pack(&times, second->shares);
    tnd_feeder_shares_pack(step, 0, second->shares);
}

Test(bottleneck, the_limit_is_judged_by_the_history_if_two_looks_do_not_show_it)
{
    static tnd_statistics_t old[6];
    static tnd_inspected_t olds[2];
    tnd_pages_shape_t shape = {.actors = 6, .histories = 6};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    processes[0].record = tnd_run_record_at(memory, &shape);
    processes[1].record = processes[0].record;
    for (uint32_t i = 0; i < 6; i++) {
        processes[0].record.instances[i].history = i;
        pages[i].begun_ns = now_ns - 60 * second_ns;
        /* The worker is busy in bursts of two of three seconds. */
        for (uint64_t n = 0; n < 12; n++)
            add_second(i, n, i == PREP && n % 3 != 2 ? 0.9 : 0.2, i == FEED_A ? 0.4 : 0);
        memcpy(&old[i], &pages[i], sizeof old[i]);
    }
    processes[0].record.page->history_next = 12;
    memcpy(olds, processes, sizeof olds);
    olds[0].actors = old;
    olds[1].actors = &old[FEED_C];
    before.processes = olds;
    pages[FEED_A].rows_out = old[FEED_A].rows_out = 60000;
    pages[FEED_A].blocks_out = old[FEED_A].blocks_out = 600;
    pages[FEED_A].rows_out += 500;
    pages[FEED_A].blocks_out += 5;
    pages[READ].cpu_ns = second_ns / 4; /* between the looks, the worker pauses */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "prep.0");
    cr_assert_float_eq(verdict.limit.share, (0.9 + 0.2) / 2, 0.02, "%g", verdict.limit.share);

    /* It is clear at once: a change is seen before it is in the history. */
    pages[READ].cpu_ns = second_ns * 8 / 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "read.0");

    /* Fewer than three steps between the looks prove nothing. */
    pages[FEED_A].rows_out = old[FEED_A].rows_out + 100;
    pages[FEED_A].blocks_out = old[FEED_A].blocks_out + 1;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "prep.0");

    /* The step of a device, which has no history of its own. */
    for (uint64_t n = 0; n < 12; n++)
        add_second(FEED_A, n, 0.1, 0.95);
    device(FEED_A, TND_DEVICE_IDLE, 0);
    device(FEED_C, TND_DEVICE_IDLE, 0);
    old[FEED_A].device_count = pages[FEED_A].device_count;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_STEP);
    cr_assert_float_eq(verdict.limit.share, 0.95, 0.01);
    free(memory);
}

Test(bottleneck, an_actor_that_lags_limits_although_buffers_still_feed)
{
    static tnd_statistics_t old[6];
    static tnd_inspected_t olds[2];
    for (uint32_t i = 0; i < 6; i++) {
        pages[i].begun_ns = now_ns - 60 * second_ns;
        pages[i].rows_out = 10000;
        pages[i].blocks_out = 100;
    }
    processes[1].count = 0;
    pages[PREP].rows_out = 12000; /* 2000 of them are in buffers */
    device(FEED_A, TND_DEVICE_IDLE, 0);
    for (int i = 0; i < 6; i++)
        memcpy(&old[i], &pages[i], sizeof old[i]);
    memcpy(olds, processes, sizeof olds);
    olds[0].actors = old;
    olds[1].actors = &old[FEED_C];
    before.processes = olds;
    pages[FEED_A].rows_out += 1000;
    pages[FEED_A].blocks_out += 10;
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_STEP] += second_ns;
    pages[PREP].rows_out += 300;
    pages[PREP].cpu_ns += second_ns * 95 / 100;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "prep.0");
    cr_assert_not_null(strstr(verdict.sentence, "which makes 300 rows/s; buffers feed the rest"));
    pages[PREP].rows_out += 600; /* nearly as many as are fed */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_STEP);
    /* Rows become more on their way: 300 of 1000 are enough. */
    pages[PREP].rows_out -= 600;
    pages[PREP].rows_out -= 8000;
    old[PREP].rows_out -= 8000;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_STEP);
}

Test(bottleneck, one_slot_limits_if_the_feeder_does_not_always_wait_for_its_device)
{
    static tnd_statistics_t old[6];
    static tnd_inspected_t olds[2];
    for (uint32_t i = 0; i < 6; i++) {
        pages[i].begun_ns = now_ns - 60 * second_ns;
        pages[i].rows_out = 10000;
        pages[i].blocks_out = 100;
    }
    processes[1].count = 0;
    waits(FEED_A, TND_WAIT_STEP);
    pages[FEED_A].since_ns = now_ns;
    pages[FEED_A].depth = 1;
    device(FEED_A, TND_DEVICE_IDLE, 0);
    for (int i = 0; i < 6; i++)
        memcpy(&old[i], &pages[i], sizeof old[i]);
    memcpy(olds, processes, sizeof olds);
    olds[0].actors = old;
    before.processes = olds;
    pages[FEED_A].rows_out += 1000;
    pages[FEED_A].blocks_out += 10;
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_STEP] += second_ns * 55 / 100;
    pages[FEED_A].wait_ns[__builtin_ctz(TND_WAIT_STEP)] += second_ns * 6 / 10;
    pages[FEED_A].wait_ns[__builtin_ctz(TND_WAIT_INPUT)] += second_ns * 4 / 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_DEPTH, "%s", verdict.sentence);
    cr_assert_float_eq(verdict.limit.gain, 1000 / 0.6, 20, "%g", verdict.limit.gain);
    /* The slot is always full: the device is idle for another reason. */
    pages[FEED_A].wait_ns[__builtin_ctz(TND_WAIT_STEP)] += second_ns * 36 / 100;
    pages[FEED_A].wait_ns[__builtin_ctz(TND_WAIT_INPUT)] -= second_ns * 36 / 100;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_STEP);
}

Test(bottleneck, of_replicas_that_are_equally_busy_the_first_is_named)
{
    static tnd_statistics_t old[6];
    static tnd_inspected_t olds[2];
    device(FEED_A, TND_DEVICE_IDLE, 0);
    device(FEED_C, TND_DEVICE_IDLE, 1);
    for (int i = 0; i < 6; i++)
        memcpy(&old[i], &pages[i], sizeof old[i]);
    memcpy(olds, processes, sizeof olds);
    olds[0].actors = old;
    olds[1].actors = &old[FEED_C];
    before.processes = olds;
    pages[FEED_A].rows_out = pages[FEED_C].rows_out = 500;
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_STEP] = second_ns * 96 / 100;
    pages[FEED_C].devices[0].spent_ns[TND_DEVICE_STEP] = second_ns * 99 / 100;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "feed@a");
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_STEP] = second_ns * 80 / 100;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "feed@c");
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
