/*  actors/source/columns_read.c - reads rows of columns without a copy, or copies them. */
#include <stdlib.h>
#include <string.h>

#include "actors/source/columns_internal.h"
#include "actors/source/columns_spool.h"
#include "actors/stored/splits.h"

enum { LINE_BYTES = 64 };

/*  Ragged rows that are located, brought in and checked together, so that each of these loops is
 *  short and the memory is kept busy. */
enum { ROWS_AT_ONCE = TND_SPLITS_AT_ONCE };

/*  Rows anywhere in memory are loaded in two steps.  First one line of each is requested, in a loop so
 *  short that the processor looks up the pages of many rows at a time, which takes longer than the
 *  bytes.  Then the first bytes of a row are requested while so many rows before it are checked; what
 *  follows them, the processor loads by itself. */
enum { PREFETCH_ROWS = 3, PREFETCH_BYTES = 512 };

/*  Whether the rows are contiguous: they need no index list.  TND_FAILED: a row does not exist. */
static tnd_status_t look_at_index(const tnd_columns_t *self, const uint64_t *index, uint32_t count,
                                  bool *run_p, tnd_error_t *error)
{
    uint64_t rows = self->strands[0].rows;
    bool run = true;
    for (uint32_t i = 0; i < count; i++) {
        if (index[i] >= rows)
            return tnd_fail(error, "%s: row %llu was requested, but there are only %llu",
                            self->strands[0].stored[0].path, (unsigned long long)index[i],
                            (unsigned long long)rows);
        run &= index[i] == index[0] + i;
    }
    *run_p = run;
    return TND_OK;
}

/*  Rows [row, row + count) of a file, to be brought in so that no other thread has to. */
static tnd_mapping_part_t part_of(const tnd_strand_t *strand, size_t file, uint64_t row,
                                  uint64_t count)
{
    const tnd_stored_t *stored = &strand->stored[file];
    return (tnd_mapping_part_t){.mapping = stored->content.mapping,
                                .offset = stored->offset + row * strand->record,
                                .size = count * strand->record};
}

/*  Copies rows [row, row + count) of a file. */
static tnd_status_t copy_rows(const tnd_strand_t *strand, size_t file, uint64_t row, uint32_t count,
                              uint8_t *to, tnd_error_t *error)
{
    const tnd_stored_t *stored = &strand->stored[file];
    size_t offset = stored->offset + row * strand->record, bytes = count * strand->record;
    if (stored->buffer == NULL)
        return tnd_content_read(&stored->content, offset, bytes, to, error);
    const tnd_mapping_part_t part = part_of(strand, file, row, count);
    TND_TRY(tnd_mapping_bring(&part, 1, error));
    memcpy(to, (const uint8_t *)tnd_buffer_data(stored->buffer) + offset, bytes);
    return tnd_mapped_check((const uint8_t *)tnd_buffer_data(stored->buffer) + offset, bytes,
                            error);
}

/*  How many of the rows from index[0] on follow each other, `left` at most. */
static uint32_t run_of(const uint64_t *index, uint32_t count, uint64_t left)
{
    uint32_t some = 1;
    while (some < count && some < left && index[some] == index[0] + some)
        some++;
    return some;
}

/*  Copies the rows to `to`, contiguous ones together. */
static tnd_status_t copy_all(const tnd_strand_t *strand, const uint64_t *index, uint32_t count,
                             uint8_t *to, tnd_error_t *error)
{
    for (uint32_t i = 0, some; i < count; i += some) {
        size_t file = tnd_strand_file(strand, index[i]);
        uint64_t row = index[i] - strand->first[file], left = strand->stored[file].rows - row;
        some = run_of(index + i, count - i, left);
        TND_TRY(copy_rows(strand, file, row, some, to + i * strand->record, error));
    }
    return TND_OK;
}

/*  How the rows of a strand are accessed. */
typedef struct {
    const uint8_t *base;
    size_t stride;
    const uint64_t *index, *lengths;
    tnd_buffer_t *buffer; /* borrowed */
    tnd_buffer_t *own;    /* made for these rows; held; NULL: none */
    const tnd_row_check_t *check;
} shown_t;

static bool is_mapping_there(const tnd_stored_t *stored, uint32_t tick)
{
    return stored->content.mapping == NULL || tnd_mapping_is_there(stored->content.mapping, tick);
}

static bool look_whether_there(const tnd_strand_t *strand, size_t file, uint32_t tick)
{
    bool there = is_mapping_there(&strand->stored[file], tick) &&
                 (strand->splits == NULL || is_mapping_there(&strand->splits[file], tick));
    if (there)
        atomic_store_explicit(&strand->there[file], tick, memory_order_relaxed);
    return there;
}

/*  Whether no row of a file has to be brought in, which a list of numbers tells of many files. */
static inline bool is_there(const tnd_strand_t *strand, size_t file, uint32_t tick)
{
    return atomic_load_explicit(&strand->there[file], memory_order_relaxed) == tick ||
           look_whether_there(strand, file, tick);
}

/*  Writes the offset of each of at most ROWS_AT_ONCE rows in bytes from the base, and brings them
 *  in.  `offsets` may be `index`. */
static tnd_status_t write_offsets(const tnd_strand_t *strand, const uint64_t *index, uint32_t count,
                                  uint64_t *offsets, tnd_error_t *error)
{
    tnd_mapping_part_t parts[ROWS_AT_ONCE];
    const tnd_strand_t own = *strand; /* stays in registers when offsets are written */
    uint32_t used = 0, tick = tnd_mapping_tick();
    for (uint32_t i = 0; i < count; i++) {
        size_t file = tnd_strand_file(&own, index[i]);
        uint64_t row = index[i] - own.first[file];
        bool there = atomic_load_explicit(&own.there[file], memory_order_relaxed) == tick;
        if (!there && !look_whether_there(strand, file, tick))
            parts[used++] = part_of(strand, file, row, 1);
        offsets[i] = own.start[file] + row * own.record;
    }
    return used > 0 ? tnd_mapping_bring(parts, used, error) : TND_OK;
}

static tnd_status_t write_all_offsets(const tnd_strand_t *strand, const uint64_t *index,
                                      uint32_t count, uint64_t *offsets, tnd_error_t *error)
{
    for (uint32_t i = 0, some; i < count; i += some) {
        some = count - i < ROWS_AT_ONCE ? count - i : ROWS_AT_ONCE;
        TND_TRY(write_offsets(strand, index + i, some, offsets + i, error));
    }
    return TND_OK;
}

/*  Where a ragged row is: values [begin, end) of a file. */
typedef struct {
    size_t file;
    uint64_t begin, end;
} located_t;

/*  Locates rows of one file that follow each other. */
static tnd_status_t locate_run(const tnd_strand_t *strand, size_t file, uint64_t row,
                               uint32_t count, located_t *rows, tnd_error_t *error)
{
    uint64_t bounds[ROWS_AT_ONCE + 1];
    TND_TRY(
        tnd_splits_rows(&strand->splits[file], &strand->stored[file], row, count, bounds, error));
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (located_t){.file = file, .begin = bounds[i], .end = bounds[i + 1]};
    return TND_OK;
}

/*  Locates at most ROWS_AT_ONCE rows. */
static tnd_status_t locate(const tnd_strand_t *strand, const uint64_t *index, uint32_t count,
                           uint32_t tick, located_t *rows, tnd_error_t *error)
{
    tnd_splits_place_t places[ROWS_AT_ONCE];
    size_t file = tnd_strand_file(strand, index[0]);
    uint64_t row = index[0] - strand->first[file];
    if (run_of(index, count, strand->file_rows[file] - row) == count)
        return locate_run(strand, file, row, count, rows, error);
    for (uint32_t i = 0; i < count; i++) {
        rows[i].file = file = tnd_strand_file(strand, index[i]);
        places[i].splits = &strand->splits[file];
        places[i].values = &strand->stored[file];
        places[i].there = is_there(strand, file, tick);
        places[i].row = index[i] - strand->first[file];
        tnd_splits_prefetch(places[i].splits, places[i].row);
    }
    TND_TRY(tnd_splits_each(places, count, error));
    for (uint32_t i = 0; i < count; i++) {
        rows[i].begin = places[i].begin;
        rows[i].end = places[i].end;
    }
    return TND_OK;
}

/*  The first byte of a row in memory; NULL: its file is not mapped. */
static inline const uint8_t *mapped_at(const tnd_strand_t *strand, const located_t *row)
{
    const tnd_stored_t *stored = &strand->stored[row->file];
    if (stored->buffer == NULL)
        return NULL;
    return (const uint8_t *)tnd_buffer_data(stored->buffer) + stored->offset +
           row->begin * strand->record;
}

static inline void prefetch(const tnd_strand_t *strand, const located_t *row)
{
    const uint8_t *at = mapped_at(strand, row);
    uint64_t bytes = (row->end - row->begin) * strand->record;
    for (uint64_t i = 0; at != NULL && i < bytes && i < PREFETCH_BYTES; i += LINE_BYTES)
        __builtin_prefetch(at + i);
}

static void prefetch_pages(const tnd_strand_t *strand, const located_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *at = mapped_at(strand, &rows[i]);
        if (at != NULL)
            __builtin_prefetch(at);
    }
}

/*  Copies values [begin, end) of `file`, which were faulted in; of mapped ones it is not checked
 *  whether they were lost. */
static tnd_status_t copy_values(const tnd_strand_t *strand, size_t file, uint64_t begin,
                                uint64_t end, uint8_t *to, tnd_error_t *error)
{
    const tnd_stored_t *stored = &strand->stored[file];
    size_t offset = stored->offset + begin * strand->record;
    size_t bytes = (end - begin) * strand->record;
    if (stored->buffer == NULL)
        return tnd_content_read(&stored->content, offset, bytes, to, error);
    if (bytes == 0)
        return TND_OK;
    memcpy(to, (const uint8_t *)tnd_buffer_data(stored->buffer) + offset, bytes);
    return TND_OK;
}

/*  Fails if bytes of these rows were lost. */
static tnd_status_t check_intact(const tnd_strand_t *strand, const located_t *rows, uint32_t count,
                                 tnd_error_t *error)
{
    for (uint32_t i = tnd_mapped_any_lost() ? 0 : count; i < count; i++) {
        const uint8_t *at = mapped_at(strand, &rows[i]);
        if (at != NULL)
            TND_TRY(tnd_mapped_check(at, (rows[i].end - rows[i].begin) * strand->record, error));
    }
    return TND_OK;
}

/*  The content of the record of `size` bytes at `record`. */
static tnd_status_t content_of(const tnd_strand_t *strand, uint8_t *record, uint64_t size, bool own,
                               size_t *first_p, size_t *size_p, tnd_error_t *error)
{
    tnd_status_t status = strand->format->content(record, size, own, first_p, size_p, error);
    return own || tnd_mapped_check(record, size, error) == TND_OK ? status : TND_FAILED;
}

/*  Refuses a row that was bad when its file was spooled. */
static tnd_status_t check_spooled(const tnd_strand_t *strand, size_t file, uint64_t row,
                                  tnd_error_t *error)
{
    const tnd_lost_row_t *lost =
        tnd_spool_has(strand, file) ? tnd_spool_find(strand, file, row) : NULL;
    if (lost == NULL)
        return TND_OK;
    (void)tnd_fail(error, "%s", lost->why);
    return TND_REFUSED;
}

/*  Refuses rows that are not to be brought in. */
static tnd_status_t check_located(const tnd_strand_t *strand, const uint64_t *index,
                                  const located_t *rows, uint32_t count, tnd_error_t *error)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t length = rows[i].end - rows[i].begin;
        if (strand->spooled != NULL)
            TND_TRY(
                check_spooled(strand, rows[i].file, index[i] - strand->first[rows[i].file], error));
        if (length * strand->record > tnd_strand_row_max(strand))
            return tnd_columns_refuse_length(strand, length, error);
        if (tnd_spool_has(strand, rows[i].file))
            TND_TRY(tnd_spool_compare(strand, rows[i].file, rows[i].begin, rows[i].end, error));
    }
    return TND_OK;
}

/*  Whether a row begins in the file where the one before it ends. */
static bool continues(const located_t *row)
{
    return row->file == row[-1].file && row->begin == row[-1].end;
}

/*  Copies rows to `to`, contiguous ones together. */
static tnd_status_t copy_located(const tnd_strand_t *strand, const located_t *rows, uint32_t count,
                                 uint8_t *to, tnd_error_t *error)
{
    for (uint32_t i = 0, some; i < count; i += some) {
        for (some = 1; i + some < count && continues(&rows[i + some]);)
            some++;
        if (some == 1 && i + PREFETCH_ROWS < count)
            prefetch(strand, &rows[i + PREFETCH_ROWS]);
        uint64_t begin = rows[i].begin, end = rows[i + some - 1].end;
        TND_TRY(copy_values(strand, rows[i].file, begin, end, to, error));
        to += (end - begin) * strand->record;
    }
    return check_intact(strand, rows, count, error);
}

/*  Brings rows in, contiguous ones together, and copies them to `to` unless it is NULL. */
static tnd_status_t bring_all(const tnd_strand_t *strand, const located_t *rows, uint32_t count,
                              uint32_t tick, uint8_t *to, tnd_error_t *error)
{
    tnd_mapping_part_t parts[ROWS_AT_ONCE];
    uint32_t used = 0;
    bool added = false; /* the row before */
    for (uint32_t i = 0; i < count; i++) {
        uint64_t values = rows[i].end - rows[i].begin;
        bool there = is_there(strand, rows[i].file, tick);
        if (!there && added && continues(&rows[i]))
            parts[used - 1].size += values * strand->record;
        else if (!there)
            parts[used++] = part_of(strand, rows[i].file, rows[i].begin, values);
        added = !there;
    }
    if (used > 0)
        TND_TRY(tnd_mapping_bring(parts, used, error));
    return to != NULL ? copy_located(strand, rows, count, to, error) : TND_OK;
}

/*  Writes the offset, from `base`, and the length of each of at most ROWS_AT_ONCE rows, which were
 *  copied to `to` + *used_p, or are where they were located. */
static tnd_status_t write_rows(const tnd_strand_t *strand, const located_t *rows, uint32_t count,
                               uint8_t *to, uint64_t *offsets, uint64_t *lengths, size_t *used_p,
                               tnd_error_t *error)
{
    for (uint32_t i = 0; i < count; i++) {
        const located_t *row = &rows[i];
        const tnd_stored_t *stored = &strand->stored[row->file];
        uint64_t values = row->end - row->begin;
        size_t first = 0;
        if (to == NULL && strand->format != NULL && i + PREFETCH_ROWS < count)
            prefetch(strand, &rows[i + PREFETCH_ROWS]);
        lengths[i] = values;
        offsets[i] = to != NULL ? *used_p : strand->start[row->file] + row->begin * strand->record;
        *used_p += values * strand->record;
        if (strand->format != NULL && !tnd_spool_has(strand, row->file)) {
            uint8_t *record = to != NULL ? to + offsets[i]
                                         : (uint8_t *)tnd_buffer_data(stored->buffer) + row->begin;
            TND_TRY(content_of(strand, record, values, to != NULL, &first, &lengths[i], error));
        }
        if (lengths[i] > strand->longest)
            return tnd_columns_refuse_length(strand, lengths[i], error);
        offsets[i] += first;
    }
    return TND_OK;
}

/*  The same for records that are checked where they are used, and not touched here. */
static tnd_status_t write_unchecked(const tnd_strand_t *strand, const located_t *rows,
                                    uint32_t count, uint64_t *offsets, uint64_t *lengths,
                                    tnd_error_t *error)
{
    for (uint32_t i = 0; i < count; i++) {
        TND_TRY(tnd_columns_show_unchecked(strand, rows[i].file, rows[i].begin, rows[i].end,
                                           &offsets[i], &lengths[i], error));
        if (lengths[i] > strand->longest)
            return tnd_columns_refuse_length(strand, lengths[i], error);
    }
    return TND_OK;
}

/*  Writes the offset, from `base`, and the length of each row of a ragged column.  `to`: rows are
 *  copied there, *used_p bytes; NULL: they are faulted in, and checked unless `late`.  TND_AGAIN:
 *  they must be copied. */
static tnd_status_t show_rows(const tnd_strand_t *strand, const uint64_t *index, uint32_t count,
                              bool late, uint8_t *to, uint64_t *offsets, uint64_t *lengths,
                              size_t *used_p, tnd_error_t *error)
{
    located_t rows[ROWS_AT_ONCE];
    *used_p = 0;
    for (uint32_t i = 0, some; i < count; i += some) {
        const uint32_t tick = tnd_mapping_tick();
        some = count - i < ROWS_AT_ONCE ? count - i : ROWS_AT_ONCE;
        TND_TRY(locate(strand, index + i, some, tick, rows, error));
        TND_TRY(check_located(strand, index + i, rows, some, error));
        if (strand->format != NULL && !late)
            prefetch_pages(strand, rows, some);
        TND_TRY(bring_all(strand, rows, some, tick, to != NULL ? to + *used_p : NULL, error));
        TND_TRY(late ? write_unchecked(strand, rows, some, offsets + i, lengths + i, error)
                     : write_rows(strand, rows, some, to, offsets + i, lengths + i, used_p, error));
    }
    return TND_OK;
}

/*  Bytes that the rows of a ragged column take in their files. */
static tnd_status_t measure(const tnd_strand_t *strand, const uint64_t *index, uint32_t count,
                            size_t *bytes_p, tnd_error_t *error)
{
    *bytes_p = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t file = tnd_strand_file(strand, index[i]);
        uint64_t begin, end;
        TND_TRY(tnd_splits_row(&strand->splits[file], &strand->stored[file],
                               index[i] - strand->first[file], &begin, &end, error));
        *bytes_p += (end - begin) * strand->record;
    }
    return TND_OK;
}

/*  The rows of a ragged column.  They are copied where their file is not mapped, or has other
 *  bytes than a row should have. */
static tnd_status_t show_ragged(const tnd_strand_t *strand, const tnd_source_call_t *call,
                                uint8_t **room, shown_t *shown, tnd_error_t *error)
{
    uint64_t *index = tnd_buffer_data(call->indices);
    uint64_t *offsets = index + (size_t)(1 + strand->list) * call->count;
    uint64_t *lengths = offsets + call->count;
    size_t used;
    bool late = call->late && strand->check.row != NULL;
    *shown = (shown_t){.base = strand->copies ? *room : strand->base,
                       .check = late ? &strand->check : NULL,
                       .stride = 1,
                       .index = offsets,
                       .lengths = lengths,
                       .buffer = strand->copies ? call->room : strand->all};
    tnd_status_t status = show_rows(strand, index, call->count, late, strand->copies ? *room : NULL,
                                    offsets, lengths, &used, error);
    if (status == TND_OK && strand->copies)
        *room += (used + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    if (status != TND_AGAIN)
        return status;
    TND_TRY(measure(strand, index, call->count, &used, error));
    shown->buffer = shown->own = tnd_buffer_new(used + 1);
    shown->base = tnd_buffer_data(shown->own);
    return show_rows(strand, index, call->count, false, tnd_buffer_data(shown->own), offsets,
                     lengths, &used, error);
}

static tnd_status_t show(const tnd_strand_t *strand, const tnd_source_call_t *call, bool run,
                         uint8_t **room, shown_t *shown, tnd_error_t *error)
{
    uint64_t *index = tnd_buffer_data(call->indices);
    uint32_t count = call->count;
    if (strand->splits != NULL)
        return show_ragged(strand, call, room, shown, error);
    *shown = (shown_t){.base = strand->base, .stride = strand->record, .buffer = strand->all};
    if (strand->copies) {
        shown->base = *room;
        shown->buffer = call->room;
        size_t bytes = count * strand->record;
        *room += (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
        return copy_all(strand, index, count, (uint8_t *)(uintptr_t)shown->base, error);
    }
    size_t file = run ? tnd_strand_file(strand, index[0]) : 0;
    uint64_t row = run ? index[0] - strand->first[file] : 0;
    if (run && count <= strand->stored[file].rows - row) {
        const tnd_mapping_part_t part = part_of(strand, file, row, count);
        shown->base += strand->start[file] + row * strand->record;
        return tnd_mapping_bring(&part, 1, error);
    }
    if (strand->count > 1) {
        uint64_t *offsets = index + (size_t)(1 + strand->list) * count;
        shown->stride = 1;
        shown->index = offsets;
        return write_all_offsets(strand, index, count, offsets, error);
    }
    shown->index = index;
    const tnd_stored_t *stored = &strand->stored[0];
    if (stored->content.mapping == NULL)
        return TND_OK;
    return tnd_mapping_populate_rows(stored->content.mapping, stored->offset, strand->record, index,
                                     count, error);
}

void tnd_columns_where(const void *state, uint64_t index, tnd_source_place_t *place)
{
    const tnd_columns_t *self = state;
    const tnd_strand_t *strand = &self->strands[0];
    size_t file = tnd_strand_file(strand, index);
    const tnd_stored_t *stored = &strand->stored[file];
    uint64_t record = index - strand->first[file], at = record, end;
    tnd_error_t ignored;
    if (strand->splits != NULL &&
        tnd_splits_row(&strand->splits[file], stored, record, &at, &end, &ignored) != TND_OK)
        at = 0;
    *place = (tnd_source_place_t){
        .file = stored->path, .record = record, .offset = stored->offset + at * strand->record};
    const tnd_lost_row_t *lost =
        tnd_spool_has(strand, file) ? tnd_spool_find(strand, file, record) : NULL;
    if (lost == NULL)
        return;
    place->file = strand->spooled[file].file.path;
    place->offset = lost->offset;
}

static uint64_t count_files(const void *state)
{
    const tnd_columns_t *self = state;
    uint64_t count = 0;
    for (uint32_t s = 0; s < self->strand_count; s++)
        count += self->strands[s].count;
    return count;
}

/*  The strand of a file, and which of its files it is. */
static const tnd_strand_t *strand_of(const tnd_columns_t *self, uint64_t number, size_t *file_p)
{
    const tnd_strand_t *strand = self->strands;
    for (; number >= strand->count; strand++)
        number -= strand->count;
    *file_p = (size_t)number;
    return strand;
}

static void show_file(const void *state, uint64_t number, tnd_source_rows_t *rows)
{
    size_t file;
    const tnd_strand_t *strand = strand_of(state, number, &file);
    const char *path =
        tnd_spool_has(strand, file) ? strand->spooled[file].file.path : strand->stored[file].path;
    snprintf(rows->path, sizeof rows->path, "%s", path != NULL ? path : "");
    rows->rows = strand->file_rows[file];
}

static uint64_t find_row(const void *state, uint64_t number, uint64_t record)
{
    size_t file;
    const tnd_strand_t *strand = strand_of(state, number, &file);
    return strand->first[file] + record;
}

const tnd_source_locate_t tnd_columns_locate = {count_files, show_file, find_row};

/*  Adds the bytes of at most ROWS_AT_ONCE rows of a ragged column. */
static tnd_status_t add_sizes(const tnd_strand_t *strand, const uint64_t *index, uint32_t count,
                              uint64_t *sizes, tnd_error_t *error)
{
    located_t rows[ROWS_AT_ONCE];
    TND_TRY(locate(strand, index, count, tnd_mapping_tick(), rows, error));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = (rows[i].end - rows[i].begin) * strand->record;
        bool framed = strand->format != NULL && !tnd_spool_has(strand, rows[i].file);
        size_t around = framed ? strand->format->around : 0;
        uint64_t most = strand->record * strand->longest;
        if (size >= around && size <= tnd_strand_row_max(strand))
            sizes[i] += size - around < most ? size - around : most;
    }
    return TND_OK;
}

tnd_status_t tnd_columns_sizes(const void *state, const uint64_t *index, uint32_t count,
                               uint64_t *sizes, tnd_error_t *error)
{
    const tnd_columns_t *self = state;
    bool run;
    TND_TRY(look_at_index(self, index, count, &run, error));
    memset(sizes, 0, count * sizeof *sizes);
    for (uint32_t s = 0; s < self->strand_count; s++) {
        const tnd_strand_t *strand = &self->strands[s];
        for (uint32_t i = 0, some; i < count && strand->splits != NULL; i += some) {
            some = count - i < ROWS_AT_ONCE ? count - i : ROWS_AT_ONCE;
            TND_TRY(add_sizes(strand, index + i, some, sizes + i, error));
        }
    }
    return TND_OK;
}

tnd_status_t tnd_columns_read(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                              tnd_error_t *error)
{
    tnd_columns_t *self = state;
    shown_t shown[TND_COLUMNS_MAX];
    bool run = false, listed = false;
    if (call->count == 0)
        return TND_OK;
    TND_TRY(look_at_index(self, tnd_buffer_data(call->indices), call->count, &run, error));
    uint8_t *room = call->room != NULL ? tnd_buffer_data(call->room) : NULL;
    for (uint32_t s = 0; s < self->strand_count; s++) {
        tnd_columns_note(self, &self->strands[s], *(uint64_t *)tnd_buffer_data(call->indices));
        tnd_status_t status = show(&self->strands[s], call, run, &room, &shown[s], error);
        if (status != TND_OK) {
            for (uint32_t i = 0; i <= s; i++)
                tnd_buffer_drop(&shown[i].own);
            return status;
        }
        listed = listed || shown[s].index != NULL;
    }
    if (listed)
        tnd_buffer_seal(call->indices);
    if (call->room != NULL)
        tnd_buffer_seal(call->room);
    for (uint32_t s = 0; s < self->strand_count; s++)
        if (shown[s].own != NULL)
            tnd_buffer_seal(shown[s].own);
    for (uint32_t i = 0; i < self->schema.count; i++) {
        const shown_t *from = &shown[self->strand_of[i]];
        block->columns[i] = (tnd_block_column_t){.base = from->base + self->at[i],
                                                 .stride = from->stride,
                                                 .index = from->index,
                                                 .lengths = from->lengths,
                                                 .check = from->check,
                                                 .buffer = tnd_buffer_hold(from->buffer)};
    }
    for (uint32_t s = 0; s < self->strand_count; s++)
        tnd_buffer_drop(&shown[s].own);
    if (listed)
        block->index = tnd_buffer_hold(call->indices);
    return TND_OK;
}

void tnd_columns_close(void *state)
{
    tnd_columns_t *self = state;
    tnd_loader_destroy(&self->loader);
    tnd_columns_stream_close(&self->stream);
    for (uint32_t s = 0; s < self->strand_count; s++) {
        tnd_strand_t *strand = &self->strands[s];
        for (size_t i = 0; i < strand->count; i++)
            tnd_stored_close(&strand->stored[i]);
        for (size_t i = 0; i < strand->splits_count; i++)
            strand->format != NULL ? tnd_record_index_close(&strand->splits[i])
                                   : tnd_stored_close(&strand->splits[i]);
        tnd_buffer_drop(&strand->all);
        tnd_spool_free(strand);
        free(strand->stored);
        free(strand->splits);
        tnd_files_free(&strand->splits_files);
        free(strand->first);
        free(strand->there);
        free(strand->empty);
        tnd_files_free(&strand->files);
    }
    free(self->files);
    for (size_t i = 0; i < self->notes.count; i++)
        free(self->notes.items[i]);
    free(self->notes.items);
    *self = (tnd_columns_t){0};
}
