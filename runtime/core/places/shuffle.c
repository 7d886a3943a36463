/*  runtime/core/places/shuffle.c - TensorFlow's shuffle buffer, of positions instead of rows.
 *
 *  The buffer is a ring: a draw returns the position at a random offset, moves the oldest there,
 *  and frees the oldest slot for the next of the input.  The order in which the slots are used is
 *  part of the result.  The ring has more slots than the buffer, for input that comes later.
 *
 *  Draws go forwards only.  To go back, the state is restored from one of two snapshots, or the pass
 *  begins again, and what was drawn before is drawn again. */
#include <string.h>

#include "runtime/core/numeric/random.h"
#include "runtime/core/places/place_map.h"

/*  Positions between snapshots.  One is as large as the buffer, so a larger buffer is copied less
 *  often. */
static const uint64_t snapshot_every = 65536;
/*  Positions of the input that are traced together, and those of the result that are drawn so. */
enum { AHEAD = 128 };

__extension__ typedef unsigned __int128 wide_t;

/*  The place of a pass. */
typedef struct {
    uint64_t pass;
    uint64_t next; /* the position that is drawn next */
    uint64_t read; /* positions of the input in the ring or drawn; in the buffer or drawn are those
                      below next + room */
    uint64_t head; /* the oldest slot */
    uint32_t seeds[2];
    uint64_t blocks; /* of random words */
    uint32_t words[TND_PHILOX_RUN];
    uint32_t unused; /* of these words */
} progress_t;

typedef struct {
    progress_t at;
    uint64_t room;       /* slots of the buffer */
    uint64_t ring;       /* of the ring */
    uint64_t reciprocal; /* 2^64 / room, rounded up */
    uint64_t interval;   /* of snapshots */
    struct {
        bool taken;
        progress_t at;
    } snapshots[2];
    uint32_t latest;
    uint64_t slots[]; /* the ring, then those of the snapshots */
} shuffle_t;

static uint64_t room_of(const tnd_place_stage_t *self)
{
    uint64_t room = self->map->shuffle.buffer;
    return room < self->input ? room : self->input;
}

/*  The buffer is full before the first draw, and again before each other. */
static uint64_t shuffle_demand(const tnd_place_stage_t *self)
{
    uint64_t room = room_of(self);
    if (self->wanted == 0)
        return 0;
    if (self->wanted > self->count || self->wanted - 1 > self->input - room)
        return UINT64_MAX;
    return room + self->wanted - 1;
}

static uint64_t *slots_of(shuffle_t *state, uint32_t snapshot)
{
    return state->slots + state->ring * (1 + snapshot);
}

static void begin(tnd_place_stage_t *self, uint64_t pass)
{
    shuffle_t *state = self->state;
    const uint32_t *seeds = self->map->shuffle.seeds;
    state->at = (progress_t){.pass = pass, .seeds = {seeds[0], seeds[1]}};
    if (!self->map->shuffle.reshuffle)
        return;
    /* Each pass takes two words of the generator of the two seeds. */
    const uint32_t key[2] = {seeds[0], 0};
    const uint32_t counter[4] = {(uint32_t)(pass / 2), (uint32_t)(pass / 2 >> 32), seeds[1], 0};
    uint32_t words[4];
    tnd_philox(counter, key, words);
    memcpy(state->at.seeds, words + pass % 2 * 2, sizeof state->at.seeds);
}

static size_t shuffle_bytes(const tnd_place_stage_t *self)
{
    return sizeof(shuffle_t) + 3 * (room_of(self) + AHEAD) * sizeof(uint64_t);
}

static void shuffle_init(tnd_place_stage_t *self)
{
    shuffle_t *state = self->state;
    uint64_t room = room_of(self);
    *state = (shuffle_t){
        .room = room, .ring = room + AHEAD, .reciprocal = room > 0 ? UINT64_MAX / room + 1 : 0};
    state->interval = room > snapshot_every ? room : snapshot_every;
    begin(self, 0);
}

/*  The next random words, at least one. */
static void make_words(progress_t *at)
{
    const uint32_t key[2] = {at->seeds[0], 0}, end[2] = {at->seeds[1], 0};
    if (at->unused > 0)
        return;
    tnd_philox_run(at->blocks, end, key, at->words);
    at->blocks += TND_PHILOX_RUN / 4;
    at->unused = TND_PHILOX_RUN;
}

/*  Reads input into slots that are free. */
static void read_some(tnd_place_stage_t *self)
{
    shuffle_t *state = self->state;
    progress_t *at = &state->at;
    uint64_t used = at->read - at->next, slot = at->head + used;
    slot -= slot < state->ring ? 0 : state->ring;
    uint64_t count = state->ring - used, left = self->input - at->read, end = state->ring - slot;
    count = count < left ? count : left;
    count = count < end ? count : end;
    count = count < AHEAD ? count : AHEAD;
    for (uint64_t i = 0; i < count; i++)
        state->slots[slot + i] = at->read + i;
    tnd_place_below(self, at->pass, state->slots + slot, count);
    at->read += count;
}

/*  Draws one. */
static uint64_t draw(shuffle_t *state, uint64_t *position)
{
    progress_t *at = &state->at;
    uint64_t used = at->read - at->next, live = used < state->room ? used : state->room;
    make_words(at);
    uint64_t slot = at->head + at->words[TND_PHILOX_RUN - at->unused--] % live;
    slot -= slot < state->ring ? 0 : state->ring;
    *position = state->slots[slot];
    state->slots[slot] = state->slots[at->head];
    at->head = at->head + 1 < state->ring ? at->head + 1 : 0;
    return 1;
}

/*  Draws up to `count` from the full buffer: the same as one draw at a time, with its remainder by
 *  multiplication (Lemire et al., 2019) and its state in registers. */
static uint64_t draw_full(shuffle_t *state, uint64_t count, uint64_t *positions)
{
    progress_t *at = &state->at;
    make_words(at);
    const uint32_t *words = at->words + TND_PHILOX_RUN - at->unused;
    uint64_t *slots = state->slots, head = at->head, ring = state->ring, room = state->room;
    uint64_t reciprocal = state->reciprocal;
    count = count < ring - head ? count : ring - head;
    count = count < at->unused ? count : at->unused;
    for (uint64_t i = 0; i < count; i++, head++) {
        uint64_t slot = head + (uint64_t)((wide_t)(reciprocal * words[i]) * room >> 64);
        slot -= slot < ring ? 0 : ring;
        positions[i] = slots[slot];
        slots[slot] = slots[head];
    }
    at->unused -= (uint32_t)count;
    at->head = head < ring ? head : 0;
    return count;
}

static void take_snapshot(shuffle_t *state)
{
    for (uint32_t i = 0; i < 2; i++)
        if (state->snapshots[i].taken && state->snapshots[i].at.pass == state->at.pass &&
            state->snapshots[i].at.next == state->at.next)
            return;
    state->latest ^= 1;
    state->snapshots[state->latest].taken = true;
    state->snapshots[state->latest].at = state->at;
    memcpy(slots_of(state, state->latest), state->slots, state->ring * sizeof *state->slots);
}

/*  Moves to the last known state of the pass that is not after `position`. */
static void go_back(tnd_place_stage_t *self, uint64_t pass, uint64_t position)
{
    shuffle_t *state = self->state;
    begin(self, pass);
    for (uint32_t i = 0; i < 2; i++) {
        const progress_t *at = &state->snapshots[i].at;
        if (!state->snapshots[i].taken || at->pass != pass || at->next > position ||
            at->next < state->at.next)
            continue;
        state->at = *at;
        memcpy(state->slots, slots_of(state, i), state->ring * sizeof *state->slots);
    }
}

/*  How many positions draw_full can draw; 0: none, as the input has ended and does not fill the
 *  buffer, or as the buffer has more slots than a random word has values. */
static uint64_t full_draws(tnd_place_stage_t *self)
{
    shuffle_t *state = self->state;
    progress_t *at = &state->at;
    while (at->read - at->next < state->room && at->read < self->input)
        read_some(self);
    uint64_t used = at->read - at->next;
    return used < state->room || state->room > UINT32_MAX ? 0 : used - state->room + 1;
}

/*  Draws the next `count` positions. */
static void draw_next(tnd_place_stage_t *self, uint64_t count, uint64_t *positions)
{
    shuffle_t *state = self->state;
    progress_t *at = &state->at;
    uint64_t most = state->interval - at->next % state->interval;
    self->drawn += count;
    for (uint64_t some; count > 0; count -= some) {
        if (most == state->interval && at->next > 0)
            take_snapshot(state);
        uint64_t full = full_draws(self);
        some = count < most ? count : most;
        some = some < full ? some : full;
        some = full > 0 ? draw_full(state, some, positions) : draw(state, positions);
        at->next += some;
        most = most > some ? most - some : state->interval;
        positions += some;
    }
}

/*  Draws `count` positions to get past them; false: it was ended. */
static bool draw_past(tnd_place_stage_t *self, uint64_t count)
{
    uint64_t drawn[AHEAD];
    for (uint64_t some; count > 0; count -= some) {
        some = count < TND_PLACES_WATCHED ? count : TND_PLACES_WATCHED;
        if (count >= TND_PLACES_WATCHED && self->watch != NULL &&
            !self->watch(self->watcher, count))
            return false;
        for (uint64_t i = 0; i < some; i += AHEAD)
            draw_next(self, some - i < AHEAD ? some - i : AHEAD, drawn);
    }
    return true;
}

static void shuffle_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    const progress_t *at = &((const shuffle_t *)self->state)->at;
    for (size_t from = 0, to; from < count; from = to) {
        uint64_t first = positions[from], drawn[AHEAD];
        if (pass != at->pass || first < at->next)
            go_back(self, pass, first);
        if (first - at->next >= AHEAD && !draw_past(self, first - at->next))
            return;
        /* Those between the positions of a lane are drawn too, all in one go. */
        uint64_t next = at->next;
        for (to = from + 1; to < count && positions[to] - next < AHEAD;)
            to++;
        draw_next(self, positions[to - 1] + 1 - next, drawn);
        for (size_t i = from; i < to; i++)
            positions[i] = drawn[positions[i] - next];
    }
}

const tnd_place_op_t tnd_place_shuffle = {.name = "shuffle",
                                          .rules = TND_PLACE_SEQUENTIAL,
                                          .demand = shuffle_demand,
                                          .bytes = shuffle_bytes,
                                          .init = shuffle_init,
                                          .trace = shuffle_trace};
