/*  actors/source/columns_records.c - opens files of records as a ragged column of bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "actors/file/file_progress.h"
#include "actors/file/file_threads.h"
#include "actors/source/columns_internal.h"
#include "actors/source/columns_spool.h"
#include "runtime/base/allocation.h"

void tnd_columns_leave_out_indexes(tnd_files_t *files)
{
    size_t kept = 0, others = 0;
    for (size_t i = 0; i < files->count; i++)
        others += !tnd_index_is_name(files->paths[i]);
    for (size_t i = 0; others > 0 && i < files->count; i++)
        if (tnd_index_is_name(files->paths[i]))
            free(files->paths[i]);
        else
            files->paths[kept++] = files->paths[i];
    files->count = others > 0 ? kept : files->count;
}

static bool is_empty(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && S_ISREG(is.st_mode) && is.st_size == 0;
}

void tnd_columns_leave_out_empty(tnd_strand_t *strand)
{
    tnd_files_t *files = &strand->files;
    size_t kept = 0;
    strand->named = files->count;
    strand->empty = tnd_allocate_zeroed(files->count, sizeof *strand->empty);
    for (size_t i = 0; i < files->count; i++) {
        strand->empty[i] = is_empty(files->paths[i]) && (kept > 0 || i + 1 < strand->named);
        if (strand->empty[i])
            free(files->paths[i]);
        else
            files->paths[kept++] = files->paths[i];
    }
    files->count = kept;
}

enum { NOTES_MOST = 8, BEGIN_BYTES = 64 };

/*  Descriptors that one file needs at the same time: itself; its index twice, or its four parts and
 *  one of them again. */
enum { INDEX_FILES = 3, SPOOL_FILES = 6 };

/*  The files that are indexed, and then those that are spooled, several at once. */
typedef struct {
    tnd_record_index_facts_t facts;
    bool strange; /* it does not begin as files of its format do */
    bool marked;  /* it begins with a byte order mark, which is kept */
    bool wide;    /* it begins with one of UTF-16 */
    uint64_t head;
    tnd_status_t status;
    tnd_error_t error;
} indexed_t;

typedef struct {
    tnd_strand_t *strand;
    tnd_index_place_t place;
    tnd_file_progress_t progress;
    indexed_t *files;
} indexing_t;

static void begin_file(indexing_t *self, size_t i, const char *doing)
{
    tnd_file_progress_begin(&self->progress, i, doing, &self->strand->stored[i].content);
}

static void end_file(indexing_t *self, size_t i)
{
    tnd_stored_t *stored = &self->strand->stored[i];
    tnd_file_progress_end(&self->progress, i, &stored->content, stored->size);
}

static bool is_spooled(const tnd_strand_t *strand, size_t i)
{
    return strand->spooled != NULL && strand->stored[i].compression != TND_COMPRESSION_NONE;
}

tnd_status_t tnd_columns_pass_mark(tnd_record_window_t *window, uint64_t *begin_p,
                                   tnd_error_t *error)
{
    const uint8_t *data;
    size_t have;
    TND_TRY(tnd_record_window(window, 0, TND_BYTE_ORDER_MARK, &data, &have, error));
    *begin_p = tnd_byte_order_mark(data, have);
    return TND_OK;
}

/*  Looks for a byte order mark of UTF-8 or UTF-16 in the content; what is damaged has none. */
static void look_for_mark(indexed_t *file, tnd_stored_t *stored, const tnd_record_format_t *format)
{
    tnd_record_window_t window;
    tnd_error_t ignored;
    const uint8_t *data;
    size_t have;
    tnd_record_window_init(&window, &stored->content, stored->compression);
    if (tnd_record_window(&window, 0, TND_BYTE_ORDER_MARK, &data, &have, &ignored) == TND_OK) {
        file->marked = format->keeps_mark && tnd_byte_order_mark(data, have) > 0;
        file->wide =
            have >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0);
    }
    tnd_record_window_free(&window);
}

static uint64_t head_of(const tnd_record_format_t *format, size_t i, tnd_stored_t *stored)
{
    tnd_record_window_t window;
    if (format->head_of == NULL)
        return 0;
    tnd_record_window_init(&window, &stored->content, stored->compression);
    uint64_t head = format->head_of(format->head_context, i, &window);
    tnd_record_window_free(&window);
    return head;
}

/*  A file of another format looks like damaged records. */
static void look_at_begin(indexing_t *self, size_t i)
{
    tnd_stored_t *stored = &self->strand->stored[i];
    const tnd_record_format_t *format = self->strand->format;
    size_t size = stored->content.size < BEGIN_BYTES ? stored->content.size : BEGIN_BYTES;
    const uint8_t *data;
    tnd_error_t ignored;
    self->files[i].strange =
        format->begins != NULL && size > 0 && stored->compression == TND_COMPRESSION_NONE &&
        tnd_content_view(&stored->content, 0, size, &data, &ignored) == TND_OK &&
        !format->begins(data, size);
    if (format->finder.line_ends)
        look_for_mark(&self->files[i], stored, format);
    self->files[i].head = head_of(format, i, stored);
}

/*  A file that is in the folder already needs no index. */
static void index_file(void *context, size_t i)
{
    indexing_t *self = context;
    tnd_strand_t *strand = self->strand;
    indexed_t *file = &self->files[i];
    bool there = false;
    tnd_error_t why;
    look_at_begin(self, i);
    if (is_spooled(strand, i) &&
        tnd_spool_open(strand, i, &there, &file->facts.longest, &why) == TND_OK && there) {
        file->facts.longest += strand->format->around;
        begin_file(self, i, "indexing");
        end_file(self, i);
        return;
    }
    begin_file(self, i, "indexing");
    file->status =
        tnd_record_index_open(&strand->splits[i], &strand->stored[i], &strand->format->finder,
                              self->place, &file->facts, &file->error);
    end_file(self, i);
    file->facts.again = file->facts.again || there;
    if (there)
        file->facts.why = why;
}

static void spool_file(void *context, size_t i)
{
    indexing_t *self = context;
    begin_file(self, i, "spooling");
    if (is_spooled(self->strand, i) && !tnd_spool_has(self->strand, i))
        self->files[i].status = tnd_spool_make(self->strand, i, &self->files[i].error);
    end_file(self, i);
}

static void add_note(tnd_notes_t *self, char *text)
{
    if (self->count < NOTES_MOST) {
        self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
        self->items[self->count++] = text;
    } else {
        free(text);
        self->more++;
    }
}

/*  Collects what the user should know though the files can be read. */
static void note_all(const indexing_t *self, const char *const *paths, tnd_notes_t *notes)
{
    for (size_t i = 0; i < self->strand->count; i++) {
        const tnd_record_index_facts_t *facts = &self->files[i].facts;
        if (facts->again)
            add_note(notes, tnd_format_string("%s: what was kept of the file did not fit it and "
                                              "was made again: %s",
                                              paths[i], facts->why.text));
        if (facts->in_memory)
            add_note(notes, tnd_format_string("%s: its index is kept in memory for this run: %s",
                                              paths[i], facts->why.text));
        if (self->files[i].strange)
            add_note(notes, tnd_format_string("%s: does not begin as a file of format `%s` does; "
                                              "`tundish inspect` shows what it is",
                                              paths[i], self->strand->format->finder.name));
        if (self->files[i].marked)
            add_note(notes, tnd_format_string("%s: begins with a byte order mark (bytes EF BB BF), "
                                              "which is kept in its first row, as in TensorFlow; "
                                              "`bom: remove` leaves it out",
                                              paths[i]));
        if (self->files[i].wide)
            add_note(notes, tnd_format_string("%s: begins as text of UTF-16 does, whose lines are "
                                              "not found: convert it with iconv -f UTF-16 -t UTF-8",
                                              paths[i]));
    }
    if (notes->more == 0)
        return;
    char *last = notes->items[NOTES_MOST - 1];
    notes->items[NOTES_MOST - 1] =
        tnd_format_string("%s; and %zu more such notes", last, notes->more);
    free(last);
}

/*  Whether a file is to be spooled. */
static bool spools_any(const tnd_strand_t *strand)
{
    size_t i = 0;
    while (i < strand->count && (!is_spooled(strand, i) || tnd_spool_has(strand, i)))
        i++;
    return i < strand->count;
}

static tnd_status_t open_all(indexing_t *self, const tnd_strand_source_t *from,
                             const tnd_source_scope_t *scope, tnd_error_t *error)
{
    tnd_strand_t *strand = self->strand;
    tnd_failures_t failures = {.scope = scope, .error = error};
    struct timespec began;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &began); /* as the access times of files */
    tnd_file_threads(strand->count, INDEX_FILES, index_file, self);
    if (from->index_limit > 0)
        tnd_index_trim(from->index_limit, began.tv_sec * INT64_C(1000000000) + began.tv_nsec);
    strand->longest = 1;
    for (size_t i = 0; i < strand->count; i++) {
        indexed_t *file = &self->files[i];
        bool kept = file->facts.in_memory && scope->stores_index;
        tnd_failures_note(&failures, kept ? TND_FAILED : file->status,
                          kept ? &file->facts.why : &file->error);
        uint64_t longest = file->facts.longest;
        if (longest > strand->longest + from->format->around)
            strand->longest = longest - from->format->around;
        if (strand->other_head == 0 && file->head != 0 && file->head != self->files[0].head)
            strand->other_head = i;
    }
    if (failures.status != TND_OK || strand->spooled == NULL)
        return failures.status;
    if (!scope->unread && spools_any(strand))
        TND_TRY(tnd_spool_make_folder(strand, error));
    TND_TRY(tnd_spool_check(strand, error));
    if (scope->unread)
        return TND_OK;
    tnd_file_progress_restart(&self->progress);
    tnd_file_threads(strand->count, SPOOL_FILES, spool_file, self);
    for (size_t i = 0; i < strand->count; i++)
        tnd_failures_note(&failures, self->files[i].status, &self->files[i].error);
    return failures.status;
}

tnd_status_t tnd_columns_open_indexes(tnd_columns_t *self, tnd_strand_t *strand,
                                      const tnd_strand_source_t *from,
                                      const tnd_source_scope_t *scope, tnd_error_t *error)
{
    indexing_t indexing = {.strand = strand, .place = from->place};
    uint64_t bytes = 0;
    indexing.files = tnd_allocate_zeroed(strand->count, sizeof *indexing.files);
    for (size_t i = 0; i < strand->count; i++)
        bytes += strand->stored[i].size;
    tnd_file_progress_init(&indexing.progress, scope, strand->count, bytes);
    strand->splits = tnd_allocate_zeroed(strand->count, sizeof *strand->splits);
    strand->splits_count = strand->count;
    if (from->spool != NULL)
        tnd_spool_init(strand, from->spool);
    tnd_status_t status = open_all(&indexing, from, scope, error);
    if (status == TND_OK)
        note_all(&indexing, (const char *const *)strand->files.paths, &self->notes);
    tnd_file_progress_free(&indexing.progress);
    free(indexing.files);
    if (from->max != 0)
        strand->longest = from->max;
    return status;
}
