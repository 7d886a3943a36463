/*  actors/op/text/lookup.c - integers or texts as places in a table: lookup.
 *
 *  The table is a list (0 is its first entry), a map, or the rows of a .npy file; an entry is a number, or in a file an array.  It is read once, when the chain is opened. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/op/ops.h"
#include "actors/op/text/word_counts.h"
#include "actors/stored/npy_file.h"
#include "runtime/core/numeric/numeric.h"
#include "runtime/text/printable.h"
#include "runtime/text/quantity.h"

enum { TABLE_BYTES_MAX = 64 << 20 };

typedef struct {
    const char *column, *into;
    tnd_strings_t values, vocabulary;
    const tnd_value_t *map;
    const char *file, *to, *missing;
} lookup_options_t;

/*  A text of a map, and its entry. */
typedef struct {
    const char *text;
    size_t size;
    uint64_t entry;
} word_t;

typedef struct {
    uint32_t columns, column, into; /* into == columns: a new one */
    tnd_dtype_t from;
    char name[TND_COLUMN_NAME_MAX]; /* of the column, for errors */
    size_t elements; /* of a row that comes in; of a ragged one, of a step along its first axis */
    uint64_t count;  /* of entries */
    size_t entry_bytes;
    uint8_t *table;
    int64_t *keys;             /* of a map, ascending; NULL: entry i is of i */
    word_t *words;             /* instead, of a map from texts: in the order of compare_words */
    uint8_t *missing;          /* NULL: a row is bad */
    tnd_word_counts_t *counts; /* with `vocabulary: auto`: of the rows that train; else NULL */
} lookup_t;

static const tnd_option_t options[] = {
    {TND_OPTION(lookup_options_t, column, COLUMN, GRAPH),
     .help = "the integers that are looked up, ragged or not, or texts: a ragged column of u8"},
    {TND_OPTION(lookup_options_t, into, COLUMN, GRAPH), .fallback = "",
     .help = "a new column for what is found; without it that replaces the integers"},
    {TND_OPTION(lookup_options_t, values, STRINGS, GRAPH), .fallback = "",
     .help = "what 0, 1, 2 ... become, [0.5, 1, 2]"},
    {TND_OPTION(lookup_options_t, map, MAP, GRAPH), .fallback = "",
     .help = "or what some integers or texts become, {3: 0, 5: 1}, {cat: 0, dog: 1}"},
    {TND_OPTION(lookup_options_t, file, PATH, GRAPH), .example = "${data}/table.npy",
     .fallback = "", .help = "or a .npy file whose rows 0, 1, 2 ... become"},
    {TND_OPTION(lookup_options_t, vocabulary, STRINGS, GRAPH), .fallback = "",
     .help =
         "or texts that become 1, 2, 3 ..., where others become 0, as of StringLookup in Keras; "
         "`auto`: those of the rows that train, the most frequent first"},
    {TND_OPTION(lookup_options_t, to, STRING, GRAPH), .unit = "type", .example = "f32",
     .fallback = "",
     .help =
         "the type of what is found: f32 if nothing is said, of a file its own, of a vocabulary "
         "i64"},
    {TND_OPTION(lookup_options_t, missing, STRING, GRAPH), .unit = "number", .fallback = "",
     .help = "what others become; without it their row is bad, and with a vocabulary it is 0"},
};

const tnd_op_spec_t tnd_op_lookup_spec = {
    .table = {.name = "lookup",
              .help = "Looks integers or texts up in a table, as tf.lookup.StaticHashTable does in "
                      "TensorFlow: weights of classes, other labels, vectors.",
              TND_OPTIONS(options, lookup_options_t)},
    .caps = TND_OP_FAILS,
};

static tnd_status_t take_table(lookup_t *self, uint64_t count, size_t entry_bytes,
                               tnd_error_t *error)
{
    if (count == 0)
        return tnd_fail(error, "the table has no entries");
    if (count > TABLE_BYTES_MAX / entry_bytes)
        return tnd_fail(error,
                        "the table has %" PRIu64 " entries of %zu bytes; at most %d MiB are "
                        "possible",
                        count, entry_bytes, TABLE_BYTES_MAX >> 20);
    self->count = count;
    self->entry_bytes = entry_bytes;
    self->table = malloc(count * entry_bytes);
    if (self->table == NULL)
        return tnd_fail(error, "cannot allocate a table of %" PRIu64 " entries", count);
    return TND_OK;
}

static tnd_status_t read_entry(lookup_t *self, const char *option, uint64_t entry, const char *text,
                               const tnd_column_t *made, tnd_error_t *error)
{
    uint64_t bits;
    TND_TRY(tnd_op_number(option, text, made, &bits, error));
    memcpy(self->table + entry * self->entry_bytes, &bits, self->entry_bytes);
    return TND_OK;
}

static tnd_status_t read_values(lookup_t *self, const tnd_strings_t *values,
                                const tnd_column_t *made, tnd_error_t *error)
{
    TND_TRY(take_table(self, values->count, tnd_dtype_size(made->dtype), error));
    for (size_t i = 0; i < values->count; i++)
        TND_TRY(read_entry(self, "values", i, values->items[i], made, error));
    return TND_OK;
}

typedef struct {
    int64_t key;
    const char *text;
} mapped_t;

static int compare_keys(const void *a, const void *b)
{
    int64_t one = ((const mapped_t *)a)->key, other = ((const mapped_t *)b)->key;
    return one < other ? -1 : one > other;
}

static tnd_status_t fill_map(lookup_t *self, const tnd_value_t *map, mapped_t *mapped,
                             const tnd_column_t *made, tnd_error_t *error)
{
    for (size_t i = 0; i < map->count; i++) {
        const tnd_value_entry_t *entry = &map->entries[i];
        if (tnd_quantity_i64(entry->key, &mapped[i].key) != TND_QUANTITY_OK)
            return tnd_fail(error, "`%s` in `map` is not an integer", entry->key);
        if (entry->value->type != TND_VALUE_SCALAR)
            return tnd_fail(error, "`map` has %s for %s; it is one number",
                            tnd_value_type_name(entry->value->type), entry->key);
        mapped[i].text = entry->value->text;
    }
    qsort(mapped, map->count, sizeof *mapped, compare_keys);
    for (size_t i = 0; i < map->count; i++) {
        if (i > 0 && mapped[i].key == mapped[i - 1].key)
            return tnd_fail(error, "`map` has %" PRId64 " twice", mapped[i].key);
        self->keys[i] = mapped[i].key;
        TND_TRY(read_entry(self, "map", i, mapped[i].text, made, error));
    }
    return TND_OK;
}

/*  By size, which differs mostly, then by bytes. */
static int compare_words(const void *a, const void *b)
{
    const word_t *one = a, *other = b;
    if (one->size != other->size)
        return one->size < other->size ? -1 : 1;
    return one->size == 0 ? 0 : memcmp(one->text, other->text, one->size);
}

/*  The keys of a map differ, and stay valid as long as the options. */
static tnd_status_t read_words(lookup_t *self, const tnd_value_t *map, const tnd_column_t *made,
                               tnd_error_t *error)
{
    TND_TRY(take_table(self, map->count, tnd_dtype_size(made->dtype), error));
    self->words = malloc(map->count * sizeof *self->words);
    if (self->words == NULL)
        return tnd_fail(error, "cannot allocate a map of %zu entries", map->count);
    for (size_t i = 0; i < map->count; i++) {
        const tnd_value_entry_t *entry = &map->entries[i];
        if (entry->value->type != TND_VALUE_SCALAR)
            return tnd_fail(error, "`map` has %s for `%s`; it is one number",
                            tnd_value_type_name(entry->value->type), entry->key);
        self->words[i] = (word_t){entry->key, strlen(entry->key), i};
        TND_TRY(read_entry(self, "map", i, entry->value->text, made, error));
    }
    qsort(self->words, map->count, sizeof *self->words, compare_words);
    return TND_OK;
}

/*  The texts are numbered from 1; they are the options' or those of self->counts. */
static tnd_status_t number_texts(lookup_t *self, const tnd_strings_t *texts,
                                 const tnd_column_t *made, tnd_error_t *error)
{
    char number[24];
    TND_TRY(take_table(self, texts->count + 1, tnd_dtype_size(made->dtype), error));
    self->words = malloc((texts->count + 1) * sizeof *self->words);
    if (self->words == NULL)
        return tnd_fail(error, "cannot allocate a vocabulary of %zu texts", texts->count);
    self->count = texts->count;
    for (size_t i = 0; i < texts->count; i++) {
        snprintf(number, sizeof number, "%zu", i + 1);
        self->words[i] = (word_t){texts->items[i], strlen(texts->items[i]), i};
        TND_TRY(read_entry(self, "vocabulary", i, number, made, error));
    }
    qsort(self->words, texts->count, sizeof *self->words, compare_words);
    for (size_t i = 1; i < texts->count; i++)
        if (compare_words(&self->words[i - 1], &self->words[i]) == 0)
            return tnd_fail(error, "`vocabulary` has `%s` twice", self->words[i].text);
    return TND_OK;
}

/*  Without texts as long as they are not known. */
static tnd_status_t read_vocabulary(lookup_t *self, const tnd_strings_t *given,
                                    const tnd_column_t *made, tnd_op_facts_t *facts,
                                    tnd_error_t *error)
{
    tnd_strings_t texts = *given;
    facts->adapts = given->count == 1 && strcmp(given->items[0], "auto") == 0;
    facts->unknown = UINT64_C(1) << self->into;
    if (facts->adapts) {
        self->counts = tnd_word_counts_new();
        for (size_t i = 0; i < facts->adapted_count; i++) {
            const char *at = facts->adapted[i].text + strcspn(facts->adapted[i].text, " ");
            for (size_t size; *at != '\0'; at += size) {
                size = strcspn(++at, " ");
                TND_TRY(tnd_word_counts_read(self->counts, at, size, error));
            }
        }
        texts = tnd_word_counts_ranked(self->counts);
    }
    return number_texts(self, &texts, made, error);
}

static tnd_status_t read_map(lookup_t *self, const tnd_value_t *map, const tnd_column_t *made,
                             tnd_error_t *error)
{
    TND_TRY(take_table(self, map->count, tnd_dtype_size(made->dtype), error));
    self->keys = malloc(map->count * sizeof *self->keys);
    mapped_t *mapped = malloc(map->count * sizeof *mapped);
    tnd_status_t status = TND_FAILED;
    if (self->keys != NULL && mapped != NULL)
        status = fill_map(self, map, mapped, made, error);
    else
        (void)tnd_fail(error, "cannot allocate a map of %zu entries", map->count);
    free(mapped);
    return status;
}

/*  Copies the rows of a file, cast to `made`'s type, and gives `made` their shape. */
static tnd_status_t copy_rows(lookup_t *self, const tnd_stored_t *stored, bool same,
                              tnd_column_t *made, uint64_t *content_p, tnd_error_t *error)
{
    tnd_column_t entry = {.dtype = stored->dtype, .rank = stored->rank};
    memcpy(entry.shape, stored->shape, sizeof entry.shape);
    if (same)
        made->dtype = stored->dtype;
    size_t elements = tnd_column_elements(&entry), bytes = tnd_column_bytes(&entry);
    if (made->rank + stored->rank > TND_RANK_MAX)
        return tnd_fail(error, "rows of %u dimensions for each of %u are too many: %d are possible",
                        stored->rank, made->rank, TND_RANK_MAX);
    if (made->dtype != stored->dtype && !tnd_dtype_is_float(made->dtype))
        return tnd_fail(error, "%s holds %s; what is read of a file stays so, or becomes a float",
                        stored->path, tnd_dtype_name(stored->dtype));
    TND_TRY(take_table(self, stored->rows, elements * tnd_dtype_size(made->dtype), error));
    TND_TRY(
        tnd_mapping_populate(stored->content.mapping, stored->offset, stored->rows * bytes, error));
    uint8_t *copy = malloc(stored->rows * bytes);
    if (copy == NULL)
        return tnd_fail(error, "%s: cannot allocate memory for its table", stored->path);
    memcpy(copy, (const uint8_t *)tnd_buffer_data(stored->buffer) + stored->offset,
           stored->rows * bytes);
    tnd_cast(made->dtype, stored->dtype, stored->rows * elements, self->table, copy);
    free(copy);
    memcpy(made->shape + made->rank, stored->shape, stored->rank * sizeof stored->shape[0]);
    made->rank += stored->rank;
    *content_p = XXH3_64bits(self->table, self->count * self->entry_bytes);
    return TND_OK;
}

static tnd_status_t read_file(lookup_t *self, const char *path, bool same, tnd_column_t *made,
                              uint64_t *content_p, tnd_error_t *error)
{
    tnd_stored_t stored = {.path = path};
    TND_TRY(tnd_npy_open(&stored, path, error));
    tnd_status_t status = copy_rows(self, &stored, same, made, content_p, error);
    tnd_stored_close(&stored);
    return status;
}

static tnd_status_t read_missing(lookup_t *self, const char *text, const tnd_column_t *made,
                                 tnd_error_t *error)
{
    uint64_t bits;
    size_t size = tnd_dtype_size(made->dtype);
    if (text == NULL)
        return TND_OK;
    TND_TRY(tnd_op_number("missing", text, made, &bits, error));
    self->missing = malloc(self->entry_bytes);
    if (self->missing == NULL)
        return tnd_fail(error, "cannot allocate an entry of %zu bytes", self->entry_bytes);
    for (size_t at = 0; at < self->entry_bytes; at += size)
        memcpy(self->missing + at, &bits, size);
    return TND_OK;
}

/*  Reads the table; *made, with the shape of the integers, becomes the column that is made. */
static tnd_status_t read_table(lookup_t *self, const lookup_options_t *chosen, bool texts,
                               tnd_column_t *made, tnd_op_facts_t *facts, tnd_error_t *error)
{
    bool vocabulary = chosen->vocabulary.count > 0;
    int given =
        (chosen->values.count > 0) + (chosen->map != NULL) + (chosen->file != NULL) + vocabulary;
    if (given != 1)
        return tnd_fail(error,
                        "say one of `values`, `map`, `file` and `vocabulary`, and it with entries");
    if (texts && chosen->map == NULL && !vocabulary)
        return tnd_fail(error,
                        "column `%s` has texts; they are looked up in a `map` or a `vocabulary`",
                        self->name);
    if (!texts && vocabulary)
        return tnd_fail(error, "column `%s` has no texts; `vocabulary` is of a ragged column of u8",
                        self->name);
    made->dtype = vocabulary ? TND_I64 : TND_F32;
    if (chosen->to != NULL)
        TND_TRY(tnd_op_dtype(chosen->to, &made->dtype, error));
    if (chosen->file != NULL)
        TND_TRY(read_file(self, chosen->file, chosen->to == NULL, made, &facts->content, error));
    else if (vocabulary)
        TND_TRY(read_vocabulary(self, &chosen->vocabulary, made, facts, error));
    else if (texts)
        TND_TRY(read_words(self, chosen->map, made, error));
    else if (chosen->map != NULL)
        TND_TRY(read_map(self, chosen->map, made, error));
    else
        TND_TRY(read_values(self, &chosen->values, made, error));
    return read_missing(self, chosen->missing == NULL && vocabulary ? "0" : chosen->missing, made,
                        error);
}

/*  Bytes of the ragged columns grow most if all of them are of this column. */
static void set_growth(const lookup_t *self, const tnd_schema_t *in, tnd_op_facts_t *facts)
{
    double made = (double)tnd_column_bytes(&facts->schema.columns[self->into]);
    double taken = (double)tnd_column_bytes(&in->columns[self->column]);
    double all = (double)tnd_schema_ragged_bytes(in);
    bool replaces = self->into == self->column;
    facts->growth_usual = (all - (replaces ? taken : 0) + made) / all;
    facts->growth_max = made / taken + (replaces ? 0 : 1);
    if (facts->growth_max < 1 && tnd_schema_ragged(in) > 1)
        facts->growth_max = 1;
}

/*  What comes out: the made column in place of the integers, or after all others. */
static tnd_status_t say_facts(lookup_t *self, const tnd_schema_t *in, const tnd_column_t *made,
                              tnd_op_facts_t *facts, tnd_error_t *error)
{
    if (self->into == self->column)
        TND_TRY(
            tnd_op_replace(facts, in, self->column, made->dtype, made->rank, made->shape, error));
    else
        TND_TRY(tnd_op_add(facts, in, made->name, made->dtype, made->rank, made->shape, error));
    facts->reads = UINT64_C(1) << self->column;
    facts->schema.columns[self->into].ragged = made->ragged;
    if (made->ragged)
        set_growth(self, in, facts);
    return TND_OK;
}

static void lookup_close(void *state)
{
    lookup_t *self = state;
    free(self->table);
    free(self->keys);
    free(self->words);
    free(self->missing);
    tnd_word_counts_destroy(&self->counts);
}

static tnd_status_t lookup_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    lookup_t *self = state;
    const lookup_options_t *chosen = given;
    TND_TRY(tnd_op_find_any(in, chosen->column, &self->column, error));
    const tnd_column_t *column = &in->columns[self->column];
    bool texts = column->ragged && column->dtype == TND_U8 && column->rank == 1;
    if (tnd_dtype_is_float(column->dtype))
        return tnd_fail(error, "column `%s` is %s; integers are looked up: `cast` it first",
                        column->name, tnd_dtype_name(column->dtype));
    bool is_new = chosen->into != NULL && strcmp(chosen->into, chosen->column) != 0;
    tnd_column_t made = *column;
    made.rank = texts ? 0 : column->rank;
    made.ragged = column->ragged && !texts;
    if (is_new)
        snprintf(made.name, sizeof made.name, "%s", chosen->into);
    memcpy(self->name, column->name, sizeof self->name);
    self->columns = in->count;
    self->into = is_new ? in->count : self->column;
    self->from = column->dtype;
    self->elements = column->ragged ? tnd_column_unit(column) / tnd_dtype_size(column->dtype)
                                    : tnd_column_elements(column);
    tnd_status_t status = read_table(self, chosen, texts, &made, facts, error);
    facts->loaded = self->count * self->entry_bytes;
    if (status == TND_OK)
        status = say_facts(self, in, &made, facts, error);
    if (status != TND_OK)
        lookup_close(self);
    return status;
}

/*  The entry of an integer, or NULL. */
static const uint8_t *find(const lookup_t *self, int64_t value)
{
    if (self->keys == NULL)
        return (uint64_t)value < self->count ? self->table + (uint64_t)value * self->entry_bytes
                                             : NULL;
    if (self->from == TND_U64 && value < 0)
        return NULL;
    size_t low = 0, high = self->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->keys[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < self->count && self->keys[low] == value ? self->table + low * self->entry_bytes
                                                         : NULL;
}

static tnd_status_t fail_row(const lookup_t *self, int64_t value, tnd_error_t *error)
{
    char text[32];
    snprintf(text, sizeof text, self->from == TND_U64 ? "%" PRIu64 : "%" PRId64, value);
    if (self->keys == NULL)
        return tnd_fail(error,
                        "column `%s` has %s, and the table has entries for 0 to %" PRIu64
                        "; `missing` gives others a value",
                        self->name, text, self->count - 1);
    return tnd_fail(error,
                    "column `%s` has %s, which `map` does not have; `missing` gives a value to "
                    "others",
                    self->name, text);
}

static tnd_status_t refuse_text(const lookup_t *self, const word_t *text, tnd_error_t *error)
{
    enum { SHOWN = 40 };
    char shown[SHOWN + 1] = "";
    if (text->size > 0)
        memcpy(shown, text->text, text->size < SHOWN ? text->size : SHOWN);
    for (size_t i = 0; i < SHOWN && i < text->size; i++)
        shown[i] = shown[i] == '\0' ? '?' : shown[i];
    return tnd_fail(error,
                    "column `%s` has the text `%s`%s, which `map` does not have; `missing` gives a "
                    "value to others",
                    self->name, tnd_printable(shown, sizeof shown),
                    text->size > SHOWN ? "..." : "");
}

static tnd_status_t look_up_text(const lookup_t *self, const tnd_ragged_t *text, uint8_t *to,
                                 tnd_error_t *error)
{
    const word_t wanted = {.text = text->data, .size = text->length};
    const word_t *word =
        bsearch(&wanted, self->words, self->count, sizeof *self->words, compare_words);
    const uint8_t *entry =
        word != NULL ? self->table + word->entry * self->entry_bytes : self->missing;
    if (entry == NULL)
        return refuse_text(self, &wanted, error);
    memcpy(to, entry, self->entry_bytes);
    return TND_OK;
}

static tnd_status_t look_up_numbers(const lookup_t *self, const uint8_t *from, size_t count,
                                    uint8_t *to, tnd_error_t *error)
{
    size_t size = tnd_dtype_size(self->from);
    for (size_t i = 0; i < count; i++, to += self->entry_bytes) {
        int64_t value;
        tnd_cast(TND_I64, self->from, 1, &value, from + i * size);
        const uint8_t *entry = find(self, value);
        if (entry == NULL)
            entry = self->missing;
        if (entry == NULL)
            return fail_row(self, value, error);
        memcpy(to, entry, self->entry_bytes);
    }
    return TND_OK;
}

/*  A row keeps its length. */
static tnd_status_t look_up_ragged(const lookup_t *self, const tnd_ragged_t *row, tnd_room_t *room,
                                   tnd_ragged_t *made, tnd_error_t *error)
{
    size_t count = row->length * self->elements;
    *made = (tnd_ragged_t){tnd_room_take(room, count * self->entry_bytes, sizeof(uint64_t)),
                           row->length};
    return look_up_numbers(self, row->data, count, made->data, error);
}

static tnd_status_t lookup_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                 tnd_tile_t *out, tnd_error_t *error)
{
    (void)key;
    const lookup_t *self = state;
    const tnd_ragged_t *ragged = in->columns[self->column].ragged;
    tnd_op_pass(in, out, self->columns, self->into);
    uint8_t *to = out->columns[self->into].base;
    size_t bytes = (self->words != NULL ? 1 : self->elements) * self->entry_bytes;
    for (uint32_t row = 0; row < in->rows; row++)
        if (self->words != NULL)
            TND_TRY(look_up_text(self, &ragged[row], to + row * bytes, error));
        else if (ragged != NULL)
            TND_TRY(look_up_ragged(self, &ragged[row], out->room,
                                   &out->columns[self->into].ragged[row], error));
        else
            TND_TRY(look_up_numbers(self, tnd_tile_row(in, self->column, row), self->elements,
                                    to + row * bytes, error));
    return TND_OK;
}

static tnd_status_t lookup_learn(void *state, const tnd_tile_t *in, tnd_error_t *error)
{
    lookup_t *self = state;
    const tnd_ragged_t *text = in->columns[self->column].ragged;
    return tnd_word_counts_add(self->counts, text->data, text->length, 1, error);
}

static tnd_status_t lookup_tell(const void *state, FILE *out, tnd_error_t *error)
{
    (void)error;
    fputs("vocabulary", out);
    tnd_word_counts_write(((const lookup_t *)state)->counts, out);
    return TND_OK;
}

const tnd_op_t tnd_op_lookup = {
    .spec = &tnd_op_lookup_spec,
    .state_bytes = sizeof(lookup_t),
    .open = lookup_open,
    .apply = lookup_apply,
    .learn = lookup_learn,
    .tell = lookup_tell,
    .close = lookup_close,
};
