/*  actors/stored/splits.c - the start and end of each row of a ragged column. */
#include "actors/stored/splits.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { VIEW_NUMBERS = 1 << 17 };

static bool is_integer(const tnd_stored_t *splits)
{
    return splits->rank == 0 && (splits->dtype == TND_I64 || splits->dtype == TND_U64 ||
                                 splits->dtype == TND_I32 || splits->dtype == TND_U32);
}

/*  Bytes of a number. */
static inline size_t number_size(const tnd_stored_t *splits)
{
    return splits->dtype == TND_I64 || splits->dtype == TND_U64 ? sizeof(uint64_t)
                                                                : sizeof(uint32_t);
}

/*  Returns a number of the file; a negative one becomes very large. */
static inline uint64_t number_at(const tnd_stored_t *splits, const uint8_t *data, uint64_t index)
{
    uint64_t wide;
    uint32_t half;
    if (number_size(splits) == sizeof wide) {
        memcpy(&wide, data + index * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&half, data + index * sizeof half, sizeof half);
    return splits->dtype == TND_I32 ? (uint64_t)(int32_t)half : half;
}

static tnd_status_t fail_at(const tnd_stored_t *splits, uint64_t index, uint64_t number,
                            uint64_t before, tnd_error_t *error)
{
    uint64_t offset = splits->offset + index * number_size(splits);
    if (number > INT64_MAX)
        return tnd_fail(error,
                        "%s: number %" PRIu64 ", at byte %" PRIu64 ", is %" PRId64
                        ", below 0: these are not splits of rows",
                        splits->path, index, offset, (int64_t)number);
    return tnd_fail(error,
                    "%s: number %" PRIu64 ", at byte %" PRIu64 ", is %" PRIu64
                    ", less than the %" PRIu64 " before it: splits of rows ascend",
                    splits->path, index, offset, number, before);
}

static tnd_status_t check_ends(const tnd_stored_t *splits, const tnd_stored_t *values,
                               uint64_t first, uint64_t last, tnd_error_t *error)
{
    if (first != 0)
        return tnd_fail(error,
                        "%s: begins with %" PRIu64 "; splits of rows begin with 0, as row_splits "
                        "of a RaggedTensor in TensorFlow",
                        splits->path, first);
    if (last != values->rows)
        return tnd_fail(error,
                        "%s: its last number is %" PRIu64 ", but %s has %" PRIu64
                        " values along its first axis: do these files belong together?",
                        splits->path, last, values->path, values->rows);
    return TND_OK;
}

/*  Looks at all numbers: they ascend.  *longest_p: the greatest difference of two in a row. */
static tnd_status_t look_at_all(tnd_stored_t *splits, uint64_t *first_p, uint64_t *last_p,
                                uint64_t *longest_p, tnd_error_t *error)
{
    uint64_t before = 0;
    size_t size = number_size(splits);
    if (!is_integer(splits))
        return tnd_fail(error,
                        "%s: is not a list of splits: one number more than there are rows, of i64, "
                        "u64, i32 or u32",
                        splits->path);
    *longest_p = 0;
    for (uint64_t from = 0; from < splits->rows; from += VIEW_NUMBERS) {
        const uint8_t *data;
        uint64_t some = splits->rows - from < VIEW_NUMBERS ? splits->rows - from : VIEW_NUMBERS;
        TND_TRY(tnd_content_view(&splits->content, splits->offset + from * size, some * size, &data,
                                 error));
        for (uint64_t i = 0; i < some; i++) {
            uint64_t number = number_at(splits, data, i);
            if (from + i == 0)
                *first_p = before = number;
            if (number < before || number > INT64_MAX)
                return fail_at(splits, from + i, number, before, error);
            *longest_p = number - before > *longest_p ? number - before : *longest_p;
            before = number;
        }
    }
    tnd_content_forget(&splits->content);
    *last_p = before;
    return TND_OK;
}

tnd_status_t tnd_splits_check(tnd_stored_t *splits, const tnd_stored_t *values, uint64_t *longest_p,
                              tnd_error_t *error)
{
    uint64_t first, last;
    TND_TRY(look_at_all(splits, &first, &last, longest_p, error));
    if (splits->rows == 0)
        return tnd_fail(error, "%s: has no number; splits have one more than there are rows",
                        splits->path);
    return check_ends(splits, values, first, last, error);
}

tnd_status_t tnd_splits_check_index(tnd_stored_t *splits, uint64_t size, uint64_t beyond,
                                    bool skips_head, uint64_t *longest_p, tnd_error_t *error)
{
    uint64_t first, last;
    TND_TRY(look_at_all(splits, &first, &last, longest_p, error));
    if ((first == 0 || skips_head) && last <= size && size - last <= beyond)
        return TND_OK;
    return tnd_fail(error, "%s: is an index of bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64,
                    splits->path, first, last, size);
}

/*  The rows have become something else than what was checked. */
static tnd_status_t fail_changed(const tnd_stored_t *splits, const tnd_stored_t *values,
                                 uint64_t row, uint64_t begin, uint64_t end, tnd_error_t *error)
{
    return tnd_fail(error,
                    "%s: row %" PRIu64 ", at byte %zu, has become values %" PRIu64 " to %" PRIu64
                    " of %" PRIu64 ": do not write to data during a run",
                    splits->path, row, (size_t)(splits->offset + row * number_size(splits)), begin,
                    end, values->rows);
}

void tnd_splits_prefetch(const tnd_stored_t *splits, uint64_t row)
{
    if (splits->content.mapping != NULL)
        __builtin_prefetch(tnd_mapping_data(splits->content.mapping) + splits->offset +
                           row * number_size(splits));
}

tnd_status_t tnd_splits_rows(const tnd_stored_t *splits, const tnd_stored_t *values, uint64_t row,
                             uint32_t count, uint64_t *bounds, tnd_error_t *error)
{
    size_t size = number_size(splits), offset = splits->offset + row * size;
    size_t bytes = (count + (size_t)1) * size;
    tnd_mapping_t *mapping = splits->content.mapping;
    if (mapping != NULL) {
        TND_TRY(tnd_mapping_populate(mapping, offset, bytes, error));
        memcpy(bounds, tnd_mapping_data(mapping) + offset, bytes);
    } else {
        TND_TRY(tnd_content_read(&splits->content, offset, bytes, bounds, error));
    }
    TND_TRY(tnd_content_intact(&splits->content, error));
    /* Narrow numbers are widened from the last on, so that none is overwritten before it is read. */
    for (uint32_t i = count + 1; size < sizeof *bounds && i-- > 0;)
        bounds[i] = number_at(splits, (const uint8_t *)bounds, i);
    for (uint32_t i = 0; i < count; i++)
        if (bounds[i] > bounds[i + 1] || bounds[i + 1] > values->rows)
            return fail_changed(splits, values, row + i, bounds[i], bounds[i + 1], error);
    return TND_OK;
}

/*  Brings in what tells where rows are. */
static tnd_status_t bring(const tnd_splits_place_t *places, uint32_t count, tnd_error_t *error)
{
    tnd_mapping_part_t parts[TND_SPLITS_AT_ONCE];
    uint32_t used = 0;
    assert(count > 0 && count <= TND_SPLITS_AT_ONCE);
    for (uint32_t i = 0; i < count; i++) {
        const tnd_stored_t *splits = places[i].splits;
        size_t size = number_size(splits);
        if (!places[i].there)
            parts[used++] = (tnd_mapping_part_t){.mapping = splits->content.mapping,
                                                 .offset = splits->offset + places[i].row * size,
                                                 .size = 2 * size};
    }
    return used > 0 ? tnd_mapping_bring(parts, used, error) : TND_OK;
}

/*  Reads where a row is: as it is in the file, or has become. */
static tnd_status_t read_place(tnd_splits_place_t *place, tnd_error_t *error)
{
    const tnd_stored_t *splits = place->splits;
    if (splits->content.mapping == NULL)
        return tnd_splits_row(splits, place->values, place->row, &place->begin, &place->end, error);
    const uint8_t *data = tnd_mapping_data(splits->content.mapping) + splits->offset;
    place->begin = number_at(splits, data, place->row);
    place->end = number_at(splits, data, place->row + 1);
    return TND_OK;
}

tnd_status_t tnd_splits_each(tnd_splits_place_t *places, uint32_t count, tnd_error_t *error)
{
    bool sound = true;
    TND_TRY(bring(places, count, error));
    for (uint32_t i = 0; i < count; i++) {
        TND_TRY(read_place(&places[i], error));
        sound &= places[i].begin <= places[i].end && places[i].end <= places[i].values->rows;
    }
    if (sound && !tnd_mapped_any_lost())
        return TND_OK;
    for (uint32_t i = 0; i < count; i++) {
        const tnd_splits_place_t *place = &places[i];
        TND_TRY(tnd_content_intact(&place->splits->content, error));
        if (place->begin > place->end || place->end > place->values->rows)
            return fail_changed(place->splits, place->values, place->row, place->begin, place->end,
                                error);
    }
    return TND_OK;
}

tnd_status_t tnd_splits_row(const tnd_stored_t *splits, const tnd_stored_t *values, uint64_t row,
                            uint64_t *begin_p, uint64_t *end_p, tnd_error_t *error)
{
    uint64_t bounds[2];
    TND_TRY(tnd_splits_rows(splits, values, row, 1, bounds, error));
    *begin_p = bounds[0];
    *end_p = bounds[1];
    return TND_OK;
}
