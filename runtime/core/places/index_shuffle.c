/*  runtime/core/places/index_shuffle.c - TensorFlow's shuffle of a whole dataset. */
#include "runtime/core/numeric/index_shuffle.h"

#include "runtime/core/places/place_map.h"

typedef struct {
    uint64_t pass; /* that `shuffle` is of */
    tnd_index_shuffle_t shuffle;
} index_shuffle_t;

static size_t index_shuffle_bytes(const tnd_place_stage_t *self)
{
    (void)self;
    return (sizeof(index_shuffle_t) + 7) / 8 * 8;
}

static void begin(tnd_place_stage_t *self, uint64_t pass)
{
    index_shuffle_t *state = self->state;
    uint32_t key[3];
    state->pass = pass;
    tnd_index_shuffle_data_key(self->map->index_shuffle.seeds[0], self->map->index_shuffle.seeds[1],
                               self->map->index_shuffle.reshuffle, pass, key);
    if (self->input > 0)
        tnd_index_shuffle_init(&state->shuffle, key, self->input, TND_INDEX_SHUFFLE_DATA_ROUNDS);
}

static void index_shuffle_init(tnd_place_stage_t *self)
{
    begin(self, 0);
}

static void index_shuffle_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions,
                                size_t count)
{
    const index_shuffle_t *state = self->state;
    if (state->pass != pass)
        begin(self, pass);
    for (size_t i = 0; i < count; i++)
        positions[i] = tnd_index_shuffle_at(&state->shuffle, positions[i]);
    tnd_place_below(self, pass, positions, count);
}

const tnd_place_op_t tnd_place_index_shuffle = {.name = "index_shuffle",
                                                .rules = TND_PLACE_WHOLE,
                                                .bytes = index_shuffle_bytes,
                                                .init = index_shuffle_init,
                                                .trace = index_shuffle_trace};
