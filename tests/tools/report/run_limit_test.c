/*  Covers tools/report/run_limit.h: which actor bounds the rate, and what a change would give. */
#include <stdio.h>

#include "run_fixture.h"

TestSuite(run_limit, .init = begin);

/*  A second of the history of an actor: a share of it at work, the rest without input. */
static void add_second(uint32_t who, uint64_t number, double work, double step)
{
    tnd_times_t times = {.cpu = (uint64_t)(work * 1e9), .wait_in = (uint64_t)((1 - work) * 1e9)};
    tnd_history_second_t *second = &processes[0].record.histories[who].seconds[number];
    second->rows = who == FEED_A ? 1000 : 0;
    tnd_times_pack(&times, second->shares);
    tnd_feeder_shares_pack(step, 0, second->shares);
}

Test(run_limit, a_connection_limits_if_bytes_are_on_the_way_and_both_ends_wait)
{
    processes[0].count = 2;
    processes[1].count = 2;
    processes[1].actors = &pages[BATCH];
    for (int i = 0; i < 6; i++)
        pages[i].begun_ns = now_ns - 10 * second_ns;
    looked();
    pages[FEED_A].rows_out = 500;
    pages[BATCH].waiting_ns = now_ns - second_ns / 10;
    pages[BATCH].bytes_in = 1000000;
    pages[PREP].bytes_out = 4000000;
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
    pages[PREP].bytes_out = 1010000; /* 10 ms of what is sent: a healthy network */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_FLOWS);
    /* It limits the rate nevertheless, because both ends wait for it and no actor is at work. */
    cr_assert_eq(verdict.limit.bound, TND_BOUND_LINK);
    cr_assert_eq(verdict.fault_count, 0);
    pages[READ].cpu_ns = old[READ].cpu_ns + second_ns / 2;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_WORK);
}

/*  Large blocks arrive one after another: at this moment the last one came 0.1 s ago. */
Test(run_limit, a_connection_limits_between_two_blocks_that_arrive)
{
    tnd_pages_shape_t shape = {.actors = 6, .hosts = 2, .histories = 6};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    processes[0].count = 2;
    processes[1].count = 2;
    processes[1].actors = &pages[BATCH];
    processes[0].record = tnd_run_record_at(memory, &shape);
    processes[0].record.page->history_next = 4;
    for (uint32_t i = 0; i < 6; i++)
        processes[0].record.instances[i].history = i;
    processes[1].record = processes[0].record;
    for (uint64_t second = 0; second < 4; second++)
        for (uint32_t i = READ; i <= BATCH; i++)
            add_second(i, second, 0, 0);
    processes[0].record.histories[BATCH].seconds[1].rows = 400; /* of 10 kB: 1 MB/s */
    pages[BATCH].rows_in = 400;
    pages[BATCH].bytes_in = 4000000;
    pages[PREP].bytes_out = 4050000; /* 50 ms */
    pages[BATCH].waiting_ns = now_ns - second_ns / 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_STALLED);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_LINK, "%s", verdict.sentence);
    cr_assert_str_eq(fault(TND_CAUSE_LINK)->text,
                     "the connection prep.0 -> batch.0 (host a to host c) is slow: 1.00 MB/s, and "
                     "both ends wait for it");
    pages[PREP].bytes_out--;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_NONE, "%s", verdict.sentence);
    free(memory);
}

Test(run_limit, a_feeder_that_writes_its_model_most_of_the_time_limits)
{
    device(FEED_A, TND_DEVICE_STEP, 0);
    pages[FEED_A].devices[0].since_ns = now_ns;
    for (int i = 0; i < 6; i++)
        pages[i].begun_ns = now_ns - 10 * second_ns;
    looked();
    pages[FEED_A].rows_out = 500;
    pages[FEED_A].blocks_out = 10;
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_KEEP] = second_ns * 6 / 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_SAVE, "%s", verdict.sentence);
    cr_assert_str_eq(tnd_bound_name(verdict.limit.bound), "save");
    cr_assert_not_null(strstr(verdict.sentence, "(cpu:0) writes its model 60 % of the time: a "
                                                "larger `checkpoint: every`, or a faster disk "
                                                "would help"),
                       "%s", verdict.sentence);
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_KEEP] = second_ns / 2;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_neq(verdict.limit.bound, TND_BOUND_SAVE, "%s", verdict.sentence);
}

/*  The first block of a run is on its way for a long time. */
Test(run_limit, a_connection_limits_before_anything_has_come)
{
    processes[0].count = 2;
    processes[1].count = 2;
    processes[1].actors = &pages[BATCH];
    pages[BATCH].waiting_ns = now_ns - second_ns;
    pages[PREP].bytes_out = 4000000;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.state, TND_RUN_STALLED);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_LINK);
    cr_assert_str_eq(fault(TND_CAUSE_LINK)->text,
                     "the connection prep.0 -> batch.0 (host a to host c) is slow: nothing has "
                     "arrived for 1.0 s, 4.00 MB are on the way");
    /* It may be under way for a moment; nothing is; and bytes of a connection that was lost do not come. */
    pages[BATCH].waiting_ns = now_ns - second_ns + 1;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_NONE);
    pages[BATCH].waiting_ns = now_ns - second_ns;
    pages[BATCH].bytes_in = 4000000;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_NONE);
    pages[BATCH].bytes_in = 0;
    pages[PREP].lost = 1;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_NONE);
}

Test(run_limit, the_limit_is_judged_by_the_history_if_two_looks_do_not_show_it)
{
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
    }
    processes[0].record.page->history_next = 12;
    looked();
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
    cr_assert_null(strstr(verdict.sentence, "disk"));
    pages[READ].faults = 700;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(
        strstr(verdict.sentence, "; it waits for 700 pages/s of its files from disk"), "%s",
        verdict.sentence);

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

/*  A reader whose calls take 3 s: a call of 4 s does not hang, one of 30 s does. */
Test(run_limit, a_source_that_takes_seconds_per_block_limits_also_between_its_rows)
{
    tnd_pages_shape_t shape = {.actors = 6, .histories = 6};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    processes[0].record = tnd_run_record_at(memory, &shape);
    processes[1].record = processes[0].record;
    for (uint32_t i = 0; i < 6; i++) {
        processes[0].record.instances[i].history = i;
        for (uint64_t n = 0; n < 12; n++)
            add_second(i, n, i == READ, 0);
    }
    for (uint64_t n = 2; n < 12; n += 3)
        processes[0].record.histories[READ].seconds[n].rows = 16;
    processes[0].record.page->history_next = 12;
    pages[READ].rows_out = 80;
    pages[READ].blocks_out = 5;
    pages[READ].work_ns = 12 * second_ns;
    pages[READ].state = TND_STATE_WORKING;
    pages[READ].since_ns = now_ns - second_ns;
    for (int seconds = 1; seconds <= 4; seconds += 3) {
        pages[READ].since_ns = now_ns - (uint64_t)seconds * second_ns;
        tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
        cr_assert_eq(verdict.state, TND_RUN_STALLED);
        cr_assert_eq(verdict.limit.bound, TND_BOUND_WORK);
        cr_assert_str_eq(verdict.limit.actor, "read.0");
        cr_assert_not_null(fault(TND_CAUSE_WORKS));
    }
    pages[READ].since_ns = now_ns - second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(
        strstr(verdict.sentence, "; it is at work 100 % of the time, its calls take 3.0 s"), "%s",
        verdict.sentence);
    pages[READ].since_ns = now_ns - 31 * second_ns;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(fault(TND_CAUSE_HANGS));
    cr_assert_eq(verdict.limit.bound, TND_BOUND_NONE);
    free(memory);
}

Test(run_limit, an_actor_that_lags_limits_although_buffers_still_feed)
{
    for (uint32_t i = 0; i < 6; i++) {
        pages[i].begun_ns = now_ns - 60 * second_ns;
        pages[i].rows_out = 10000;
        pages[i].blocks_out = 100;
    }
    processes[1].count = 0;
    pages[PREP].rows_out = 12000; /* 2000 of them are in buffers */
    device(FEED_A, TND_DEVICE_IDLE, 0);
    looked();
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

Test(run_limit, one_slot_limits_if_the_feeder_does_not_always_wait_for_its_device)
{
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
    looked();
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

Test(run_limit, of_replicas_that_are_equally_busy_the_first_is_named)
{
    device(FEED_A, TND_DEVICE_IDLE, 0);
    device(FEED_C, TND_DEVICE_IDLE, 1);
    looked();
    pages[FEED_A].rows_out = pages[FEED_C].rows_out = 500;
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_STEP] = second_ns * 96 / 100;
    pages[FEED_C].devices[0].spent_ns[TND_DEVICE_STEP] = second_ns * 99 / 100;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "feed@a");
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_STEP] = second_ns * 80 / 100;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "feed@c");
}

Test(run_limit, an_actor_that_hardly_computes_is_no_limit_where_processors_are_not_free)
{
    for (uint32_t i = 0; i < 6; i++)
        pages[i].begun_ns = now_ns - 60 * second_ns;
    device(FEED_A, TND_DEVICE_IDLE, 0);
    looked();
    pages[FEED_A].rows_out = 500;
    pages[FEED_A].blocks_out = 5;
    pages[FEED_A].devices[0].spent_ns[TND_DEVICE_STEP] = second_ns * 6 / 10;
    pages[MEAN].cpu_ns = second_ns * 3 / 100;
    pages[MEAN].ready_ns = second_ns * 70 / 100;
    after.load = (tnd_machine_load_t){.processors = 2, .runnable = 12, .load = 6};
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_STEP, "%s", verdict.sentence);
    /* One that computes whenever it gets its turn is the limit. */
    pages[MEAN].cpu_ns = second_ns * 20 / 100;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "mean");
    cr_assert_float_eq(verdict.limit.share, 0.9, 0.01);
    memset(&after.load, 0, sizeof after.load);
}

Test(run_limit, the_operation_that_takes_longest_is_named_if_there_are_several)
{
    tnd_pages_shape_t shape = {.actors = 6, .hosts = 1, .details = 1};
    void *memory = calloc(1, tnd_run_record_bytes(&shape));
    processes[0].record = tnd_run_record_at(memory, &shape);
    for (uint32_t i = 0; i < 6; i++)
        processes[0].record.instances[i].history = i == PREP ? 0 : UINT32_MAX;
    tnd_actor_detail_t *detail = processes[0].record.details;
    strcpy(detail->operations[0].name, "cast");
    detail->operations[0].ns = 100;
    strcpy(detail->operations[1].name, "decode_jpeg");
    detail->operations[1].ns = 300;
    detail->operation_count = 2;
    for (uint32_t i = 0; i < 6; i++)
        pages[i].begun_ns = now_ns - 60 * second_ns;
    looked();
    pages[FEED_A].rows_out = 500;
    pages[FEED_A].blocks_out = 5;
    pages[PREP].cpu_ns = second_ns * 8 / 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(
        strstr(verdict.sentence, "at work 80 % of the time (75 % of that in `decode_jpeg`)"), "%s",
        verdict.sentence);
    detail->operation_count = 1;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_null(strstr(verdict.sentence, "cast"));
    free(memory);
}

/*  A run whose only device is `sim:0`, which is timed. */
static tnd_device_page_t *timed_device(void)
{
    for (uint32_t i = 0; i < 6; i++) {
        pages[i].begun_ns = now_ns - 60 * second_ns;
        pages[i].rows_out = 10000;
        pages[i].blocks_out = 100;
    }
    processes[1].count = 0;
    device(FEED_A, TND_DEVICE_IDLE, 0);
    strcpy(pages[FEED_A].devices[0].name, "sim:0");
    pages[FEED_A].devices[0].timed = 1;
    looked();
    pages[FEED_A].rows_out += 1000;
    pages[FEED_A].blocks_out += 10;
    return &pages[FEED_A].devices[0];
}

Test(run_limit, a_device_that_works_while_its_thread_does_nothing_limits)
{
    tnd_device_page_t *device = timed_device();
    device->work_ns = second_ns * 97 / 100;
    pages[READ].cpu_ns += second_ns / 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_not_null(
        strstr(verdict.sentence, "the step of feed@a on host a (sim:0), at work 97 % of the time"),
        "%s", verdict.sentence);
    /* The step that is on the device is counted up to now. */
    device->work_ns = second_ns / 2;
    device->worked_until_ns = now_ns - second_ns / 4;
    device->pending = TND_PENDING_WORK | 57 << 8;
    device->pending_since_ns = now_ns - second_ns / 2;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_float_eq(verdict.limit.share, 0.75, 0.001);
    /* A device that is not timed has no such share. */
    device->timed = old[FEED_A].devices[0].timed = 0;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_float_eq(verdict.limit.share, 0.5, 0.001);
}

Test(run_limit, a_device_that_waits_for_rows_is_named_beside_what_limits)
{
    tnd_device_page_t *device = timed_device();
    device->work_ns = second_ns / 10;
    device->wait_ns[TND_DEVICE_WAIT_ROWS] = second_ns * 3 / 10;
    device->wait = TND_DEVICE_WAIT_ROWS;
    device->wait_since_ns = now_ns - second_ns / 10;
    pages[READ].cpu_ns += second_ns * 9 / 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "read.0");
    cr_assert_not_null(
        strstr(verdict.sentence, "at work 90 % of the time; sim:0 waits for rows 40 %"), "%s",
        verdict.sentence);
    device->wait_ns[TND_DEVICE_WAIT_ROWS] = second_ns / 10; /* 20 % are no news */
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_null(strstr(verdict.sentence, "waits for rows"));
}

/*  `x = torch.from_dlpack(batch["x"])` in a loop lives until the next batch is there. */
Test(run_limit, a_program_that_keeps_its_rows_does_not_make_a_waiting_device_the_limit)
{
    tnd_device_page_t *device = timed_device();
    device->work_ns = second_ns;
    device->wait_ns[TND_DEVICE_WAIT_ROWS] = second_ns * 7 / 10;
    pages[READ].cpu_ns += second_ns * 9 / 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_str_eq(verdict.limit.actor, "read.0", "%s", verdict.sentence);
    cr_assert_not_null(strstr(verdict.sentence, "sim:0 waits for rows 70 %"), "%s",
                       verdict.sentence);
    pages[READ].cpu_ns -= second_ns * 9 / 10;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_float_eq(verdict.limit.share, 0.3, 0.001);
}

Test(run_limit, a_program_between_its_calls_limits_although_a_device_has_its_rows)
{
    tnd_device_page_t *device = timed_device();
    device->work_ns = second_ns * 97 / 100;
    pages[FEED_A].program_ns = second_ns * 95 / 100;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_PROGRAM);
    pages[FEED_A].program_ns = second_ns * 80 / 100;
    tnd_bottleneck_judge(&before, &after, &processes[0], &verdict);
    cr_assert_eq(verdict.limit.bound, TND_BOUND_STEP);
}
