/*  actors/source/columns_open.c - opens the files of columns and checks that they fit together. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/file/file_threads.h"
#include "actors/source/columns_internal.h"
#include "actors/source/columns_spool.h"
#include "actors/stored/splits.h"
#include "runtime/base/allocation.h"

/*  Describes the rows of a file as a schema of one column with a dummy name. */
static tnd_status_t kind_of(const tnd_stored_t *stored, tnd_schema_t *schema, tnd_error_t *error)
{
    tnd_error_t why;
    *schema = (tnd_schema_t){0};
    if (tnd_schema_add(schema, "rows", stored->dtype, stored->rank, stored->shape, &why) == TND_OK)
        return TND_OK;
    return tnd_fail(error, "%s: %s", stored->path, why.text);
}

static tnd_status_t check_kind(const tnd_strand_t *strand, const tnd_stored_t *stored,
                               tnd_error_t *error)
{
    const tnd_stored_t *first = &strand->stored[0];
    tnd_schema_t one, other;
    char texts[2][128];
    tnd_error_t differs;
    TND_TRY(kind_of(first, &one, error));
    TND_TRY(kind_of(stored, &other, error));
    if (tnd_schema_compare(&one, &other, &differs) == TND_OK)
        return TND_OK;
    return tnd_fail(error,
                    "%s: %s holds %s, but %s holds %s: the files of a column need one type and "
                    "one shape of a row",
                    strand->what, first->path, tnd_schema_text(&one, texts[0], sizeof texts[0]),
                    stored->path, tnd_schema_text(&other, texts[1], sizeof texts[1]));
}

typedef struct opening opening_t;

/*  One of the files. */
typedef struct {
    opening_t *all;
    tnd_stored_t *stored;
    tnd_status_t status;
    tnd_error_t error;
} one_file_t;

/*  Files that are opened by several threads, because each may wait for a server. */
struct opening {
    tnd_stored_t *stored;
    char *const *paths;
    size_t count;
    tnd_stored_open_fn *open;
    const void *context;
    const tnd_source_scope_t *scope;
    atomic_size_t opened;
    one_file_t *files;
};

/*  A file that is read whole, because it is compressed, may take as long as many files.  One is shown
 *  by its bytes; of several, the same number again says that the work goes on. */
static void on_bytes(void *watcher, size_t at)
{
    one_file_t *file = watcher;
    const opening_t *all = file->all;
    if (all->count > 1)
        tnd_source_progress(all->scope, atomic_load(&all->opened), all->count, "files");
    else
        tnd_source_progress(all->scope, at, file->stored->content.size, "bytes");
}

static void open_one(void *context, size_t i)
{
    opening_t *self = context;
    one_file_t *file = &self->files[i];
    *file = (one_file_t){.all = self, .stored = &self->stored[i]};
    tnd_stored_opener_t opener = {
        .open = self->open, .context = self->context, .watch = on_bytes, .watcher = file};
    tnd_source_doing(self->scope, "opening", self->paths[i]);
    file->status =
        tnd_stored_open(file->stored, self->paths[i], &opener, self->scope, &file->error);
    size_t opened = atomic_fetch_add(&self->opened, 1) + 1;
    if (self->count > 1)
        tnd_source_progress(self->scope, opened, self->count, "files");
}

/*  Opens files; free `files`. */
static void open_all_files(opening_t *self, const tnd_files_t *files)
{
    self->paths = files->paths;
    self->count = files->count;
    self->stored = tnd_allocate_zeroed(1, files->count * sizeof *self->stored);
    self->files = tnd_allocate_zeroed(files->count, sizeof *self->files);
    tnd_file_threads(files->count, 1, open_one, self);
}

static tnd_status_t open_files(tnd_strand_t *strand, size_t record, tnd_stored_open_fn *open,
                               const void *context, const tnd_source_scope_t *scope,
                               tnd_error_t *error)
{
    opening_t opening = {.open = open, .context = context, .scope = scope};
    tnd_failures_t failures = {.scope = scope, .error = error};
    open_all_files(&opening, &strand->files);
    strand->stored = opening.stored;
    strand->count = opening.count;
    for (size_t i = 0; i < strand->count; i++) {
        tnd_status_t status = opening.files[i].status;
        tnd_error_t *why = &opening.files[i].error;
        if (status == TND_OK && record == 0 && failures.status == TND_OK)
            status = check_kind(strand, &strand->stored[i], why);
        tnd_failures_note(&failures, status, why);
    }
    free(opening.files);
    return failures.status;
}

/*  Keeps the buffers of all files together, so that they are dropped at once. */
typedef struct {
    size_t count;
    tnd_buffer_t *buffers[];
} bundle_t;

static void drop_bundle(void *owner)
{
    bundle_t *bundle = owner;
    for (size_t i = 0; i < bundle->count; i++)
        tnd_buffer_drop(&bundle->buffers[i]);
    free(bundle);
}

static tnd_buffer_t *bind(const tnd_strand_t *strand)
{
    if (strand->count == 1)
        return tnd_buffer_hold(strand->stored[0].buffer);
    bundle_t *bundle =
        tnd_allocate_zeroed(1, sizeof *bundle + strand->count * sizeof bundle->buffers[0]);
    tnd_buffer_kind_t kind = tnd_buffer_kind(strand->stored[0].buffer);
    bundle->count = strand->count;
    for (size_t i = 0; i < strand->count; i++) {
        bundle->buffers[i] = tnd_buffer_hold(strand->stored[i].buffer);
        if (tnd_buffer_kind(bundle->buffers[i]) == TND_BUFFER_MAPPED)
            kind = TND_BUFFER_MAPPED;
    }
    return tnd_buffer_wrap(kind, (void *)(uintptr_t)strand->base, 0, drop_bundle, bundle);
}

/*  Rows of one file of a strand. */
static uint64_t rows_of(const tnd_strand_t *strand, size_t file)
{
    return strand->splits != NULL ? strand->splits[file].rows - 1 : strand->stored[file].rows;
}

/*  2^64 / the rows of each file, rounded up, if all have the same number (the last may have fewer).
 *  What is rounded makes the product with a row too large by less than one row of a file as long as
 *  the rows of a file times all rows are less than 2^64. */
static uint64_t invert(const tnd_strand_t *strand)
{
    uint64_t even = strand->file_rows[0], product;
    for (size_t i = 1; i < strand->count; i++)
        if (i + 1 < strand->count ? strand->file_rows[i] != even : strand->file_rows[i] > even)
            return 0;
    if (even < 2 || __builtin_mul_overflow(even, strand->rows, &product))
        return 0;
    return UINT64_MAX / even + 1;
}

/*  Computes which rows each file has, once all are open. */
static void count_rows(tnd_strand_t *strand)
{
    if (strand->empty == NULL)
        strand->named = strand->count;
    strand->first =
        tnd_allocate_zeroed(1, (3 * strand->count + strand->named) * sizeof *strand->first);
    strand->start = strand->first + strand->count;
    strand->file_rows = strand->start + strand->count;
    strand->named_rows = strand->file_rows + strand->count;
    strand->there = tnd_allocate_zeroed(strand->count, sizeof *strand->there);
    strand->list = -1;
    for (size_t i = 0; i < strand->count; i++) {
        uint64_t rows = rows_of(strand, i);
        strand->first[i] = strand->rows;
        strand->file_rows[i] = rows;
        strand->rows += rows;
    }
    strand->inverse = invert(strand);
    for (size_t i = 0, kept = 0; i < strand->named; i++)
        if (strand->empty == NULL || !strand->empty[i])
            strand->named_rows[i] = strand->file_rows[kept++];
}

/*  Records of at most so many bytes that are read in another order than they are stored are copied
 *  when they are checked, also from mapped files.  The threads after the reader then find them side by
 *  side in a cache, where each record would have to be fetched from a page of its own again. */
enum { SHORT_RECORD = 1024 };

static bool are_short(const tnd_strand_t *strand, tnd_access_pattern_t pattern)
{
    return strand->format != NULL && pattern != TND_PATTERN_FORWARD &&
           tnd_strand_row_max(strand) <= SHORT_RECORD;
}

/*  Computes where the rows of each file are, once it is decided which files are mapped. */
static void lay_out(tnd_strand_t *strand, tnd_access_pattern_t pattern)
{
    strand->copies = are_short(strand, pattern);
    for (size_t i = 0; i < strand->count; i++)
        strand->copies = strand->copies || strand->stored[i].buffer == NULL;
    if (strand->copies)
        return;
    for (size_t i = 0; i < strand->count; i++) {
        const tnd_stored_t *stored = &strand->stored[i];
        const uint8_t *rows = (const uint8_t *)tnd_buffer_data(stored->buffer) + stored->offset;
        assert(stored->offset + stored->rows * strand->record <= tnd_buffer_size(stored->buffer));
        if (strand->base == NULL || (uintptr_t)rows < (uintptr_t)strand->base)
            strand->base = rows;
    }
    for (size_t i = 0; i < strand->count; i++)
        strand->start[i] = (uintptr_t)tnd_buffer_data(strand->stored[i].buffer) +
                           strand->stored[i].offset - (uintptr_t)strand->base;
    strand->all = bind(strand);
    tnd_columns_prepare_check(strand);
}

/*  The first failure in the order of the list. */
static tnd_status_t first_of(const opening_t *opening, tnd_error_t *error)
{
    for (size_t i = 0; i < opening->count; i++)
        if (opening->files[i].status != TND_OK)
            return tnd_fail(error, "%s", opening->files[i].error.text);
    return TND_OK;
}

/*  Opens the file of splits of each file of values. */
static tnd_status_t open_splits(tnd_strand_t *strand, const tnd_ragged_files_t *written,
                                tnd_stored_open_fn *open, const tnd_source_scope_t *scope,
                                tnd_error_t *error)
{
    tnd_files_t *files = &strand->splits_files;
    TND_TRY(tnd_files_find(files, strand->what, &written->splits, error));
    if (files->searched)
        strand->found = tnd_files_hash(files, strand->found);
    if (scope->lanes > 1)
        TND_TRY(tnd_files_share(files, strand->what, scope->lane, scope->lanes, error));
    if (files->count != strand->count)
        return tnd_fail(error, "%s: %zu files of values, but %zu of splits: each needs its own",
                        strand->what, strand->count, files->count);
    opening_t opening = {.open = open, .scope = scope};
    open_all_files(&opening, files);
    strand->splits = opening.stored;
    strand->splits_count = opening.count;
    tnd_status_t opened = first_of(&opening, error);
    free(opening.files);
    TND_TRY(opened);
    for (size_t i = 0; i < files->count; i++) {
        uint64_t longest;
        tnd_error_t why;
        tnd_status_t status =
            tnd_splits_check(&strand->splits[i], &strand->stored[i], &longest, &why);
        TND_TRY(tnd_content_intact(&strand->splits[i].content, error));
        if (status != TND_OK)
            return tnd_fail(error, "%s", why.text);
        strand->longest = longest > strand->longest ? longest : strand->longest;
    }
    if (written->max != 0)
        strand->longest = written->max;
    strand->longest = strand->longest > 0 ? strand->longest : 1;
    return TND_OK;
}

tnd_status_t tnd_columns_add_strand(tnd_columns_t *self, const tnd_strand_source_t *from,
                                    const tnd_source_scope_t *scope, tnd_error_t *error)
{
    tnd_schema_t kind;
    if (self->strand_count == TND_COLUMNS_MAX)
        return tnd_fail(error, "%s: a source has at most %d columns", from->what, TND_COLUMNS_MAX);
    uint32_t number = self->strand_count++;
    tnd_strand_t *strand = &self->strands[number];
    snprintf(self->whats[number], sizeof self->whats[number], "%s", from->what);
    strand->what = self->whats[number];
    strand->format = from->format;
    TND_TRY(tnd_files_find(&strand->files, strand->what, from->written, error));
    if (from->format != NULL && strand->files.searched)
        tnd_columns_leave_out_indexes(&strand->files);
    if (strand->files.searched)
        strand->found = tnd_files_hash(&strand->files, 0);
    if (scope->lanes > 1)
        TND_TRY(tnd_files_share(&strand->files, strand->what, scope->lane, scope->lanes, error));
    if (from->format != NULL)
        tnd_columns_leave_out_empty(strand);
    TND_TRY(open_files(strand, from->record, from->open, from->context, scope, error));
    strand->record = from->record;
    if (from->record == 0) {
        TND_TRY(kind_of(&strand->stored[0], &kind, error));
        strand->record = tnd_schema_row_bytes(&kind);
    }
    if (from->ragged != NULL)
        TND_TRY(open_splits(strand, from->ragged, from->open, scope, error));
    if (from->format != NULL)
        TND_TRY(tnd_columns_open_indexes(self, strand, from, scope, error));
    count_rows(strand);
    return TND_OK;
}

tnd_status_t tnd_columns_strand(tnd_columns_t *self, const char *what, const tnd_strings_t *written,
                                size_t record, tnd_stored_open_fn *open, const void *context,
                                const tnd_source_scope_t *scope, tnd_error_t *error)
{
    const tnd_strand_source_t from = {
        .what = what, .written = written, .record = record, .open = open, .context = context};
    return tnd_columns_add_strand(self, &from, scope, error);
}

void tnd_columns_array(tnd_columns_t *self, const char *what, tnd_stored_t *stored)
{
    assert(self->strand_count < TND_COLUMNS_MAX && stored->buffer != NULL);
    uint32_t number = self->strand_count++;
    tnd_strand_t *strand = &self->strands[number];
    snprintf(self->whats[number], sizeof self->whats[number], "%s", what);
    strand->what = self->whats[number];
    strand->stored = tnd_allocate_zeroed(1, sizeof *strand->stored);
    strand->stored[0] = *stored;
    strand->count = 1;
    strand->record = tnd_dtype_size(stored->dtype);
    for (uint32_t i = 0; i < stored->rank; i++)
        strand->record *= stored->shape[i];
    count_rows(strand);
}

tnd_status_t tnd_columns_add(tnd_columns_t *self, const char *name, tnd_dtype_t dtype,
                             uint32_t rank, const uint64_t *shape, size_t at, tnd_error_t *error)
{
    tnd_error_t why;
    uint32_t column = self->schema.count, strand = self->strand_count - 1;
    assert(self->strand_count > 0);
    if (tnd_schema_add(&self->schema, name, dtype, rank, shape, &why) != TND_OK)
        return tnd_fail(error, "%s: %s", self->strands[strand].stored[0].path, why.text);
    self->strand_of[column] = strand;
    self->at[column] = at;
    assert(at + tnd_column_bytes(&self->schema.columns[column]) <= self->strands[strand].record);
    return TND_OK;
}

/*  The first file that begins with another row than that of the other strand. */
static size_t first_difference(const tnd_strand_t *one, const tnd_strand_t *other)
{
    size_t count = one->count < other->count ? one->count : other->count, i = 0;
    while (i < count && rows_of(one, i) == rows_of(other, i))
        i++;
    return i;
}

static tnd_status_t check_rows(const tnd_strand_t *one, const tnd_strand_t *other, uint32_t lanes,
                               tnd_error_t *error)
{
    size_t at = first_difference(one, other);
    bool same_files = one->count == other->count;
    if (one->rows == other->rows && (lanes <= 1 || (same_files && at == one->count)))
        return TND_OK;
    if (same_files)
        return tnd_fail(error,
                        "%s has %llu rows, but %s has %llu: columns of one source need equal "
                        "counts%s; do these files belong together?",
                        other->stored[at].path, (unsigned long long)rows_of(other, at),
                        one->stored[at].path, (unsigned long long)rows_of(one, at),
                        lanes > 1 ? ", file by file with `shard: file`" : "");
    return tnd_fail(error,
                    "%s has %zu file%s with %llu rows, but %s has %zu with %llu: columns of one "
                    "source need equal counts%s",
                    other->what, other->count, other->count == 1 ? "" : "s",
                    (unsigned long long)other->rows, one->what, one->count,
                    (unsigned long long)one->rows,
                    lanes > 1 ? ", file by file with `shard: file`" : "");
}

/*  Mapped pages do not count as memory of the process. */
static size_t loaded_of(const tnd_buffer_t *buffer)
{
    bool ours = buffer != NULL && tnd_buffer_kind(buffer) != TND_BUFFER_MAPPED;
    return ours ? tnd_buffer_size(buffer) : 0;
}

/*  Lists the files of `stored`, and those that were spooled, not what they were spooled to. */
static void list_files(tnd_columns_t *self, const tnd_strand_t *strand, const tnd_stored_t *stored,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const tnd_source_file_t file = {.path = stored[i].path,
                                        .size = stored[i].size,
                                        .modified_ns = stored[i].modified_ns,
                                        .ends = stored[i].identity};
        bool spooled = stored == strand->stored && tnd_spool_has(strand, i);
        if (file.size > 0)
            self->files[self->file_count++] = spooled ? strand->spooled[i].file : file;
    }
}

static void list_all_files(tnd_columns_t *self)
{
    size_t most = 0;
    for (uint32_t s = 0; s < self->strand_count; s++)
        most += self->strands[s].count + self->strands[s].splits_count;
    self->files = tnd_allocate_zeroed(most, sizeof *self->files);
    for (uint32_t s = 0; s < self->strand_count; s++) {
        const tnd_strand_t *strand = &self->strands[s];
        list_files(self, strand, strand->stored, strand->count);
        if (strand->format == NULL)
            list_files(self, strand, strand->splits, strand->splits_count);
    }
}

tnd_status_t tnd_columns_seal(tnd_columns_t *self, const tnd_source_scope_t *scope,
                              tnd_source_facts_t *facts, tnd_error_t *error)
{
    assert(self->schema.count > 0);
    *facts = (tnd_source_facts_t){.schema = self->schema,
                                  .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS,
                                  .count = self->strands[0].rows};
    facts->identity = facts->count;
    TND_TRY(tnd_columns_settle(self, scope, facts, error));
    for (uint32_t s = 0; s < self->strand_count; s++) {
        tnd_strand_t *strand = &self->strands[s];
        if (!self->stream.used)
            lay_out(strand, scope->pattern);
        TND_TRY(check_rows(&self->strands[0], strand, scope->lanes, error));
        for (size_t i = 0; i < strand->count; i++)
            facts->identity = XXH3_64bits_withSeed(&strand->stored[i].identity, sizeof(uint64_t),
                                                   facts->identity);
        for (size_t i = 0; strand->format == NULL && i < strand->splits_count; i++)
            facts->identity = XXH3_64bits_withSeed(&strand->splits[i].identity, sizeof(uint64_t),
                                                   facts->identity);
        for (size_t i = 0; i < strand->count; i++)
            facts->loaded += loaded_of(strand->stored[i].buffer);
        if (strand->files.searched || strand->splits_files.searched)
            facts->found = XXH3_64bits_withSeed(&strand->found, sizeof(uint64_t), facts->found);
        if (strand->copies)
            facts->copied += tnd_strand_row_max(strand);
        if (self->stream.used)
            continue;
        bool is_only = self->strand_count == 1;
        if (strand->splits != NULL || (!strand->copies && strand->count > 1 && !is_only))
            strand->list = (int)facts->lists;
        facts->lists += strand->splits != NULL ? 2 : strand->list >= 0;
    }
    facts->file_rows = self->strands[0].named_rows;
    facts->file_rows_count = (uint32_t)self->strands[0].named;
    list_all_files(self);
    facts->notes = (const char *const *)self->notes.items;
    facts->note_count = self->notes.count;
    facts->files = self->files;
    facts->file_count = self->file_count;
    facts->caps |= self->file_count > 0 ? TND_SOURCE_FILES : 0;
    if (self->stream.used) {
        facts->caps = TND_SOURCE_REWINDS | TND_SOURCE_FILES | TND_SOURCE_SEEKS;
        facts->loaded += tnd_columns_stream_bytes(&self->strands[0]);
        self->ahead = 0;
    }
    return TND_OK;
}

/*  Adds the last strand as a ragged column: the shape of a row is its length, then the
 *  shape of a value. */
tnd_status_t tnd_columns_add_ragged(tnd_columns_t *self, const char *name, tnd_error_t *error)
{
    uint64_t shape[TND_RANK_MAX + 1];
    tnd_error_t why;
    const tnd_strand_t *strand = &self->strands[self->strand_count - 1];
    const tnd_stored_t *stored = &strand->stored[0];
    shape[0] = strand->longest;
    memcpy(shape + 1, stored->shape, stored->rank * sizeof shape[0]);
    self->strand_of[self->schema.count] = self->strand_count - 1;
    self->at[self->schema.count] = 0;
    if (tnd_schema_add_ragged(&self->schema, name, stored->dtype, stored->rank + 1, shape, &why) ==
        TND_OK)
        return TND_OK;
    return tnd_fail(error, "%s: %s", stored->path, why.text);
}

static tnd_status_t open_ragged(tnd_columns_t *self, const char *name, const char *what,
                                const tnd_ragged_files_t *files, tnd_stored_open_fn *open,
                                const tnd_source_scope_t *scope, tnd_error_t *error)
{
    const tnd_strand_source_t from = {
        .what = what, .written = &files->values, .open = open, .ragged = files};
    TND_TRY(tnd_columns_add_strand(self, &from, scope, error));
    return tnd_columns_add_ragged(self, name, error);
}

static tnd_status_t open_column(tnd_columns_t *self, const tnd_pair_t *pair,
                                tnd_stored_open_fn *open, const tnd_source_scope_t *scope,
                                tnd_error_t *error)
{
    char what[TND_COLUMN_NAME_MAX + 16];
    snprintf(what, sizeof what, "column `%.*s`", TND_COLUMN_NAME_MAX, pair->name);
    if (pair->options != NULL)
        return open_ragged(self, pair->name, what, pair->options, open, scope, error);
    TND_TRY(tnd_columns_strand(self, what, &pair->texts, 0, open, NULL, scope, error));
    const tnd_strand_t *strand = &self->strands[self->strand_count - 1];
    const tnd_stored_t *stored = &strand->stored[0];
    return tnd_columns_add(self, pair->name, stored->dtype, stored->rank, stored->shape, 0, error);
}

static tnd_status_t open_all(tnd_columns_t *self, const tnd_pairs_t *columns,
                             tnd_stored_open_fn *open, const tnd_source_scope_t *scope,
                             tnd_source_facts_t *facts, tnd_error_t *error)
{
    if (columns->count == 0)
        return tnd_fail(error, "the source names no file; write `COLUMN: PATH` for each column");
    tnd_error_t why;
    tnd_failures_t failures = {.scope = scope, .error = error};
    for (size_t i = 0; i < columns->count; i++) {
        tnd_status_t status = open_column(self, &columns->items[i], open, scope, &why);
        tnd_failures_note(&failures, status, &why);
    }
    if (failures.status != TND_OK)
        return failures.status;
    return tnd_columns_seal(self, scope, facts, error);
}

tnd_status_t tnd_columns_open(tnd_columns_t *self, const tnd_pairs_t *columns,
                              tnd_stored_open_fn *open, const tnd_source_scope_t *scope,
                              tnd_source_facts_t *facts, tnd_error_t *error)
{
    tnd_status_t status = open_all(self, columns, open, scope, facts, error);
    if (status != TND_OK)
        tnd_columns_close(self);
    return status;
}

/* --- files of records ------------------------------------------------------------------------- */

/*  How the files of a format are opened. */
typedef struct {
    tnd_compression_t compression;
    const tnd_record_format_t *format;
} records_t;

/*  A file of records is a file of bytes. */
static tnd_status_t open_bytes(tnd_stored_t *stored, const void *context, tnd_error_t *error)
{
    const records_t *records = context;
    stored->dtype = TND_U8;
    stored->rows = stored->content.size;
    return tnd_columns_compression(stored, records->compression, records->format, error);
}

static tnd_status_t add_records(tnd_columns_t *self, const tnd_record_options_t *chosen,
                                const tnd_record_format_t *format, const tnd_source_scope_t *scope,
                                tnd_error_t *error)
{
    const records_t records = {.compression = (tnd_compression_t)chosen->compression,
                               .format = format};
    const tnd_strand_source_t from = {.what = format->finder.name,
                                      .written = &chosen->files,
                                      .record = 1,
                                      .open = open_bytes,
                                      .context = &records,
                                      .format = format,
                                      .place = (tnd_index_place_t)chosen->index,
                                      .index_limit = chosen->index_limit,
                                      .max = chosen->max,
                                      .spool = chosen->spool};
    TND_TRY(tnd_columns_add_strand(self, &from, scope, error));
    for (size_t i = 0; i < self->strands[0].count; i++)
        if (self->strands[0].stored[i].compression != TND_COMPRESSION_NONE)
            self->stream.used = true;
    return tnd_columns_add_ragged(self, chosen->column, error);
}

/*  What the files will be when they are spooled. */
static void expect_spool(const tnd_columns_t *self, tnd_source_facts_t *facts)
{
    facts->caps |= TND_SOURCE_RANDOM;
    facts->lists += 2;
    facts->copied = tnd_strand_row_max(&self->strands[0]);
}

tnd_status_t tnd_columns_open_records(tnd_columns_t *self, const tnd_record_options_t *chosen,
                                      const tnd_record_format_t *format,
                                      const tnd_source_scope_t *scope, tnd_source_facts_t *facts,
                                      tnd_error_t *error)
{
    tnd_status_t status = add_records(self, chosen, format, scope, error);
    if (status == TND_OK)
        status = tnd_columns_seal(self, scope, facts, error);
    if (status == TND_OK && scope->unread && self->stream.used && chosen->spool != NULL)
        expect_spool(self, facts);
    if (status != TND_OK)
        tnd_columns_close(self);
    return status;
}
