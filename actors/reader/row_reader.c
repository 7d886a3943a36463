/*  actors/reader/row_reader.c - reads rows of a lane's source into blocks. */
#include "actors/reader/row_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/reader/sample_order.h"
#include "actors/reader/stream_reader.h"
#include "runtime/base/allocation.h"

enum { AHEAD_AT_ONCE = 128 };

/*  A pool of buffers that are large enough for the reads so far. */
typedef struct {
    tnd_pool_t *pool;
    size_t size;
} growing_pool_t;

struct tnd_row_reader {
    const tnd_source_t *source;
    const tnd_shared_part_t *part;
    const tnd_stream_t *stream;
    const char *name;
    uint32_t lane;
    bool alone;
    tnd_sample_order_t order;
    tnd_window_t window;
    tnd_stream_reader_t *writer; /* of a source that writes its rows; else NULL */
    growing_pool_t indices, room;
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
    self->lane = config->lane;
    self->alone = config->alone;
    self->block_pool = tnd_block_pool_new();
    const tnd_sample_order_config_t order = {
        .shuffle = (tnd_shuffle_t)config->options->shuffle,
        .stream = config->stream,
        .lane = config->lane,
        .files = self->part->facts.file_rows,
        .file_count = self->part->facts.file_rows_count,
        .recall = config->recall,
    };
    tnd_sample_order_init(&self->order, &order);
    if (self->source->fill == NULL)
        return self;
    const tnd_stream_reader_config_t writer = {
        .source = self->source,
        .state = self->part->state,
        .schema = &config->stream->read,
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
    tnd_pool_destroy(&self->indices.pool);
    tnd_pool_destroy(&self->room.pool);
    tnd_stream_reader_destroy(&self->writer);
    tnd_sample_order_free(&self->order);
    tnd_block_pool_destroy(&self->block_pool);
    free(self);
}

tnd_block_t *tnd_row_reader_block(tnd_row_reader_t *self)
{
    return tnd_block_pool_take(self->block_pool, &self->stream->read);
}

void tnd_row_reader_samples(tnd_row_reader_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                            uint64_t *samples)
{
    tnd_sample_order_fill(&self->order, epoch, first, count, samples);
}

/*  A buffer of at least `size` bytes; NULL for none. */
static tnd_buffer_t *take(growing_pool_t *self, size_t size)
{
    if (size == 0)
        return NULL;
    if (size > self->size) {
        tnd_pool_destroy(&self->pool);
        self->size = size < 4096 ? 4096 : size;
        self->pool = tnd_pool_new(self->size);
    }
    return tnd_pool_take(self->pool);
}

tnd_status_t tnd_row_reader_fit(tnd_row_reader_t *self, uint32_t epoch, uint64_t first,
                                uint64_t budget, uint32_t *count_p, uint64_t *ragged_p,
                                tnd_error_t *error)
{
    uint64_t indices[AHEAD_AT_ONCE], sizes[AHEAD_AT_ONCE];
    uint32_t fits = 0, count = *count_p;
    *ragged_p = 0;
    while (self->stream->budget > 0 && fits < count) {
        uint32_t some = count - fits < AHEAD_AT_ONCE ? count - fits : AHEAD_AT_ONCE;
        tnd_sample_order_fill(&self->order, epoch, first + fits, some, indices);
        TND_TRY(self->source->sizes(self->part->state, indices, some, sizes, error));
        for (uint32_t i = 0; i < some; i++, fits++) {
            if (sizes[i] > budget - *ragged_p) {
                *ragged_p = fits > 0 ? *ragged_p : sizes[i];
                *count_p = fits;
                return TND_OK;
            }
            *ragged_p += sizes[i];
        }
    }
    return TND_OK;
}

/*  Memory for the rows that are copied: of ragged ones, for the bytes that they have.  A row above
 *  the budget gets a buffer of its own, so that those of the pool stay small. */
static tnd_status_t take_room(tnd_row_reader_t *self, const uint64_t *index, uint32_t count,
                              tnd_buffer_t **room_p, tnd_error_t *error)
{
    const tnd_source_facts_t *facts = &self->part->facts;
    size_t room = tnd_source_room(facts, count);
    uint64_t sizes[AHEAD_AT_ONCE], ragged = 0;
    size_t longest = tnd_schema_ragged_bytes(&facts->schema);
    if (room > 0 && self->stream->budget > 0) {
        for (uint32_t i = 0, some; i < count; i += some) {
            some = count - i < AHEAD_AT_ONCE ? count - i : AHEAD_AT_ONCE;
            TND_TRY(self->source->sizes(self->part->state, index + i, some, sizes, error));
            for (uint32_t k = 0; k < some; k++)
                ragged += sizes[k];
        }
        size_t fixed = facts->copied > longest ? facts->copied - longest : 0;
        room = fixed * count + ragged + (size_t)TND_COLUMNS_MAX * 64;
    }
    bool alone = self->stream->budget > 0 && ragged > self->stream->budget;
    *room_p = alone ? tnd_buffer_new(room) : take(&self->room, room);
    return TND_OK;
}

static tnd_source_call_t make_call(tnd_row_reader_t *self, uint32_t count)
{
    const tnd_source_facts_t *facts = &self->part->facts;
    return (tnd_source_call_t){
        .indices = take(&self->indices, (1 + (size_t)facts->lists) * count * sizeof(uint64_t)),
        .count = count,
    };
}

/*  Calls the source and drops the buffers of the call. */
static tnd_status_t read_call(tnd_row_reader_t *self, uint32_t epoch, tnd_source_call_t *call,
                              uint32_t *count_p, bool *end_p, tnd_block_t *block,
                              tnd_error_t *error)
{
    const uint64_t *index = tnd_buffer_data(call->indices);
    tnd_status_t status;
    if (self->writer != NULL)
        status = tnd_stream_reader_read(self->writer, epoch, index, count_p, block, end_p, error);
    else if ((status = take_room(self, index, call->count, &call->room, error)) == TND_OK)
        status = self->source->read(self->part->state, call, block, error);
    tnd_buffer_drop(&call->indices);
    tnd_buffer_drop(&call->room);
    return status;
}

tnd_status_t tnd_row_reader_read_samples(tnd_row_reader_t *self, uint32_t epoch,
                                         const uint64_t *samples, uint32_t count,
                                         tnd_block_t *block, tnd_error_t *error)
{
    bool end = false;
    tnd_source_call_t call = make_call(self, count);
    memcpy(tnd_buffer_data(call.indices), samples, count * sizeof *samples);
    return read_call(self, epoch, &call, &count, &end, block, error);
}

/*  Requests the rows of these positions and, if this is the only reader of the lane, of those that
 *  follow.  In a lane with several readers, another reader may get the next ticket. */
static void look_ahead(tnd_row_reader_t *self, uint32_t epoch, uint64_t first, uint32_t count)
{
    uint64_t indices[AHEAD_AT_ONCE];
    const tnd_source_t *source = self->source;
    uint32_t rows = source->ahead_rows != NULL ? source->ahead_rows(self->part->state) : 0;
    if (rows == 0)
        return;
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
        tnd_sample_order_fill(&self->order, epoch, at, some, indices);
        source->ahead(self->part->state, indices, some);
    }
}

tnd_status_t tnd_row_reader_read(tnd_row_reader_t *self, uint32_t epoch, uint64_t first,
                                 uint32_t *count_p, bool *end_p, tnd_block_t *block,
                                 tnd_error_t *error)
{
    look_ahead(self, epoch, first, *count_p);
    /* `take` of a source of unknown length: the join asks for more. */
    uint64_t most = self->stream->count == TND_UNKNOWN ? self->window.count : TND_UNKNOWN;
    uint64_t left = first < most ? most - first : 0;
    bool ends = left < *count_p;
    *count_p = ends ? (uint32_t)left : *count_p;
    *end_p = ends;
    if (*count_p == 0)
        return TND_OK;
    tnd_source_call_t call = make_call(self, *count_p);
    tnd_sample_order_fill(&self->order, epoch, first, *count_p, tnd_buffer_data(call.indices));
    TND_TRY(read_call(self, epoch, &call, count_p, end_p, block, error));
    if (first == 0 && *count_p == 0 && self->window.first > 0)
        return tnd_fail(error, "%s: `skip: %" PRIu64 "` leaves no row: the source has fewer",
                        self->name, self->window.first);
    *end_p = *end_p || ends;
    return TND_OK;
}

void tnd_row_reader_place(const tnd_row_reader_t *self, uint64_t sample,
                          tnd_quarantine_place_t *place, char *text, size_t room)
{
    tnd_source_place_t where = {.record = sample};
    if (self->source->where != NULL)
        self->source->where(self->part->state, sample, &where);
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
