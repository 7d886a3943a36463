/*  runtime/core/places/files.c - the files in another order, another one in each pass.
 *
 *  The order is that in which TensorFlow's shuffle gives their names.  Where the rows of a file are
 *  then follows from the counts. */
#include "runtime/base/bounds.h"
#include "runtime/core/places/place_map.h"

typedef struct {
    uint64_t pass;             /* that the lists are of */
    tnd_place_stage_t shuffle; /* of the files */
    uint64_t *stored;          /* place of the first row of each file, as stored */
    uint64_t *order;           /* the files in the order of the pass */
    uint64_t *counts;          /* stored rows of each of them */
    uint64_t *first;           /* position of the first row of each; and one past the last */
} files_t;

static tnd_place_stage_t shuffle_of(const tnd_place_stage_t *self)
{
    return (tnd_place_stage_t){.op = &tnd_place_shuffle,
                               .map = self->map,
                               .input = self->file_count,
                               .count = self->file_count,
                               .wanted = self->file_count,
                               .passes = 1};
}

static size_t files_bytes(const tnd_place_stage_t *self)
{
    tnd_place_stage_t shuffle = shuffle_of(self);
    return sizeof(files_t) + (4 * (size_t)self->file_count + 1) * sizeof(uint64_t) +
           shuffle.op->bytes(&shuffle);
}

static void begin(tnd_place_stage_t *self, uint64_t pass)
{
    files_t *state = self->state;
    uint64_t first = 0;
    state->pass = pass;
    for (uint32_t i = 0; i < self->file_count; i++)
        state->order[i] = i;
    if (self->file_count > 0)
        state->shuffle.op->trace(&state->shuffle, pass, state->order, self->file_count);
    for (uint32_t i = 0; i < self->file_count; i++) {
        state->counts[i] = self->files[state->order[i]];
        state->first[i] = first;
        first += state->counts[i] * self->unit;
    }
    state->first[self->file_count] = first;
}

static void files_init(tnd_place_stage_t *self)
{
    files_t *state = self->state;
    size_t files = self->file_count;
    uint64_t first = 0;
    *state = (files_t){.shuffle = shuffle_of(self)};
    state->stored = (uint64_t *)(state + 1);
    state->order = state->stored + files;
    state->counts = state->order + files;
    state->first = state->counts + files;
    state->shuffle.state = state->first + files + 1;
    state->shuffle.op->init(&state->shuffle);
    for (size_t i = 0; i < files; i++) {
        state->stored[i] = first;
        first += self->files[i] * self->unit;
    }
    begin(self, 0);
}

const uint64_t *tnd_place_files_counts(tnd_place_stage_t *self, uint64_t pass)
{
    files_t *state = self->state;
    if (state->pass != pass)
        begin(self, pass);
    return state->counts;
}

static void files_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    const files_t *state = self->state;
    uint64_t first = 0, run = 0, place = 0;
    if (state->pass != pass)
        begin(self, pass);
    for (size_t i = 0; i < count; i++) {
        if (positions[i] - first >= run) {
            uint32_t after;
            TND_LOWER_BOUND(after, 1, self->file_count, state->first[after] <= positions[i]);
            first = positions[i];
            place = state->stored[state->order[after - 1]] + (first - state->first[after - 1]);
            run = state->first[after] - first;
        }
        positions[i] = place + (positions[i] - first);
    }
    tnd_place_below(self, pass, positions, count);
}

const tnd_place_op_t tnd_place_files = {.name = "files",
                                        .rules = TND_PLACE_FIRST,
                                        .bytes = files_bytes,
                                        .init = files_init,
                                        .trace = files_trace};
