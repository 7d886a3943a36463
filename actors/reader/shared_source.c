/*  actors/reader/shared_source.c - a source, opened once for all readers of a host. */
#include "actors/reader/shared_source.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/file/content.h"
#include "actors/plan/kind_options.h"
#include "actors/reader/order_options.h"
#include "actors/reader/row_shape.h"
#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/base/limits.h"
#include "runtime/resources/resources.h"

enum { ALL_LANES = TND_LANES_MAX };

typedef struct {
    const tnd_source_t *source;
    uint32_t count;
    tnd_shared_part_t parts[];
} opened_t;

static void close_all(opened_t *opened)
{
    for (uint32_t i = 0; i < opened->count; i++) {
        opened->source->close(opened->parts[i].state);
        free(opened->parts[i].state);
        free(opened->parts[i].whole);
    }
    free(opened);
}

/*  The call that opens a source, its work there, and the value in the file that names it. */
typedef struct {
    tnd_guarded_call_t *call;
    tnd_guarded_work_t *work;
    const void *about;
} listener_t;

static void report_error(void *teller, const tnd_error_t *error)
{
    const listener_t *self = teller;
    tnd_error_t reported = *error;
    if (reported.about == NULL)
        reported.about = self->about;
    tnd_guarded_call_tell(self->call, &reported);
}

static void report_progress(void *reporter, uint64_t done, uint64_t all, const char *unit)
{
    const listener_t *self = reporter;
    tnd_guarded_work_count(self->work, done, all, unit);
}

static void report_doing(void *reporter, const char *what, const char *file)
{
    const listener_t *self = reporter;
    tnd_guarded_work_doing(self->work, what, file);
}

/*  The files that a source names: the first, and how many there are. */
typedef struct {
    const char *first;
    size_t count;
} named_t;

static void count_path(void *context, const char *path)
{
    named_t *self = context;
    if (path != NULL && self->count++ == 0)
        self->first = path;
}

/*  A source that does not name the file that it opens is named with those of its options. */
static listener_t begin_work(tnd_guarded_call_t *call, const tnd_part_t *source)
{
    char what[80], file[160];
    named_t named = {0};
    snprintf(what, sizeof what, "source `%.64s`", source->table->name);
    listener_t self = {call, tnd_guarded_call_opens(call, source->value, what), source->value};
    tnd_resources_paths(source, count_path, &named);
    if (named.count > 1)
        snprintf(file, sizeof file, "%.120s and %zu more", named.first, named.count - 1);
    if (named.count > 0)
        tnd_guarded_work_doing(self.work, NULL, named.count > 1 ? file : named.first);
    return self;
}

/*  The order in which rows will be read, and whether all rows of the files will be.  `whole`: all
 *  lanes that share the files are read here. */
static tnd_access_pattern_t pattern_of(const tnd_reader_options_t *options, bool whole)
{
    bool mixed = options->shuffle != TND_SHUFFLE_NONE;
    for (size_t i = 0; i < options->order.count; i++)
        mixed = mixed || strstr(options->order.items[i].table->name, "shuffle") != NULL ||
                strcmp(options->order.items[i].table->name, "global") == 0;
    if (!mixed)
        return TND_PATTERN_FORWARD;
    bool all =
        whole && options->skip == 0 && options->take == UINT64_MAX && options->order.count <= 1;
    return all ? TND_PATTERN_ALL : TND_PATTERN_SOME;
}

/*  Bytes of page cache available to one of `parts` parts; 0: unknown. */
static uint64_t room_for(uint32_t parts)
{
    tnd_group_limits_t limits;
    tnd_group_limits_read("", &limits);
    return limits.cache_bytes != UINT64_MAX ? limits.cache_bytes / parts + 1 : 0;
}

/*  What user code is told of the run. */
static tnd_source_context_t context_of(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                       uint32_t lane, listener_t *listener)
{
    bool all = lane == ALL_LANES;
    const char *data = plan->hosts[instance->host].data;
    const tnd_chain_plan_t *chain = &plan->chains[instance->chain];
    return (tnd_source_context_t){.lane = all ? 0 : lane,
                                  .lanes = all ? 1 : plan->lanes,
                                  .replicas = chain->replicas,
                                  .batch = chain->batch,
                                  .data = data != NULL ? data : "",
                                  .progress = report_progress,
                                  .reporter = listener};
}

/*  Hashes all bytes of what is at `place` of the list. */
static tnd_status_t hash_whole(const tnd_source_t *source, const tnd_shared_part_t *part,
                               size_t place, uint64_t retry_ns, uint64_t whole[2],
                               tnd_error_t *error)
{
    const tnd_source_file_t *file = &part->facts.files[place];
    if (file->kind == TND_DATA_FOLDER)
        return source->hash(part->state, place, whole, error);
    return tnd_content_whole(file->path, file->size, retry_ns, whole, error);
}

/*  With `verify: full` the identity of the data, and what is stored of it, depends on all bytes. */
static tnd_status_t hash_part(const tnd_source_t *source, tnd_shared_part_t *part,
                              const tnd_reader_options_t *options, const listener_t *listener,
                              tnd_error_t *error)
{
    tnd_source_facts_t *facts = &part->facts;
    if (options->verify != TND_VERIFY_FULL || facts->file_count == 0)
        return TND_OK;
    part->whole = tnd_allocate_zeroed(facts->file_count, sizeof *part->whole);
    for (size_t i = 0; i < facts->file_count; i++) {
        if (facts->files[i].kind == TND_DATA_SOURCE)
            continue;
        tnd_guarded_work_doing(listener->work, "hashes", facts->files[i].path);
        TND_TRY(hash_whole(source, part, i, options->retry_ns, part->whole[i], error));
        tnd_guarded_work_count(listener->work, i + 1, facts->file_count, "files");
    }
    facts->identity =
        XXH3_64bits_withSeed(part->whole, facts->file_count * sizeof *part->whole, facts->identity);
    return TND_OK;
}

/*  Instances of an actor on its host. */
static uint32_t readers_here(const tnd_plan_t *plan, const tnd_instance_t *instance)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->instance_count; i++)
        count += plan->instances[i].host == instance->host &&
                 strcmp(plan->instances[i].actor, instance->actor) == 0;
    return count;
}

/*  `here`: how many lanes are read on this host. */
static tnd_status_t open_part(opened_t *opened, const tnd_plan_t *plan,
                              const tnd_instance_t *instance, uint32_t lane, uint32_t here,
                              listener_t *listener, tnd_error_t *error)
{
    const tnd_reader_options_t *options = instance->options;
    tnd_shared_part_t *part = &opened->parts[opened->count];
    bool all = lane == ALL_LANES;
    const tnd_source_scope_t scope = {
        .lane = all ? 0 : lane,
        .lanes = all ? 1 : plan->lanes,
        .access = (tnd_access_t)options->access,
        .pattern = pattern_of(options, !all || here == plan->lanes),
        .room = room_for(all ? 1 : here),
        .retry_ns = options->retry_ns,
        .seed = plan->seed,
        .unread = plan->unread,
        .skips_bad = options->on_error != TND_BAD_STOP,
        .tell = report_error,
        .teller = listener,
        .context = context_of(plan, instance, lane, listener),
        .doing = report_doing,
        .directory = plan->directory,
        .python = plan->topology != NULL ? plan->topology->settings->python : NULL,
        .hung_after_ns = plan->hung_after_ns,
        .readers = readers_here(plan, instance),
        .arrays = plan->arrays,
        .actor = instance->actor};
    part->lane = lane;
    part->state = tnd_allocate_zeroed(1, opened->source->state_bytes + 1);
    tnd_status_t status =
        opened->source->open(part->state, options->source.options, &scope, &part->facts, error);
    if (status != TND_OK) {
        if (error->about == NULL)
            error->about = options->source.value;
        free(part->state);
        return status;
    }
    assert((part->facts.caps & ~tnd_source_spec_of(options->source.table)->caps) == 0);
    opened->count++;
    return hash_part(opened->source, part, options, listener, error);
}

/*  Whether an instance is the first reader of its lane on its host: a lane may have several. */
static bool is_first(const tnd_plan_t *plan, uint32_t index)
{
    const tnd_instance_t *own = &plan->instances[index];
    for (uint32_t i = 0; i < index; i++) {
        const tnd_instance_t *other = &plan->instances[i];
        if (other->host == own->host && other->lane == own->lane &&
            strcmp(other->actor, own->actor) == 0)
            return false;
    }
    return true;
}

/*  Whether instance `index` is the first of a lane that is read on the host of `instance`. */
static bool is_part(const tnd_plan_t *plan, const tnd_instance_t *instance, uint32_t index)
{
    const tnd_instance_t *other = &plan->instances[index];
    return other->host == instance->host && strcmp(other->actor, instance->actor) == 0 &&
           is_first(plan, index);
}

static uint32_t lanes_here(const tnd_plan_t *plan, const tnd_instance_t *instance)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->instance_count; i++)
        count += is_part(plan, instance, i);
    return count;
}

/*  Opens the files of every lane that is read on the host of `instance`. */
static tnd_status_t open_lanes(opened_t *opened, const tnd_plan_t *plan,
                               const tnd_instance_t *instance, listener_t *listener,
                               tnd_error_t *error)
{
    uint32_t here = lanes_here(plan, instance);
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (is_part(plan, instance, i))
            TND_TRY(
                open_part(opened, plan, instance, plan->instances[i].lane, here, listener, error));
    for (uint32_t i = 1; i < opened->count; i++) {
        tnd_error_t differs;
        if (tnd_schema_compare(&opened->parts[0].facts.schema, &opened->parts[i].facts.schema,
                               &differs) != TND_OK)
            return tnd_fail(error, "the data of lanes %u and %u differ: %.300s%s",
                            opened->parts[0].lane, opened->parts[i].lane, differs.text,
                            tnd_schema_ragged(&opened->parts[0].facts.schema) > 0
                                ? "; set `max:` of the ragged columns, for all files"
                                : "");
    }
    return TND_OK;
}

static tnd_status_t check_repeats(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                  const tnd_stream_t *stream, tnd_error_t *error)
{
    const tnd_chain_plan_t *chain = &plan->chains[instance->chain];
    if (stream->own.caps != 0 || !tnd_chain_repeats(chain))
        return TND_OK;
    return tnd_fail(error,
                    "the source can be read only once, but `every` of %s needs its rows several "
                    "times: without `every`, they are fed once, at the end",
                    chain->feeder);
}

static void fill_stream(const opened_t *opened, tnd_stream_t *stream)
{
    const tnd_source_facts_t *first = &opened->parts[0].facts;
    stream->read.schema = first->schema;
    stream->own.caps = first->caps;
    stream->sequential = (first->caps & TND_SOURCE_RANDOM) == 0;
    stream->count = first->count;
    stream->data = first->identity;
    for (uint32_t i = 0; i < opened->count; i++) {
        const tnd_source_facts_t *facts = &opened->parts[i].facts;
        if (facts->names != NULL)
            tnd_field_names_merge(&stream->names, facts->names);
        stream->own.caps &= facts->caps;
        stream->copied = facts->copied > stream->copied ? facts->copied : stream->copied;
        stream->own.files =
            facts->file_rows_count > stream->own.files ? facts->file_rows_count : stream->own.files;
        stream->lists = facts->lists > stream->lists ? facts->lists : stream->lists;
        stream->own.loaded += facts->loaded;
        stream->own.mapped += facts->mapped;
        stream->own.copied += facts->read;
        stream->own.room += facts->room;
        stream->own.access = facts->access;
    }
    if (opened->parts[0].lane == ALL_LANES)
        return;
    stream->by_file = true;
    stream->found = first->found;
    stream->count = TND_UNKNOWN;
    stream->data = 0;
    for (uint32_t i = 0; i < opened->count; i++) {
        const tnd_shared_part_t *part = &opened->parts[i];
        stream->lane[part->lane] = (tnd_stream_lane_t){
            .count = part->facts.count, .data = part->facts.identity, .known = true};
    }
}

/*  What the order makes of the rows. */
static tnd_status_t shape_rows(const tnd_reader_options_t *options, const tnd_plan_t *plan,
                               tnd_stream_t *stream, tnd_error_t *error)
{
    tnd_place_list_t order;
    tnd_schema_t stored = stream->read.schema;
    const char *map = "";
    const void *about = NULL;
    tnd_error_t why;
    tnd_order_list(&options->order, plan->seed, &order);
    if (stream->by_file && tnd_places_of_lane(&order, 0, 1))
        return tnd_fail(error,
                        "`shard: {count: lanes}` of `order` would divide the files that each "
                        "lane has by `shard: file` once more: one of the two is enough");
    tnd_row_shape_t shape = tnd_row_shape_of(&order);
    if (tnd_row_shape_is_plain(&shape))
        return TND_OK;
    if (tnd_row_shape_schema(&shape, &stored, &stream->read.schema, &map, &why) != TND_OK) {
        for (size_t i = 0; i < options->order.count; i++)
            if (strcmp(options->order.items[i].table->name, map) == 0)
                about = options->order.items[i].value;
        return tnd_fail_about(error, about, "`%s`: %.400s", map, why.text);
    }
    if (shape.windows)
        stream->copied = stream->copied * shape.width + tnd_schema_row_bytes(&stream->read.schema);
    stream->lists = (uint32_t)(shape.width * (1 + stream->lists)) + 2 * stored.count;
    return TND_OK;
}

tnd_status_t tnd_shared_source_open(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                    tnd_guarded_call_t *call, tnd_stream_t *stream, void **shared_p,
                                    tnd_error_t *error)
{
    const tnd_reader_options_t *options = instance->options;
    bool by_file =
        (options->shard == TND_SHARD_FILE || options->shard == TND_SHARD_SOURCE) && plan->lanes > 1;
    uint32_t parts = by_file ? plan->lanes : 1;
    opened_t *opened = tnd_allocate_zeroed(1, sizeof *opened + parts * sizeof opened->parts[0]);
    opened->source = tnd_source_of(tnd_source_spec_of(options->source.table));
    listener_t listener = begin_work(call, &options->source);
    tnd_status_t status = by_file ? open_lanes(opened, plan, instance, &listener, error)
                                  : open_part(opened, plan, instance, ALL_LANES,
                                              lanes_here(plan, instance), &listener, error);
    if (status == TND_OK) {
        fill_stream(opened, stream);
        status = check_repeats(plan, instance, stream, error);
    }
    if (status == TND_OK)
        status = shape_rows(options, plan, stream, error);
    if (status != TND_OK) {
        close_all(opened);
        return status;
    }
    *shared_p = opened;
    return TND_OK;
}

/*  Lists the files of one part.  A source without files is listed by its name. */
static void list_part(const tnd_shared_part_t *part, const tnd_reader_options_t *options,
                      const char *data, tnd_data_table_t *table)
{
    const tnd_source_facts_t *facts = &part->facts;
    uint32_t lane = part->lane == ALL_LANES ? 0 : part->lane;
    char name[128];
    for (size_t i = 0; i < facts->file_count; i++) {
        const tnd_source_file_t *from = &facts->files[i];
        snprintf(name, sizeof name, "source `%.100s`", from->path);
        tnd_data_file_t file = {.lane = lane,
                                .place = (uint32_t)i,
                                .size = from->size,
                                .modified_ns = from->modified_ns,
                                .ends = from->ends,
                                .file = from->kind != TND_DATA_SOURCE,
                                .hashed = part->whole != NULL && from->kind != TND_DATA_SOURCE,
                                .name = from->kind == TND_DATA_SOURCE ? name : from->path};
        if (file.hashed)
            memcpy(file.whole, part->whole[i], sizeof file.whole);
        tnd_data_table_add(table, &file, data);
    }
    if (facts->file_count > 0)
        return;
    snprintf(name, sizeof name, "source `%.100s`", options->source.table->name);
    tnd_data_table_add(
        table,
        &(tnd_data_file_t){
            .lane = lane, .size = facts->count, .ends = facts->identity, .name = name},
        NULL);
}

tnd_status_t tnd_shared_source_list(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                    const void *shared, tnd_data_table_t *table, tnd_error_t *error)
{
    const opened_t *opened = shared;
    (void)error;
    for (uint32_t i = 0; i < opened->count; i++)
        list_part(&opened->parts[i], instance->options, plan->hosts[instance->host].data, table);
    return TND_OK;
}

void tnd_shared_source_close(const tnd_instance_t *instance, void *shared)
{
    (void)instance;
    close_all(shared);
}

tnd_guarded_work_t *tnd_shared_source_work(tnd_guarded_call_t *call, const tnd_instance_t *reader,
                                           const char *what)
{
    return tnd_guarded_call_opens(
        call, ((const tnd_reader_options_t *)reader->options)->source.value, what);
}

const tnd_source_t *tnd_shared_source_type(const void *shared)
{
    return ((const opened_t *)shared)->source;
}

const tnd_shared_part_t *tnd_shared_source_at(const void *shared, uint32_t index)
{
    const opened_t *opened = shared;
    return index < opened->count ? &opened->parts[index] : NULL;
}

const tnd_shared_part_t *tnd_shared_source_part(const void *shared, uint32_t lane)
{
    const opened_t *opened = shared;
    uint32_t i = 0;
    while (opened->parts[i].lane != ALL_LANES && opened->parts[i].lane != lane)
        i++;
    assert(i < opened->count);
    return &opened->parts[i];
}
