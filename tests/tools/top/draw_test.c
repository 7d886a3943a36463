/*  Covers tools/top/draw.h, view.h and snapshot.h: what a made-up run looks like, and what keys
 *  change. */
#include "tools/top/draw.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static tnd_top_actor_t actors[40];
static tnd_top_edge_t edges[3];
static tnd_top_host_t hosts[2];
static tnd_top_log_t lines[1];
static tnd_top_snapshot_t run;
static tnd_top_view_t view;
static tnd_screen_t screen;

static void add(uint32_t index, const char *name, const char *actor, tnd_role_t role, uint32_t rank,
                double rows)
{
    tnd_top_actor_t *it = &actors[index];
    *it = (tnd_top_actor_t){.role = role, .here = true, .rank = rank, .instance = index};
    snprintf(it->name, sizeof it->name, "%s", name);
    snprintf(it->actor, sizeof it->actor, "%s", actor);
    strcpy(it->host, "a");
    strcpy(it->kind, "kind");
    strcpy(it->waits, "input");
    it->times[1] = 0.75; /* input */
    it->times[0] = 0.25; /* cpu */
    it->rows_per_second = rows;
    it->credit = TND_UNKNOWN;
}

static void begin(void)
{
    add(0, "batch.0", "batch", TND_ROLE_JOIN, 2, 900);
    add(1, "read.0", "read", TND_ROLE_READER, 0, 1000);
    add(2, "feed", "feed", TND_ROLE_FEEDER, 3, 800);
    add(3, "prep.0", "prep", TND_ROLE_WORKER, 1, 1200);
    edges[0] = (tnd_top_edge_t){.from_actor = "read", .to_actor = "prep", .transport = 1};
    edges[1] = (tnd_top_edge_t){.from_actor = "prep", .to_actor = "batch", .transport = 2};
    edges[2] = (tnd_top_edge_t){.from_actor = "batch", .to_actor = "feed", .credit = 3, .queue = 1};
    for (unsigned e = 0; e < 3; e++)
        edges[e].free = TND_UNKNOWN;
    hosts[0] = (tnd_top_host_t){.name = "a", .address = "127.0.0.1", .presence = TND_PRESENCE_UP};
    hosts[1] = (tnd_top_host_t){.name = "b", .address = "127.0.0.1", .presence = TND_PRESENCE_UP};
    lines[0] = (tnd_top_log_t){.text = "a leader feed is running", .level = 1};
    run = (tnd_top_snapshot_t){.run = "fashion",
                               .state = "running",
                               .step = 7946,
                               .rows_per_second = 120832,
                               .verdict = {.flows = true, .sentence = "fashion flows"},
                               .actors = actors,
                               .actor_count = 4,
                               .edges = edges,
                               .edge_count = 3,
                               .hosts = hosts,
                               .host_count = 1,
                               .log = lines,
                               .log_count = 1};
    tnd_top_view_begin(&view);
}

static void end(void)
{
    tnd_screen_free(&screen);
}

TestSuite(draw, .init = begin, .fini = end);

static void press(const char *keys)
{
    for (const char *key = keys; *key != '\0'; key++)
        tnd_top_view_key(&view, &run, (uint32_t)*key);
}

/*  The row of the screen that contains a text; -1: none does. */
static int row_of(const char *part)
{
    int found = -1;
    tnd_top_draw(&view, &run, NULL, &screen);
    for (unsigned row = 0; row < screen.rows && found < 0; row++) {
        char *text = tnd_screen_text(&screen, row);
        if (strstr(text, part) != NULL)
            found = (int)row;
        free(text);
    }
    return found;
}

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
    run.quarantined = 123456;
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
}

Test(draw, keys_sort_reverse_and_select)
{
    press(">>>s"); /* rows per second */
    cr_assert_eq(view.sort, TND_SORT_ROWS);
    cr_assert_lt(row_of("prep.0 "), row_of("read.0 "));
    press("r");
    cr_assert_lt(row_of("feed "), row_of("prep.0 "));
    press("rs");
    cr_assert_lt(row_of("read.0 "), row_of("prep.0 "));
    press("jj");
    cr_assert_str_eq(view.selected, "batch.0");
    cr_assert_geq(row_of("> batch.0"), 0);
    press("k");
    cr_assert_str_eq(view.selected, "prep.0");
    tnd_top_view_key(&view, &run, TND_KEY_END);
    cr_assert_str_eq(view.selected, "feed");
    tnd_top_view_key(&view, &run, TND_KEY_HOME);
    cr_assert_str_eq(view.selected, "read.0");
}

Test(draw, the_mark_of_the_sorted_column_hides_no_title)
{
    static const char *const shown[TND_SORTS] = {"ACTORv",  "HOSTv",  "TIMEv",
                                                 "vROWS/S", "vQUEUE", "vSINCE"};
    for (unsigned s = 0; s < TND_SORTS; s++) {
        press("s");
        cr_assert_geq(row_of(shown[s]), 0, "%s", shown[s]);
        cr_assert_eq(row_of("ACTOR"), row_of("WAITS FOR"), "%s", shown[s]);
        cr_assert_eq(row_of("ROWS/S"), row_of("QUEUE"), "%s", shown[s]);
        press("s>");
    }
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

Test(draw, following_keeps_the_actor_and_not_its_place)
{
    press(">>>s"); /* prep.0, read.0, batch.0, feed */
    cr_assert_geq(row_of("> prep.0"), 0);
    actors[3].rows_per_second = 1;
    cr_assert_geq(row_of("> read.0"), 0, "the place is kept");
    press("jF");
    cr_assert_str_eq(view.selected, "batch.0");
    actors[0].rows_per_second = 5000;
    cr_assert_geq(row_of("> batch.0"), 0);
}

Test(draw, a_filter_selects_by_name_and_inverts)
{
    press("/pre");
    cr_assert_geq(row_of("prep.0"), 0);
    cr_assert_eq(row_of("> read.0"), -1);
    tnd_top_view_key(&view, &run, TND_KEY_ENTER);
    cr_assert_eq(view.typing, 0);
    press("/");
    for (int i = 0; i < 3; i++)
        tnd_top_view_key(&view, &run, TND_KEY_BACKSPACE);
    press("!pre");
    cr_assert_eq(row_of("prep.0"), -1);
    cr_assert_geq(row_of("> read.0"), 0);
    tnd_top_view_key(&view, &run, TND_KEY_ESCAPE);
    cr_assert_str_eq(view.filter, "");
}

Test(draw, boxes_pages_and_the_palette)
{
    cr_assert_geq(row_of("1 graph"), 0);
    press("1");
    cr_assert_eq(row_of("1 graph"), -1);
    press("1e");
    cr_assert_eq(row_of("1 graph"), -1);
    cr_assert_geq(row_of("3 edges"), 0);
    tnd_top_view_key(&view, &run, TND_KEY_ESCAPE);
    cr_assert_geq(row_of("1 graph"), 0);
    press("?");
    cr_assert_eq(row_of("tundish top: help"), 0);
    press("?w");
    cr_assert_geq(row_of("  fashion flows"), 5);
    press("w:he");
    tnd_top_view_key(&view, &run, TND_KEY_TAB);
    cr_assert_str_eq(view.typed, "help");
    tnd_top_view_key(&view, &run, TND_KEY_ENTER);
    cr_assert_eq(view.page, TND_TOP_HELP);
    tnd_top_view_key(&view, &run, TND_KEY_ESCAPE);
    press(":nonsense");
    tnd_top_view_key(&view, &run, TND_KEY_ENTER);
    cr_assert_geq(row_of("no command `nonsense`"), 0);
    press(" ");
    cr_assert(view.frozen);
    cr_assert_geq(row_of("frozen"), 0);
    press("-");
    cr_assert_eq(view.interval_ns, 500000000);
    press("++");
    cr_assert_eq(view.interval_ns, 2000000000);
    press("TT");
    cr_assert_eq(view.window, 60);
    tnd_top_view_key(&view, &run, TND_KEY_ENTER);
    cr_assert_geq(row_of("read.0   kind on host a"), 0);
    press("q");
    cr_assert(view.quit);
}

/* --- touches ----------------------------------------------------------------------------------- */

/*  Whether that touch waits to be sent; it is taken. */
static bool is_due(tnd_verb_t verb, const char *actor, const char *option, const char *value)
{
    const tnd_touch_t *touch = &view.touches.touch;
    bool due = view.touches.state == TND_TOUCHES_DUE && touch->verb == verb &&
               strcmp(touch->actor, actor) == 0 && strcmp(touch->option, option) == 0 &&
               strcmp(touch->value, value) == 0;
    view.touches.state = TND_TOUCHES_NONE;
    return due;
}

static void enters(const char *keys)
{
    press(keys);
    tnd_top_view_key(&view, &run, TND_KEY_ENTER);
}

Test(draw, a_touch_is_sent_only_after_its_question_was_answered_by_y)
{
    press("p");
    cr_assert_geq(row_of("pause fashion?  y does it"), 0);
    press("q");
    cr_assert_not(view.quit);
    cr_assert_eq(row_of("pause fashion?"), -1);
    cr_assert_eq(view.touches.state, TND_TOUCHES_NONE);
    press("p");
    tnd_top_view_key(&view, &run, TND_KEY_ENTER);
    cr_assert_eq(view.touches.state, TND_TOUCHES_NONE);
    press("py");
    cr_assert(is_due(TND_TOUCH_PAUSE, "", "", ""));
    strcpy(run.paused, "paused by alice");
    press("py");
    cr_assert(is_due(TND_TOUCH_RESUME, "", "", ""));
}

Test(draw, a_menu_and_commands_have_all_touches)
{
    press("ju");
    cr_assert_geq(row_of("p pause  d drain  r restart prep.0  s set  c scale"), 0);
    press("r");
    cr_assert_geq(row_of("restart prep.0 of this run?"), 0);
    press("y");
    cr_assert(is_due(TND_TOUCH_RESTART, "prep.0", "", ""));
    press("ud");
    cr_assert_geq(row_of("drain fashion?"), 0);
    press("y");
    cr_assert(is_due(TND_TOUCH_DRAIN, "", "", ""));
    press("ux");
    cr_assert_eq(row_of("d drain"), -1);
    enters("usfeed.depth=4");
    cr_assert_geq(row_of("set feed.depth=4 of this run?"), 0);
    press("y");
    cr_assert(is_due(TND_TOUCH_SET, "feed", "depth", "4"));
    enters("ucprep=2");
    press("y");
    cr_assert(is_due(TND_TOUCH_SCALE, "prep", "", "2"));
    enters(":restart feed");
    press("y");
    cr_assert(is_due(TND_TOUCH_RESTART, "feed", "", ""));
    enters(":pau");
    press("y");
    cr_assert(is_due(TND_TOUCH_PAUSE, "", "", ""));
    enters(":set feed");
    cr_assert_geq(row_of("expected ACTOR.OPTION=VALUE"), 0);
    press("y");
    cr_assert_eq(view.touches.state, TND_TOUCHES_NONE);
    press("?");
    view.rows = 50;
    cr_assert_geq(row_of("pauses the run between two steps"), 0);
}

Test(draw, a_screen_that_only_reads_has_no_touches)
{
    view.touches.off = true;
    view.columns = 120;
    cr_assert_eq(row_of("p pause"), -1);
    press("py");
    cr_assert_eq(view.touches.state, TND_TOUCHES_NONE);
    press("u");
    cr_assert_geq(row_of("? shows the keys"), 0);
    enters(":drain");
    cr_assert_geq(row_of("no command `drain`"), 0);
    press(":");
    tnd_top_view_key(&view, &run, TND_KEY_TAB);
    cr_assert_geq(row_of("quit runs time why"), 0);
    tnd_top_view_key(&view, &run, TND_KEY_ESCAPE);
    press("?");
    view.rows = 50;
    cr_assert_geq(row_of("quits"), 0);
    cr_assert_eq(row_of("pauses the run"), -1);
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
