/*  runtime/core/places/global.c - a permutation of all positions, another one in each pass. */
#include "runtime/core/numeric/permute.h"
#include "runtime/core/places/place_map.h"

typedef struct {
    uint64_t pass; /* that `permutation` is of */
    tnd_permute_t permutation;
} global_t;

static size_t global_bytes(const tnd_place_stage_t *self)
{
    (void)self;
    return sizeof(global_t);
}

static void begin(tnd_place_stage_t *self, uint64_t pass)
{
    global_t *state = self->state;
    state->pass = pass;
    if (self->input > 0)
        tnd_permute_init(&state->permutation, self->input, self->map->global, pass);
}

static void global_init(tnd_place_stage_t *self)
{
    begin(self, 0);
}

static void global_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    const global_t *state = self->state;
    if (state->pass != pass)
        begin(self, pass);
    tnd_permute_many(&state->permutation, positions, count);
    tnd_place_below(self, pass, positions, count);
}

const tnd_place_op_t tnd_place_global = {.name = "global",
                                         .rules = TND_PLACE_WHOLE,
                                         .bytes = global_bytes,
                                         .init = global_init,
                                         .trace = global_trace};
