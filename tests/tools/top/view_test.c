/*  Covers tools/top/view.h: what keys change on the screen of a made-up run. */
#include "top_fixture.h"

TestSuite(view, .init = begin, .fini = end);

Test(view, keys_sort_reverse_and_select)
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

Test(view, the_mark_of_the_sorted_column_hides_no_title)
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

Test(view, following_keeps_the_actor_and_not_its_place)
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

static void enters(const char *keys)
{
    press(keys);
    tnd_top_view_key(&view, &run, TND_KEY_ENTER);
}

Test(view, a_filter_selects_by_name_and_inverts)
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

Test(view, boxes_pages_and_the_palette)
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
    enters(":nonsense");
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

Test(view, a_touch_is_sent_only_after_its_question_was_answered_by_y)
{
    press("p");
    cr_assert_geq(row_of("pause fashion?  y does it"), 0);
    press("q");
    cr_assert_not(view.quit);
    cr_assert_eq(row_of("pause fashion?"), -1);
    cr_assert_eq(view.touches.state, TND_TOUCHES_NONE);
    enters("p");
    cr_assert_eq(view.touches.state, TND_TOUCHES_NONE);
    press("py");
    cr_assert(is_due(TND_TOUCH_PAUSE, "", "", ""));
    strcpy(run.paused, "paused by alice");
    press("py");
    cr_assert(is_due(TND_TOUCH_RESUME, "", "", ""));
}

Test(view, a_menu_and_commands_have_all_touches)
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

Test(view, a_screen_that_only_reads_has_no_touches)
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
