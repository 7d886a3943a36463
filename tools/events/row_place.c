/*  tools/events/row_place.c - where a row of a file is in a graph: its positions and steps. */
#include "tools/events/row_place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "actors/plan/plan_queries.h"
#include "actors/reader/row_search.h"
#include "actors/reader/shared_source.h"
#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/text/quantity.h"
#include "tools/cli/command.h"
#include "tools/cli/load.h"
#include "tools/machine/preflight.h"

enum { NAMES_SHOWN = 4 };

/*  A file of one source of a chain, of all lanes or of one. */
typedef struct {
    const tnd_resources_data_t *data;
    const tnd_shared_part_t *part;
    uint64_t number; /* of the file there */
} match_t;

typedef struct {
    tnd_row_places_t *places;
    const uint32_t *epochs;
    char wanted[PATH_MAX]; /* the file, as written */
    match_t *matches;
    size_t count, room;
    /*  Names that match, or, if none does, all: the first of them. */
    char names[NAMES_SHOWN][PATH_MAX];
    uint64_t name_count;
    bool matched;
    char nearest[PATH_MAX];
    char unable[400]; /* why the rows of a source have no place that can be known */
    int code;
} search_t;

/* --- which file is meant ---------------------------------------------------------------------- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool same_file(const char *a, const char *b)
{
    struct stat one, two;
    return strcmp(base_of(a), base_of(b)) == 0 && stat(a, &one) == 0 && stat(b, &two) == 0 &&
           one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/*  Whether `wanted` is a path, or its last parts. */
static bool is_meant(const char *wanted, const char *path)
{
    size_t length = strlen(path), last = strlen(wanted);
    if (last > length || strcmp(path + length - last, wanted) != 0)
        return same_file(wanted, path);
    return last == length || path[length - last - 1] == '/';
}

/*  Adds a name to those that are shown; the first that matches replaces the others. */
static void note_name(search_t *self, const char *path, bool matches)
{
    if (matches && !self->matched)
        self->name_count = 0;
    self->matched = self->matched || matches;
    if (matches != self->matched)
        return;
    uint64_t shown = self->name_count < NAMES_SHOWN ? self->name_count : NAMES_SHOWN;
    for (uint64_t i = 0; i < shown; i++)
        if (strcmp(self->names[i], path) == 0)
            return;
    if (self->name_count++ < NAMES_SHOWN)
        snprintf(self->names[shown], sizeof self->names[0], "%s", path);
}

static void note_nearest(search_t *self, tnd_nearest_t *nearest, const char *path)
{
    const char *before = nearest->best;
    tnd_nearest_offer(nearest, strchr(nearest->word, '/') != NULL ? path : base_of(path));
    if (nearest->best != before && nearest->best != NULL) {
        snprintf(self->nearest, sizeof self->nearest, "%s", nearest->best);
        nearest->best = self->nearest;
    }
}

static void look_at_part(search_t *self, tnd_nearest_t *nearest, const tnd_resources_data_t *data,
                         const tnd_shared_part_t *part)
{
    const tnd_source_t *source = tnd_shared_source_type(data->opened);
    const char *name = source->spec->table.name;
    if (source->locate == NULL) {
        snprintf(self->unable, sizeof self->unable,
                 "the rows of the source `%s` are not rows of a file", name);
        return;
    }
    if ((part->facts.caps & TND_SOURCE_RANDOM) == 0) {
        snprintf(self->unable, sizeof self->unable,
                 "the source `%s` reads its files from start to end, so which row is where is not "
                 "known before it was read; unpacked files, or `spool`, would tell",
                 name);
        return;
    }
    tnd_source_rows_t rows;
    for (uint64_t f = 0, files = source->locate->files(part->state); f < files; f++) {
        source->locate->file(part->state, f, &rows);
        bool matches = is_meant(self->wanted, rows.path);
        note_name(self, rows.path, matches);
        if (!matches) {
            note_nearest(self, nearest, rows.path);
            continue;
        }
        self->matches = tnd_grow(self->matches, self->count, &self->room, sizeof *self->matches);
        self->matches[self->count++] = (match_t){data, part, f};
        snprintf(self->places->file, sizeof self->places->file, "%s", rows.path);
        self->places->rows = rows.rows;
    }
}

/*  Whether this part of a chain's data was seen on another host. */
static bool is_seen(const tnd_preflight_opened_t *opened, uint32_t host,
                    const tnd_resources_data_t *data, uint32_t lane)
{
    for (uint32_t h = 0; h < host; h++)
        for (uint32_t s = 0; s < opened->hosts[h].count; s++) {
            const tnd_resources_data_t *other = &opened->hosts[h].data[s];
            const tnd_shared_part_t *part;
            for (uint32_t i = 0; other->open && other->stream.chain == data->stream.chain &&
                                 (part = tnd_shared_source_at(other->opened, i)) != NULL;
                 i++)
                if (part->lane == lane)
                    return true;
        }
    return false;
}

static void look_at_files(search_t *self, const tnd_preflight_opened_t *opened)
{
    tnd_nearest_t nearest = {.word = self->wanted};
    const tnd_shared_part_t *part;
    for (uint32_t h = 0; h < opened->host_count; h++)
        for (uint32_t s = 0; s < opened->hosts[h].count; s++) {
            const tnd_resources_data_t *data = &opened->hosts[h].data[s];
            for (uint32_t i = 0;
                 data->open && (part = tnd_shared_source_at(data->opened, i)) != NULL; i++)
                if (!is_seen(opened, h, data, part->lane))
                    look_at_part(self, &nearest, data, part);
        }
}

static void list_names(const search_t *self, char *text, size_t room)
{
    size_t used = 0;
    *text = '\0';
    for (uint64_t i = 0; i < self->name_count && i < NAMES_SHOWN && used < room; i++)
        used +=
            (size_t)snprintf(text + used, room - used, "%s%s", i > 0 ? ", " : "", self->names[i]);
    if (self->name_count > NAMES_SHOWN && used < room)
        snprintf(text + used, room - used, " and %" PRIu64 " more", self->name_count - NAMES_SHOWN);
}

/*  One file is meant, and has the row; else says what is wrong. */
static bool is_known(search_t *self)
{
    char names[1024];
    tnd_row_places_t *places = self->places;
    list_names(self, names, sizeof names);
    self->code = TND_EXIT_USAGE;
    if (!self->matched && self->name_count == 0 && self->unable[0] != '\0') {
        tnd_complain("follow", "%s", self->unable);
        self->code = TND_EXIT_FAILED;
    } else if (!self->matched && self->nearest[0] != '\0')
        tnd_complain("follow", "no source has a file `%s`; did you mean `%s`?", self->wanted,
                     self->nearest);
    else if (!self->matched)
        tnd_complain("follow", "no source has a file `%s`; they have %s", self->wanted,
                     self->name_count > 0 ? names : "no files");
    else if (self->name_count > 1)
        tnd_complain("follow", "`%s` may be %s: write more of the path", self->wanted, names);
    else if (places->row >= places->rows)
        tnd_complain("follow",
                     "%s has %" PRIu64 " row%s, numbered from 0: row %" PRIu64 " does not exist",
                     places->file, places->rows, places->rows == 1 ? "" : "s", places->row);
    else
        self->code = TND_EXIT_OK;
    return self->code == TND_EXIT_OK;
}

/* --- where the row is ------------------------------------------------------------------------- */

static void report(void *work, uint64_t done, uint64_t all)
{
    tnd_guarded_work_count(work, done, all, "positions");
}

static void leave_out(search_t *self, const char *why)
{
    snprintf(self->places->left_out, sizeof self->places->left_out, "%s", why);
}

static void add_place(search_t *self, const tnd_preflight_opened_t *opened, const match_t *match,
                      uint32_t lane, uint64_t position)
{
    const tnd_plan_t *plan = opened->plan;
    uint32_t chain = match->data->stream.chain;
    const tnd_stream_t *stream = &opened->preflight->chains[chain].stream;
    tnd_row_place_t place = {.chain = chain,
                             .lane = lane,
                             .epoch = self->epochs[chain],
                             .position = position,
                             .step = tnd_row_step_of(plan, chain, stream, lane, position),
                             .run_step = TND_UNKNOWN};
    uint64_t steps =
        place.step.kind == TND_ROW_STEP_KNOWN ? tnd_plan_steps_of_epoch(stream, plan) : TND_UNKNOWN;
    if (steps != TND_UNKNOWN)
        place.run_step = steps * place.epoch + place.step.step;
    if (place.step.kind == TND_ROW_STEP_LEFT_OUT)
        leave_out(self, place.step.why);
    if (self->places->count < TND_ROW_PLACES)
        self->places->places[self->places->count] = place;
    self->places->count++;
}

/*  Searches a lane.  Returns how often it has the row. */
static uint32_t search_lane(search_t *self, const tnd_preflight_opened_t *opened,
                            const match_t *match, const tnd_row_search_t *order, uint32_t lane,
                            uint64_t sample)
{
    uint64_t positions[TND_ROW_PLACES];
    uint32_t epoch = self->epochs[match->data->stream.chain];
    uint32_t found = tnd_row_search(order, lane, epoch, sample, positions, TND_ROW_PLACES);
    for (uint32_t i = 0; i < found && i < TND_ROW_PLACES; i++)
        add_place(self, opened, match, lane, positions[i]);
    self->places->count += found > TND_ROW_PLACES ? found - TND_ROW_PLACES : 0;
    return found;
}

static void search_lanes(search_t *self, const tnd_preflight_opened_t *opened, const match_t *match,
                         const tnd_row_search_t *order, uint64_t sample)
{
    bool all = match->part->lane == TND_LANES_MAX;
    uint32_t first = all ? 0 : match->part->lane, found = 0;
    uint32_t last = all ? opened->plan->lanes - 1 : first;
    for (uint32_t lane = first; lane <= last; lane++) {
        if (!tnd_row_search_can(order, lane)) {
            tnd_complain("follow", "the number of rows is not known before they were read, so the "
                                   "place of a row is not either");
            self->code = TND_EXIT_FAILED;
            return;
        }
        if (found == 0 || tnd_row_search_repeats(order))
            found += search_lane(self, opened, match, order, lane, sample);
    }
    if (found == 0)
        tnd_row_search_why(order, first, self->epochs[match->data->stream.chain], sample,
                           self->places->left_out, sizeof self->places->left_out);
}

static void search_match(search_t *self, const tnd_preflight_opened_t *opened, const match_t *match,
                         tnd_guarded_call_t *call)
{
    const tnd_preflight_chain_t *chain = &opened->preflight->chains[match->data->stream.chain];
    const tnd_source_t *source = tnd_shared_source_type(match->data->opened);
    uint64_t sample = source->locate->row(match->part->state, match->number, self->places->row);
    uint32_t epoch = self->epochs[match->data->stream.chain];
    if (!chain->known)
        return;
    if (chain->stream.epochs != TND_ENDLESS && epoch >= chain->stream.epochs) {
        tnd_complain("follow",
                     "epoch %" PRIu32 " does not exist: the run has %" PRIu32
                     " epoch%s, numbered from 0",
                     epoch, chain->stream.epochs, chain->stream.epochs == 1 ? "" : "s");
        self->code = TND_EXIT_USAGE;
        return;
    }
    if (sample >= match->part->facts.count) {
        leave_out(self, "its source does not use it");
        return;
    }
    tnd_guarded_call_enter(call, match->data->instance, TND_T061_SOURCE);
    tnd_guarded_work_t *work = tnd_shared_source_work(call, match->data->instance, "its order");
    tnd_guarded_work_doing(work, "searching", match->data->instance->actor);
    const tnd_row_search_t order = {.stream = &chain->stream,
                                    .shuffle = tnd_sample_order_shuffle(match->data->instance),
                                    .files = match->part->facts.file_rows,
                                    .file_count = match->part->facts.file_rows_count,
                                    .progress = report,
                                    .context = work};
    search_lanes(self, opened, match, &order, sample);
    tnd_guarded_call_leave(call);
}

static void use(void *context, const tnd_preflight_opened_t *opened, tnd_guarded_call_t *call)
{
    search_t *self = context;
    look_at_files(self, opened);
    if (!is_known(self))
        return;
    for (size_t i = 0; i < self->count && self->code == TND_EXIT_OK; i++)
        search_match(self, opened, &self->matches[i], call);
}

/*  Names the host that has the data, if no host of this machine has them. */
static bool is_elsewhere(const tnd_preflight_t *preflight)
{
    for (uint32_t c = 0; c < preflight->chain_count; c++)
        if (preflight->chains[c].known)
            return false;
    if (preflight->await_count > 0)
        tnd_complain("follow", "the data of %s are on host %s: ask there",
                     preflight->awaits[0].actor, preflight->awaits[0].host);
    return preflight->await_count > 0;
}

static int open_and_search(search_t *self, tnd_graph_t *graph)
{
    tnd_preflight_t preflight = {0};
    tnd_diagnostics_t *diagnostics = tnd_load_diagnostics(graph);
    self->code = -1;
    tnd_preflight_use(&preflight, graph, tnd_graph_plan(graph), use, self, diagnostics);
    if (is_elsewhere(&preflight)) {
        self->code = TND_EXIT_FAILED;
    } else if (tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR) > 0) {
        tnd_diagnostics_print(diagnostics, stderr);
        self->code = TND_EXIT_TOPOLOGY;
    }
    tnd_preflight_destroy(&preflight);
    return self->code < 0 ? TND_EXIT_TOPOLOGY : self->code;
}

int tnd_row_places_find(tnd_row_places_t *self, const char *written, tnd_graph_t *graph,
                        const uint32_t *epochs)
{
    const char *colon = strrchr(written, ':');
    *self = (tnd_row_places_t){.row = 0};
    if (colon == NULL || colon == written || (size_t)(colon - written) >= sizeof self->file ||
        tnd_quantity_u64(colon + 1, &self->row) != TND_QUANTITY_OK)
        return tnd_usage_error("follow",
                               "--row takes a file and the number of a row from 0, such as "
                               "x.npy:12345, not '%s'",
                               written);
    search_t *search = tnd_allocate_zeroed(1, sizeof *search);
    *search = (search_t){.places = self, .epochs = epochs};
    snprintf(search->wanted, sizeof search->wanted, "%.*s", (int)(colon - written), written);
    int code = open_and_search(search, graph);
    /* A call that hangs may still use it. */
    if (!tnd_graph_is_kept(graph)) {
        free(search->matches);
        free(search);
    }
    return code;
}
