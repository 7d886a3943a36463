/*  actors/adapt/partition.c - divides the rows of a reader by the values of a column. */
#include "actors/adapt/partition.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/adapt/adapted_file.h"
#include "actors/adapt/column_values.h"
#include "actors/adapt/learning.h"
#include "actors/reader/order_options.h"
#include "actors/reader/part_words.h"
#include "runtime/base/allocation.h"

/*  The lines of values that `explain` shows. */
enum { SHOWN = 20 };

typedef struct {
    tnd_chain_rows_t chain; /* the operations up to that which makes the column, for all rows */
    tnd_stream_t stream;
    tnd_order_part_written_t part;
    const char *column, *way;
    tnd_place_map_t map;
    uint64_t rows;
    tnd_column_values_t values;
    uint32_t index; /* of the column, where the pass stops */
} partition_t;

static tnd_status_t fail(const partition_t *self, tnd_error_t *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static tnd_status_t fail(const partition_t *self, tnd_error_t *error, const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return tnd_fail_about(error, self->part.value, "`%s: %s`: %s", self->way, self->column, text);
}

static tnd_status_t check_rows(const partition_t *self, tnd_error_t *error)
{
    if (self->stream.by_file)
        return fail(
            self, error,
            "the rows of all lanes are divided together, and here each lane has files of its "
            "own; write `shard: index`");
    if (self->rows > TND_ROW_PARTS_MAX)
        return fail(self, error,
                    "the source has %" PRIu64 " rows, and at most %" PRIu64
                    " are divided by a column",
                    self->rows, TND_ROW_PARTS_MAX);
    return TND_OK;
}

static tnd_status_t fail_unknown(const partition_t *self, const tnd_schema_t *made,
                                 tnd_error_t *error)
{
    char read[160], last[160];
    return fail(self, error, "unknown column; the source has %s%s%s",
                tnd_schema_text(&self->stream.read.schema, read, sizeof read),
                self->chain.count > 0 ? ", and the operations make of it " : "",
                self->chain.count > 0 ? tnd_schema_text(made, last, sizeof last) : "");
}

static tnd_status_t check_column(const partition_t *self, const tnd_schema_t *schema,
                                 tnd_error_t *error)
{
    char text[200];
    tnd_schema_t one = {.count = 1, .columns = {schema->columns[self->index]}};
    if (tnd_column_values_fits(&one.columns[0]))
        return TND_OK;
    return fail(self, error,
                "rows are divided by a text or one integer of each, and this column is %s",
                tnd_schema_text(&one, text, sizeof text));
}

/*  Leaves the operations that make the column.  *found_p: they are good. */
static tnd_status_t find_column(partition_t *self, bool *found_p, tnd_error_t *error)
{
    tnd_chain_t *chain;
    tnd_error_t ignored; /* is reported where the stream is derived */
    *found_p = tnd_chain_rows_open(&self->chain, self->chain.count, &chain, &ignored) == TND_OK;
    if (!*found_p)
        return TND_OK;
    size_t made = tnd_chain_makes(chain, self->column);
    tnd_status_t status = TND_OK;
    if (made > self->chain.count)
        status = fail_unknown(self, tnd_chain_schema(chain), error);
    tnd_chain_close(&chain);
    self->chain.count = made;
    if (status != TND_OK || tnd_chain_rows_open(&self->chain, made, &chain, error) != TND_OK)
        return TND_FAILED;
    self->chain.any = tnd_chain_unknown(chain) < made;
    self->index = (uint32_t)tnd_schema_find(tnd_chain_schema(chain), self->column);
    status = check_column(self, tnd_chain_schema(chain), error);
    if (status == TND_OK && tnd_chain_rows_max(chain) > 1)
        status = fail(self, error, "operations before this column make several rows of one");
    tnd_chain_close(&chain);
    return status;
}

/*  The values of a block. */
static tnd_status_t take_values(void *context, tnd_chain_pass_t *pass,
                                const tnd_chain_strand_t *strand, size_t stop, tnd_error_t *error)
{
    partition_t *self = context;
    const tnd_block_t *block = strand->out[stop];
    const tnd_block_note_t *note = &block->note;
    tnd_error_t why;
    for (uint32_t row = 0; row < note->rows; row++) {
        uint64_t position = note->first + (note->origin != NULL ? note->origin[row] : row);
        char where[320];
        if (tnd_column_values_add(&self->values, position, block, self->index, row, &why) == TND_OK)
            continue;
        tnd_training_rows_place(pass->rows, position, where, sizeof where);
        return fail(self, error, "%s: %.120s", where, why.text);
    }
    return TND_OK;
}

/*  A value, for people. */
static const char *name_of(const partition_t *self, uint32_t value, char text[80])
{
    snprintf(text, 80, "%.*s", (int)self->values.name_sizes[value], self->values.names[value]);
    return text;
}

/*  A class of one row has no row for other parts. */
static tnd_status_t check_classes(const partition_t *self, tnd_training_rows_t *rows,
                                  tnd_error_t *error)
{
    char where[200], name[80];
    for (uint32_t v = 0; v < self->values.count; v++) {
        uint64_t row = 0;
        if (self->values.values[v].rows > 1)
            continue;
        while (self->values.of_row[row] != v)
            row++;
        tnd_training_rows_place(rows, row, where, sizeof where);
        return fail(self, error,
                    "`%s` has one row, %s, which cannot be divided; leave it out of the data, or "
                    "divide without `stratified`",
                    name_of(self, v, name), where);
    }
    return TND_OK;
}

static tnd_status_t check_parts(const partition_t *self, const uint64_t *counts, tnd_error_t *error)
{
    if (self->values.count == 1 && self->values.names == NULL)
        return fail(self, error, "all rows have the same value, and would be of the same part");
    for (uint32_t p = 0; p < self->map.part.parts; p++)
        if (counts[p] == 0)
            return fail(self, error,
                        "%" PRIu32 " different values leave no row for part %" PRIu32
                        "; give that part a larger share, or divide without `%s`",
                        self->values.count, p, self->way);
    return TND_OK;
}

/*  Writes the words of the values; values.of_row becomes the part of each row. */
static void divide(partition_t *self, FILE *out)
{
    tnd_column_values_t *values = &self->values;
    uint32_t count = values->count, parts = self->map.part.parts;
    fprintf(out, "%s %" PRIu64 " %" PRIu32 " %" PRIu32 " ", self->way, self->rows, parts, count);
    if (values->names == NULL) {
        uint32_t *made = tnd_allocate(count + 1, sizeof *made), counts[TND_PLACES_PARTS_MAX] = {0};
        tnd_division_value_t *drawn = tnd_allocate(count + 1, sizeof *drawn);
        tnd_division_whole(&self->map, values->values, count, values->of_row, self->rows, drawn,
                           made);
        for (uint32_t v = 0; v < count; v++)
            counts[made[v]]++;
        for (uint32_t p = 0; p < parts; p++)
            fprintf(out, "%" PRIu32 " ", counts[p]);
        free(drawn);
        free(made);
        return;
    }
    uint64_t *made = tnd_allocate((size_t)count * parts + 1, sizeof *made);
    tnd_division_each(&self->map, values->values, count, values->of_row, self->rows, made);
    for (uint32_t v = 0; v < count; v++) {
        tnd_part_words_name(values->names[v], values->name_sizes[v], out);
        for (uint32_t p = 0; p < parts; p++)
            fprintf(out, " %" PRIu64, made[(size_t)v * parts + p]);
        putc(' ', out);
    }
    free(made);
}

/*  The words of all rows, which the caller frees. */
static char *write_words(partition_t *self)
{
    char *words, *list;
    size_t size;
    FILE *out = tnd_memory_stream(&words, &size);
    divide(self, out);
    list = tnd_allocate(tnd_row_parts_bytes(self->rows, self->map.part.parts), 1);
    tnd_row_parts_write(self->values.of_row, self->rows, self->map.part.parts, list);
    fputs(list, out);
    free(list);
    fclose(out);
    return words;
}

/*  Reads the column of all rows and divides them; *words_p: the caller frees it. */
static tnd_status_t compute(partition_t *self, tnd_chain_pass_t *pass, char **words_p,
                            tnd_error_t *error)
{
    tnd_part_words_t made;
    tnd_guarded_call_t *call = self->chain.call;
    self->chain.work = tnd_guarded_call_opens(call, self->part.value, "its rows");
    tnd_guarded_work_doing(self->chain.work, "dividing", NULL);
    TND_TRY(tnd_chain_pass_run(&self->chain, pass, take_values, self, error));
    if (self->values.names != NULL)
        TND_TRY(check_classes(self, pass->rows, error));
    *words_p = write_words(self);
    if (!tnd_part_words_read(&made, *words_p) || check_parts(self, made.counts, error) != TND_OK) {
        free(*words_p);
        *words_p = NULL;
        return TND_FAILED;
    }
    return TND_OK;
}

/*  The words, of an earlier pass or of one now; NULL: they are not known. */
static tnd_status_t find_words(partition_t *self, tnd_chain_pass_t *pass, char **words_p,
                               tnd_error_t *error)
{
    const tnd_plan_t *plan = self->chain.plan;
    uint32_t host = self->chain.reader->host;
    uint64_t key = tnd_part_words_key(self->part.options), rows;
    tnd_part_words_t stored;
    *words_p = NULL;
    TND_TRY(tnd_chain_pass_hash(&self->chain, pass, &rows, error));
    if (tnd_chain_rows_stored(&self->chain, tnd_shared_source_at(self->chain.shared, 0)))
        *words_p = tnd_adapted_file_read(plan, host, key, rows);
    if (*words_p != NULL &&
        (!tnd_part_words_read(&stored, *words_p) || stored.rows.rows != self->rows)) {
        free(*words_p);
        *words_p = NULL;
    }
    if (*words_p != NULL || plan->unread)
        return TND_OK;
    TND_TRY(compute(self, pass, words_p, error));
    /* A run that evaluates writes nothing beside its checkpoint. */
    if (plan->checkpoint == NULL || !plan->checkpoint->evaluate)
        tnd_adapted_file_write(plan, host, key, rows, *words_p);
    return TND_OK;
}

static tnd_status_t run_pass(partition_t *self, tnd_stream_t *stream, tnd_error_t *error)
{
    tnd_chain_pass_t pass;
    char *words = NULL;
    tnd_column_values_init(&self->values, self->rows, self->part.options->by == NULL);
    tnd_status_t status = tnd_chain_pass_begin(&pass, &self->chain,
                                               tnd_shared_source_at(self->chain.shared, 0), error);
    pass.column = self->column;
    pass.stops = (tnd_chain_stops_t){.count = 1, .at = {self->chain.count}};
    if (status == TND_OK)
        status = find_words(self, &pass, &words, error);
    if (status == TND_OK && words != NULL)
        tnd_adapted_add(&stream->adapted, self->map.part.list, 0, words);
    free(words);
    tnd_chain_pass_end(&pass);
    tnd_column_values_free(&self->values);
    return status;
}

static tnd_status_t divide_rows(partition_t *self, tnd_stream_t *stream, tnd_error_t *error)
{
    bool found;
    TND_TRY(check_rows(self, error));
    TND_TRY(find_column(self, &found, error));
    if (!found)
        return TND_OK;
    /* Operations that learn make of equal values equal values, whatever they have learned. */
    TND_TRY(tnd_learning_run(&self->chain, error));
    if (self->chain.any && self->stream.adapted == NULL)
        return TND_OK; /* nothing may be read */
    return run_pass(self, stream, error);
}

bool tnd_partition_divides(const tnd_instance_t *reader)
{
    tnd_order_part_written_t part = tnd_order_part_written(reader);
    return part.options != NULL && tnd_part_words_key(part.options) != 0;
}

/*  While they are made: a number of each row, of a value at most one more and 32 bytes of slots and values,
 *  and three copies of the text. */
size_t tnd_partition_bytes(const tnd_instance_t *reader, const tnd_stream_t *stream)
{
    tnd_order_part_written_t part = tnd_order_part_written(reader);
    uint64_t rows = stream->count == TND_UNKNOWN ? 0 : stream->count * part.unit;
    uint64_t values =
        part.options->by != NULL || rows < TND_PART_CLASSES_MAX ? rows : TND_PART_CLASSES_MAX;
    return rows * sizeof(uint32_t) + values * 60 +
           3 * tnd_row_parts_bytes(rows, (uint32_t)part.options->of.count);
}

tnd_status_t tnd_partition_run(tnd_chain_rows_t *self, tnd_error_t *error)
{
    partition_t own = {.chain = *self, .stream = *self->stream};
    own.part = tnd_order_part_written(self->reader);
    own.rows = own.stream.count;
    bool known = own.rows != TND_UNKNOWN || own.stream.by_file;
    if (!tnd_partition_divides(self->reader) || !known || own.rows == 0)
        return TND_OK; /* that it is not known is reported where the stream is derived */
    own.column = own.part.options->by != NULL ? own.part.options->by : own.part.options->stratified;
    own.way = own.part.options->by != NULL ? "by" : "stratified";
    own.map = tnd_order_part_map(own.part.options, self->reader->actor);
    own.rows *= own.part.unit;
    own.chain.stream = &own.stream;
    own.chain.whole = true;
    own.stream.adapted = NULL;
    tnd_status_t status = divide_rows(&own, self->stream, error);
    tnd_adapted_free(&own.stream.adapted);
    if (status != TND_OK)
        self->culprit = own.chain.culprit;
    return status;
}

void tnd_partition_show(const tnd_plan_t *plan, const tnd_stream_t *stream, const char *indent,
                        FILE *out)
{
    const tnd_instance_t *reader = tnd_chain_rows_reader(plan, stream->chain);
    tnd_order_part_written_t part = tnd_order_part_written(reader);
    tnd_part_words_t words;
    if (!tnd_partition_divides(reader))
        return;
    const char *column = part.options->by != NULL ? part.options->by : part.options->stratified;
    tnd_place_map_t map = tnd_order_part_map(part.options, reader->actor);
    char parts[64];
    fprintf(out, "%s%s %s `%s`: ", indent, tnd_place_part_text(map.part.chosen, parts),
            part.options->by != NULL ? "by" : "stratified by", column);
    if (!tnd_part_words_find(&words, stream, map.part.list)) {
        fputs("the rows are divided when a run starts\n", out);
        return;
    }
    for (uint32_t p = 0; p < words.rows.parts; p++)
        fprintf(out, "%s%" PRIu64, p > 0 ? " / " : "", words.counts[p]);
    fputs(" rows\n", out);
    char *deeper = tnd_format_string("%s%s", indent, *indent != '\0' ? "  " : "");
    tnd_part_words_show(&words, deeper, SHOWN, out);
    free(deeper);
}
