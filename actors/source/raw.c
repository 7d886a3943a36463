/*  actors/source/raw.c - records of fixed size in files without a header of their own.
 *
 *  The topology file lists the columns of a record, in order:
 *
 *      raw: {files: "${data}/data_batch_*.bin",
 *            columns: {label: u8, image: {dtype: u8, shape: [3, 32, 32]}}}
 *
 *  The bytes of the files are not converted, so numbers are little-endian.  The content of compressed
 *  files is kept in memory. */
#include <string.h>

#include "actors/source/columns.h"
#include "actors/source/sources.h"
#include "runtime/text/quantity.h"

typedef struct {
    tnd_pairs_t columns;
} layout_t;

typedef struct {
    tnd_strings_t files;
    const layout_t *layout;
    uint64_t header, footer, record;
    int compression; /* tnd_compression_t */
} raw_options_t;

/*  Where the records of a file are. */
typedef struct {
    uint64_t header, footer;
    size_t record;
    tnd_compression_t compression;
} frame_t;

enum { LOOK_BYTES = 16 };

static const uint64_t memory_max = (uint64_t)16 << 30;

static const tnd_option_t layout_options[] = {
    {TND_OPTION_NAMED("*", layout_t, columns, VALUE, GRAPH), .fallback = "",
     .help = "a column, in the order of the record: its type such as u8 or `u8[3,32,32]`, or "
             "{dtype: u8, shape: [3, 32, 32], offset: 1}, whose offset counts bytes from the start "
             "of the record"},
};

static const tnd_table_t layout_table = {.name = "columns",
                                         .help = "The columns of a record, in order.",
                                         TND_OPTIONS(layout_options, layout_t)};

static const tnd_option_t options[] = {
    {TND_OPTION(raw_options_t, files, PATHS, GRAPH), .example = "${data}/data_batch_*.bin",
     .help = "the files: a path, a pattern such as \"${data}/data_batch_*.bin\", a range "
             "`part-[00-15].bin`, or a list of them"},
    {TND_OPTION_NAMED("columns", raw_options_t, layout, TABLE, GRAPH), .table = &layout_table,
     .help = "the columns of a record, in order, little-endian: {label: u8, image: {dtype: u8, "
             "shape: [3, 32, 32]}}"},
    {TND_OPTION(raw_options_t, header, BYTES, GRAPH), .fallback = "0B",
     .help = "bytes of each file before its first record"},
    {TND_OPTION(raw_options_t, footer, BYTES, GRAPH), .fallback = "0B",
     .help = "bytes of each file after its last record"},
    {TND_OPTION(raw_options_t, record, BYTES, GRAPH), .fallback = "0B",
     .help = "bytes of a record, if its columns do not fill it"},
    {TND_OPTION(raw_options_t, compression, ENUM, GRAPH), .fallback = "auto",
     .choices = "none|gzip|zlib|zstd|auto",
     .help = "how the files are compressed, whose content is then kept in memory: auto goes by "
             "their first bytes if their names say so: .gz, .zlib, .zz, .z, .zst or .zstd"},
};

const tnd_source_spec_t tnd_source_raw_spec = {
    .table = {.name = "raw",
              .help = "Reads records of fixed size, such as those of CIFAR-10, without copying.",
              TND_OPTIONS(options, raw_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
};

typedef struct {
    tnd_dtype_t dtype;
    uint32_t rank;
    uint64_t shape[TND_RANK_MAX];
    size_t at, bytes;
} field_t;

/*  Adds a dimension; false if there are too many, or it is 0 or too large. */
static bool add_dimension(field_t *field, const char *text)
{
    uint64_t *size = &field->shape[field->rank];
    if (field->rank == TND_RANK_MAX || tnd_quantity_u64(text, size) != TND_QUANTITY_OK ||
        *size == 0 || __builtin_mul_overflow(field->bytes, *size, &field->bytes) ||
        field->bytes > (size_t)1 << 40)
        return false;
    field->rank++;
    return true;
}

/*  `u8` or `u8[3,32,32]`. */
static bool read_short(field_t *field, const char *text)
{
    char word[32], copy[256];
    size_t size = strcspn(text, "[");
    if (size >= sizeof word || strlen(text) >= sizeof copy)
        return false;
    memcpy(word, text, size);
    word[size] = '\0';
    if (!tnd_dtype_parse(word, &field->dtype))
        return false;
    field->bytes = tnd_dtype_size(field->dtype);
    if (text[size] == '\0')
        return true;
    strcpy(copy, text + size + 1);
    size_t length = strlen(copy);
    if (length < 2 || copy[length - 1] != ']')
        return false;
    copy[length - 1] = '\0';
    for (char *at = copy, *item; (item = strsep(&at, ",")) != NULL;)
        if (!add_dimension(field, item + strspn(item, " ")))
            return false;
    return true;
}

static void read_long(field_t *field, const tnd_pair_t *pair, tnd_failures_t *failures)
{
    tnd_error_t why;
    const tnd_value_t *dtype = tnd_value_get(pair->value, "dtype");
    const tnd_value_t *shape = tnd_value_get(pair->value, "shape");
    const tnd_value_t *offset = tnd_value_get(pair->value, "offset");
    for (size_t i = 0; i < pair->value->count; i++) {
        const char *key = pair->value->entries[i].key;
        if (strcmp(key, "dtype") == 0 || strcmp(key, "shape") == 0 || strcmp(key, "offset") == 0)
            continue;
        (void)tnd_fail_about(&why, pair->value,
                             "column `%s` has no option `%s`; its options are dtype, shape, offset",
                             pair->name, key);
        tnd_failures_add(failures, &why);
    }
    field->bytes = 1;
    if (dtype == NULL || dtype->type != TND_VALUE_SCALAR ||
        !tnd_dtype_parse(dtype->text, &field->dtype)) {
        (void)tnd_fail_about(&why, dtype != NULL ? dtype : pair->value,
                             "column `%s` needs `dtype`: u8, i8, u16 ... f32, f64 or bool",
                             pair->name);
        tnd_failures_add(failures, &why);
    } else {
        field->bytes = tnd_dtype_size(field->dtype);
    }
    bool shaped = shape == NULL || shape->type == TND_VALUE_LIST;
    for (size_t i = 0; shape != NULL && shaped && i < shape->count; i++)
        shaped = shape->items[i]->type == TND_VALUE_SCALAR && !shape->items[i]->quoted &&
                 add_dimension(field, shape->items[i]->text);
    if (!shaped) {
        (void)tnd_fail_about(&why, shape,
                             "column `%s`: `shape` is a list such as [3, 32, 32], of at most %d "
                             "numbers from 1 on, which make at most 1 TiB",
                             pair->name, TND_RANK_MAX);
        tnd_failures_add(failures, &why);
    }
    uint64_t at = field->at;
    if (offset != NULL &&
        (offset->type != TND_VALUE_SCALAR ||
         ((offset->quoted || tnd_quantity_u64(offset->text, &at) != TND_QUANTITY_OK) &&
          tnd_quantity_bytes(offset->text, &at) != TND_QUANTITY_OK) ||
         at > (uint64_t)1 << 40)) {
        (void)tnd_fail_about(&why, offset, "column `%s`: `offset` is a number of bytes",
                             pair->name);
        tnd_failures_add(failures, &why);
        return;
    }
    field->at = at;
}

static void read_field(field_t *field, const tnd_pair_t *pair, tnd_failures_t *failures)
{
    tnd_error_t why;
    if (pair->value->type == TND_VALUE_MAP) {
        read_long(field, pair, failures);
        return;
    }
    if (pair->value->type == TND_VALUE_SCALAR && read_short(field, pair->value->text))
        return;
    (void)tnd_fail_about(&why, pair->value,
                         "column `%s` needs a type such as u8 or \"u8[3,32,32]\", or {dtype: u8, "
                         "shape: [3, 32, 32]}",
                         pair->name);
    tnd_failures_add(failures, &why);
}

/*  Reads the columns of a record; *end_p: their size in bytes. */
static tnd_status_t read_fields(const raw_options_t *chosen, field_t *fields, size_t *end_p,
                                const tnd_source_scope_t *scope, tnd_error_t *error)
{
    const tnd_pairs_t *columns = &chosen->layout->columns;
    tnd_failures_t failures = {.scope = scope, .error = error};
    size_t next = 0;
    *end_p = 0;
    if (columns->count == 0)
        return tnd_fail(error, "the source has no column; write `columns: {label: u8, ...}`");
    if (columns->count > TND_COLUMNS_MAX)
        return tnd_fail(error, "the source has %zu columns; at most %d are possible",
                        columns->count, TND_COLUMNS_MAX);
    for (size_t i = 0; i < columns->count; i++) {
        tnd_error_t why;
        fields[i] = (field_t){.at = next};
        read_field(&fields[i], &columns->items[i], &failures);
        next = fields[i].at + fields[i].bytes;
        if (next > *end_p)
            *end_p = next;
        if (chosen->record == 0 || next <= chosen->record || failures.status != TND_OK)
            continue; /* after an invalid column, the end of this one is unknown */
        (void)tnd_fail_about(&why, columns->items[i].value,
                             "column `%s` ends at byte %zu of a record, but `record` is %llu",
                             columns->items[i].name, next, (unsigned long long)chosen->record);
        tnd_failures_add(&failures, &why);
    }
    return failures.status;
}

/*  Any bytes can begin a plain file, so its name counts too. */
static tnd_status_t compression_of(tnd_stored_t *stored, tnd_compression_t *compression_p,
                                   tnd_error_t *error)
{
    const uint8_t *data;
    if (*compression_p != TND_COMPRESSION_AUTO)
        return TND_OK;
    TND_TRY(tnd_content_view(&stored->content, 0, LOOK_BYTES, &data, error));
    size_t have = stored->content.size < LOOK_BYTES ? stored->content.size : LOOK_BYTES;
    *compression_p = tnd_compression_of(data, have);
    if (*compression_p == tnd_compression_named(stored->path))
        return TND_OK;
    *compression_p = TND_COMPRESSION_NONE;
    return tnd_compression_refuse_name(stored->path, error);
}

/*  Decompresses up to `room` bytes, or to the end; without `to` it only counts them. */
static tnd_status_t decompress_all(tnd_decompress_t *stream, uint8_t *to, uint64_t room,
                                   uint64_t *size_p, tnd_error_t *error)
{
    static const size_t piece = 1 << 16;
    uint8_t bytes[1 << 16];
    size_t got = 1;
    for (*size_p = 0; got > 0 && *size_p < room; *size_p += got) {
        size_t some = room - *size_p < piece ? room - *size_p : piece;
        TND_TRY(tnd_decompress_read(stream, to != NULL ? to + *size_p : bytes, some, &got, error));
    }
    return TND_OK;
}

static tnd_status_t load(tnd_stored_t *stored, tnd_decompress_t *stream, uint64_t *size_p,
                         tnd_error_t *error)
{
    uint64_t size;
    TND_TRY(decompress_all(stream, NULL, memory_max + 1, &size, error));
    if (size > memory_max)
        return tnd_fail(error, "its content would have to be kept in memory, above the limit of 16 "
                               "GiB; decompress the file");
    stored->buffer = tnd_buffer_new(size + 1);
    tnd_decompress_restart(stream);
    TND_TRY(decompress_all(stream, tnd_buffer_data(stored->buffer), size, size_p, error));
    tnd_buffer_seal(stored->buffer);
    return TND_OK;
}

static tnd_status_t open_compressed(tnd_stored_t *stored, tnd_compression_t compression,
                                    uint64_t *size_p, tnd_error_t *error)
{
    tnd_error_t why;
    tnd_decompress_t *stream = tnd_decompress_new(&stored->content, compression);
    tnd_status_t status = load(stored, stream, size_p, &why);
    tnd_decompress_destroy(&stream);
    if (status == TND_OK)
        return TND_OK;
    tnd_buffer_drop(&stored->buffer);
    return tnd_fail(error, "%s: %s", stored->path, why.text);
}

/*  The size of a file is all that can be checked. */
static tnd_status_t open_file(tnd_stored_t *stored, const void *context, tnd_error_t *error)
{
    const frame_t *frame = context;
    tnd_compression_t compression = frame->compression;
    uint64_t around = frame->header + frame->footer, size = stored->content.size;
    TND_TRY(compression_of(stored, &compression, error));
    if (compression != TND_COMPRESSION_NONE)
        TND_TRY(open_compressed(stored, compression, &size, error));
    if (around < frame->header || around > size)
        return tnd_fail(error,
                        "%s: has %llu bytes, less than its header of %llu and its footer of %llu",
                        stored->path, (unsigned long long)size, (unsigned long long)frame->header,
                        (unsigned long long)frame->footer);
    stored->offset = frame->header;
    stored->rows = (size - around) / frame->record;
    uint64_t rest = (size - around) % frame->record;
    if (rest == 0)
        return TND_OK;
    return tnd_fail(error,
                    "%s: has %llu bytes; after a header of %llu and before a footer of %llu these "
                    "are %llu records of %zu bytes and a remainder of %llu; check `columns`, and "
                    "whether the file is whole",
                    stored->path, (unsigned long long)size, (unsigned long long)frame->header,
                    (unsigned long long)frame->footer, (unsigned long long)stored->rows,
                    frame->record, (unsigned long long)rest);
}

static tnd_status_t open_columns(tnd_columns_t *self, const raw_options_t *chosen,
                                 const tnd_source_scope_t *scope, tnd_source_facts_t *facts,
                                 tnd_error_t *error)
{
    field_t fields[TND_COLUMNS_MAX];
    frame_t frame = {.header = chosen->header,
                     .footer = chosen->footer,
                     .compression = (tnd_compression_t)chosen->compression};
    TND_TRY(read_fields(chosen, fields, &frame.record, scope, error));
    if (chosen->record > 0)
        frame.record = chosen->record;
    TND_TRY(tnd_columns_strand(self, "raw", &chosen->files, frame.record, open_file, &frame, scope,
                               error));
    const tnd_pairs_t *columns = &chosen->layout->columns;
    for (size_t i = 0; i < columns->count; i++)
        TND_TRY(tnd_columns_add(self, columns->items[i].name, fields[i].dtype, fields[i].rank,
                                fields[i].shape, fields[i].at, error));
    return tnd_columns_seal(self, scope, facts, error);
}

static tnd_status_t raw_open(void *state, const void *given, const tnd_source_scope_t *scope,
                             tnd_source_facts_t *facts, tnd_error_t *error)
{
    tnd_status_t status = open_columns(state, given, scope, facts, error);
    if (status != TND_OK)
        tnd_columns_close(state);
    return status;
}

const tnd_source_t tnd_source_raw = {
    .spec = &tnd_source_raw_spec,
    .state_bytes = sizeof(tnd_columns_t),
    .open = raw_open,
    TND_COLUMNS_HOOKS,
};
