/*  Covers tools/top/draw.h and snapshot.h: what a made-up run looks like. */
#include "top_fixture.h"

TestSuite(draw, .init = begin, .fini = end);

Test(draw, a_run_in_80_columns_and_24_rows)
{
    cr_assert_eq(row_of("tundish top   fashion  running"), 0);
    cr_assert_eq(row_of("120,832 rows/s"), 1);
    cr_assert_eq(row_of("why fashion flows"), 2);
    cr_assert_geq(row_of("read -----ipc--> prep -----tcp--> batch ----inproc--> feed"), 4);
    cr_assert_geq(row_of("a leader feed is running"), 4);
    cr_assert_eq(row_of("q quit"), 23);
    /* A quarter of 20 letters computes, the rest waits for input. */
    int read = row_of("> read.0"), feed = row_of("feed ");
    cr_assert_geq(row_of("RRRRRiiiiiiiiiiiiiii"), read);
    cr_assert_lt(read, row_of("prep.0"));
    cr_assert_lt(row_of("prep.0"), row_of("batch.0"));
    cr_assert_geq(feed, 0);
}

Test(draw, the_use_of_the_machine_is_whole_in_80_columns)
{
    run.machine = (tnd_machine_use_t){.busy = 1,
                                      .memory = UINT64_C(2) << 40,
                                      .used = UINT64_C(2) << 40,
                                      .read = 12345.6e6,
                                      .written = 2345.6e6};
    cr_assert_geq(row_of("1 graph   machine: cpu 100 %, memory 100 %, disks 12345.6 MB/s in, "
                         "2345.6 out"),
                  0);
    run.machine = (tnd_machine_use_t){.busy = -1, .read = -1, .written = -1};
    cr_assert_geq(row_of("1 graph "), 0);
    cr_assert_eq(row_of("machine"), -1);
}

Test(draw, every_size_from_80x24_to_200x60_fits)
{
    for (unsigned rows = 1; rows <= 60; rows += 7)
        for (unsigned columns = 1; columns <= 200; columns += 13) {
            view.rows = rows;
            view.columns = columns;
            tnd_top_draw(&view, &run, NULL, &screen);
            tnd_top_draw(&view, NULL, "other", &screen);
            cr_assert_eq(screen.rows, rows);
            cr_assert_eq(screen.columns, columns);
        }
    view.rows = 40;
    view.columns = 120;
    cr_assert_geq(row_of("CPU DISK   IN"), 0);
    cr_assert_geq(row_of("127.0.0.1"), 0);
}

Test(draw, without_a_run_it_says_that_it_waits)
{
    tnd_top_draw(&view, NULL, "mine", &screen);
    char *text = tnd_screen_text(&screen, 2);
    cr_assert_str_eq(text, " no run `mine` on this machine; waiting for one");
    free(text);
}

Test(draw, an_awaited_host_and_a_run_that_has_ended_come_first)
{
    strcpy(run.waiting_for, "b, c");
    cr_assert_eq(row_of("! waits for host b, c"), 2);
    run.outcome = "failed";
    cr_assert_eq(row_of("the run has ended: failed"), 2);
    cr_assert_eq(row_of("fashion  failed"), 0);
}

/*  What would help is at the end of the sentence, and is seen with a fault above it, too. */
Test(draw, a_fault_leaves_two_rows_for_the_sentence)
{
    strcpy(run.verdict.sentence,
           "fashion flows, 600 rows/s; busiest is prep.0, at work 100 % of the time; 4 workers of "
           "prep should give 800 rows/s");
    cr_assert_eq(row_of("should give 800 rows/s"), 3);
    run.verdict.fault_count = 1;
    strcpy(run.verdict.faults[0].text, "prep.0 on host a has been inside one call of its work for "
                                       "11 s; its mean is 42 ms");
    cr_assert_eq(row_of("! prep.0 on host a has been inside"), 2);
    cr_assert_eq(row_of("42 ms"), -1);
    cr_assert_eq(row_of("why fashion flows"), 3);
    cr_assert_eq(row_of("should give 800 rows/s"), 4);
    cr_assert_eq(row_of("read -----ipc"), 6);
    view.rows = 40;
    cr_assert_eq(row_of("42 ms"), 3);
    cr_assert_eq(row_of("should give 800 rows/s"), 5);
    view.rows = 19;
    cr_assert_eq(row_of("why fashion flows"), 3);
    cr_assert_eq(row_of("should give 800 rows/s"), -1, "a low screen has no room for it");
}

Test(draw, hosts_of_long_and_short_names_are_aligned)
{
    run.host_count = 2;
    strcpy(hosts[1].name, "a-host-of-a-long-name");
    view.rows = 40;
    view.columns = 120;
    cr_assert_geq(row_of("  a                     127.0.0.1       up"), 0);
    cr_assert_geq(row_of("  a-host-of-a-long-name 127.0.0.1       up"), 0);
}

Test(draw, devices_are_shown_with_their_link)
{
    static tnd_top_device_t devices[2] = {{.name = "cuda:0",
                                           .model = "NVIDIA H200",
                                           .bus = "0000:01:00.0",
                                           .memory = UINT64_C(141) << 30,
                                           .bytes_moved = UINT64_C(12) << 30,
                                           .bytes_per_second = 1 << 20,
                                           .link_share = 0.5,
                                           .link_wait_share = 0.25},
                                          {.name = "sim:0",
                                           .timed = true,
                                           .work_share = 0.97,
                                           .rows_wait_share = 0.02,
                                           .pending = "the copy of step 3 to sim:0",
                                           .pending_seconds = 12}};
    actors[2].devices = devices;
    actors[2].device_count = 2;
    press("d");
    view.columns = 132;
    int row = row_of("cuda:0");
    cr_assert_geq(row, 0);
    cr_assert_eq(
        row_of("NVIDIA H200 at 0000:01:00.0, 141 GiB; 12 GiB moved, 1 MiB/s, link busy 50 %, "
               "waited for 25 %"),
        row + 1);
    cr_assert_eq(
        row_of("    at work 97 %, waited for rows 2 %; the copy of step 3 to sim:0 takes 12 s"),
        row + 3);
}

static const char long_name[] = "decode_resize_and_normalize_images.11";

Test(draw, the_name_of_the_culprit_is_whole_in_80_columns)
{
    for (unsigned host_count = 1; host_count <= 2; host_count++) {
        strcpy(actors[3].name, long_name);
        strcpy(run.verdict.actor, long_name);
        run.host_count = host_count;
        actors[3].rows_per_second = 1234567;
        int row = row_of(long_name);
        cr_assert_geq(row, 0);
        tnd_top_draw(&view, &run, NULL, &screen);
        char *text = tnd_screen_text(&screen, (unsigned)row);
        cr_assert_not_null(strstr(text, "1,234,567"), "%s", text);
        free(text);
    }
}

/*  Beside a name of 25 letters: on several hosts the bytes make room, on one its name does. */
Test(draw, a_long_name_leaves_room_for_what_actors_wait_for)
{
    strcpy(actors[3].name, "preprocess_the_pictures.0");
    strcpy(actors[3].waits, "order,input,window");
    strcpy(run.verdict.actor, actors[3].name);
    view.columns = 120;
    for (run.host_count = 1; run.host_count <= 2; run.host_count++) {
        int row = row_of(actors[3].name);
        cr_assert_eq(row_of("order,input"), row);
        cr_assert_geq(row_of("WAITS FOR"), 0);
        cr_assert_eq(row_of(" HOST ") >= 0, run.host_count == 2);
    }
    run.host_count = 1;
    strcpy(actors[3].name, "prep.0");
    strcpy(run.verdict.actor, "prep.0");
    cr_assert_geq(row_of(" HOST "), 0);
    cr_assert_eq(row_of(" MB/S QUEUE"), row_of(" HOST "));
}

Test(draw, a_number_that_has_no_room_is_left_out_and_not_cut)
{
    strcpy(actors[3].name, long_name);
    strcpy(run.verdict.actor, long_name);
    actors[3].queue = 123456;
    for (view.columns = 60; view.columns < 90; view.columns++) {
        int row = row_of(long_name);
        tnd_top_draw(&view, &run, NULL, &screen);
        char *text = tnd_screen_text(&screen, (unsigned)row);
        cr_assert(strstr(text, "123456") != NULL || strstr(text, "123") == NULL, "%s", text);
        free(text);
    }
}

Test(draw, the_limiting_actor_is_marked_and_first_unless_rows_are_sorted)
{
    strcpy(run.verdict.actor, "batch.0");
    run.verdict.flows = true;
    int row = row_of("*> batch.0");
    cr_assert_geq(row, 0);
    cr_assert_eq(row_of("read.0 "), row + 1);
    press("r"); /* reversed, it still is */
    cr_assert_lt(row_of("*  batch.0"), row_of("feed "));
    press("r>>>s"); /* rows per second */
    cr_assert_lt(row_of("read.0 "), row_of("batch.0 "));
    cr_assert_geq(row_of("*  batch.0"), 0);
    cr_assert_eq(row_of("*> batch.0"), -1);
}

Test(draw, the_limiting_actor_is_first_of_8_lanes_and_of_60_actors)
{
    static tnd_top_actor_t many[60];
    char name[16];
    for (uint32_t i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "%s.%u",
                 i < 8    ? "read"
                 : i < 52 ? "prep"
                          : "batch",
                 i < 8    ? i
                 : i < 52 ? i - 8
                          : i - 52);
        add(3, name,
            i < 8    ? "read"
            : i < 52 ? "prep"
                     : "batch",
            i < 8    ? TND_ROLE_READER
            : i < 52 ? TND_ROLE_WORKER
                     : TND_ROLE_JOIN,
            i < 8 ? 0 : i < 52, 100);
        many[i] = actors[3];
    }
    run.actors = many;
    run.actor_count = 60;
    static const char *const limits[] = {"read.7", "prep.31", "batch.5"};
    for (unsigned l = 0; l < 3; l++) {
        char row[32];
        strcpy(run.verdict.actor, limits[l]);
        snprintf(row, sizeof row, "*> %s ", limits[l]);
        cr_assert_eq(row_of(row), row_of("ACTOR") + 1, "%s", limits[l]);
    }
    cr_assert_geq(row_of("prep x44"), 0);
}

Test(draw, the_header_keeps_its_parts_apart)
{
    strcpy(run.run, "imagenet-with-a-rather-long-name-of-its-own");
    run.epoch = 127;
    run.checkpoint_step = 12345;
    run.checkpoint_seconds = 12;
    run.bad = 123456;
    for (view.columns = 80; view.columns <= 140; view.columns++) {
        tnd_top_draw(&view, &run, NULL, &screen);
        char *first = tnd_screen_text(&screen, 0), *second = tnd_screen_text(&screen, 1);
        cr_assert_not_null(strstr(first, run.run), "%s", first);
        cr_assert_not_null(strstr(first, "epoch 127 "), "%s", first);
        cr_assert_str_eq(first + strlen(first) - 7, "  1.0 s", "%s", first);
        cr_assert_not_null(strstr(second, "bad 123,456"), "%s", second);
        cr_assert(strstr(second, "checkpoint") == NULL || strstr(second, "12 s ago") != NULL, "%s",
                  second);
        free(first);
        free(second);
    }
}

/*  How many characters of a row are block characters, full or part. */
static unsigned blocks_in(unsigned row)
{
    unsigned count = 0;
    for (unsigned c = 0; c < screen.columns; c++) {
        uint32_t character = screen.cells[row * screen.columns + c].character;
        count += character >= 0x2581 && character <= 0x2588;
    }
    return count;
}

Test(draw, from_120_columns_on_a_time_axis_has_the_last_minute)
{
    for (unsigned m = 0; m < TND_TOP_MOMENTS; m++) {
        actors[2].seconds[m] = (tnd_top_moment_t){.known = m >= 20, .rows = m < 40 ? 500 : 1000};
        actors[1].seconds[m] =
            (tnd_top_moment_t){.known = m >= 20, .work = m < 40 ? 0 : 1, .most = m < 40 ? 1 : 0};
    }
    view.rows = 40;
    view.wide = true;
    view.columns = 119;
    cr_assert_eq(row_of("8 time"), -1);
    view.columns = 120;
    int row = row_of("8 time");
    cr_assert_geq(row, 0);
    cr_assert_eq(row_of("1,000 at most"), row + 1);
    cr_assert_geq(row_of("750 on average"), row + 4);
    cr_assert_geq(row_of("60 s ago"), row);
    /* 20 of the 40 seconds that are known reach the top of the curve, and each the bottom. */
    cr_assert_eq(blocks_in((unsigned)row + 1), 20);
    cr_assert_eq(blocks_in((unsigned)row_of("750 on average")), 40);
    row = row_of("read        ");
    cr_assert_eq(blocks_in((unsigned)row), 40);
    const tnd_cell_t *cells = screen.cells + (size_t)row * screen.columns;
    unsigned low = 0, high = 0;
    for (unsigned c = 0; c < screen.columns; c++) {
        low += cells[c].character == 0x2581 && cells[c].ink == TND_INK_IDLE;
        high += cells[c].character == 0x2588 && cells[c].ink == TND_INK_BUSY;
    }
    cr_assert_eq(low, 20);
    cr_assert_eq(high, 20);
    press("M");
    for (unsigned m = 0; m < TND_TOP_MOMENTS; m++)
        actors[2].spans[m] = (tnd_top_moment_t){.known = true, .rows = 300};
    cr_assert_geq(row_of("300 at most"), 0);
    cr_assert_geq(row_of("300 on average"), 0);
    cr_assert_geq(row_of("10 min ago"), 0);
    press("M");
    press("8");
    cr_assert_eq(row_of("8 time"), -1);
    view.columns = 80;
    press("t"); /* alone, it is shown in any width */
    cr_assert_geq(row_of("8 time"), 0);
}

Test(draw, other_runs_are_named_and_can_be_chosen)
{
    static tnd_top_run_t runs[3] = {
        {.run = "fashion", .session = 1, .process = 71, .state = "running", .shown = true},
        {.run = "fashion", .session = 2, .process = 72, .state = "paused", .epoch = 3},
        {.run = "imagenet",
         .session = 3,
         .process = 73,
         .state = "running",
         .run_left_ns = UINT64_C(125000000000)}};
    run.runs = runs;
    run.run_count = 1;
    cr_assert_eq(row_of("R\n"), -1);
    cr_assert_eq(row_of("other run"), -1);
    run.session = 1;
    run.process = 71;
    run.run_count = 3;
    cr_assert_eq(row_of("fashion (process 71)  running"), 0);
    cr_assert_eq(row_of("2 other runs: R"), 0);
    runs[2].killed = true;
    cr_assert_eq(row_of("1 other run: R"), 0);
    runs[2].killed = false;
    press("R");
    int row = row_of("PROCESS STATE");
    cr_assert_eq(row_of(" > fashion       71 running"), row + 1);
    cr_assert_eq(row_of("   fashion       72 paused"), row + 2);
    cr_assert_eq(row_of("run 2:05"), row + 3);
    press("jj");
    cr_assert_geq(row_of(" > imagenet      73"), 0);
    press("jk");
    tnd_top_view_key(&view, &run, TND_KEY_ENTER);
    cr_assert(view.chooses);
    cr_assert_eq(view.run, 1);
    press("R");
    cr_assert_geq(row_of("1 graph"), 0);
    press("R");
    strcpy(runs[2].run, "twelve-with-a-rather-long-name");
    view.columns = 80;
    cr_assert_eq(row_of("run 2:05"), row + 3, "the time that is left is whole");
    cr_assert_eq(row_of("twelve-with-a-rather-lo"), row + 3);
    runs[2].run_left_ns = UINT64_C(432000000000000);
    cr_assert_eq(row_of("run 120:00:00"), row + 3);
    cr_assert_eq(row_of("EPOCH"), -1);
    view.columns = 120;
    cr_assert_eq(row_of("twelve-with-a-rather-long-name"), row + 3);
    cr_assert_eq(row_of("EPOCH"), row);
}

Test(draw, the_epoch_is_counted_from_0_and_what_ended_is_counted)
{
    run.epoch = 16;
    cr_assert_eq(row_of("epoch 16  7,946 steps"), 0);
    run.outcome = "done";
    run.epoch = 5;
    run.step = 1;
    cr_assert_eq(row_of("5 epochs  1 step"), 0);
}

Test(draw, an_edge_of_calls_has_no_rows)
{
    edges[2].known = edges[2].call = true;
    strcpy(edges[2].to, "mean");
    press("e");
    tnd_top_draw(&view, &run, NULL, &screen);
    char *text = tnd_screen_text(&screen, (unsigned)row_of("mean "));
    cr_assert_null(strstr(text, " 0 "), "%s", text);
    free(text);
}

Test(draw, a_stopped_run_is_shown_as_stopped)
{
    run.stopped = true;
    cr_assert_eq(row_of("fashion  stopped"), 0);
    run.outcome = "killed";
    cr_assert_eq(row_of("fashion  killed"), 0);
}

Test(draw, an_actor_of_a_silent_host_is_not_shown_as_at_work)
{
    view.rows = 40;
    view.columns = 120;
    hosts[0].silent = true;
    actors[3].silent = true;
    cr_assert_eq(tnd_top_letter(&actors[3]), '?');
    cr_assert_geq(row_of("127.0.0.1       silent"), 0);
}

Test(draw, many_workers_share_a_line_and_an_outlier_has_its_own)
{
    char name[16];
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "prep.%u", i);
        add(3 + i, name, "prep", TND_ROLE_WORKER, 1, i == 7 ? 10 : 100 + i);
    }
    run.actor_count = 23;
    cr_assert_geq(row_of("prep x20"), 0);
    for (uint32_t i = 0; i < 20; i++)
        strcpy(actors[3 + i].actor, "tokenize");
    cr_assert_geq(row_of("tokenize x20"), 0, "the number is not cut");
    for (uint32_t i = 0; i < 20; i++)
        strcpy(actors[3 + i].actor, "prep");
    cr_assert_geq(row_of("10 / 110 / 119 rows/s each"), 0);
    cr_assert_geq(row_of("prep.7 "), 0);
    cr_assert_eq(row_of("prep.8 "), -1);
    press("j");
    tnd_top_view_key(&view, &run, TND_KEY_ENTER);
    view.rows = 40;
    cr_assert_geq(row_of("prep.8 "), 0);
}

Test(draw, a_bar_has_as_many_letters_as_its_parts_say)
{
    char bar[21];
    const double thirds[3] = {1. / 3, 1. / 3, 1. / 3}, none[2] = {0, 1};
    tnd_top_bar(thirds, "abc", 3, 20, bar);
    cr_assert_str_eq(bar, "aaaaaaabbbbbbccccccc");
    tnd_top_bar(none, "ab", 2, 4, bar);
    cr_assert_str_eq(bar, "bbbb");
}

Test(draw, an_edge_shows_the_credit_that_is_left_and_its_round_trip)
{
    strcpy(edges[1].from, "prep.0");
    strcpy(edges[1].to, "batch.0");
    edges[0].free = 0;
    edges[1].free = TND_UNKNOWN;
    edges[1].round_trip_seconds = 0.00025;
    view.rows = 40;
    view.columns = 120;
    press("e");
    int row = row_of("0.25 ms");
    cr_assert_geq(row, 0);
    char *text = tnd_screen_text(&screen, (unsigned)row);
    cr_assert_not_null(strstr(text, "prep.0     batch.0    tcp"), "%s", text);
    free(text);
    text = tnd_screen_text(&screen, (unsigned)row - 1);
    cr_assert_not_null(strstr(text, "     0     -"), "%s", text);
    free(text);
}

Test(draw, an_open_actor_shows_its_times_operations_and_options)
{
    static char threads[200] = "prep.0     thread 71 (sleeping)\n", events[] = "";
    static tnd_top_close_up_t close_up = {
        .actor = "prep.0",
        .timings = {{.name = "service",
                     .count = 1234,
                     .p50 = 3.5e-6,
                     .p90 = 0.0125,
                     .p99 = 0.0125,
                     .p999 = 2,
                     .most = 2,
                     .octaves = {[1] = 600, [14] = 1, [21] = 1200}},
                    {.name = "send_wait"}},
        .timing_count = 2,
        .operations = {{.name = "scale", .seconds = 3e-6}, {.name = "crop", .seconds = 1e-6}},
        .operation_count = 2,
        .options = "{queue: 32}",
        .threads = threads,
        .events = events,
    };
    view.rows = 40;
    view.columns = 120;
    strcpy(view.selected, "prep.0");
    view.page = TND_TOP_ACTOR;
    cr_assert_geq(row_of("not known of this actor"), 0);
    run.close_up = &close_up;
    int row = row_of("service");
    cr_assert_eq(
        row_of("3.5 us  12.5 ms  12.5 ms    2.0 s    2.0 s      1,234   =            .      "
               "#"),
        row);
    cr_assert_eq(row_of("send_wait"), -1, "there was none");
    cr_assert_eq(row_of("scale                  3.0 us     75 %"), row + 2);
    cr_assert_geq(row_of("thread 71 (sleeping)"), row);
    cr_assert_geq(row_of("{queue: 32}"), row);
    cr_assert_eq(row_of("last events"), -1, "there are none");
    snprintf(threads, sizeof threads, "%s",
             "prep.0     thread 71 (sleeping), wait channel hrtimer_nanosleep, stack "
             "hrtimer_nanosleep < common_nsleep\n");
    view.columns = 80;
    row = row_of("  prep.0     thread 71 (sleeping), wait channel hrtimer_nanosleep, stack");
    cr_assert_geq(row, 0);
    cr_assert_eq(row_of("     hrtimer_nanosleep < common_nsleep"), row + 1, "no word is broken");
    view.columns = 120;
    view.rows = 16;
    cr_assert_eq(row_of("{queue: 32}"), -1);
    view.scroll = 1000;
    cr_assert_eq(row_of("{queue: 32}"), 14, "the last line is above the keys");
    strcpy(view.selected, "feed");
    cr_assert_geq(row_of("not known of this actor"), 0);
}
