/*  runtime/core/places/shuffle.c - TensorFlow's shuffle buffer, of positions instead of rows.
 *
 *  The buffer is a ring: a draw returns the position at a random offset, moves the oldest there,
 *  and frees the oldest slot for the next of the input.  The order in which the slots are used is
 *  part of the result.
 *
 *  Draws go forwards only.  To go back, the state is restored from one of two snapshots, or the pass
 *  begins again, and what was drawn before is drawn again. */
#include <string.h>

#include "runtime/core/numeric/random.h"
#include "runtime/core/places/place_map.h"

/*  Positions between snapshots.  One is as large as the buffer, so a larger buffer is copied less
 *  often. */
static const uint64_t snapshot_every = 65536;
/*  Positions of the input that are traced together. */
enum { AHEAD = 128 };
enum { WORDS = 8 };

__extension__ typedef unsigned __int128 wide_t;

/*  The place of a pass. */
typedef struct {
    uint64_t pass;
    uint64_t next; /* the position that is drawn next */
    uint64_t read; /* positions of the input in the buffer or drawn */
    uint64_t head; /* the oldest slot */
    uint64_t live; /* slots in use */
    uint32_t seeds[2];
    uint64_t blocks; /* of random words */
    uint32_t words[WORDS];
    uint32_t unused; /* of these words */
} progress_t;

typedef struct {
    progress_t at;
    uint64_t room;                                  /* slots of the buffer */
    uint64_t reciprocal;                            /* 2^64 / room, rounded up */
    uint64_t interval;                              /* of snapshots */
    uint64_t ahead[AHEAD], ahead_from, ahead_count; /* the input from `ahead_from` on */
    struct {
        bool taken;
        progress_t at;
    } snapshots[2];
    uint32_t latest;
    uint64_t slots[]; /* the buffer, then those of the snapshots */
} shuffle_t;

static uint64_t shuffle_count(const tnd_place_map_t *map, uint64_t input)
{
    (void)map;
    return input;
}

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
    return state->slots + state->room * (1 + snapshot);
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
    return sizeof(shuffle_t) + 3 * room_of(self) * sizeof(uint64_t);
}

static void shuffle_init(tnd_place_stage_t *self)
{
    shuffle_t *state = self->state;
    uint64_t room = room_of(self);
    *state = (shuffle_t){.room = room, .reciprocal = room > 0 ? UINT64_MAX / room + 1 : 0};
    state->interval = room > snapshot_every ? room : snapshot_every;
    begin(self, 0);
}

/*  The next random words, at least one. */
static void make_words(progress_t *at)
{
    const uint32_t key[2] = {at->seeds[0], 0}, end[2] = {at->seeds[1], 0};
    if (at->unused > 0)
        return;
    tnd_philox_two(at->blocks, end, key, at->words);
    at->blocks += 2;
    at->unused = WORDS;
}

static void read_ahead(tnd_place_stage_t *self)
{
    shuffle_t *state = self->state;
    uint64_t left = self->input - state->at.read;
    state->ahead_from = state->at.read;
    state->ahead_count = left < AHEAD ? left : AHEAD;
    for (uint64_t i = 0; i < state->ahead_count; i++)
        state->ahead[i] = state->ahead_from + i;
    tnd_place_below(self, state->at.pass, state->ahead, state->ahead_count);
}

static void fill(tnd_place_stage_t *self)
{
    shuffle_t *state = self->state;
    progress_t *at = &state->at;
    while (at->live < state->room && at->read < self->input) {
        if (at->read - state->ahead_from >= state->ahead_count)
            read_ahead(self);
        uint64_t slot = at->head + at->live++;
        slot -= slot < state->room ? 0 : state->room;
        state->slots[slot] = state->ahead[at->read++ - state->ahead_from];
    }
}

/*  Draws one. */
static uint64_t draw(shuffle_t *state, uint64_t *position)
{
    progress_t *at = &state->at;
    make_words(at);
    uint64_t slot = at->head + at->words[WORDS - at->unused--] % at->live;
    slot -= slot < state->room ? 0 : state->room;
    if (position != NULL)
        *position = state->slots[slot];
    state->slots[slot] = state->slots[at->head];
    at->head = at->head + 1 < state->room ? at->head + 1 : 0;
    at->live--;
    return 1;
}

/*  Draws up to `count` while the buffer is full, and fills it: the same as one draw at a time, with
 *  its remainder by multiplication (Lemire et al., 2019) and its state in registers. */
static uint64_t draw_full(shuffle_t *state, uint64_t count, uint64_t *positions)
{
    progress_t *at = &state->at;
    make_words(at);
    const uint64_t *ahead = state->ahead + (at->read - state->ahead_from);
    const uint32_t *words = at->words + WORDS - at->unused;
    uint64_t left = state->ahead_count - (at->read - state->ahead_from);
    uint64_t *slots = state->slots, head = at->head, room = state->room;
    uint64_t reciprocal = state->reciprocal;
    count = count < left ? count : left;
    count = count < at->unused ? count : at->unused;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t slot = head + (uint64_t)((wide_t)(reciprocal * words[i]) * room >> 64);
        slot -= slot < room ? 0 : room;
        if (positions != NULL)
            positions[i] = slots[slot];
        slots[slot] = slots[head];
        slots[head] = ahead[i];
        head = head + 1 < room ? head + 1 : 0;
    }
    at->unused -= (uint32_t)count;
    at->head = head;
    at->read += count;
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
    memcpy(slots_of(state, state->latest), state->slots, state->room * sizeof *state->slots);
}

/*  Moves to the last known state of the pass that is not after `position`. */
static void go_back(tnd_place_stage_t *self, uint64_t pass, uint64_t position)
{
    shuffle_t *state = self->state;
    state->ahead_count = 0;
    begin(self, pass);
    for (uint32_t i = 0; i < 2; i++) {
        const progress_t *at = &state->snapshots[i].at;
        if (!state->snapshots[i].taken || at->pass != pass || at->next > position ||
            at->next < state->at.next)
            continue;
        state->at = *at;
        memcpy(state->slots, slots_of(state, i), state->room * sizeof *state->slots);
    }
}

/*  Draws the next `count` positions; NULL: only to get past them. */
static void draw_next(tnd_place_stage_t *self, uint64_t count, uint64_t *positions)
{
    shuffle_t *state = self->state;
    progress_t *at = &state->at;
    self->drawn += count;
    for (uint64_t some; count > 0; count -= some) {
        if (at->next % state->interval == 0 && at->next > 0)
            take_snapshot(state);
        uint64_t most = state->interval - at->next % state->interval;
        fill(self);
        if (at->live == state->room && state->room <= UINT32_MAX &&
            at->read - state->ahead_from < state->ahead_count)
            some = draw_full(state, count < most ? count : most, positions);
        else
            some = draw(state, positions);
        at->next += some;
        positions = positions != NULL ? positions + some : NULL;
    }
}

/*  Draws `count` positions to get past them; false: it was ended. */
static bool draw_past(tnd_place_stage_t *self, uint64_t count)
{
    for (uint64_t some; count > 0; count -= some) {
        some = count < TND_PLACES_WATCHED ? count : TND_PLACES_WATCHED;
        if (count >= TND_PLACES_WATCHED && self->watch != NULL &&
            !self->watch(self->watcher, count))
            return false;
        draw_next(self, some, NULL);
    }
    return true;
}

static void shuffle_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count)
{
    const progress_t *at = &((const shuffle_t *)self->state)->at;
    for (size_t from = 0, to; from < count; from = to) {
        uint64_t first = positions[from];
        for (to = from + 1; to < count && positions[to] - first == to - from;)
            to++;
        if (pass != at->pass || first < at->next)
            go_back(self, pass, first);
        if (!draw_past(self, first - at->next))
            return;
        draw_next(self, to - from, positions + from);
    }
}

const tnd_place_op_t tnd_place_shuffle = {.name = "shuffle",
                                          .rules = TND_PLACE_SEQUENTIAL,
                                          .count = shuffle_count,
                                          .demand = shuffle_demand,
                                          .bytes = shuffle_bytes,
                                          .init = shuffle_init,
                                          .trace = shuffle_trace};
