/*  runtime/data/stream.c - what is known of a chain's stream. */
#include "runtime/data/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/data/text_payload.h"

/*  What readers copy of a row, and the lists that they write of it. */
#define COPIED_MAX (UINT64_C(1) << 40)
enum { LISTS_MAX = 1 << 20 };
/*  Of what `auto` options are: as much as 16 operations with as many and as long texts as are allowed. */
enum { PART_BYTES = 32 << 10, PARTS_MAX = 16 * (65536 / PART_BYTES) * TND_ADAPTED_WORD_MAX };

/*  How many of the first `rows` rows are of `lane`, when lanes take turns. */
static uint64_t share_of(const tnd_stream_t *self, uint64_t rows, uint32_t lane)
{
    uint64_t low = 0, high = rows; /* whole rounds that fit: at least, at most */
    while (low < high) {
        uint64_t middle = high - (high - low) / 2, sum = 0;
        for (uint32_t l = 0; l < self->lanes && sum <= rows; l++)
            sum += self->lane[l].count < middle ? self->lane[l].count : middle;
        if (sum <= rows)
            low = middle;
        else
            high = middle - 1;
    }
    uint64_t rest = rows;
    for (uint32_t l = 0; l < self->lanes; l++)
        rest -= self->lane[l].count < low ? self->lane[l].count : low;
    if (self->lane[lane].count <= low)
        return self->lane[lane].count;
    for (uint32_t l = 0; l < lane; l++)
        rest -= self->lane[l].count > low && rest > 0;
    return low + (rest > 0);
}

tnd_window_t tnd_stream_window(const tnd_stream_t *self, uint32_t lane)
{
    if (self->count == TND_UNKNOWN)
        return (tnd_window_t){
            .first = self->skip, .count = self->take > 0 ? self->take : TND_UNKNOWN, .repeat = 1};
    uint64_t first = self->skip < self->count ? self->skip : self->count;
    uint64_t left = self->count - first;
    uint64_t count = self->take > 0 && self->take < left ? self->take : left;
    uint64_t repeat = self->repeat > 0 ? self->repeat : 1;
    if (!self->by_file)
        return (tnd_window_t){.first = first, .count = count, .repeat = repeat};
    uint64_t from = share_of(self, first, lane), to = share_of(self, first + count, lane);
    return (tnd_window_t){.first = from, .count = to - from, .repeat = repeat};
}

uint64_t tnd_stream_lane_count(const tnd_stream_t *self, uint32_t lane)
{
    if (self->count == TND_UNKNOWN)
        return TND_UNKNOWN;
    tnd_window_t window = tnd_stream_window(self, lane);
    uint64_t positions = window.count * window.repeat;
    tnd_place_list_t order = self->order;
    bool whole = tnd_places_of_lane(&order, lane, self->lanes) || self->by_file || self->undivided;
    if (order.count > 0)
        positions = tnd_places_count(&order, self->by_file ? self->lane[lane].count : self->count);
    if (whole)
        return positions;
    return positions / self->lanes + (positions % self->lanes > lane);
}

/*  The most bytes of ragged columns that one position becomes. */
static uint64_t ragged_of(const tnd_stream_t *self, const tnd_stream_stage_t *stage)
{
    uint64_t ragged = tnd_schema_ragged_bytes(&stage->schema) * stage->rows_max;
    double grown = stage->growth_max * (double)tnd_schema_ragged_bytes(&self->read.schema);
    return stage->growth_max > 0 && grown < (double)ragged ? (uint64_t)grown : ragged;
}

/*  The most bytes of one position. */
static uint64_t most_of(const tnd_stream_t *self, const tnd_stream_stage_t *stage)
{
    const tnd_schema_t *schema = &stage->schema;
    uint64_t fixed = tnd_schema_row_bytes(schema) - tnd_schema_ragged_bytes(schema);
    return fixed * stage->rows_max + ragged_of(self, stage);
}

uint64_t tnd_stream_made_ragged(const tnd_stream_t *self)
{
    return ragged_of(self, &self->joined);
}

uint64_t tnd_stream_cached_ragged(const tnd_stream_t *self)
{
    return ragged_of(self, &self->cached);
}

uint64_t tnd_stream_positions(const tnd_stream_t *self)
{
    uint64_t sum = 0;
    if (self->count == TND_UNKNOWN)
        return TND_UNKNOWN;
    for (uint32_t lane = 0; lane < (self->pieces ? 1 : self->lanes); lane++)
        sum += tnd_stream_lane_count(self, lane);
    return sum;
}

uint64_t tnd_stream_lane_most(const tnd_stream_t *self)
{
    uint64_t most = 0;
    for (uint32_t lane = 0; lane < self->lanes; lane++) {
        uint64_t count = tnd_stream_lane_count(self, lane);
        most = count > most ? count : most;
    }
    return most;
}

uint64_t tnd_stream_made_max(const tnd_stream_t *self)
{
    return most_of(self, &self->joined);
}

uint64_t tnd_stream_cached_max(const tnd_stream_t *self)
{
    return most_of(self, &self->cached);
}

tnd_row_bytes_t tnd_stream_row_bytes(const tnd_stream_t *self)
{
    uint64_t read = tnd_schema_row_bytes(&self->read.schema), made = tnd_stream_made_max(self);
    uint64_t cached = tnd_stream_cached_max(self);
    if (self->budget == 0)
        return (tnd_row_bytes_t){.fixed = tnd_most(tnd_most(read, cached), made)};
    uint64_t ragged_read = tnd_schema_ragged_bytes(&self->read.schema);
    uint64_t ragged_cached = tnd_stream_cached_ragged(self);
    uint64_t ragged_made = tnd_stream_made_ragged(self);
    uint64_t fixed = tnd_most(read - ragged_read, cached - ragged_cached);
    return (tnd_row_bytes_t){.fixed = tnd_most(fixed, made - ragged_made),
                             .ragged_max =
                                 tnd_most(tnd_most(ragged_read, ragged_cached), ragged_made),
                             .budget = self->budget};
}

uint64_t tnd_stream_epoch(const tnd_stream_t *self)
{
    uint64_t epoch = tnd_stream_positions(self);
    return !self->batch.spans && self->batch.positions > 0 && self->batch.positions < epoch &&
                   epoch != TND_UNKNOWN
               ? self->batch.positions
               : epoch;
}

uint64_t tnd_stream_run(const tnd_stream_t *self)
{
    uint64_t epoch = tnd_stream_epoch(self), run;
    uint64_t most = self->batch.positions > 0 ? self->batch.positions : UINT64_MAX;
    if (epoch == TND_UNKNOWN ||
        (self->epochs == TND_ENDLESS && (!self->batch.spans || most == UINT64_MAX)))
        return TND_UNKNOWN;
    if (__builtin_mul_overflow(epoch, (uint64_t)self->epochs, &run))
        run = UINT64_MAX - 1;
    return self->batch.spans && most < run ? most : run;
}

void tnd_stream_merge(tnd_stream_t *self, const tnd_stream_t *other)
{
    for (uint32_t lane = 0; lane < TND_LANES_MAX; lane++)
        if (!self->lane[lane].known)
            self->lane[lane] = other->lane[lane];
    tnd_field_names_merge(&self->names, &other->names);
    tnd_adapted_merge(&self->adapted, other->adapted);
    self->lists = self->lists > other->lists ? self->lists : other->lists;
    self->copied = self->copied > other->copied ? self->copied : other->copied;
}

void tnd_stream_take_own(tnd_stream_t *self, const tnd_stream_t *own)
{
    self->own = own->own;
}

bool tnd_stream_settle(tnd_stream_t *self, uint32_t lanes, uint32_t *lane_p)
{
    assert(lanes <= TND_LANES_MAX);
    if (!self->by_file)
        return true;
    uint64_t count = 0, data = 0;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        const tnd_stream_lane_t *of = &self->lane[lane];
        *lane_p = lane;
        if (!of->known)
            return false;
        count = of->count == TND_UNKNOWN || count == TND_UNKNOWN ? TND_UNKNOWN : count + of->count;
        data = XXH3_64bits_withSeed(&of->data, sizeof of->data, data);
    }
    self->count = count;
    self->data = data;
    return true;
}

static void write_names(const tnd_field_names_t *names, FILE *out)
{
    if (names->column[0] == '\0')
        return;
    fprintf(out, "names %s\n", names->column);
    for (const char *name = NULL; (name = tnd_field_names_next(names, name)) != NULL;)
        fprintf(out, "name %s\n", name);
    if (names->cut)
        fputs("cut names\n", out);
    if (names->differ[0] != '\0')
        fprintf(out, "differ %s\n", names->differ);
}

/*  Whether the line is about the names of fields. */
static bool read_names(tnd_field_names_t *names, const char *line)
{
    if (strncmp(line, "names ", 6) == 0)
        tnd_field_names_init(names, line + 6);
    else if (strncmp(line, "name ", 5) == 0)
        tnd_field_names_add(names, line + 5, strlen(line + 5));
    else if (strcmp(line, "cut names") == 0)
        names->cut = true;
    else if (strncmp(line, "differ ", 7) == 0)
        snprintf(names->differ, sizeof names->differ, "%s", line + 7);
    else
        return false;
    return true;
}

void tnd_stream_write(const tnd_stream_t *self, FILE *out)
{
    fprintf(out, "stream %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", self->chain, self->count,
            self->data);
    if (self->by_file)
        fprintf(out, "files %" PRIu64 "\n", self->found);
    if (self->sequential)
        fputs("sequential\n", out);
    fprintf(out, "copied %zu %" PRIu32 "\n", self->copied, self->lists);
    for (uint32_t lane = 0; lane < TND_LANES_MAX; lane++)
        if (self->lane[lane].known)
            fprintf(out, "lane %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", lane, self->lane[lane].count,
                    self->lane[lane].data);
    for (uint32_t c = 0; c < self->read.schema.count; c++) {
        const tnd_column_t *column = &self->read.schema.columns[c];
        fprintf(out, "%s %s %" PRIu32, column->ragged ? "ragged" : "column",
                tnd_dtype_name(column->dtype), column->rank);
        for (uint32_t d = 0; d < column->rank; d++)
            fprintf(out, " %" PRIu64, column->shape[d]);
        fprintf(out, " %s\n", column->name);
    }
    write_names(&self->names, out);
}

static tnd_status_t read_column(tnd_stream_t *stream, const char *text, tnd_error_t *error)
{
    char type[16];
    uint32_t rank;
    int used;
    tnd_dtype_t dtype;
    bool ragged = strncmp(text, "ragged ", 7) == 0;
    if ((!ragged && strncmp(text, "column ", 7) != 0) ||
        sscanf(text + 7, "%15s %" SCNu32 "%n", type, &rank, &used) != 2 ||
        !tnd_dtype_parse(type, &dtype) || rank > TND_RANK_MAX)
        return tnd_fail(error, "facts of a stream: not a column: '%s'", text);
    used += 7;
    uint64_t shape[TND_RANK_MAX];
    for (uint32_t d = 0; d < rank; d++) {
        int more;
        if (sscanf(text + used, " %" SCNu64 "%n", &shape[d], &more) != 1)
            return tnd_fail(error, "facts of a stream: not a shape: '%s'", text);
        used += more;
    }
    if (text[used] != ' ')
        return tnd_fail(error, "facts of a stream: a column without a name: '%s'", text);
    return ragged
               ? tnd_schema_add_ragged(&stream->read.schema, text + used + 1, dtype, rank, shape,
                                       error)
               : tnd_schema_add(&stream->read.schema, text + used + 1, dtype, rank, shape, error);
}

/*  Counts are added up: a sum must not pass the end of a number. */
static tnd_status_t read_lane(tnd_stream_t *stream, const char *text, tnd_error_t *error)
{
    uint32_t lane;
    tnd_stream_lane_t said = {.known = true};
    if (sscanf(text, "lane %" SCNu32 " %" SCNu64 " %" SCNu64, &lane, &said.count, &said.data) !=
            3 ||
        lane >= TND_LANES_MAX ||
        (said.count > INT64_MAX / TND_LANES_MAX && said.count != TND_UNKNOWN))
        return tnd_fail(error, "facts of a stream: not a lane: '%s'", text);
    stream->lane[lane] = said;
    return TND_OK;
}

/*  They are multiplied by numbers of rows: products must not pass the end of a number. */
static tnd_status_t read_copied(tnd_stream_t *stream, const char *text, tnd_error_t *error)
{
    uint64_t copied, lists;
    if (sscanf(text, "copied %" SCNu64 " %" SCNu64, &copied, &lists) != 2 || copied > COPIED_MAX ||
        lists > LISTS_MAX)
        return tnd_fail(error, "facts of a stream: not what readers copy: '%s'", text);
    stream->copied = copied;
    stream->lists = (uint32_t)lists;
    return TND_OK;
}

tnd_status_t tnd_stream_read(tnd_stream_t *self, const char *line, tnd_error_t *error)
{
    if (strncmp(line, "stream ", 7) == 0) {
        if (sscanf(line, "stream %" SCNu32 " %" SCNu64 " %" SCNu64, &self->chain, &self->count,
                   &self->data) != 3)
            return tnd_fail(error, "facts of a stream: not understood: '%s'", line);
        memset(&self->read.schema, 0, sizeof self->read.schema);
        memset(&self->names, 0, sizeof self->names);
        memset(self->lane, 0, sizeof self->lane);
        self->by_file = self->sequential = false;
        self->found = 0;
        self->copied = self->lists = 0;
        return TND_OK;
    }
    if (read_names(&self->names, line))
        return TND_OK;
    if (strncmp(line, "copied ", 7) == 0)
        return read_copied(self, line, error);
    if (sscanf(line, "files %" SCNu64, &self->found) == 1) {
        self->by_file = true;
        return TND_OK;
    }
    if (strcmp(line, "sequential") == 0) {
        self->sequential = true;
        return TND_OK;
    }
    if (strncmp(line, "lane ", 5) == 0)
        return read_lane(self, line, error);
    return read_column(self, line, error);
}

/*  The bytes of the whole lines at the start of a text that fit a part. */
static size_t part_of(const char *text, size_t size)
{
    const char *last = size > PART_BYTES ? memrchr(text, '\n', PART_BYTES) : NULL;
    return last != NULL ? (size_t)(last - text) + 1 : size;
}

void tnd_stream_begin_adapted(tnd_adapted_parts_t *self, const tnd_adapted_t *adapted)
{
    *self = (tnd_adapted_parts_t){.at = 0};
    FILE *out = tnd_memory_stream(&self->text, &self->size);
    tnd_adapted_write(adapted, out);
    fclose(out);
}

tnd_buffer_t *tnd_stream_adapted_part(tnd_adapted_parts_t *self)
{
    const char *from = self->text + self->at;
    size_t size = part_of(from, self->size - self->at);
    self->at += size;
    if (size > 0)
        return tnd_text_payload_of("%.*s", (int)size, from);
    free(self->text);
    self->text = NULL;
    return NULL;
}

bool tnd_stream_is_adapted_part(tnd_buffer_t *note)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);
    const char *line = tnd_text_payload_line(&reader);
    return line != NULL && strncmp(line, "adapted ", 8) == 0;
}

tnd_status_t tnd_stream_take_adapted(tnd_adapted_t **adapted_p, uint64_t number, tnd_buffer_t *note,
                                     tnd_error_t *error)
{
    tnd_text_payload_reader_t reader;
    if (number == 0)
        tnd_adapted_free(adapted_p);
    if (number >= PARTS_MAX)
        return tnd_fail(error, "values of `auto`: more than %d parts", PARTS_MAX);
    tnd_text_payload_read(&reader, note);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;)
        if (!tnd_adapted_read(adapted_p, line))
            return tnd_fail(error, "values of `auto`: not understood: '%.200s'", line);
    return TND_OK;
}

/*  Each host has the files of its own lanes; which files those are all must see alike. */
static tnd_status_t agree_by_file(const tnd_stream_t *self, const char *self_host,
                                  const tnd_stream_t *other, const char *other_host,
                                  tnd_error_t *error)
{
    if (self->found != other->found || self->by_file != other->by_file)
        return tnd_fail(error,
                        "hosts %s and %s find different files by the same pattern, so that lanes "
                        "would not share them out alike; with `shard: file` name them by a range "
                        "such as `part-[00-15].npy`, or by a list, which need not be on every host",
                        self_host, other_host);
    for (uint32_t lane = 0; lane < TND_LANES_MAX; lane++) {
        const tnd_stream_lane_t *one = &self->lane[lane], *two = &other->lane[lane];
        if (one->known && two->known && (one->count != two->count || one->data != two->data))
            return tnd_fail(error,
                            "hosts %s and %s have different files for lane %" PRIu32 ": %" PRIu64
                            " rows and %" PRIu64 " rows; give both the same",
                            self_host, other_host, lane, one->count, two->count);
    }
    return TND_OK;
}

tnd_status_t tnd_stream_agree(const tnd_stream_t *self, const char *self_host,
                              const tnd_stream_t *other, const char *other_host, tnd_error_t *error)
{
    tnd_error_t detail;
    if (tnd_schema_compare(&self->read.schema, &other->read.schema, &detail) != TND_OK)
        return tnd_fail(error, "hosts %s and %s read different data: %.300s", self_host, other_host,
                        detail.text);
    if (self->by_file || other->by_file)
        return agree_by_file(self, self_host, other, other_host, error);
    if (self->count != other->count)
        return tnd_fail(error,
                        "hosts %s and %s read different data: %" PRIu64 " rows and %" PRIu64
                        " rows; give both the same files",
                        self_host, other_host, self->count, other->count);
    if (self->data != other->data)
        return tnd_fail(error,
                        "hosts %s and %s read different data: as many rows, but other content; "
                        "give both the same files",
                        self_host, other_host);
    if (!tnd_adapted_agree(self->adapted, other->adapted))
        return tnd_fail(error,
                        "hosts %s and %s compute other values for `auto` from the same data; use "
                        "the same version on both",
                        self_host, other_host);
    return TND_OK;
}
