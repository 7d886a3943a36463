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
    uint32_t lane;
    bool alone;
    tnd_sample_order_t order;
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
        .caps = tnd_source_spec_of(config->options->source.table)->caps,
        .first = config->stream->count != TND_UNKNOWN
                     ? tnd_stream_window(config->stream, config->lane).first
                     : 0,
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

static tnd_source_call_t make_call(tnd_row_reader_t *self, uint32_t count)
{
    const tnd_source_facts_t *facts = &self->part->facts;
    return (tnd_source_call_t){
        .indices = take(&self->indices, (1 + (size_t)facts->lists) * count * sizeof(uint64_t)),
        .room = take(&self->room, tnd_source_room(facts, count)),
        .count = count,
    };
}

/*  Calls the source and drops the buffers of the call. */
static tnd_status_t read_call(tnd_row_reader_t *self, uint32_t epoch, tnd_source_call_t *call,
                              uint32_t *count_p, bool *end_p, tnd_block_t *block,
                              tnd_error_t *error)
{
    tnd_status_t status =
        self->writer != NULL
            ? tnd_stream_reader_read(self->writer, epoch, tnd_buffer_data(call->indices), count_p,
                                     block, end_p, error)
            : self->source->read(self->part->state, call, block, error);
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
    tnd_source_call_t call = make_call(self, *count_p);
    tnd_sample_order_fill(&self->order, epoch, first, *count_p, tnd_buffer_data(call.indices));
    return read_call(self, epoch, &call, count_p, end_p, block, error);
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
