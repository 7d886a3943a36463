/*  actors/source/tfrecord.c - records of TFRecord files, as TensorFlow's TFRecordWriter writes them:
 *  a row is the bytes of a record.
 *
 *  The index is found by the checksums of the lengths, which is a walk from record to record.  A
 *  record whose length is damaged reaches up to the next one whose two checksums are right, so that
 *  one record is bad and not the rest of the file.  The checksum of the data is looked at whenever
 *  a record is read.
 *
 *  TensorFlow ignores 1 to 11 bytes after the last record; so does this source. */
#include <string.h>

#include "actors/source/columns.h"
#include "actors/source/sources.h"
#include "actors/stored/tfrecord_frames.h"

typedef struct {
    tnd_record_options_t records;
} tfrecord_options_t;

static const tnd_option_t options[] = {
    TND_RECORD_OPTIONS(tfrecord_options_t, "tfrecord", "record"),
};

const tnd_source_spec_t tnd_source_tfrecord_spec = {
    .table = {.name = "tfrecord",
              .help = "Reads the records of TFRecord files as rows of bytes, without copying.",
              TND_OPTIONS(options, tfrecord_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
};

/*  Whether both checksums of the record at `at` are right; *end_p: the byte after it. */
static tnd_status_t is_whole(tnd_record_window_t *window, size_t file_size, size_t at,
                             bool *whole_p, size_t *end_p, tnd_error_t *error)
{
    const uint8_t *data;
    uint64_t length;
    size_t have;
    *whole_p = false;
    TND_TRY(tnd_record_window(window, at, TND_TFRECORD_HEAD, &data, &have, error));
    if (have < TND_TFRECORD_AROUND || !tnd_tfrecord_length(data, &length) ||
        length > file_size - at - TND_TFRECORD_AROUND)
        return TND_OK;
    TND_TRY(tnd_record_window(window, at, length + TND_TFRECORD_AROUND, &data, &have, error));
    *whole_p = tnd_tfrecord_data_matches(data + TND_TFRECORD_HEAD, length);
    *end_p = at + TND_TFRECORD_AROUND + length;
    return TND_OK;
}

/*  *at_p: the first whole record from there on, or the end of the file. */
static tnd_status_t find_next_whole(tnd_record_window_t *window, size_t size, size_t *at_p,
                                    tnd_error_t *error)
{
    bool whole = false;
    size_t end;
    while (!whole && size - *at_p >= TND_TFRECORD_AROUND) {
        TND_TRY(is_whole(window, size, *at_p, &whole, &end, error));
        *at_p += !whole;
    }
    *at_p = whole ? *at_p : size;
    return TND_OK;
}

static tnd_status_t find(const void *context, tnd_record_window_t *window, size_t size,
                         tnd_offsets_t *offsets, tnd_error_t *error)
{
    (void)context;
    size_t at = 0;
    while (size - at >= TND_TFRECORD_HEAD) {
        const uint8_t *data;
        uint64_t length;
        size_t have;
        tnd_offsets_add(offsets, at);
        TND_TRY(tnd_record_window(window, at, TND_TFRECORD_HEAD, &data, &have, error));
        if (tnd_tfrecord_length(data, &length) && length <= size - at &&
            size - at - length >= TND_TFRECORD_AROUND) {
            at += TND_TFRECORD_AROUND + length;
            continue;
        }
        at++;
        TND_TRY(find_next_whole(window, size, &at, error));
    }
    tnd_offsets_add(offsets, at);
    return TND_OK;
}

static tnd_status_t refuse(const char *why, tnd_error_t *error)
{
    (void)tnd_fail(error, "%s", why);
    return TND_REFUSED;
}

static tnd_status_t content(uint8_t *data, size_t size, bool own, size_t *first_p, size_t *size_p,
                            tnd_error_t *error)
{
    (void)own;
    uint64_t length = 0;
    if (size < TND_TFRECORD_HEAD || !tnd_tfrecord_length(data, &length))
        return refuse("the checksum of its length is wrong", error);
    if (size < TND_TFRECORD_AROUND || length != size - TND_TFRECORD_AROUND) {
        (void)tnd_fail(
            error, "its %llu bytes of data and their checksum should follow, but only %zu bytes do",
            (unsigned long long)length, size - TND_TFRECORD_HEAD);
        return TND_REFUSED;
    }
    *first_p = TND_TFRECORD_HEAD;
    *size_p = length;
    if (!tnd_tfrecord_data_matches(data + TND_TFRECORD_HEAD, length))
        return refuse("the checksum of its data is wrong", error);
    return TND_OK;
}

static const tnd_record_format_t format = {
    .finder = {.name = "tfrecord", .stray_max = TND_TFRECORD_HEAD - 1, .find = find},
    .around = TND_TFRECORD_AROUND,
    .content = content,
};

static tnd_status_t tfrecord_open(void *state, const void *given, const tnd_source_scope_t *scope,
                                  tnd_source_facts_t *facts, tnd_error_t *error)
{
    const tfrecord_options_t *chosen = given;
    return tnd_columns_open_records(state, &chosen->records, &format, scope, facts, error);
}

const tnd_source_t tnd_source_tfrecord = {
    .spec = &tnd_source_tfrecord_spec,
    .state_bytes = sizeof(tnd_columns_t),
    .open = tfrecord_open,
    .read = tnd_columns_read,
    .sizes = tnd_columns_sizes,
    .ahead_rows = tnd_columns_ahead_rows,
    .ahead = tnd_columns_ahead,
    .where = tnd_columns_where,
    .close = tnd_columns_close,
};
