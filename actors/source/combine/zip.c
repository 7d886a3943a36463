/*  actors/source/combine/zip.c - the columns of several sources side by side, row by row. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/source/combine/combination.h"
#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/option/registry.h"

enum { AT_ONCE = 128 };

typedef enum { LENGTH_SHORTEST, LENGTH_EQUAL } length_t;

typedef struct {
    tnd_part_list_t sources;
    int length; /* length_t */
} zip_options_t;

typedef struct {
    tnd_combination_t combination; /* first */
    bool equal;
} zip_t;

static const tnd_option_t options[] = {
    {TND_OPTION(zip_options_t, sources, PARTS, GRAPH), .parts = tnd_registry_source_table,
     .check = tnd_combination_check,
     .help = "the sources, whose columns have different names: `[{npy: {x: ...}}, {text: {...}}]`"},
    {TND_OPTION(zip_options_t, length, ENUM, GRAPH), .fallback = "shortest",
     .choices = "shortest|equal",
     .help = "the shortest source ends the rows, as in tf.data, or all must have as many rows"},
};

const tnd_source_spec_t tnd_source_zip_spec = {
    .table = {.name = "zip",
              .help = "Joins the columns of several sources, row by row, as `zip` of tf.data; "
                      "`zip: [SOURCE, SOURCE]`.",
              TND_OPTIONS(options, zip_options_t),
              .scalar = "sources"},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
};

/*  Reads the same rows of each source. */
static tnd_status_t read_all(const tnd_combination_t *self, const uint64_t *index, uint32_t count,
                             tnd_block_t *blocks, tnd_error_t *error)
{
    for (uint32_t s = 0; s < self->count; s++) {
        tnd_source_place_t place;
        tnd_error_t why;
        tnd_status_t status = tnd_subsource_read(&self->sources[s], index, count, &blocks[s], &why);
        if (status == TND_OK)
            continue;
        *error = why;
        if (status != TND_REFUSED || count > 1)
            return status;
        tnd_subsource_where(&self->sources[s], index[0], &place);
        (void)tnd_fail(error, "source %u, `%s`, record %" PRIu64 "%s%.100s: %.200s", s + 1,
                       self->sources[s].part->table->name, place.record,
                       place.file != NULL ? " of " : "", place.file != NULL ? place.file : "",
                       why.text);
        return status;
    }
    return TND_OK;
}

/*  What holds the lists of several blocks. */
typedef struct {
    uint32_t count;
    tnd_buffer_t *buffers[];
} lists_t;

static void drop_lists(void *owner)
{
    lists_t *lists = owner;
    for (uint32_t i = 0; i < lists->count; i++)
        tnd_buffer_drop(&lists->buffers[i]);
    free(lists);
}

static void join(const tnd_combination_t *self, tnd_block_t *blocks, tnd_block_t *block)
{
    uint32_t column = 0;
    lists_t *lists = tnd_allocate(1, sizeof *lists + self->count * sizeof lists->buffers[0]);
    lists->count = 0;
    for (uint32_t s = 0; s < self->count; s++) {
        for (uint32_t i = 0; i < blocks[s].column_count; i++) {
            block->columns[column++] = blocks[s].columns[i];
            blocks[s].columns[i].buffer = NULL;
        }
        if (blocks[s].index != NULL)
            lists->buffers[lists->count++] = blocks[s].index;
        blocks[s].index = NULL;
    }
    block->index = tnd_buffer_wrap(TND_BUFFER_HEAP, NULL, 0, drop_lists, lists);
}

static tnd_status_t zip_read(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                             tnd_error_t *error)
{
    const tnd_combination_t *self = state;
    const uint64_t *index = tnd_buffer_data(call->indices);
    if (call->count == 0)
        return TND_OK;
    for (uint32_t i = 0; i < call->count; i++)
        if (index[i] >= self->rows)
            return tnd_fail(error, "row %" PRIu64 " was requested, but there are only %" PRIu64,
                            index[i], self->rows);
    tnd_block_t *blocks = tnd_allocate_zeroed(self->count, sizeof *blocks);
    tnd_status_t status = read_all(self, index, call->count, blocks, error);
    if (status == TND_OK)
        join(self, blocks, block);
    for (uint32_t s = 0; s < self->count; s++)
        tnd_subsource_release(&blocks[s]);
    free(blocks);
    return status;
}

static tnd_status_t fail_unequal(const tnd_combination_t *self, uint32_t shorter, uint64_t rows,
                                 tnd_error_t *error)
{
    return tnd_fail_about(error, self->sources[shorter].part->value,
                          "`length: equal`, but source %u, `%s`, has only %" PRIu64
                          " rows, fewer than another; `length: shortest` uses as many as all have",
                          shorter + 1, self->sources[shorter].part->table->name, rows);
}

/*  One row of each source; TND_END if one has none, TND_REFUSED if one is bad. */
static tnd_status_t copy_next(zip_t *self, uint64_t index, tnd_rows_t *rows, size_t to,
                              tnd_error_t *error)
{
    tnd_combination_t *all = &self->combination;
    uint32_t column = 0, ended = all->count, others = 0;
    bool refused = false;
    tnd_error_t ignored;
    for (uint32_t s = 0; s < all->count && (ended == all->count || self->equal); s++) {
        const tnd_block_t *block;
        uint32_t row;
        tnd_status_t status =
            tnd_subsource_next(&all->sources[s], &block, &row, refused ? &ignored : error);
        if (status == TND_REFUSED) {
            refused = true;
            others++;
            column += all->sources[s].facts.schema.count;
            continue;
        }
        if (status != TND_OK && status != TND_END) {
            *error = refused ? ignored : *error;
            return status;
        }
        if (status == TND_END) {
            ended = s;
            continue;
        }
        others++;
        if (ended == all->count && !refused)
            tnd_subsource_copy(block, row, rows, column, to);
        column += block->column_count;
    }
    if (ended < all->count && self->equal && others > 0)
        return fail_unequal(all, ended, index, error);
    return ended < all->count ? TND_END : refused ? TND_REFUSED : TND_OK;
}

static tnd_status_t zip_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                             tnd_error_t *error)
{
    zip_t *self = state;
    for (uint32_t s = 0; s < self->combination.count && index[0] == 0; s++)
        tnd_subsource_rewind(&self->combination.sources[s]);
    for (size_t i = 0; i < rows->count; i++) {
        tnd_status_t status = copy_next(self, index[i], rows, i, error);
        if (status == TND_END || status == TND_REFUSED)
            rows->count = i;
        if (status != TND_OK)
            return status;
    }
    return TND_OK;
}

static tnd_status_t zip_sizes(const void *state, const uint64_t *index, uint32_t count,
                              uint64_t *bytes, tnd_error_t *error)
{
    const tnd_combination_t *self = state;
    uint64_t some[AT_ONCE];
    memset(bytes, 0, count * sizeof *bytes);
    for (uint32_t from = 0, most; from < count; from += most) {
        most = count - from < AT_ONCE ? count - from : AT_ONCE;
        for (uint32_t s = 0; s < self->count; s++) {
            TND_TRY(tnd_subsource_sizes(&self->sources[s], index + from, most, some, error));
            for (uint32_t i = 0; i < most; i++)
                bytes[from + i] += some[i];
        }
    }
    return TND_OK;
}

static void zip_ahead(void *state, const uint64_t *index, uint32_t count)
{
    const tnd_combination_t *self = state;
    for (uint32_t s = 0; s < self->count; s++) {
        const tnd_subsource_t *from = &self->sources[s];
        if (from->source->ahead != NULL && from->source->ahead_rows(from->state) > 0)
            from->source->ahead(from->state, index, count);
    }
}

/*  The source that refuses the row, or the first. */
static void zip_where(const void *state, uint64_t index, tnd_source_place_t *place)
{
    const tnd_combination_t *self = state;
    uint32_t bad = 0;
    for (uint32_t s = 0; s < self->count && self->random; s++) {
        tnd_error_t ignored;
        tnd_block_t *block = tnd_allocate_zeroed(1, sizeof *block);
        tnd_status_t status = tnd_subsource_read(&self->sources[s], &index, 1, block, &ignored);
        tnd_subsource_release(block);
        free(block);
        if (status == TND_REFUSED) {
            bad = s;
            break;
        }
    }
    tnd_subsource_where(&self->sources[bad], index, place);
}

static uint64_t zip_reverse(const tnd_combination_t *self, uint32_t source, uint64_t row)
{
    (void)source;
    return row < self->rows ? row : TND_UNKNOWN;
}

static tnd_status_t join_schemas(tnd_combination_t *self, tnd_error_t *error)
{
    for (uint32_t s = 0; s < self->count; s++) {
        const tnd_schema_t *schema = &self->sources[s].facts.schema;
        for (uint32_t i = 0; i < schema->count; i++) {
            const tnd_column_t *column = &schema->columns[i];
            tnd_error_t why;
            if (tnd_schema_add_like(&self->schema, column->name, column, &why) != TND_OK)
                return tnd_fail_about(error, self->sources[s].part->value,
                                      "source %u, `%s`: %.300s; give the columns of the sources "
                                      "different names",
                                      s + 1, self->sources[s].part->table->name, why.text);
        }
    }
    return TND_OK;
}

static tnd_status_t count_rows(zip_t *self, tnd_error_t *error)
{
    tnd_combination_t *all = &self->combination;
    uint64_t longest = 0;
    uint32_t shorter = 0;
    bool known = true;
    all->rows = TND_UNKNOWN;
    for (uint32_t s = 0; s < all->count; s++) {
        uint64_t rows = all->sources[s].facts.count;
        known = known && rows != TND_UNKNOWN;
        if (rows == TND_UNKNOWN)
            continue;
        shorter = rows < all->rows ? s : shorter;
        all->rows = rows < all->rows ? rows : all->rows;
        longest = rows > longest ? rows : longest;
    }
    if (self->equal && longest > 0 && all->rows != longest)
        return fail_unequal(all, shorter, all->rows, error);
    all->rows = known ? all->rows : TND_UNKNOWN;
    return TND_OK;
}

/*  The files of the first source, up to the last row. */
static void list_rows(tnd_combination_t *self, tnd_source_facts_t *facts)
{
    const tnd_source_facts_t *first = &self->sources[0].facts;
    uint64_t left = self->rows;
    if (first->file_rows_count == 0)
        return;
    self->file_rows = tnd_allocate(first->file_rows_count, sizeof *self->file_rows);
    for (uint32_t f = 0; f < first->file_rows_count && left > 0; f++) {
        uint64_t rows = first->file_rows[f] < left ? first->file_rows[f] : left;
        self->file_rows[facts->file_rows_count++] = rows;
        left -= rows;
    }
    facts->file_rows = self->file_rows;
}

/*  Each source copies and lists rows of its own. */
static void add_up(const tnd_combination_t *self, tnd_source_facts_t *facts)
{
    facts->lists = 0;
    facts->copied = self->random ? 0 : facts->copied;
    for (uint32_t s = 0; s < self->count; s++) {
        const tnd_source_facts_t *of = &self->sources[s].facts;
        facts->lists += 1 + of->lists;
        if (self->random)
            facts->copied += tnd_source_writes(self->sources[s].source, of)
                                 ? tnd_schema_row_bytes(&of->schema)
                                 : of->copied;
    }
}

static tnd_status_t zip_open(void *state, const void *given, const tnd_source_scope_t *scope,
                             tnd_source_facts_t *facts, tnd_error_t *error)
{
    zip_t *self = state;
    const zip_options_t *chosen = given;
    tnd_combination_t *all = &self->combination;
    self->equal = chosen->length == LENGTH_EQUAL;
    TND_TRY(tnd_combination_open(all, &chosen->sources, NULL, scope, error));
    all->reverse = zip_reverse;
    tnd_status_t status = join_schemas(all, error);
    if (status == TND_OK)
        status = count_rows(self, error);
    if (status != TND_OK) {
        tnd_combination_close(all);
        return status;
    }
    tnd_combination_facts(all, scope, facts);
    if (all->random)
        list_rows(all, facts);
    add_up(all, facts);
    return TND_OK;
}

const tnd_source_t tnd_source_zip = {
    .spec = &tnd_source_zip_spec,
    .state_bytes = sizeof(zip_t),
    .open = zip_open,
    .read = zip_read,
    .fill = zip_fill,
    .sizes = zip_sizes,
    .ahead_rows = tnd_combination_ahead_rows,
    .ahead = zip_ahead,
    .where = zip_where,
    .locate = &tnd_combination_locate,
    .hash = tnd_combination_hash,
    .close = tnd_combination_source_close,
};
