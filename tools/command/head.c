/*  tools/command/head.c - `tundish head`: shows what a graph feeds, without a model. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/host/session.h"
#include "runtime/observe/inspection.h"
#include "runtime/resources/descriptors.h"
#include "runtime/resources/threads.h"
#include "runtime/text/quantity.h"
#include "runtime/touch/touch.h"
#include "tools/cli/crash.h"
#include "tools/cli/load.h"
#include "tools/cli/log.h"
#include "tools/cli/opening_progress.h"
#include "tools/cli/signals.h"
#include "tools/rows/contact_sheet.h"
#include "tools/rows/head_plan.h"
#include "tools/rows/npz.h"
#include "tools/rows/show.h"

typedef struct {
    tnd_load_options_t load;
    tnd_log_options_t log;
    uint64_t steps, step;
    const char *position, *at, *npz, *png;
    bool replicas, fed, json;
} head_options_t;

typedef struct {
    const head_options_t *options;
    tnd_graph_t *graph;
    tnd_head_plan_t plan;
    tnd_stream_t stream; /* set once the session's actors run */
    tnd_session_t *session;
    tnd_position_t start; /* of each lane */
    tnd_opening_progress_t opening;
    tnd_log_t log;
} head_t;

static void observe_opening(void *context, uint32_t host, const tnd_open_progress_t *progress)
{
    tnd_opening_progress_show(&((head_t *)context)->opening, host, progress);
}

static void observe_stream(void *context, const tnd_stream_t *stream)
{
    ((head_t *)context)->stream = *stream;
}

static void observe_log(void *context, tnd_log_level_t level, const char *host, const char *actor,
                        const char *text)
{
    head_t *head = context;
    bool labels = level == TND_LOG_INFO && strncmp(text, "labels: ", strlen("labels: ")) == 0;
    if (labels && !head->options->log.quiet && head->options->log.level == NULL)
        tnd_log_say(&head->log, level, host, "head", text);
    else
        tnd_log_take(&head->log, level, host, actor, text);
}

static void complain(head_t *head, const char *text)
{
    tnd_log_complain(&head->log, "local", "head", "%s", text);
}

/*  The reader of stdout has closed it. */
static bool unread(void)
{
    return fflush(stdout) != 0 || ferror(stdout) != 0;
}

static void show(const head_t *head, const tnd_capture_t *capture, uint64_t first)
{
    if (!head->options->json)
        tnd_show_text(capture, head->plan.batches, head->options->replicas, first);
    else if (head->plan.batches)
        tnd_show_json(capture);
    else {
        tnd_show_passing_json(capture, first);
        putchar('\n');
    }
}

/*  The destinations of rows: the screen, or files. */
typedef struct {
    const head_options_t *options;
    tnd_npz_t npz;
    tnd_contact_sheet_t sheet;
} sinks_t;

static tnd_status_t begin_sinks(sinks_t *self, const head_options_t *options,
                                const tnd_schema_t *schema, tnd_error_t *error)
{
    *self = (sinks_t){.options = options};
    if (options->png != NULL)
        TND_TRY(tnd_contact_sheet_begin(&self->sheet, options->png, schema, error));
    if (options->npz != NULL)
        tnd_npz_begin(&self->npz, options->npz, schema);
    return TND_OK;
}

static void add_to_sinks(sinks_t *self, const tnd_capture_t *capture)
{
    if (self->options->npz != NULL)
        tnd_npz_add(&self->npz, capture);
    if (self->options->png != NULL)
        tnd_contact_sheet_add(&self->sheet, capture);
}

/*  Completes the files, or discards them.  False: one cannot be written; an error was printed. */
static bool end_sinks(sinks_t *self, bool failed)
{
    tnd_error_t error;
    bool good = true;
    if (failed && self->options->npz != NULL)
        tnd_npz_abandon(&self->npz);
    if (failed && self->options->png != NULL)
        tnd_contact_sheet_abandon(&self->sheet);
    if (!failed && self->options->npz != NULL && tnd_npz_end(&self->npz, &error) != TND_OK) {
        tnd_complain("head", "%s", error.text);
        good = false;
    }
    if (!failed && self->options->png != NULL &&
        tnd_contact_sheet_end(&self->sheet, &error) != TND_OK) {
        tnd_complain("head", "%s", error.text);
        good = false;
    }
    return good;
}

/*  Whether no row can be at --position, as far as the stream is known. */
static bool is_beyond(const head_t *head)
{
    const tnd_stream_t *stream = &head->stream;
    if (head->options->position == NULL || stream->epochs == 0)
        return false;
    return head->start.epoch >= stream->epochs || head->start.index >= tnd_stream_lane_most(stream);
}

static void complain_beyond(head_t *head)
{
    const tnd_stream_t *stream = &head->stream;
    char text[256], epochs[48] = "";
    uint64_t rows = tnd_stream_lane_most(stream);
    int used =
        snprintf(text, sizeof text, "position %.40s does not exist: ", head->options->position);
    if (stream->epochs != TND_ENDLESS)
        snprintf(epochs, sizeof epochs, "the run has %" PRIu32 " epoch%s", stream->epochs,
                 stream->epochs == 1 ? "" : "s");
    if (rows == TND_UNKNOWN)
        snprintf(text + used, sizeof text - (size_t)used, "%s, numbered from 0", epochs);
    else
        snprintf(text + used, sizeof text - (size_t)used,
                 "%s%san epoch has %" PRIu64 " rows%s, numbered from 0", epochs,
                 epochs[0] != '\0' ? ", and " : "", rows,
                 stream->lanes > 1 ? " in its longest lane" : "");
    complain(head, text);
}

/*  An empty stream is not an error. */
static void show_nothing(const head_t *head)
{
    char text[1024];
    if (head->options->json || head->options->npz != NULL)
        tnd_complain("head", "the stream is empty: no rows");
    else if (head->options->png == NULL)
        printf("the stream is empty: no rows of %s\n",
               tnd_schema_text(&head->stream.fed.schema, text, sizeof text));
}

static tnd_status_t ignore(tnd_replica_t *replica, void *context)
{
    (void)replica, (void)context;
    return TND_OK;
}

/*  The step that is shown first; 0: the first of all. */
static uint64_t first_step(const head_t *head)
{
    return head->options->step != UINT64_MAX ? head->options->step : 0;
}

/*  Pulls the steps before it.  TND_END: the run has only *steps_p. */
static tnd_status_t skip_steps(const head_t *head, tnd_feed_t *feed, uint64_t *steps_p)
{
    tnd_status_t status = TND_OK;
    for (*steps_p = 0; *steps_p < first_step(head); ++*steps_p) {
        status = tnd_feed_next(feed);
        if (status == TND_OK)
            status = tnd_feed_run(feed, ignore, NULL, NULL);
        if (status != TND_OK)
            break;
    }
    return status;
}

/*  What is asked for is after the end of the stream.  Returns false if it is not: the stream is empty. */
static bool is_absent(head_t *head, uint64_t steps)
{
    char text[128];
    bool step = first_step(head) > 0;
    if (!step && !is_beyond(head))
        return false;
    snprintf(text, sizeof text,
             "step %" PRIu64 " does not exist: the run has %" PRIu64 " steps, numbered from 0",
             first_step(head), steps);
    if (step)
        complain(head, text);
    else
        complain_beyond(head);
    return true;
}

/*  Pulls the requested steps.  *failed_p: the feed has failed. */
static int pull(head_t *head, tnd_feed_t *feed, bool *failed_p)
{
    const head_options_t *options = head->options;
    tnd_capture_t capture;
    sinks_t sinks;
    tnd_error_t error;
    uint64_t skips, first = head->start.index, begun = first,
                    left = options->steps != UINT64_MAX ? options->steps : 1;
    *failed_p = false;
    const tnd_schema_t *schema =
        options->fed ? &head->stream.shown.schema : &head->stream.fed.schema;
    if (begin_sinks(&sinks, options, schema, &error) != TND_OK) {
        tnd_complain("head", "%s", error.text);
        return TND_EXIT_USAGE;
    }
    tnd_capture_init(&capture, schema, head->plan.replicas);
    tnd_status_t status = skip_steps(head, feed, &skips);
    while (status == TND_OK && left > 0 && (status = tnd_feed_next(feed)) == TND_OK &&
           (status = tnd_feed_run(feed, tnd_capture_take, NULL, &capture)) == TND_OK) {
        add_to_sinks(&sinks, &capture);
        if ((options->npz == NULL && options->png == NULL) || options->json)
            show(head, &capture, first);
        for (uint32_t r = 0; r < capture.replica_count; r++)
            first += capture.replicas[r].rows;
        left = unread() ? 0 : left - 1;
    }
    *failed_p = status != TND_OK && status != TND_END;
    bool empty = status == TND_END && first == begun;
    bool absent = empty && is_absent(head, skips);
    if (empty && !absent)
        show_nothing(head);
    bool written = end_sinks(&sinks, *failed_p || absent);
    tnd_capture_fini(&capture);
    if (absent)
        return TND_EXIT_USAGE;
    return *failed_p || !written ? TND_EXIT_FAILED : TND_EXIT_OK;
}

/*  Ends the run after the steps that were shown; a session that is stopped would lose the warnings
 *  about their bad records. */
static void finish(head_t *head, tnd_feed_t *feed)
{
    tnd_session_drain(head->session);
    while (tnd_feed_next(feed) == TND_OK && tnd_feed_run(feed, ignore, NULL, NULL) == TND_OK)
        continue;
}

/*  Says why the run failed.  A place after the end of the stream is one that no actor accepts. */
static int report_failure(head_t *head)
{
    bool unusable = tnd_session_outcome(head->session) == TND_OUTCOME_UNUSABLE;
    if (!unusable && is_beyond(head)) {
        complain_beyond(head);
        return TND_EXIT_USAGE;
    }
    if (!unusable || !tnd_load_tell(head->session, stderr))
        complain(head, tnd_session_error(head->session));
    return unusable ? TND_EXIT_TOPOLOGY : TND_EXIT_FAILED;
}

/*  Nothing is left to finish, and a read may never return: the process ends as by the signal, but
 *  without the statistics that would show it as killed. */
static void on_signal(void *context, int number, const char *cause, tnd_ending_step_t step)
{
    char touch[512];
    sigset_t set;
    (void)context, (void)cause, (void)step;
    tnd_inspection_t *own = tnd_inspection_of_self(TND_LOOK_NOW);
    for (uint32_t p = 0; p < own->count; p++) {
        if (tnd_touch_path(own->processes[p].path, touch, sizeof touch, NULL) == TND_OK)
            (void)unlink(touch);
        (void)unlink(own->processes[p].path);
    }
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}

static void on_tick(void *context)
{
    (void)context;
}

static int run_session(head_t *head)
{
    tnd_observer_t observer = {.context = head,
                               .opening = observe_opening,
                               .stream = observe_stream,
                               .log = observe_log,
                               .log_level =
                                   head->log.level < TND_LOG_INFO ? head->log.level : TND_LOG_INFO};
    tnd_session_wishes_t wishes = {.steps_max = TND_UNKNOWN,
                                   .start = head->options->position != NULL ? &head->start : NULL,
                                   .may_be_empty = true,
                                   .observer = &observer,
                                   .graph = head->graph};
    tnd_error_t error;
    if (tnd_descriptors_check(&head->plan.plan, 0, &tnd_network->cost, &error) != TND_OK ||
        tnd_threads_check(&head->plan.plan, 0, &error) != TND_OK) {
        complain(head, error.text);
        return TND_EXIT_TOPOLOGY;
    }
    tnd_signals_t signals = {.signal = on_signal, .tick = on_tick};
    tnd_crash_arm(&head->plan.plan, NULL);
    tnd_opening_progress_init(&head->opening, &head->plan.plan);
    tnd_signals_hold(&signals);
    if (tnd_session_open_plan(&head->session, &head->plan.plan, &wishes, &error) != TND_OK) {
        tnd_signals_end(&signals);
        tnd_opening_progress_end(&head->opening);
        tnd_crash_disarm();
        complain(head, error.text);
        return TND_EXIT_FAILED;
    }
    tnd_crash_arm(&head->plan.plan, head->session);
    if (tnd_signals_begin(&signals, &error) != TND_OK)
        tnd_session_break(head->session, error.text);
    tnd_feed_t *feed = tnd_session_feed(head->session, TND_HEAD_PLAN_FEEDER);
    bool failed = feed == NULL;
    int code = failed ? TND_EXIT_FAILED : pull(head, feed, &failed);
    if (!failed)
        finish(head, feed);
    if (failed) {
        /* The feed may report a failure before the session has the reason. */
        (void)tnd_session_wait(head->session);
        code = report_failure(head);
    }
    tnd_crash_arm(&head->plan.plan, NULL); /* operations may still run */
    (void)tnd_session_destroy(&head->session);
    tnd_signals_end(&signals);
    tnd_crash_disarm();
    tnd_opening_progress_end(&head->opening);
    tnd_log_end(&head->log);
    return code;
}

/*  Reads --position, and checks that it and --step fit what is shown. */
static int take_start(head_t *head)
{
    const head_options_t *options = head->options;
    const char *text = options->position, *colon = text != NULL ? strchr(text, ':') : NULL;
    if (options->fed && !head->plan.batches)
        return tnd_usage_error("head", "--fed is for batches, as steps read them");
    if (options->step != UINT64_MAX && !head->plan.batches)
        return tnd_usage_error("head", "--step is for batches; --position is for rows before them");
    if (text == NULL)
        return TND_EXIT_OK;
    if (head->plan.batches)
        return tnd_usage_error("head", "--position is for a reader or preprocessor, by --at; "
                                       "--step is for batches");
    uint64_t epoch = 0;
    char number[24];
    snprintf(number, sizeof number, "%.*s", colon != NULL ? (int)(colon - text) : 0, text);
    if ((colon != NULL && tnd_quantity_u64(number, &epoch) != TND_QUANTITY_OK) ||
        epoch >= TND_ENDLESS ||
        tnd_quantity_u64(colon != NULL ? colon + 1 : text, &head->start.index) != TND_QUANTITY_OK)
        return tnd_usage_error("head",
                               "--position takes a number, or an epoch and a number such as "
                               "2:640, not '%s'",
                               text);
    head->start.epoch = (uint32_t)epoch;
    return TND_EXIT_OK;
}

static int head_graph(const tnd_request_t *request)
{
    const head_options_t *options = request->options;
    head_t head = {.options = options};
    if (!tnd_log_init(&head.log, "head", &options->log))
        return TND_EXIT_USAGE;
    tnd_arena_t *arena = tnd_arena_new();
    tnd_error_t error;
    tnd_graph_t *graph = head.graph = tnd_load_graph(request, &options->load, NULL, true);
    int code = TND_EXIT_TOPOLOGY;
    if (tnd_load_check(graph)) {
        if (tnd_head_plan_make(&head.plan, arena, tnd_graph_plan(graph), options->at, options->fed,
                               &error) == TND_OK) {
            code = take_start(&head);
            if (code == TND_EXIT_OK)
                code = run_session(&head);
        } else {
            code = tnd_usage_error("head", "%s", error.text);
        }
    }
    if (!tnd_graph_is_kept(graph))
        tnd_arena_destroy(&arena);
    tnd_graph_destroy(&graph);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--steps", head_options_t, steps)},
    {TND_ARGUMENT("--step", COUNT, head_options_t, step, "N", "begins with global step N, from 0")},
    {TND_ARGUMENT("--position", TEXT, head_options_t, position, "[EPOCH:]P",
                  "begins with the row at position P of its lane, in epoch 0 or EPOCH")},
    {TND_ARGUMENT("--at", TEXT, head_options_t, at, "ACTOR",
                  "shows the rows that ACTOR sends; by default the batcher")},
    {TND_ARGUMENT("--replicas", FLAG, head_options_t, replicas, NULL,
                  "shows how each batch is divided among the replicas")},
    {TND_ARGUMENT("--fed", FLAG, head_options_t, fed, NULL,
                  "shows columns as steps read them: `cast` of the feeder")},
    {TND_COMMON("--json", head_options_t, json)},
    {TND_ARGUMENT("--npz", TEXT, head_options_t, npz, "FILE",
                  "writes the rows to FILE for NumPy: an array per column, _step, _replica")},
    {TND_ARGUMENT("--png", TEXT, head_options_t, png, "FILE",
                  "writes the pictures to FILE, side by side")},
    {TND_COMMON("--set", head_options_t, load.settings)},
    {TND_COMMON("--data", head_options_t, load.data)},
    {TND_COMMON("--log-level", head_options_t, log.level)},
    {TND_COMMON("--log-json", head_options_t, log.json)},
};

const tnd_command_t tnd_command_head = {
    .name = "head",
    .operands = "FILE...",
    .summary = "shows what a graph feeds, without a model",
    TND_ARGUMENTS(arguments, head_options_t),
    .details =
        "Runs the graph up to its batcher, in this process whatever the overlays say, and shows\n"
        "the first steps (1, or --steps): type, shape, range and first rows of each column,\n"
        "images as small pictures.  The file needs no feeder, reducer or step.\n"
        "\n"
        "--png writes the first column of pictures to one file, with the first column of whole\n"
        "numbers below them; --steps is the number of batches.\n"
        "\n"
        "--at shows the rows after a reader or preprocessor, 32 at a time.\n"
        "--step N begins with a later batch, --position P with a later row: what passed in a run\n"
        "is shown again byte for byte, because the stream follows from the graph alone.  A\n"
        "position is one of the numbers that `tundish tap` prints, with its epoch as EPOCH:P; "
        "each\n"
        "lane begins there.  The rows before it are not read, those before --step are.\n"
        "--json prints one line per step and replica:\n"
        "  {\"step\":0,\"replica\":0,\"rows\":32,\"last\":false,\"columns\":{\"label\":\n"
        "   {\"dtype\":\"u8\",\"shape\":[32],\"data\":[...]}}}\n"
        "  for a ragged column "
        "{\"dtype\":\"u8\",\"shape\":[32,null],\"splits\":[0,...],\"data\":[...]}\n"
        "or, before the batcher, {\"first\":0,\"rows\":32,\"columns\":{...}}.\n",
    .codes =
        "  0   shown\n"
        "  1   the data could not be read\n"
        "  2   usage, or the data have no such --step or --position\n"
        "  78  the topology is wrong, a file cannot be used when it is opened, or there is not\n"
        "      enough memory or too few file descriptors\n"
        "  128+n  killed by signal n: 139 is a crash of an operation, which is named\n",
    .operands_min = 1,
    .run = head_graph,
};
