/*  actors/reader/sample_order.c - which sample is at a position of a lane. */
#include "actors/reader/sample_order.h"

void tnd_sample_order_init(tnd_sample_order_t *self, tnd_shuffle_t shuffle,
                           const tnd_stream_t *stream, uint32_t lane)
{
    *self = (tnd_sample_order_t){.shuffle = shuffle, .stream = stream, .lane = lane};
    if (stream->count != TND_UNKNOWN)
        self->window = tnd_stream_window(stream, lane);
}

/*  Prepares the shuffle of an epoch.  Two epochs may be active, but most tickets are of the same
 *  epoch as the one before.  Lanes with files of their own are shuffled differently from each
 *  other, except with TensorFlow's shuffle, whose workers shuffle alike. */
static void shuffle_epoch(tnd_sample_order_t *self, uint32_t epoch)
{
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    if (self->shuffled && self->shuffled_epoch == epoch)
        return;
    self->shuffled = true;
    self->shuffled_epoch = epoch;
    uint64_t seed = self->stream->seed, count = self->window.count * self->window.repeat;
    uint32_t key[3];
    switch (self->shuffle) {
    case TND_SHUFFLE_NONE:
        break;
    case TND_SHUFFLE_GLOBAL:
        if (self->stream->by_file)
            seed ^= odd * self->lane;
        tnd_permute_init(&self->permutation, count, seed, epoch);
        break;
    case TND_SHUFFLE_TENSORFLOW:
        tnd_index_shuffle_data_key(seed, 0, true, epoch, key);
        tnd_index_shuffle_init(&self->index_shuffle, key, count, TND_INDEX_SHUFFLE_DATA_ROUNDS);
        break;
    }
}

/*  The rows at positions [first, first + count) of the lane, counted from the start of the window,
 *  over all repeats. */
static void fill_places(tnd_sample_order_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                        uint64_t *places)
{
    bool alone = self->stream->lanes == 1 || self->stream->by_file;
    uint64_t lanes = alone ? 1 : self->stream->lanes, lane = alone ? 0 : self->lane;
    shuffle_epoch(self, epoch);
    if (self->shuffle == TND_SHUFFLE_GLOBAL && count > 0) {
        for (uint32_t i = 0; i < count; i++)
            places[i] = (first + i) * lanes + lane;
        tnd_permute_many(&self->permutation, places, count);
        return;
    }
    bool plain = self->shuffle == TND_SHUFFLE_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t position = (first + i) * lanes + lane;
        places[i] = plain ? position : tnd_index_shuffle_at(&self->index_shuffle, position);
    }
}

void tnd_sample_order_fill(tnd_sample_order_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                           uint64_t *indices)
{
    fill_places(self, epoch, first, count, indices);
    const tnd_window_t *window = &self->window;
    if (window->repeat > 1)
        for (uint32_t i = 0; i < count; i++)
            indices[i] %= window->count;
    if (window->first > 0)
        for (uint32_t i = 0; i < count; i++)
            indices[i] += window->first;
}
