/*  actors/source/sample/tar.c - WebDataset: samples of tar archives, as rows of bytes.
 *
 *  A sample is the files of one key, `key.jpg` and `key.cls`; each extension is a column. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/file/failures.h"
#include "actors/file/file_progress.h"
#include "actors/file/file_threads.h"
#include "actors/source/sample/tar_internal.h"
#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/base/parallel.h"

enum { PASSED_AT_ONCE = 1 << 14 };

/*  Descriptors that one archive needs at the same time: itself, and what it is decompressed to,
 *  with its hashes. */
enum { OPEN_FILES = 4 };

typedef struct {
    tnd_pairs_t columns;
} tar_columns_t;

typedef struct {
    tnd_strings_t files;
    const tar_columns_t *columns;
    uint64_t max;
    const tnd_spool_options_t *spool; /* NULL: compressed archives are read in order */
} tar_options_t;

static const tnd_option_t column_options[] = {
    {TND_OPTION_NAMED("*", tar_columns_t, columns, STRING, GRAPH), .fallback = "",
     .help = "a column: the extension of its files, after the first dot of the name, or several: "
             "`jpg;jpeg`"},
};

static const tnd_table_t columns_table = {.name = "columns",
                                          .help = "The columns of a sample, by extension.",
                                          TND_OPTIONS(column_options, tar_columns_t)};

static const tnd_option_t options[] = {
    {TND_OPTION(tar_options_t, files, PATHS, GRAPH), .example = "${data}/train-*.tar",
     .help = "the archives: a path, a pattern such as \"${data}/train-*.tar\", a range "
             "`part-[000-146].tar`, or a list of them; plain, or compressed with gzip or zstd, "
             "which are read in order unless they are spooled"},
    {TND_OPTION_NAMED("columns", tar_options_t, columns, TABLE, GRAPH), .fallback = "",
     .table = &columns_table,
     .help = "the columns and their extensions: {image: \"jpg;jpeg\", label: cls}; by default one "
             "column for each extension of the first sample"},
    {TND_OPTION(tar_options_t, max, U64, GRAPH), .fallback = "longest", .choices = "longest=0",
     .range = "1..1099511627776",
     .help = "the greatest size of a file of a sample, for which memory is kept; larger ones are "
             "bad; without it, compressed archives are read once before the start"},
    {TND_OPTION(tar_options_t, spool, TABLE, PLACE), .fallback = "", .table = &tnd_spool_table,
     .help =
         "decompresses archives once, to a folder, so that their samples are read in any order: "
         "{dir: DIR, limit: 100GiB}"},
};

const tnd_source_spec_t tnd_source_tar_spec = {
    .table = {.name = "tar",
              .help =
                  "Reads samples of tar archives, as WebDataset: the files of one key are a row, "
                  "their extensions the columns.",
              TND_OPTIONS(options, tar_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
};

/*  ------------------------------------------------------------------------------ the samples */

static void add_row(tnd_tar_t *self, tnd_tar_file_t *file, const tnd_tar_sample_t *sample)
{
    uint32_t columns = self->columns.count;
    file->rows = tnd_grow(file->rows, file->count, &file->rows_room, sizeof *file->rows);
    file->places =
        tnd_grow(file->places, file->count, &file->places_room, columns * sizeof *file->places);
    tnd_tar_place_t *places = file->places + file->count * columns;
    memcpy(places, sample->places, columns * sizeof *places);
    char *why = NULL;
    for (uint32_t c = 0; c < columns && why == NULL; c++) {
        uint64_t end;
        bool over = __builtin_add_overflow(places[c].offset, places[c].size, &end);
        if (places[c].size != TND_TAR_MISSING && (over || end > file->content.size))
            why = tnd_format_string("the file of column `%s` ends after the archive's %zu bytes",
                                    self->columns.names[c], file->content.size);
    }
    if (why == NULL && sample->why != NULL)
        why = tnd_copy_string(sample->why);
    for (uint32_t c = 0; c < columns && why == NULL; c++)
        if (places[c].size > file->longest[c])
            file->longest[c] = places[c].size;
    file->rows[file->count++] = (tnd_tar_row_t){.at = sample->at, .why = why};
}

/*  A compressed file is read to know how long its members are. */
static void measure(tnd_tar_file_t *file, const tnd_tar_samples_t *samples,
                    const tnd_tar_sample_t *sample)
{
    file->count++;
    for (uint32_t c = 0; c < samples->columns->count && sample->why == NULL; c++)
        if (sample->places[c].size > file->longest[c])
            file->longest[c] = sample->places[c].size;
}

/*  Reads the bytes of a member: its header may say more than there are. */
static tnd_status_t pass_over(void *taker, tnd_tar_members_t *members, uint32_t column,
                              uint64_t size, tnd_error_t *error)
{
    uint8_t bytes[PASSED_AT_ONCE];
    (void)taker, (void)column;
    for (uint64_t left = size, some; left > 0; left -= some) {
        some = left < sizeof bytes ? left : sizeof bytes;
        TND_TRY(tnd_tar_members_read(members, bytes, some, error));
    }
    return TND_OK;
}

typedef struct {
    tnd_tar_t *tar;
    tnd_file_progress_t *progress;
} search_t;

/*  Whether the end of an archive that is cut was noticed by its last sample. */
static bool is_noticed(const tnd_tar_file_t *file, const tnd_tar_samples_t *samples,
                       const tnd_tar_sample_t *sample)
{
    return samples->key == NULL && sample->at >= file->content.size && file->count > 0 &&
           file->rows[file->count - 1].why != NULL;
}

static void add_link(tnd_tar_t *self, tnd_tar_file_t *file, const tnd_tar_link_t *link)
{
    tnd_tar_row_t *row = &file->rows[link->sample];
    tnd_tar_place_t *place = &file->places[link->sample * self->columns.count + link->column];
    bool fits = link->found && link->offset <= file->content.size &&
                link->size <= file->content.size - link->offset;
    *place = (tnd_tar_place_t){.offset = fits ? link->offset : 0, .size = fits ? link->size : 0};
    if (place->size > file->longest[link->column])
        file->longest[link->column] = place->size;
    if (!fits && row->why == NULL)
        row->why = tnd_format_string("the file of column `%s` is a link to `%.80s`, which is not "
                                     "before it in the archive",
                                     self->columns.names[link->column], link->target);
}

static tnd_status_t add_links(tnd_tar_t *self, tnd_tar_file_t *file, tnd_tar_links_t *links,
                              tnd_error_t *error)
{
    if (links->count > 0)
        TND_TRY(tnd_tar_links_find(links, &file->content, error));
    for (size_t i = 0; i < links->count; i++)
        add_link(self, file, &links->items[i]);
    return TND_OK;
}

/*  The first place of a row from byte `at` on; NULL: there is none. */
static const tnd_tar_place_t *next_place(const tnd_tar_t *self, const tnd_tar_file_t *file,
                                         size_t row, size_t at)
{
    const tnd_tar_place_t *places = file->places + row * self->columns.count, *next = NULL;
    for (uint32_t c = 0; c < self->columns.count; c++) {
        const tnd_tar_place_t *place = &places[c];
        bool whole = place->size != TND_TAR_MISSING && place->size > 0 &&
                     place->offset <= file->content.size &&
                     place->size <= file->content.size - place->offset;
        if (whole && place->offset >= at && (next == NULL || place->offset < next->offset))
            next = place;
    }
    return next;
}

/*  Compares the hashes of what is not a file of a sample, such as headers: those files are compared when
 *  they are read. */
static tnd_status_t check_heads(const tnd_tar_t *self, const tnd_tar_file_t *file,
                                tnd_error_t *error)
{
    const tnd_tar_place_t *place;
    size_t at = 0;
    if (file->spooled.path == NULL)
        return TND_OK;
    for (size_t row = 0; row < file->count; row++)
        while ((place = next_place(self, file, row, at)) != NULL) {
            TND_TRY(tnd_tar_spooled_check(&file->spooled, &file->content, at, place->offset - at,
                                          error));
            at = place->offset + place->size;
        }
    return tnd_tar_spooled_check(&file->spooled, &file->content, at, file->content.size - at,
                                 error);
}

static tnd_status_t find_in_file(tnd_tar_t *self, tnd_tar_file_t *file, tnd_error_t *error)
{
    tnd_tar_samples_t samples;
    tnd_tar_sample_t sample;
    tnd_tar_links_t links = {0};
    tnd_status_t status;
    tnd_tar_samples_init(&samples, &self->columns, &file->content,
                         file->compressed ? NULL : &links);
    tnd_tar_take_fn *take = file->compressed ? pass_over : NULL;
    while ((status = tnd_tar_samples_next(&samples, &sample, take, NULL, error)) == TND_OK)
        if (file->compressed)
            measure(file, &samples, &sample);
        else if (!is_noticed(file, &samples, &sample))
            add_row(self, file, &sample);
    file->unmarked = status == TND_END && !tnd_tar_members_marked(samples.members);
    tnd_tar_samples_free(&samples);
    if (status == TND_END)
        status = add_links(self, file, &links, error);
    tnd_error_t damage;
    if (check_heads(self, file, &damage) != TND_OK)
        status = tnd_fail(error, "%s", damage.text);
    tnd_tar_links_free(&links);
    return status;
}

/*  Finds the samples of a file. */
static void find_samples(void *context, size_t index)
{
    const search_t *search = context;
    tnd_tar_t *self = search->tar;
    tnd_tar_file_t *file = &self->files[index];
    tnd_file_progress_begin(search->progress, index, "searching", &file->content);
    file->status = find_in_file(self, file, &file->error);
    tnd_error_t lost;
    if (tnd_content_intact(&file->content, &lost) != TND_OK) {
        file->status = TND_FAILED;
        file->error = lost;
    }
    tnd_content_forget(&file->content);
    tnd_file_progress_end(search->progress, index, &file->content, file->content.size);
}

static void search_all(tnd_tar_t *self, const tnd_source_scope_t *scope)
{
    tnd_file_progress_t progress;
    uint64_t bytes = 0;
    for (size_t i = 0; i < self->file_count; i++)
        bytes += self->files[i].content.size;
    tnd_file_progress_init(&progress, scope, self->file_count, bytes);
    search_t search = {self, &progress};
    tnd_parallel(self->file_count, find_samples, &search);
    tnd_file_progress_free(&progress);
}

static tnd_status_t find_all(tnd_tar_t *self, const tnd_source_scope_t *scope, tnd_error_t *error)
{
    tnd_failures_t failures = {.scope = scope, .error = error};
    if (self->random || self->max == 0)
        search_all(self, scope);
    for (size_t i = 0; i < self->file_count; i++)
        tnd_failures_note(&failures, self->files[i].status == TND_FAILED ? TND_FAILED : TND_OK,
                          &self->files[i].error);
    return failures.status;
}

/*  Adds a note of the archives that `is` holds for: the name of the first, and how many more. */
static void note_files(tnd_tar_t *self, bool (*is)(const tnd_tar_file_t *file), const char *what)
{
    size_t count = 0, first = 0;
    char more[48] = "";
    for (size_t i = self->file_count; i-- > 0;)
        if (is(&self->files[i])) {
            first = i;
            count++;
        }
    if (count > 1)
        snprintf(more, sizeof more, ", and so %s %zu more archive%s", count > 2 ? "do" : "does",
                 count - 1, count > 2 ? "s" : "");
    if (count > 0)
        self->notes[self->note_count++] =
            tnd_format_string("%s: %s%s", self->files[first].content.path, what, more);
}

static bool is_spooled_again(const tnd_tar_file_t *file)
{
    return file->spooled.again;
}

static bool is_unmarked(const tnd_tar_file_t *file)
{
    return file->unmarked;
}

/*  ------------------------------------------------------------------------------------- opening */

/*  Reads a compressed archive from the folder of `spool`. */
static tnd_status_t use_spool(tnd_tar_file_t *file, tnd_tar_spool_t *spool, tnd_error_t *error)
{
    int spooled;
    tnd_content_t *content = &file->content;
    tnd_status_t status =
        tnd_tar_spool(spool, content, file->identity, &file->spooled, &spooled, error);
    if (status != TND_OK)
        return status == TND_END ? TND_OK : status;
    file->archive = (tnd_source_file_t){
        .path = content->path, .size = content->size, .modified_ns = content->modified_ns};
    tnd_content_close(content);
    TND_TRY(tnd_content_adopt(content, file->spooled.path, spooled, spool->scope, error));
    file->compressed = false;
    return TND_OK;
}

/*  Archives that are opened by several threads, because each may wait for a server. */
typedef struct {
    tnd_tar_t *tar;
    const tnd_source_scope_t *scope;
    tnd_tar_spool_t spool;
    atomic_size_t opened;
} opening_t;

static tnd_status_t open_archive(tnd_tar_file_t *file, const char *path,
                                 const tnd_source_scope_t *scope, tnd_error_t *error)
{
    const uint8_t *data;
    TND_TRY(tnd_content_open(&file->content, path, scope, error));
    TND_TRY(tnd_content_view(&file->content, 0, 4, &data, error));
    file->compressed = tnd_tar_compression(data, file->content.size) != TND_COMPRESSION_NONE;
    return tnd_content_identity(&file->content, &file->identity, error);
}

static void open_one(void *context, size_t i)
{
    opening_t *self = context;
    tnd_tar_file_t *file = &self->tar->files[i];
    const char *path = self->tar->names.paths[i];
    tnd_source_doing(self->scope, "opening", path);
    file->status = open_archive(file, path, self->scope, &file->error);
    if (file->status == TND_OK && file->compressed && self->spool.options != NULL)
        file->status = use_spool(file, &self->spool, &file->error);
    if (file->status == TND_OK)
        tnd_content_rest(&file->content);
    size_t opened = atomic_fetch_add(&self->opened, 1) + 1;
    if (self->tar->file_count > 1)
        tnd_source_progress(self->scope, opened, self->tar->file_count, "files");
}

static tnd_status_t open_files(tnd_tar_t *self, const tnd_spool_options_t *spool,
                               const tnd_source_scope_t *scope, tnd_error_t *error)
{
    opening_t opening = {.tar = self, .scope = scope};
    tnd_failures_t failures = {.scope = scope, .error = error};
    self->file_count = self->names.count;
    self->files = tnd_allocate_zeroed(self->file_count, sizeof *self->files);
    self->random = true;
    tnd_tar_spool_init(&opening.spool, spool, scope);
    tnd_file_threads(self->file_count, OPEN_FILES, open_one, &opening);
    for (size_t i = 0; i < self->file_count; i++) {
        tnd_tar_file_t *file = &self->files[i];
        self->random = self->random && !file->compressed;
        tnd_failures_note(&failures, file->status, &file->error);
    }
    return failures.status;
}

/*  The columns are those of the first archive that has samples.  If all have no files, the source has
 *  no rows, and one column. */
static tnd_status_t find_columns(tnd_tar_t *self, tnd_error_t *error)
{
    static const tnd_tar_columns_t none = {1, {"file"}, {"file"}};
    bool failed = false;
    for (size_t i = 0; i < self->file_count; i++) {
        tnd_error_t why;
        tnd_status_t status = tnd_tar_columns_of(&self->columns, &self->files[i].content, &why);
        if (status == TND_OK)
            return TND_OK;
        if (status == TND_FAILED && !failed)
            *error = why;
        failed = failed || status == TND_FAILED;
    }
    self->columns = none;
    return failed ? TND_FAILED : TND_OK;
}

static tnd_status_t read_columns(tnd_tar_t *self, const tar_options_t *chosen, tnd_error_t *error)
{
    tnd_tar_columns_t *columns = &self->columns;
    if (chosen->columns == NULL || chosen->columns->columns.count == 0)
        return find_columns(self, error);
    const tnd_pairs_t *given = &chosen->columns->columns;
    if (given->count > TND_COLUMNS_MAX)
        return tnd_fail(error, "the source has %zu columns; at most %d are possible", given->count,
                        TND_COLUMNS_MAX);
    for (size_t i = 0; i < given->count; i++) {
        const tnd_pair_t *pair = &given->items[i];
        if (strlen(pair->name) >= TND_COLUMN_NAME_MAX ||
            strlen(pair->text) >= TND_COLUMN_NAME_MAX || pair->text[0] == '\0' ||
            pair->text[0] == '.')
            return tnd_fail_about(error, pair->value,
                                  "column `%.63s`: write its extension without the dot, such as "
                                  "jpg or `jpg;jpeg`",
                                  pair->name);
        strcpy(columns->names[columns->count], pair->name);
        strcpy(columns->extensions[columns->count], pair->text);
        tnd_tar_lower_case(columns->extensions[columns->count++]);
    }
    return TND_OK;
}

static tnd_status_t make_schema(tnd_tar_t *self, tnd_error_t *error)
{
    for (uint32_t c = 0; c < self->columns.count; c++) {
        uint64_t longest = self->max;
        for (size_t i = 0; i < self->file_count && self->max == 0; i++)
            if (self->files[i].longest[c] > longest)
                longest = self->files[i].longest[c];
        longest = longest > 0 ? longest : 1;
        TND_TRY(tnd_schema_add_ragged(&self->schema, self->columns.names[c], TND_U8, 1, &longest,
                                      error));
    }
    return TND_OK;
}

static void tar_close(void *state)
{
    tnd_tar_t *self = state;
    tnd_loader_destroy(&self->loader);
    if (self->reading)
        tnd_tar_samples_free(&self->samples);
    tnd_buffer_drop(&self->all);
    for (size_t i = 0; i < self->file_count; i++) {
        tnd_tar_file_t *file = &self->files[i];
        for (size_t row = 0; file->rows != NULL && row < file->count; row++)
            free(file->rows[row].why);
        free(file->rows);
        free(file->places);
        tnd_buffer_drop(&file->buffer);
        tnd_content_close(&file->content);
        tnd_tar_spooled_free(&file->spooled);
    }
    for (uint32_t c = 0; c < TND_COLUMNS_MAX; c++)
        free(self->bytes[c].data);
    for (size_t i = 0; i < self->note_count; i++)
        free(self->notes[i]);
    free(self->files);
    free(self->first);
    free(self->file_rows);
    free(self->listed);
    tnd_files_free(&self->names);
    *self = (tnd_tar_t){0};
}

static uint64_t count_rows(tnd_tar_t *self)
{
    uint64_t rows = 0;
    self->first = tnd_allocate(self->file_count + 1, sizeof *self->first);
    self->file_rows = tnd_allocate(self->file_count, sizeof *self->file_rows);
    for (size_t i = 0; i < self->file_count; i++) {
        self->first[i] = rows;
        self->file_rows[i] = self->files[i].count;
        rows += self->files[i].count;
    }
    self->first[self->file_count] = rows;
    return rows;
}

static void list_files(tnd_tar_t *self, tnd_source_facts_t *facts)
{
    self->listed = tnd_allocate_zeroed(self->file_count, sizeof *self->listed);
    for (size_t i = 0; i < self->file_count; i++) {
        const tnd_tar_file_t *file = &self->files[i];
        self->listed[i] = (tnd_source_file_t){.path = file->content.path,
                                              .size = file->content.size,
                                              .modified_ns = file->content.modified_ns,
                                              .ends = file->identity};
        if (file->spooled.path != NULL) {
            self->listed[i] = file->archive;
            self->listed[i].ends = file->identity;
        }
        facts->identity =
            XXH3_64bits_withSeed(&file->identity, sizeof file->identity, facts->identity);
        facts->loaded += file->rows_room * sizeof *file->rows +
                         file->places_room * self->columns.count * sizeof *file->places;
    }
    facts->files = self->listed;
    facts->file_count = self->file_count;
}

/*  What the archives will be when they are spooled. */
static void expect_spool(const tnd_tar_t *self, tnd_source_facts_t *facts)
{
    facts->caps |= TND_SOURCE_RANDOM;
    facts->lists = 2 * self->columns.count;
    facts->copied = tnd_schema_row_bytes(&self->schema);
}

static tnd_status_t open_all(tnd_tar_t *self, const tar_options_t *chosen,
                             const tnd_source_scope_t *scope, tnd_source_facts_t *facts,
                             tnd_error_t *error)
{
    self->max = chosen->max;
    TND_TRY(tnd_files_find(&self->names, "tar", &chosen->files, error));
    uint64_t found = self->names.searched ? tnd_files_hash(&self->names, 1) : 0;
    if (scope->lanes > 1)
        TND_TRY(tnd_files_share(&self->names, "tar", scope->lane, scope->lanes, error));
    TND_TRY(open_files(self, chosen->spool, scope, error));
    TND_TRY(read_columns(self, chosen, error));
    TND_TRY(find_all(self, scope, error));
    note_files(self, is_unmarked,
               "ends without an end-of-archive mark after its last file, so it may have been cut; "
               "compare its size with that of the original");
    note_files(
        self, is_spooled_again,
        "was decompressed to a file in the folder of `spool:`, whose hashes were missing or of "
        "another file, as of an earlier version; it was made again");
    TND_TRY(make_schema(self, error));
    uint64_t rows = count_rows(self);
    bool known = self->random || self->max == 0;
    *facts = (tnd_source_facts_t){.schema = self->schema,
                                  .caps = TND_SOURCE_REWINDS | TND_SOURCE_FILES,
                                  .count = known ? rows : TND_UNKNOWN,
                                  .notes = (const char *const *)self->notes,
                                  .note_count = self->note_count,
                                  .found = found};
    list_files(self, facts);
    if (!self->random) {
        for (size_t i = 0; i < self->file_count; i++)
            facts->read += self->files[i].content.size;
        if (scope->unread && chosen->spool != NULL)
            expect_spool(self, facts);
        return TND_OK;
    }
    facts->caps |= TND_SOURCE_RANDOM;
    facts->file_rows = self->file_rows;
    facts->file_rows_count = (uint32_t)self->file_count;
    facts->lists = 2 * self->columns.count;
    TND_TRY(tnd_tar_settle(self, scope, facts, error));
    facts->copied = self->all != NULL ? 0 : tnd_schema_row_bytes(&self->schema);
    return TND_OK;
}

static tnd_status_t tar_open(void *state, const void *given, const tnd_source_scope_t *scope,
                             tnd_source_facts_t *facts, tnd_error_t *error)
{
    tnd_status_t status = open_all(state, given, scope, facts, error);
    if (status != TND_OK)
        tar_close(state);
    return status;
}

const tnd_source_t tnd_source_tar = {
    .spec = &tnd_source_tar_spec,
    .state_bytes = sizeof(tnd_tar_t),
    .open = tar_open,
    .read = tnd_tar_read,
    .fill = tnd_tar_fill,
    .sizes = tnd_tar_sizes,
    .ahead_rows = tnd_tar_ahead_rows,
    .ahead = tnd_tar_ahead,
    .where = tnd_tar_where,
    .locate = &tnd_tar_locate,
    .close = tar_close,
};
