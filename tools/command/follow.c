/*  tools/command/follow.c - `tundish follow`: shows every hop of one position. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "tools/choice/run_choice.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/cli/load.h"
#include "tools/events/event_text.h"
#include "tools/events/event_watch.h"
#include "tools/events/hops.h"
#include "tools/events/row_text.h"

typedef struct {
    tnd_load_options_t load;
    tnd_event_options_t events;
    uint64_t sample, epoch;
    const char *row;
    bool json;
} follow_options_t;

typedef struct {
    const tnd_request_t *request;
    const follow_options_t *options;
    const tnd_row_place_t *place; /* of a row; NULL: a position is followed */
    tnd_hops_t hops;
    uint64_t zero_ns;
    char last[160]; /* the event that was taken last, for people */
} follow_t;

static bool take(void *context, const tnd_event_entry_t *entry)
{
    follow_t *follow = context;
    if (follow->place != NULL && entry->chain != follow->place->chain)
        return true;
    if (!tnd_hops_take(&follow->hops, &entry->event, strcmp(entry->kind, "batcher") == 0))
        return true;
    if (follow->zero_ns == 0)
        follow->zero_ns = entry->event.end_ns;
    snprintf(follow->last, sizeof follow->last, "%.60s, %.60s", entry->actor,
             tnd_event_name(entry->event.kind));
    if (follow->options->json)
        tnd_event_print_json(stdout, entry);
    else
        tnd_event_print(stdout, entry, follow->zero_ns);
    return !follow->hops.committed;
}

static int begin(void *context, const tnd_event_stream_t *stream)
{
    (void)context;
    tnd_event_check_stopped("follow", stream, NULL);
    return -1;
}

static int watch(follow_t *self, const char *run, uint64_t *missed_p)
{
    tnd_event_watch_t watch = {
        .command = "follow",
        .request = self->request,
        .options = &self->options->events,
        .run = run,
        .past = true,
        .take = take,
        .begin = begin,
        .context = self,
    };
    int code = tnd_event_watch(&watch);
    *missed_p = watch.missed;
    return code;
}

static int follow_position(const tnd_request_t *request)
{
    const follow_options_t *options = request->options;
    uint64_t missed;
    if (request->file_count > 1)
        return tnd_usage_error("follow",
                               "`%s` is too much: expected tundish follow [RUN]; the files of a "
                               "run are for --row",
                               request->files[1]);
    if (options->sample == UINT64_MAX)
        return tnd_usage_error("follow", "--sample POSITION or --row F:N is missing");
    if (options->epoch != UINT64_MAX || options->load.settings.count > 0 ||
        options->load.data != NULL)
        return tnd_usage_error("follow", "--epoch, --set and --data are for --row");
    follow_t self = {.request = request,
                     .options = options,
                     .hops = {.position = options->sample, .partial = options->events.last}};
    int code = watch(&self, request->file_count > 0 ? request->files[0] : NULL, &missed);
    if (code != TND_EXIT_OK || self.hops.found)
        return code;
    if (missed > 0)
        tnd_complain("follow",
                     "position %" PRIu64 " is not in the recorded events; %" PRIu64
                     " events before "
                     "them are not recorded any more, so it may have passed",
                     options->sample, missed);
    else
        tnd_complain("follow", "position %" PRIu64 " did not pass", options->sample);
    return TND_EXIT_FAILED;
}

/* --- a row of a file -------------------------------------------------------------------------- */

/*  The run whose files are given: of its name, or as written after `--`. */
typedef struct {
    tnd_row_run_t now;
    uint32_t epoch;
    uint64_t seed;
    uint32_t lanes;
} known_run_t;

static known_run_t look_at_run(const char *word)
{
    tnd_run_choice_t choice;
    known_run_t known = {.epoch = 0};
    tnd_run_choice_read(&choice, word);
    tnd_inspection_t *look = tnd_inspection_of_run(choice.name, TND_LOOK_NOW);
    for (uint32_t p = 0; p < look->count && !known.now.here; p++) {
        if (!tnd_run_choice_fits(&choice, &look->processes[p]))
            continue;
        const tnd_run_page_t *page = tnd_inspection_leader(look, &look->processes[p])->record.page;
        known = (known_run_t){
            .now = {.here = true, .chain = (uint32_t)page->chain, .steps = page->step},
            .epoch = (uint32_t)page->epoch,
            .seed = page->seed,
            .lanes = page->lanes};
    }
    tnd_inspection_destroy(&look);
    return known;
}

/*  Whether the files can be those of the run. */
static bool agrees(const known_run_t *known, const tnd_plan_t *plan)
{
    if (!known->now.here || (known->seed == plan->seed && known->lanes == plan->lanes))
        return true;
    tnd_complain("follow",
                 "these are not the files of the run `%s`: it has seed %" PRIu64 " and %" PRIu32
                 " lanes, they have seed %" PRIu64 " and %" PRIu32,
                 plan->name, known->seed, known->lanes, plan->seed, plan->lanes);
    return false;
}

static void say_state(const follow_t *self, const char *state, const char *text)
{
    if (!self->options->json) {
        puts(text);
        return;
    }
    tnd_json_begin(stdout, false, "state", state);
    tnd_json_member(stdout, "text", text);
    puts("}");
}

/*  Where the row is at the end of the look. */
static void say_now(const follow_t *self, const tnd_row_run_t *run)
{
    const tnd_row_place_t *place = self->place;
    char text[320];
    if (self->hops.committed || tnd_row_place_is_committed(place, run)) {
        snprintf(text, sizeof text, "now: committed%s",
                 self->hops.found || self->hops.committed
                     ? ""
                     : "; its events are not recorded any more");
        say_state(self, "committed", text);
    } else if (self->last[0] != '\0') {
        snprintf(text, sizeof text, "now: on its way (last: %s); not committed", self->last);
        say_state(self, "on_its_way", text);
    } else if (place->run_step != TND_UNKNOWN && run->chain == place->chain) {
        snprintf(text, sizeof text,
                 "now: not asked for yet; the run has committed %" PRIu64
                 " steps, and step %" PRIu64 " comes after %" PRIu64 " more",
                 run->steps, place->run_step, place->run_step - run->steps);
        say_state(self, "waits", text);
    } else {
        say_state(self, "waits", "now: no event of it is recorded");
    }
}

/*  Follows the first place of the row as far as the run has come. */
static int follow_place(const tnd_request_t *request, const tnd_row_place_t *place, const char *run,
                        const tnd_row_run_t *now)
{
    const follow_options_t *options = request->options;
    uint64_t missed;
    follow_options_t past = *options;
    past.events.last = options->events.last || tnd_row_place_is_committed(place, now);
    follow_t self = {.request = request,
                     .options = &past,
                     .place = place,
                     .hops = {.position = place->position,
                              .lane = (uint16_t)place->lane,
                              .epoch = (uint16_t)place->epoch,
                              .placed = true,
                              .cut = place->run_step != TND_UNKNOWN,
                              .step = place->run_step}};
    int code = watch(&self, run, &missed);
    if (code != TND_EXIT_OK)
        return code;
    known_run_t after = look_at_run(run);
    say_now(&self, after.now.here ? &after.now : now);
    return code;
}

static int show_places(const tnd_request_t *request, const tnd_row_places_t *places,
                       const tnd_plan_t *plan, const char *run, const known_run_t *known)
{
    const follow_options_t *options = request->options;
    if (options->json)
        tnd_row_places_print_json(stdout, places, plan, &known->now);
    else
        tnd_row_places_print(stdout, places, plan);
    if (places->count == 0 || places->places[0].step.kind == TND_ROW_STEP_LEFT_OUT)
        return TND_EXIT_FAILED;
    if (known->now.here)
        return follow_place(request, &places->places[0], run, &known->now);
    tnd_complain(
        "follow",
        "no run `%s` on this machine: this is where the row is in every run of these files", run);
    return TND_EXIT_OK;
}

static int find_places(const tnd_request_t *request, const char *run, tnd_graph_t *graph)
{
    const follow_options_t *options = request->options;
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    run = run != NULL ? run : plan->name;
    known_run_t known = look_at_run(run);
    if (!agrees(&known, plan))
        return TND_EXIT_USAGE;
    uint32_t *epochs = tnd_allocate_zeroed(plan->chain_count, sizeof *epochs);
    for (uint32_t c = 0; c < plan->chain_count; c++)
        epochs[c] = options->epoch != UINT64_MAX ? (uint32_t)options->epoch
                    : c == known.now.chain       ? known.epoch
                                                 : 0;
    tnd_row_places_t *places = tnd_allocate_zeroed(1, sizeof *places);
    int code = tnd_row_places_find(places, options->row, graph, epochs);
    if (code == TND_EXIT_OK)
        code = show_places(request, places, plan, run, &known);
    if (tnd_graph_is_kept(graph)) /* what hangs may still write there */
        return code;
    free(places);
    free(epochs);
    return code;
}

static int follow_row(const tnd_request_t *request)
{
    const follow_options_t *options = request->options;
    tnd_request_t files = *request;
    files.file_count = request->divider;
    if (options->sample != UINT64_MAX)
        return tnd_usage_error("follow", "--sample and --row exclude each other");
    if (files.file_count == 0 || request->file_count > request->divider + 1)
        return tnd_usage_error("follow",
                               "--row needs the topology files of the run, as `tundish run` gets "
                               "them, and at most one run after `--`");
    if (options->epoch != UINT64_MAX && options->epoch >= TND_ENDLESS)
        return tnd_usage_error("follow", "--epoch takes a number below %" PRIu32, TND_ENDLESS);
    const char *run =
        request->file_count > request->divider ? request->files[request->divider] : NULL;
    tnd_graph_t *graph = tnd_load_graph(&files, &options->load, NULL, true);
    int code = tnd_load_check(graph) ? find_places(request, run, graph) : TND_EXIT_TOPOLOGY;
    tnd_graph_destroy(&graph);
    return code;
}

static int follow(const tnd_request_t *request)
{
    const follow_options_t *options = request->options;
    return options->row != NULL ? follow_row(request) : follow_position(request);
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT("--sample", COUNT, follow_options_t, sample, "POSITION",
                  "the position to follow")},
    {TND_ARGUMENT("--row", TEXT, follow_options_t, row, "F:N",
                  "the row to follow: row N, from 0, of data file F")},
    {TND_ARGUMENT("--epoch", COUNT, follow_options_t, epoch, "N",
                  "in epoch N, from 0, instead of the current one")},
    {TND_COMMON("--set", follow_options_t, load.settings)},
    {TND_COMMON("--data", follow_options_t, load.data)},
    {TND_COMMON("--duration", follow_options_t, events.duration)},
    {TND_COMMON("--last", follow_options_t, events.last)},
    {TND_COMMON("--json", follow_options_t, json)},
};

const tnd_command_t tnd_command_follow = {
    .name = "follow",
    .operands = "[RUN] | --row F:N FILE... [-- RUN]",
    .summary = "shows every hop of one position, or of one row of a data file, to its step",
    TND_ARGUMENTS(arguments, follow_options_t),
    .details =
        "Prints the events of the tickets and blocks that contain --sample POSITION, attempts\n"
        "included, then those of the step that it becomes a part of, until the step is\n"
        "committed.  It begins with the recorded events, so a position that passed a moment ago\n"
        "is found too.  It follows the first lane and epoch in which a ticket asks for the\n"
        "position; with --last also a way whose beginning is not recorded any more.  Times are\n"
        "seconds since the first event.  With buckets, the step may be another one.\n"
        "\n"
        "--row x.npy:12345 asks for a row of a data file instead, from 0, as error messages\n"
        "count them.  FILE... are the topology files of the run, as `tundish run` gets them;\n"
        "x.npy is a path, or enough of its end.  It prints the position of the row in the\n"
        "current epoch, or in --epoch N, with its step, its place in the batch and its replica,\n"
        "then its events, and where it is now.  Without a run on this machine it prints the\n"
        "position alone.  RUN is the number of a process, if several runs have that name.\n"
        "The data files are opened as a run opens them, and the order is searched: about 100\n"
        "million rows a second.  --json prints an object with the places, the events, and\n"
        "{\"state\",\"text\"}.\n",
    .codes = "  0   shown\n"
             "  1   the run does not exist here, or the position did not pass in time,\n"
             "      or is not recorded any more; the row is not in the run, or its place is not\n"
             "      known before it is read\n"
             "  2   usage; no source has that file or row\n"
             "  78  a topology is wrong, or its data cannot be opened\n",
    .run = follow,
};
