/*  actors/reader/row_reader.c - reads rows of a lane's source into blocks. */
#include "actors/reader/row_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/reader/row_shape.h"
#include "actors/reader/sample_order.h"
#include "actors/reader/stream_reader.h"
#include "runtime/base/allocation.h"

enum { AHEAD_AT_ONCE = 128 };

/*  What tnd_row_reader_fit found of a ticket, which is read next. */
typedef struct {
    uint32_t epoch, count; /* rows that fit; 0: none */
    uint64_t first, ragged;
    uint64_t *places; /* of rows as they are stored */
    size_t room;
} fitted_t;

struct tnd_row_reader {
    const tnd_source_t *source;
    const tnd_shared_part_t *part;
    const tnd_stream_t *stream;
    const char *name;
    uint32_t lane;
    bool alone, late;
    tnd_sample_order_t order;
    tnd_row_shape_t shape;
    uint64_t *places; /* of positions, as they were found last */
    size_t places_room;
    fitted_t fitted;
    tnd_window_t window;
    tnd_stream_reader_t *writer; /* of a source that writes its rows; else NULL */
    tnd_pool_t *indices, *room;  /* of buffers that are large enough for the reads so far */
    tnd_block_pool_t *block_pool;
    /*  Positions [ahead_from, ahead_to) of an epoch were requested ahead. */
    uint32_t ahead_epoch;
    uint64_t ahead_from, ahead_to;
};

tnd_row_reader_t *tnd_row_reader_new(const tnd_row_reader_config_t *config)
{
    tnd_row_reader_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->source = tnd_shared_source_type(config->shared);
    self->part = tnd_shared_source_part(config->shared, config->lane);
    self->stream = config->stream;
    self->name = config->name;
    self->window = tnd_stream_window(config->stream, config->lane);
    self->shape = tnd_row_shape_of(&config->stream->order);
    self->lane = config->lane;
    self->alone = config->alone;
    self->late = config->late;
    self->block_pool = tnd_block_pool_new();
    const tnd_sample_order_config_t order = {
        .shuffle = (tnd_shuffle_t)config->options->shuffle,
        .stream = config->stream,
        .lane = config->lane,
        .files = self->part->facts.file_rows,
        .file_count = self->part->facts.file_rows_count,
        .recall = config->recall,
        .watch = config->watch,
        .watcher = config->watcher,
    };
    tnd_sample_order_init(&self->order, &order);
    if (!tnd_source_writes(self->source, &self->part->facts))
        return self;
    const tnd_stream_reader_config_t writer = {
        .source = self->source,
        .state = self->part->state,
        .schema = &self->part->facts.schema,
        .name = config->name,
        .caps = self->part->facts.caps,
        .first = self->window.first,
        .retain_bytes = config->options->retain_bytes,
    };
    self->writer = tnd_stream_reader_new(&writer);
    return self;
}

void tnd_row_reader_destroy(tnd_row_reader_t **self_p)
{
    tnd_row_reader_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    tnd_pool_destroy(&self->indices);
    tnd_pool_destroy(&self->room);
    tnd_stream_reader_destroy(&self->writer);
    tnd_sample_order_free(&self->order);
    free(self->places);
    free(self->fitted.places);
    tnd_block_pool_destroy(&self->block_pool);
    free(self);
}

tnd_block_t *tnd_row_reader_block(tnd_row_reader_t *self)
{
    return tnd_block_pool_take(self->block_pool, &self->stream->read.schema);
}

void tnd_row_reader_seek(tnd_row_reader_t *self, uint32_t epoch, uint64_t position)
{
    if (self->stream->order.count > 0)
        tnd_sample_order_seek(&self->order, epoch, position);
}

void tnd_row_reader_samples(tnd_row_reader_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                            uint64_t *samples)
{
    if (!self->shape.windows)
        tnd_sample_order_fill(&self->order, epoch, first, count, samples);
    for (uint32_t i = 0; i < count && self->shape.windows; i++)
        samples[i] = first + i;
}

/*  The places of positions, in self->places. */
static void find_places(tnd_row_reader_t *self, uint32_t epoch, uint64_t first, uint32_t count)
{
    size_t most = count * self->shape.width;
    if (most > self->places_room) {
        free(self->places);
        self->places = tnd_allocate(most, sizeof *self->places);
        self->places_room = most;
    }
    tnd_sample_order_fill(&self->order, epoch, first, count, self->places);
}

/*  Bytes of the ragged columns of positions.  `places`: where to write those of rows. */
static tnd_status_t measure(tnd_row_reader_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                            uint64_t *places, uint64_t *sizes, tnd_error_t *error)
{
    size_t row = tnd_schema_row_bytes(&self->part->facts.schema) / self->shape.unit;
    for (uint32_t i = 0; i < count && self->shape.windows; i++)
        sizes[i] = tnd_sample_order_pieces(&self->order, first + i) * row;
    if (self->shape.windows)
        return TND_OK;
    tnd_sample_order_fill(&self->order, epoch, first, count, places);
    return self->source->sizes(self->part->state, places, count, sizes, error);
}

/*  Memory for the places of a ticket. */
static fitted_t *begin_fit(tnd_row_reader_t *self, uint32_t epoch, uint64_t first, uint32_t count)
{
    fitted_t *fitted = &self->fitted;
    fitted->count = 0;
    fitted->epoch = epoch;
    fitted->first = first;
    if (self->stream->budget > 0 && count > fitted->room) {
        free(fitted->places);
        fitted->places = tnd_allocate(count, sizeof *fitted->places);
        fitted->room = count;
    }
    return fitted;
}

tnd_status_t tnd_row_reader_fit(tnd_row_reader_t *self, uint32_t epoch, uint64_t first,
                                const tnd_held_t *held, uint64_t budget, uint32_t *count_p,
                                uint64_t *ragged_p, tnd_error_t *error)
{
    uint64_t sizes[AHEAD_AT_ONCE];
    uint32_t fits = 0, count = *count_p;
    fitted_t *fitted = begin_fit(self, epoch, first, count);
    *ragged_p = 0;
    while (self->stream->budget > 0 && fits < count) {
        uint32_t some = count - fits < AHEAD_AT_ONCE ? count - fits : AHEAD_AT_ONCE;
        TND_TRY(measure(self, epoch, first + fits, some, fitted->places + fits, sizes, error));
        for (uint32_t i = 0; i < some; i++, fits++) {
            if (tnd_held_has(held, fits))
                continue;
            if (sizes[i] > budget - *ragged_p) {
                *ragged_p = fits > 0 ? *ragged_p : sizes[i];
                *count_p = fitted->count = fits;
                fitted->ragged = *ragged_p;
                return TND_OK;
            }
            *ragged_p += sizes[i];
        }
    }
    fitted->count = fits;
    fitted->ragged = *ragged_p;
    return TND_OK;
}

/*  The bytes of a ticket's rows, and their places in `places`, if tnd_row_reader_fit has found them;
 *  TND_UNKNOWN: it has not. */
static uint64_t take_fitted(tnd_row_reader_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                            uint64_t *places)
{
    fitted_t *fitted = &self->fitted;
    bool known = fitted->count == count && fitted->epoch == epoch && fitted->first == first;
    fitted->count = 0;
    if (!known)
        return TND_UNKNOWN;
    memcpy(places, fitted->places, count * sizeof *places);
    return fitted->ragged;
}

/*  Adds the bytes of the ragged columns of rows. */
static tnd_status_t add_sizes(const tnd_row_reader_t *self, const uint64_t *index, uint32_t count,
                              uint64_t *ragged_p, tnd_error_t *error)
{
    uint64_t sizes[AHEAD_AT_ONCE];
    for (uint32_t i = 0, some; i < count; i += some) {
        some = count - i < AHEAD_AT_ONCE ? count - i : AHEAD_AT_ONCE;
        TND_TRY(self->source->sizes(self->part->state, index + i, some, sizes, error));
        for (uint32_t k = 0; k < some; k++)
            *ragged_p += sizes[k];
    }
    return TND_OK;
}

/*  Memory for the rows that are copied: of ragged ones, for the bytes that they have, `known` or
 *  TND_UNKNOWN.  A row above the budget gets a buffer of its own, so that those of the pool stay
 *  small. */
static tnd_status_t take_room(tnd_row_reader_t *self, const uint64_t *index, uint32_t count,
                              uint64_t known, tnd_buffer_t **room_p, tnd_error_t *error)
{
    const tnd_source_facts_t *facts = &self->part->facts;
    size_t room = tnd_source_room(facts, count);
    uint64_t ragged = 0;
    size_t longest = tnd_schema_ragged_bytes(&facts->schema);
    if (room > 0 && longest > 0 && self->stream->budget > 0) {
        if (known != TND_UNKNOWN)
            ragged = known;
        else
            TND_TRY(add_sizes(self, index, count, &ragged, error));
        size_t fixed = facts->copied > longest ? facts->copied - longest : 0;
        room = fixed * count + ragged + (size_t)TND_COLUMNS_MAX * 64;
    }
    bool alone = self->stream->budget > 0 && ragged > self->stream->budget;
    *room_p = alone ? tnd_buffer_new(room) : room > 0 ? tnd_pool_take_of(&self->room, room) : NULL;
    return TND_OK;
}

static tnd_source_call_t make_call(tnd_row_reader_t *self, uint32_t count)
{
    const tnd_source_facts_t *facts = &self->part->facts;
    return (tnd_source_call_t){
        .indices =
            tnd_pool_take_of(&self->indices, (1 + (size_t)facts->lists) * count * sizeof(uint64_t)),
        .count = count,
    };
}

/*  Calls the source and drops the buffers of the call.  `ragged`: bytes of the ragged columns;
 *  TND_UNKNOWN. */
static tnd_status_t read_rows(tnd_row_reader_t *self, uint32_t epoch, tnd_source_call_t *call,
                              uint64_t ragged, uint32_t *count_p, bool *end_p, tnd_block_t *block,
                              tnd_error_t *error)
{
    const uint64_t *index = tnd_buffer_data(call->indices);
    tnd_status_t status;
    if (self->writer != NULL)
        status = tnd_stream_reader_read(self->writer, epoch, index, count_p, block, end_p, error);
    else if ((status = take_room(self, index, call->count, ragged, &call->room, error)) == TND_OK)
        status = self->source->read(self->part->state, call, block, error);
    tnd_buffer_drop(&call->indices);
    tnd_buffer_drop(&call->room);
    return status;
}

static tnd_status_t read_call(tnd_row_reader_t *self, uint32_t epoch, tnd_source_call_t *call,
                              uint32_t *count_p, bool *end_p, tnd_block_t *block,
                              tnd_error_t *error)
{
    return read_rows(self, epoch, call, TND_UNKNOWN, count_p, end_p, block, error);
}

/*  Reads the stored rows of places and makes the rows of positions of them, pieces[i] of each; NULL:
 *  one. */
static tnd_status_t read_shaped(tnd_row_reader_t *self, uint32_t epoch, const uint64_t *places,
                                const uint32_t *pieces, uint32_t count, tnd_block_t *block,
                                tnd_error_t *error)
{
    uint32_t rows = pieces != NULL ? 0 : count;
    bool end = false;
    for (uint32_t i = 0; i < count && pieces != NULL; i++)
        rows += pieces[i];
    tnd_source_call_t call = make_call(self, rows);
    uint64_t *index = tnd_buffer_data(call.indices);
    for (uint32_t i = 0; i < rows; i++)
        index[i] = places[i] / self->shape.unit;
    tnd_block_t *stored = tnd_block_pool_take(self->block_pool, &self->part->facts.schema);
    tnd_status_t status = read_call(self, epoch, &call, &rows, &end, stored, error);
    if (status == TND_OK)
        status = tnd_row_shape_make(&self->shape, stored, places, pieces, count, block, error);
    tnd_block_seal(stored);
    tnd_block_drop(&stored);
    return status;
}

/*  Moves the places of positions together, which find_places has found; how many each has. */
static uint32_t *pack_places(tnd_row_reader_t *self, uint64_t first, uint32_t count)
{
    uint32_t *pieces = tnd_allocate(count, sizeof *pieces);
    size_t to = 0;
    for (uint32_t i = 0; i < count; i++) {
        pieces[i] = tnd_sample_order_pieces(&self->order, first + i);
        memmove(self->places + to, self->places + i * self->shape.width,
                pieces[i] * sizeof *self->places);
        to += pieces[i];
    }
    return pieces;
}

/*  Reads positions that are not rows as stored. */
static tnd_status_t read_positions(tnd_row_reader_t *self, uint32_t epoch, uint64_t first,
                                   const tnd_held_t *held, uint32_t count, tnd_block_t *block,
                                   tnd_error_t *error)
{
    find_places(self, epoch, first, count);
    if (!self->shape.windows)
        count = tnd_held_leave_out(held, self->places, count);
    uint32_t *pieces = self->shape.windows ? pack_places(self, first, count) : NULL;
    tnd_status_t status = read_shaped(self, epoch, self->places, pieces, count, block, error);
    free(pieces);
    return status;
}

/*  Windows, which are given by their positions. */
static tnd_status_t read_windows(tnd_row_reader_t *self, uint32_t epoch, const uint64_t *positions,
                                 uint32_t count, tnd_block_t *block, tnd_error_t *error)
{
    uint32_t *pieces = tnd_allocate(count, sizeof *pieces);
    uint64_t *places = tnd_allocate(count * self->shape.width, sizeof *places);
    size_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        tnd_sample_order_fill(&self->order, epoch, positions[i], 1, places + found);
        pieces[i] = tnd_sample_order_pieces(&self->order, positions[i]);
        found += pieces[i];
    }
    tnd_status_t status = read_shaped(self, epoch, places, pieces, count, block, error);
    free(places);
    free(pieces);
    return status;
}

tnd_status_t tnd_row_reader_read_samples(tnd_row_reader_t *self, uint32_t epoch,
                                         const uint64_t *samples, uint32_t count,
                                         tnd_block_t *block, tnd_error_t *error)
{
    if (self->shape.windows)
        return read_windows(self, epoch, samples, count, block, error);
    if (!tnd_row_shape_is_plain(&self->shape))
        return read_shaped(self, epoch, samples, NULL, count, block, error);
    bool end = false;
    tnd_source_call_t call = make_call(self, count);
    memcpy(tnd_buffer_data(call.indices), samples, count * sizeof *samples);
    TND_TRY(read_call(self, epoch, &call, &count, &end, block, error));
    uint32_t refused;
    const tnd_stream_refusal_t *first = tnd_row_reader_refused(self, &refused);
    if (refused == 0)
        return TND_OK;
    (void)tnd_fail(error, "%s", first->why);
    return TND_REFUSED;
}

const tnd_stream_refusal_t *tnd_row_reader_refused(const tnd_row_reader_t *self, uint32_t *count_p)
{
    *count_p = 0;
    return self->writer != NULL ? tnd_stream_reader_refused(self->writer, count_p) : NULL;
}

bool tnd_row_reader_is_random(const tnd_row_reader_t *self)
{
    return (self->part->facts.caps & TND_SOURCE_RANDOM) != 0;
}

/*  Requests the rows of these positions and, if this is the only reader of the lane, of those that
 *  follow.  In a lane with several readers, another reader may get the next ticket.  Which rows a
 *  cache will hold of those that follow is not known yet. */
static void look_ahead(tnd_row_reader_t *self, uint32_t epoch, uint64_t first,
                       const tnd_held_t *held, uint32_t count)
{
    const tnd_source_t *source = self->source;
    uint32_t rows = source->ahead_rows != NULL ? source->ahead_rows(self->part->state) : 0;
    if (rows == 0)
        return;
    if (tnd_held_asked(held, count) < count) {
        find_places(self, epoch, first, count);
        uint32_t asked = tnd_held_leave_out(held, self->places, count);
        for (uint32_t i = 0; i < asked; i++)
            self->places[i] /= self->shape.unit;
        source->ahead(self->part->state, self->places, asked);
        return;
    }
    uint64_t end = first + count + (self->alone ? rows : 0);
    uint64_t most = tnd_stream_lane_count(self->stream, self->lane);
    end = end < most ? end : most;
    bool known = epoch == self->ahead_epoch && first >= self->ahead_from && first <= self->ahead_to;
    uint64_t at = known ? self->ahead_to : first;
    if (!known)
        self->ahead_from = first;
    self->ahead_epoch = epoch;
    self->ahead_to = at > end ? at : end;
    for (uint32_t some; at < end; at += some) {
        some = end - at < AHEAD_AT_ONCE ? (uint32_t)(end - at) : AHEAD_AT_ONCE;
        find_places(self, epoch, at, some);
        uint32_t found = some;
        uint32_t *pieces = self->shape.windows ? pack_places(self, at, some) : NULL;
        for (uint32_t i = 0; i < some && pieces != NULL; i++)
            found += pieces[i] - 1;
        free(pieces);
        for (uint32_t i = 0; i < found; i++)
            self->places[i] /= self->shape.unit;
        source->ahead(self->part->state, self->places, found);
    }
}

tnd_status_t tnd_row_reader_read(tnd_row_reader_t *self, uint32_t epoch, uint64_t first,
                                 const tnd_held_t *held, uint32_t *count_p, bool *end_p,
                                 tnd_block_t *block, tnd_error_t *error)
{
    look_ahead(self, epoch, first, held, *count_p);
    /* `take` of a source of unknown length: the join asks for more. */
    uint64_t most = self->stream->count == TND_UNKNOWN ? self->window.count : TND_UNKNOWN;
    uint64_t left = first < most ? most - first : 0;
    bool ends = left < *count_p;
    *count_p = ends ? (uint32_t)left : *count_p;
    *end_p = ends;
    uint32_t left_out = *count_p - tnd_held_asked(held, *count_p);
    if (*count_p == left_out)
        return TND_OK;
    if (!tnd_row_shape_is_plain(&self->shape))
        return read_positions(self, epoch, first, held, *count_p, block, error);
    tnd_source_call_t call = make_call(self, *count_p);
    call.late = self->late;
    uint64_t *index = tnd_buffer_data(call.indices);
    uint64_t ragged = take_fitted(self, epoch, first, *count_p, index);
    if (ragged == TND_UNKNOWN)
        tnd_sample_order_fill(&self->order, epoch, first, *count_p, index);
    uint32_t read = call.count = tnd_held_leave_out(held, index, *count_p);
    TND_TRY(read_rows(self, epoch, &call, ragged, &read, end_p, block, error));
    *count_p = read + left_out;
    if (first == 0 && *count_p == 0 && self->window.first > 0)
        return tnd_fail(error, "%s: `skip: %" PRIu64 "` leaves no row: the source has fewer",
                        self->name, self->window.first);
    *end_p = *end_p || ends;
    return TND_OK;
}

/*  The first stored row of a window that the source refuses, or the first. */
static uint64_t bad_row_of(tnd_row_reader_t *self, uint32_t epoch, uint64_t position)
{
    uint32_t pieces = tnd_sample_order_pieces(&self->order, position), bad = pieces;
    find_places(self, epoch, position, 1);
    for (uint32_t i = 0; i < pieces && bad == pieces; i++) {
        uint32_t one = 1;
        bool end = false;
        tnd_error_t ignored;
        tnd_source_call_t call = make_call(self, 1);
        *(uint64_t *)tnd_buffer_data(call.indices) = self->places[i] / self->shape.unit;
        tnd_block_t *row = tnd_block_pool_take(self->block_pool, &self->part->facts.schema);
        if (read_call(self, epoch, &call, &one, &end, row, &ignored) == TND_REFUSED)
            bad = i;
        tnd_block_seal(row);
        tnd_block_drop(&row);
    }
    return self->places[bad < pieces ? bad : 0] / self->shape.unit;
}

bool tnd_row_reader_where(tnd_row_reader_t *self, uint32_t epoch, uint64_t position,
                          tnd_source_place_t *place)
{
    *place = (tnd_source_place_t){0};
    if (self->source->where == NULL)
        return false;
    find_places(self, epoch, position, 1);
    self->source->where(self->part->state, self->places[0] / self->shape.unit, place);
    return place->file != NULL;
}

void tnd_row_reader_place(tnd_row_reader_t *self, uint32_t epoch, uint64_t sample,
                          tnd_quarantine_place_t *place, char *text, size_t room)
{
    uint64_t row =
        self->shape.windows ? bad_row_of(self, epoch, sample) : sample / self->shape.unit;
    tnd_source_place_t where = {.record = row};
    if (self->source->where != NULL)
        self->source->where(self->part->state, row, &where);
    place->sample = sample;
    place->file = where.file;
    place->record = where.record;
    place->offset = where.offset;
    if (where.file != NULL)
        snprintf(text, room, "record %" PRIu64 " of %.200s, at byte %" PRIu64, where.record,
                 where.file, where.offset);
    else
        snprintf(text, room, "record %" PRIu64, sample);
}
