/*  actors/adapt/training_rows.c - the rows of a reader that train. */
#include "actors/adapt/training_rows.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/reader/row_reader.h"
#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

enum { ROWS_MAX = 1024 };

struct tnd_training_rows {
    tnd_stream_t stream;
    tnd_reader_options_t options;
    tnd_row_reader_t *reader;
    uint32_t lane, at_once;
    uint64_t done, all, identity;
    bool ended;
    /*  Of the block under way. */
    uint64_t first;
    uint32_t offsets[ROWS_MAX]; /* by row: the position, from the first */
};

static bool chooses(const tnd_place_map_t *map)
{
    switch (map->kind) {
    case TND_PLACE_PART:
    case TND_PLACE_SKIP:
    case TND_PLACE_TAKE:
    case TND_PLACE_WINDOW:
        return true;
    case TND_PLACE_SHARD:
        return !map->shard.by_lane;
    default:
        return false;
    }
}

/*  Leaves the maps that choose rows. */
static tnd_status_t choose(tnd_place_list_t *order, tnd_error_t *error)
{
    uint32_t last = 0, kept = 0;
    for (uint32_t i = 0; i < order->count; i++)
        last = chooses(&order->maps[i]) ? i : last;
    for (uint32_t i = 0; i < order->count; i++) {
        tnd_place_kind_t kind = order->maps[i].kind;
        bool steady = kind == TND_PLACE_INTERLEAVE ||
                      (kind == TND_PLACE_SHUFFLE && !order->maps[i].shuffle.reshuffle) ||
                      (kind == TND_PLACE_INDEX_SHUFFLE && !order->maps[i].index_shuffle.reshuffle);
        if (chooses(&order->maps[i]) || kind == TND_PLACE_UNBATCH || (steady && i < last))
            order->maps[kept++] = order->maps[i];
        else if (i < last)
            return tnd_fail(
                error,
                "`auto` is computed of the rows that train, but `%s` after `%s` chooses "
                "others in each epoch; write the values themselves",
                tnd_place_name(order->maps[last].kind), tnd_place_name(kind));
    }
    order->count = kept;
    return TND_OK;
}

/*  Leaves the rows as they are stored. */
static void choose_all(tnd_stream_t *stream)
{
    tnd_place_list_t *order = &stream->order;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < order->count; i++)
        if (order->maps[i].kind == TND_PLACE_UNBATCH)
            order->maps[kept++] = order->maps[i];
    order->count = kept;
    stream->skip = stream->take = 0;
}

/*  Which rows of the stream, in which lanes. */
static tnd_status_t choose_rows(tnd_training_rows_t *self, const tnd_plan_t *plan,
                                const tnd_instance_t *reader, const tnd_shared_part_t *part,
                                bool whole, tnd_error_t *error)
{
    tnd_stream_t *stream = &self->stream;
    uint32_t missing;
    bool shared = part->lane == TND_LANES_MAX;
    self->lane = shared ? 0 : part->lane;
    stream->lanes = shared ? 1 : plan->lanes;
    stream->seed = plan->seed;
    bool known = tnd_stream_settle(stream, plan->lanes, &missing);
    TND_TRY(tnd_kind_of(reader->kind)->derive(plan, reader, NULL, stream, error));
    stream->repeat = 1;
    if (whole)
        choose_all(stream);
    TND_TRY(choose(&stream->order, error));
    if (!known && (stream->skip > 0 || stream->take > 0))
        return tnd_fail(
            error, "`auto` is computed of the rows that train, and which those are depends with "
                   "`skip` and `take` on the files of other hosts; use `part` instead");
    uint64_t rows = shared ? part->facts.count : stream->lane[part->lane].count;
    if (stream->order.count > 0)
        self->all = tnd_places_count(&stream->order, rows);
    else
        self->all = known ? tnd_stream_window(stream, self->lane).count : rows;
    return TND_OK;
}

/*  What is stored of files is that of these bytes, as with indexes. */
static uint64_t hash_files(const tnd_source_facts_t *facts)
{
    uint64_t hash = facts->identity;
    for (size_t i = 0; i < facts->file_count; i++) {
        const uint64_t file[] = {facts->files[i].size, (uint64_t)facts->files[i].modified_ns,
                                 facts->files[i].ends};
        hash = XXH3_64bits_withSeed(file, sizeof file, hash);
    }
    return hash;
}

tnd_status_t tnd_training_rows_open(tnd_training_rows_t **self_p, const tnd_plan_t *plan,
                                    const tnd_instance_t *reader, const tnd_stream_t *stream,
                                    const void *shared, const tnd_shared_part_t *part, bool whole,
                                    tnd_error_t *error)
{
    if ((part->facts.caps & (TND_SOURCE_RANDOM | TND_SOURCE_REWINDS)) == 0)
        return tnd_fail(
            error, "`auto` is computed of the rows in a pass of its own, but this source can be "
                   "read only once; write the values themselves");
    tnd_training_rows_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->stream = *stream;
    self->options = *(const tnd_reader_options_t *)reader->options;
    self->options.shuffle = TND_SHUFFLE_NONE;
    self->identity = hash_files(&part->facts);
    if (choose_rows(self, plan, reader, part, whole, error) != TND_OK) {
        free(self);
        return TND_FAILED;
    }
    (void)tnd_training_rows_limit(self, 0);
    const tnd_row_reader_config_t config = {.name = reader->actor,
                                            .options = &self->options,
                                            .stream = &self->stream,
                                            .shared = shared,
                                            .lane = self->lane,
                                            .alone = true,
                                            .recall = ROWS_MAX};
    self->reader = tnd_row_reader_new(&config);
    *self_p = self;
    return TND_OK;
}

uint32_t tnd_training_rows_limit(tnd_training_rows_t *self, size_t made)
{
    size_t bytes = tnd_most(tnd_schema_row_bytes(&self->stream.read.schema), made) + 1;
    self->at_once = (uint32_t)tnd_least(TND_TRAINING_BLOCK_BYTES / bytes + 1, ROWS_MAX);
    return self->at_once;
}

void tnd_training_rows_close(tnd_training_rows_t **self_p)
{
    tnd_training_rows_t *self = *self_p;
    *self_p = NULL;
    if (self != NULL)
        tnd_row_reader_destroy(&self->reader);
    free(self);
}

/*  Which rows are of a part that a column divides depends on its values as well. */
static uint64_t hash_parts(const tnd_training_rows_t *self, uint64_t hash)
{
    const tnd_place_list_t *order = &self->stream.order;
    size_t count;
    for (uint32_t i = 0; i < order->count; i++) {
        uint64_t list = order->maps[i].kind == TND_PLACE_PART ? order->maps[i].part.list : 0;
        const tnd_adapted_item_t *item = tnd_adapted_find(self->stream.adapted, list, &count);
        if (list != 0 && item != NULL)
            hash = XXH3_64bits_withSeed(item->text, item->size, hash);
    }
    return hash;
}

uint64_t tnd_training_rows_hash(const tnd_training_rows_t *self)
{
    const uint64_t rows[] = {self->identity,           self->all,
                             self->stream.skip,        self->stream.take,
                             self->stream.by_file,     (uint64_t)self->options.on_error,
                             self->stream.order.count, tnd_schema_hash(&self->stream.read.schema)};
    uint64_t hash = XXH3_64bits(rows, sizeof rows);
    hash = XXH3_64bits_withSeed(self->stream.order.maps,
                                self->stream.order.count * sizeof self->stream.order.maps[0], hash);
    return hash_parts(self, hash);
}

uint64_t tnd_training_rows_done(const tnd_training_rows_t *self)
{
    return self->done;
}

uint64_t tnd_training_rows_all(const tnd_training_rows_t *self)
{
    return self->all;
}

static tnd_status_t fail_record(tnd_training_rows_t *self, uint32_t offset, const char *why,
                                tnd_error_t *error)
{
    char where[320];
    tnd_training_rows_place(self, self->first + offset, where, sizeof where);
    return tnd_fail(error,
                    "%s is bad: %.240s; to continue without such records, set `on_error: skip` or "
                    "`quarantine`",
                    where, why);
}

/*  Reads the rows of a source that refuses some of them one by one, then the others at once. */
static tnd_status_t read_good(tnd_training_rows_t *self, uint32_t *count_p, tnd_block_t *block,
                              tnd_error_t *error)
{
    uint64_t samples[ROWS_MAX];
    uint32_t good = 0;
    tnd_row_reader_samples(self->reader, 0, self->first, *count_p, samples);
    for (uint32_t i = 0; i < *count_p; i++) {
        tnd_error_t why = {.text = "it is not a valid record"};
        tnd_block_t *row = tnd_row_reader_block(self->reader);
        tnd_status_t status =
            tnd_row_reader_read_samples(self->reader, 0, &samples[i], 1, row, &why);
        tnd_block_drop(&row);
        if (status == TND_REFUSED && self->options.on_error == TND_BAD_STOP)
            return fail_record(self, i, why.text, error);
        if (status != TND_OK && status != TND_REFUSED)
            return tnd_fail(error, "%s", why.text);
        samples[good] = samples[i];
        self->offsets[good] = i;
        good += status == TND_OK;
    }
    *count_p = good;
    return good == 0 ? TND_OK
                     : tnd_row_reader_read_samples(self->reader, 0, samples, good, block, error);
}

/*  Leaves out the rows that a source which is read in order has refused. */
static tnd_status_t take_refused(tnd_training_rows_t *self, uint32_t *count_p, tnd_error_t *error)
{
    uint32_t refused, good = 0, at = 0;
    const tnd_stream_refusal_t *rows = tnd_row_reader_refused(self->reader, &refused);
    if (refused > 0 && self->options.on_error == TND_BAD_STOP)
        return fail_record(self, rows[0].offset, rows[0].why, error);
    for (uint32_t i = 0; i < *count_p; i++) {
        if (at < refused && rows[at].offset == i)
            at++;
        else
            self->offsets[good++] = i;
    }
    *count_p = good;
    return TND_OK;
}

tnd_status_t tnd_training_rows_next(tnd_training_rows_t *self, tnd_block_t **block_p,
                                    tnd_error_t *error)
{
    *block_p = NULL;
    if (self->ended || self->done >= self->all)
        return TND_OK;
    uint32_t count = (uint32_t)tnd_least(self->all - self->done, self->at_once), rows;
    self->first = self->done;
    tnd_block_t *block = tnd_row_reader_block(self->reader);
    tnd_status_t status = tnd_row_reader_read(self->reader, 0, self->first, &(tnd_held_t){{0}},
                                              &count, &self->ended, block, error);
    rows = count;
    if (status == TND_OK)
        status = take_refused(self, &rows, error);
    else if (status == TND_REFUSED)
        status = read_good(self, &rows, block, error);
    self->done += count;
    if (status != TND_OK) {
        tnd_block_drop(&block);
        return TND_FAILED;
    }
    block->note = (tnd_block_note_t){.first = self->first, .count = count, .rows = rows};
    if (rows < count) {
        block->marks = tnd_buffer_new(rows * sizeof self->offsets[0] + 1);
        block->note.origin =
            memcpy(tnd_buffer_data(block->marks), self->offsets, rows * sizeof self->offsets[0]);
        tnd_buffer_seal(block->marks);
    }
    tnd_block_seal(block);
    *block_p = block;
    return TND_OK;
}

void tnd_training_rows_place(tnd_training_rows_t *self, uint64_t position, char *text, size_t room)
{
    tnd_quarantine_place_t place;
    uint64_t sample;
    tnd_row_reader_samples(self->reader, 0, position, 1, &sample);
    tnd_row_reader_place(self->reader, 0, sample, &place, text, room);
}
