/*  actors/source/tfrecord.c - records of TFRecord files, as TensorFlow's TFRecordWriter writes them:
 *  a row is the bytes of a record.
 *
 *  The index is found by the checksums of the lengths, which is a walk from record to record.  A
 *  record whose length is damaged reaches up to the next one whose two checksums are right, so that
 *  one record is bad and not the rest of the file.  The checksum of the data is looked at whenever
 *  a record is read.
 *
 *  1 to 11 bytes after the last record, which TensorFlow ignores, are a record that was cut. */
#include <string.h>

#include "actors/source/columns.h"
#include "actors/source/sources.h"
#include "actors/stored/tfrecord_frames.h"

typedef struct {
    tnd_record_options_t records;
} tfrecord_options_t;

/*  A longer record after a damaged one is not looked for. */
static const uint64_t longest_lost = (uint64_t)1 << 32;

static const tnd_option_t options[] = {
    TND_RECORD_OPTIONS(tfrecord_options_t, "tfrecord", "record"),
};

const tnd_source_spec_t tnd_source_tfrecord_spec = {
    .table = {.name = "tfrecord",
              .help = "Reads the records of TFRecord files as rows of bytes, without copying.",
              TND_OPTIONS(options, tfrecord_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES | TND_SOURCE_SEEKS,
};

/*  Whether both checksums of the record at `at` are right. */
static tnd_status_t is_whole(tnd_record_window_t *window, uint64_t at, bool *whole_p,
                             tnd_error_t *error)
{
    const uint8_t *data;
    uint64_t length;
    size_t have;
    *whole_p = false;
    TND_TRY(tnd_record_window(window, at, TND_TFRECORD_HEAD, &data, &have, error));
    if (have < TND_TFRECORD_AROUND || !tnd_tfrecord_length(data, &length) ||
        length > longest_lost || tnd_record_window_lacks(window, at + length + TND_TFRECORD_AROUND))
        return TND_OK;
    TND_TRY(tnd_record_window(window, at, length + TND_TFRECORD_AROUND, &data, &have, error));
    *whole_p = have >= length + TND_TFRECORD_AROUND &&
               tnd_tfrecord_data_matches(data + TND_TFRECORD_HEAD, length);
    return TND_OK;
}

/*  *at_p: the first whole record from there on, or the end of the content. */
static tnd_status_t find_next_whole(tnd_record_window_t *window, uint64_t *at_p, bool *whole_p,
                                    tnd_error_t *error)
{
    for (*whole_p = false;; ++*at_p) {
        const uint8_t *data;
        size_t have;
        TND_TRY(tnd_record_window(window, *at_p, TND_TFRECORD_AROUND, &data, &have, error));
        if (have < TND_TFRECORD_AROUND) {
            *at_p += have;
            return TND_OK;
        }
        TND_TRY(is_whole(window, *at_p, whole_p, error));
        if (*whole_p)
            return TND_OK;
    }
}

static tnd_status_t find(const void *context, tnd_record_window_t *window, tnd_offsets_t *offsets,
                         tnd_error_t *error)
{
    (void)context;
    uint64_t at = 0;
    bool whole = true;
    for (;;) {
        const uint8_t *data;
        uint64_t length;
        size_t have;
        TND_TRY(tnd_record_window(window, at, TND_TFRECORD_HEAD, &data, &have, error));
        if (have == 0)
            break;
        tnd_offsets_add(offsets, at);
        if (have < TND_TFRECORD_HEAD) {
            at += have;
            whole = false;
            break;
        }
        whole = tnd_tfrecord_length(data, &length) && length <= INT64_MAX;
        uint64_t end = at + TND_TFRECORD_AROUND + length;
        if (whole)
            TND_TRY(tnd_record_window_has(window, end, &whole, error));
        at = whole ? end : at + 1;
        if (!whole)
            TND_TRY(find_next_whole(window, &at, &whole, error));
    }
    if (whole || !tnd_record_window_damaged(window))
        tnd_offsets_add(offsets, at);
    return TND_OK;
}

static bool fits(int before, const uint8_t *data, size_t have, uint64_t size, bool last)
{
    uint64_t length;
    (void)before, (void)last;
    return have >= TND_TFRECORD_HEAD && tnd_tfrecord_length(data, &length) &&
           length + TND_TFRECORD_AROUND == size;
}

static bool begins(const uint8_t *data, size_t size)
{
    uint64_t length;
    return size >= TND_TFRECORD_HEAD && tnd_tfrecord_length(data, &length);
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
    if (size < TND_TFRECORD_HEAD) {
        (void)tnd_fail(error, "it is cut: only %zu byte%s of its head of %d %s left", size,
                       size == 1 ? "" : "s", TND_TFRECORD_HEAD, size == 1 ? "is" : "are");
        return TND_REFUSED;
    }
    if (!tnd_tfrecord_length(data, &length))
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
    .finder = {.name = "tfrecord", .fits = fits, .find = find},
    .around = TND_TFRECORD_AROUND,
    .head = TND_TFRECORD_HEAD,
    .begins = begins,
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
    TND_COLUMNS_HOOKS,
    .fill = tnd_columns_fill,
};
