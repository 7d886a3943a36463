/*  tools/command/top.c - `tundish top`: shows a run as it goes, in a terminal or as lines. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/text/quantity.h"
#include "tools/choice/absent_run.h"
#include "tools/cli/command.h"
#include "tools/cli/terminal.h"
#include "tools/report/run_json.h"
#include "tools/top/draw.h"
#include "tools/top/painter.h"
#include "tools/top/watched_run.h"
#include "tools/touch/touch_client.h"

typedef struct {
    const char *interval, *leader, *via;
    bool once, json, read_only;
} top_options_t;

/*  The shortest interval, and the time between the two looks of --once. */
static const uint64_t least_interval_ns = 50000000, once_ns = 250000000;

/*  The size of the text of --once, if it is not of a terminal: nothing is cut. */
enum { ONCE_ROWS = 40, ONCE_COLUMNS = 280 };

static void sleep_for(uint64_t ns)
{
    struct timespec span = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&span, NULL);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void print_json(const tnd_watched_run_t *run)
{
    printf("{\"schema\":%d,", TND_RUN_JSON_SCHEMA);
    tnd_watched_run_json(run, stdout);
    fputs("}\n", stdout);
}

/*  The whole screen as text. */
static void print_screen(const tnd_watched_run_t *run)
{
    tnd_terminal_t terminal = tnd_terminal_look(STDOUT_FILENO);
    tnd_top_view_t view;
    tnd_screen_t screen = {0};
    tnd_top_view_begin(&view);
    view.rows = ONCE_ROWS;
    view.columns = terminal.line ? (unsigned)terminal.columns : ONCE_COLUMNS;
    view.wide = terminal.wide;
    view.interval_ns = 0;
    tnd_top_draw(&view, run->snapshot, run->name, &screen);
    for (unsigned row = 0, blank = 0; row + 2 < screen.rows; row++) {
        char *text = tnd_screen_text(&screen, row);
        blank = *text == '\0' ? blank + 1 : 0;
        if (blank < 2)
            puts(text);
        free(text);
    }
    tnd_screen_free(&screen);
}

static int print_once(tnd_watched_run_t *run, const char *leader, bool json)
{
    char absent[600];
    tnd_watched_run_look(run);
    if (run->snapshot != NULL) {
        sleep_for(once_ns);
        tnd_watched_run_look(run);
    }
    if (json)
        print_json(run);
    else if (run->snapshot != NULL)
        print_screen(run);
    else if (run->name == NULL)
        fprintf(stderr, "%s%s\n", run->after->unread,
                tnd_absent_run_text(NULL, leader, run->after, absent, sizeof absent));
    if (run->snapshot != NULL || (run->name == NULL && leader == NULL))
        return TND_EXIT_OK;
    if (run->name != NULL)
        tnd_complain("top", "%s",
                     tnd_absent_run_text(run->name, leader, run->after, absent, sizeof absent));
    return TND_EXIT_FAILED;
}

/*  A line per interval until the run has ended. */
static int print_lines(tnd_watched_run_t *run, const char *leader, uint64_t interval_ns, bool json)
{
    char absent[600];
    bool waits = false;
    while (!run->ended) {
        bool found = run->snapshot != NULL;
        tnd_watched_run_look(run);
        if (run->snapshot == NULL && !waits) {
            fprintf(stderr, "%s; waiting for one\n",
                    tnd_absent_run_text(run->name, leader, run->after, absent, sizeof absent));
            waits = true;
        } else if (found && json) {
            print_json(run);
        } else if (found) {
            tnd_top_print_line(run->snapshot, stdout);
        }
        if (fflush(stdout) != 0)
            return TND_EXIT_FAILED;
        if (!run->ended)
            sleep_for(interval_ns);
    }
    return TND_EXIT_OK;
}

/* --- the screen ------------------------------------------------------------------------------- */

static void show(tnd_painter_t *painter, const tnd_watched_run_t *run, tnd_top_view_t *view,
                 tnd_screen_t *screen)
{
    tnd_painter_size(painter, &view->rows, &view->columns);
    tnd_top_draw(view, run->snapshot, run->name, screen);
    tnd_painter_show(painter, screen);
}

/*  Sends the touch that was confirmed, which may take seconds, and shows the answer. */
static void touch(tnd_painter_t *painter, const tnd_watched_run_t *run, tnd_top_view_t *view,
                  tnd_screen_t *screen)
{
    view->touches.state = TND_TOUCHES_NONE;
    snprintf(view->message, sizeof view->message, "the leader of %s is asked ...",
             run->snapshot->run);
    show(painter, run, view, screen);
    (void)tnd_touch_send(run->snapshot->run, run->snapshot->session, &view->touches.touch,
                         view->message, sizeof view->message);
}

static int show_screen(tnd_painter_t *painter, tnd_watched_run_t *run, tnd_top_view_t *view)
{
    tnd_screen_t screen = {0};
    uint64_t due = 0, shown = 0;
    bool ends = false;
    while (!view->quit && !ends) {
        uint64_t now = tnd_clock_now();
        if (now >= due) {
            /* The second look follows soon, so that there are rates. */
            bool first = run->snapshot == NULL;
            if (!view->frozen || first)
                tnd_watched_run_look(run);
            due = now + (first && run->snapshot != NULL ? once_ns : view->interval_ns);
            shown = 0;
        }
        if (shown == 0)
            show(painter, run, view, &screen);
        shown = 1;
        now = tnd_clock_now();
        uint32_t key = tnd_painter_key(painter, due > now ? due - now : 0);
        ends = key == TND_PAINTER_ENDED;
        if (key == TND_PAINTER_NONE || ends)
            continue;
        uint64_t interval = view->interval_ns;
        bool open = view->page == TND_TOP_ACTOR;
        if (key != TND_PAINTER_RESIZED)
            tnd_top_view_key(view, run->snapshot, key);
        if (view->chooses) {
            const tnd_top_run_t *chosen = &run->snapshot->runs[view->run];
            tnd_watched_run_choose(run, chosen->run, chosen->session);
            view->page = TND_TOP_MAIN;
            view->chooses = false;
            due = now;
        }
        if (view->page == TND_TOP_RUNS && !run->lists)
            due = now;
        run->lists = view->page == TND_TOP_RUNS;
        run->open = view->page == TND_TOP_ACTOR ? view->selected : NULL;
        if (view->touches.state == TND_TOUCHES_DUE) {
            touch(painter, run, view, &screen);
            due = now; /* what follows is shown at once */
        }
        if (view->interval_ns != interval || (!open && run->open != NULL))
            due = now;
        shown = 0;
    }
    tnd_screen_free(&screen);
    int number = tnd_painter_close(&painter);
    if (number != 0 && number != SIGINT)
        raise(number);
    return TND_EXIT_OK;
}

static int top(const tnd_request_t *request)
{
    const top_options_t *options = request->options;
    uint64_t interval_ns = 1000000000;
    if (options->interval != NULL &&
        (tnd_quantity_duration(options->interval, &interval_ns) != TND_QUANTITY_OK ||
         interval_ns < least_interval_ns))
        return tnd_usage_error("top",
                               "--interval takes a time of at least 50ms, such as 500ms, "
                               "not '%s'",
                               options->interval);
    tnd_terminal_t terminal = tnd_terminal_look(STDOUT_FILENO);
    tnd_remote_hosts_t *hosts;
    tnd_error_t error = {.text = ""};
    if (tnd_remote_hosts_new(&hosts, options->via, options->leader, &error) != TND_OK)
        return tnd_usage_error("top", "%s", error.text);
    tnd_watched_run_t run;
    int code;
    tnd_painter_t *painter = NULL;
    tnd_watched_run_begin(&run, request->file_count > 0 ? request->files[0] : NULL, hosts,
                          options->once ? TND_REMOTE_PATIENCE_NS : 0);
    if (options->json)
        run.what = TND_LOOK_DETAILS;
    if (terminal.line && isatty(STDIN_FILENO) && !options->json && !options->once)
        painter = tnd_painter_open(terminal.colour);
    if (painter != NULL) {
        tnd_top_view_t view;
        tnd_top_view_begin(&view);
        view.wide = terminal.wide;
        view.interval_ns = interval_ns;
        view.touches.off = options->read_only || options->leader != NULL;
        code = show_screen(painter, &run, &view);
    } else if (options->once) {
        code = print_once(&run, options->leader, options->json);
    } else {
        code = print_lines(&run, options->leader, interval_ns, options->json);
    }
    tnd_watched_run_free(&run);
    tnd_remote_hosts_destroy(&hosts);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--interval", top_options_t, interval)},
    {TND_ARGUMENT("--once", FLAG, top_options_t, once, NULL,
                  "looks twice, prints what it saw, and ends")},
    {TND_COMMON("--json", top_options_t, json)},
    {TND_ARGUMENT("--read-only", FLAG, top_options_t, read_only, NULL,
                  "only shows the run: it cannot be paused or changed from the screen")},
    {TND_COMMON("--leader", top_options_t, leader)},
    {TND_COMMON("--via", top_options_t, via)},
};

const tnd_command_t tnd_command_top = {
    .name = "top",
    .operands = "[RUN]",
    .summary = "shows a run as it goes: what limits it, its actors, edges, hosts and log",
    TND_ARGUMENTS(arguments, top_options_t),
    .details =
        "Reads the statistics in shared memory only, so actors that hang or were stopped are\n"
        "shown too.  It waits for a run if there is none, and shows how a run ended.  If no run\n"
        "lives, it shows the one that was killed last, until another begins.  `enter` opens an\n"
        "actor: how long its parts of the work take, its operations, its threads as the kernel\n"
        "shows them, its last events and its options.  `?` shows the keys and the letters.\n"
        "With RUN, the `name:` of a topology or the number of a process, only that run is shown;\n"
        "otherwise the newest one.  Epochs are numbered from 0.\n"
        "\n"
        "A bar of 20 letters shows the time of an actor since the previous look: R computing,\n"
        "d disk or sleep, i input is missing, c no room downstream, o waits for the order, s the\n"
        "user's step, n other replicas, q ready without a processor, . idle.  A device has S "
        "step,\n"
        "n reduce, A apply, k saves the model, . idle.  `?` has all letters.  Colours show the\n"
        "same; NO_COLOR turns them off.\n"
        "\n"
        "If stdout is not a terminal, it prints a line per interval until the run has ended.\n"
        "--json prints an object per interval, as `tundish ps --json`.  --once looks twice and\n"
        "prints the screen as text.\n"
        "\n"
        "Hosts on other machines are shown too with --via 'ssh {address}', and those of one run\n"
        "with --leader 10.0.0.1:7100; see `tundish ps --help`.\n"
        "The log names a host that does not answer within 2 s.\n"
        "\n"
        "`p` pauses and continues the run, and `u` opens a menu of other touches (`tundish help\n"
        "touches`); each asks before it does anything.  --read-only leaves them out, and so does\n"
        "--leader, whose connection only reads.\n",
    .codes = "  0   the user quit, or the run has ended\n"
             "  1   --once: RUN does not exist here, or --leader shows no run; stdout cannot be "
             "written\n"
             "  2   usage\n",
    .operands_max = 1,
    .run = top,
};
