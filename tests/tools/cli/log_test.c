/*  Covers tools/cli/log.h: lines that are repeated at once are counted, and none is lost. */
#include "tools/cli/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/redirect.h>

/*  The command's own messages are not checked here. */
int tnd_usage_error(const char *command, const char *format, ...)
{
    (void)command;
    (void)format;
    return TND_EXIT_USAGE;
}

void tnd_complain(const char *command, const char *format, ...)
{
    (void)command;
    (void)format;
}

TestSuite(log, .init = cr_redirect_stderr);

static tnd_log_t made(bool json)
{
    tnd_log_t log;
    tnd_log_options_t options = {.level = "info", .json = json};
    cr_assert(tnd_log_init(&log, "run", &options));
    return log;
}

static void expect(const char *text)
{
    fflush(stderr);
    cr_assert_stderr_eq_str(text);
}

Test(log, a_line_that_is_repeated_is_shown_once_and_counted)
{
    tnd_log_t log = made(false);
    for (int i = 0; i < 4; i++)
        tnd_log_take(&log, TND_LOG_WARNING, "a", "feed", "again");
    tnd_log_tick(&log); /* it was shown just now */
    tnd_log_take(&log, TND_LOG_WARNING, "b", "feed", "again");
    tnd_log_take(&log, TND_LOG_DEBUG, "b", "feed", "not wanted");
    tnd_log_take(&log, TND_LOG_WARNING, "b", "feed", "again");
    tnd_log_end(&log);
    expect("a feed warning again\n"
           "a feed warning again (3 times more)\n"
           "b feed warning again\n"
           "b feed warning again (once more)\n");
}

Test(log, after_a_second_the_count_is_shown)
{
    tnd_log_t log = made(false);
    tnd_log_take(&log, TND_LOG_ERROR, "a", "feed", "again");
    tnd_log_take(&log, TND_LOG_ERROR, "a", "feed", "again");
    log.shown_ns -= 2000000000;
    tnd_log_tick(&log);
    tnd_log_tick(&log);
    tnd_log_end(&log);
    expect("a feed error again\na feed error again (once more)\n");
}

Test(log, texts_that_are_too_long_are_cut_and_still_counted)
{
    tnd_log_t log = made(false);
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 3; i++)
        tnd_log_take(&log, TND_LOG_ERROR, "a", "feed", text);
    cr_assert_eq(log.repeated, 2);
}
