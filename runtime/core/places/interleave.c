/*  runtime/core/places/interleave.c - blocks of several files in turn.
 *
 *  A slot holds a file.  Slots take turns; in a turn the file of the slot gives a block.  Where it
 *  ends within the block, or has none left, its slot ends the turn and gets the next file in its
 *  next turn.  So each file has one last turn, of less than a block, and between two last turns all
 *  turns are whole blocks: a phase.  There are as many phases as files, and what is in a phase
 *  follows by arithmetic.
 *
 *  Once all files are begun, a slot whose file ends takes no more turns.  A turn is numbered
 *  round * slots + rank, by the rank of its slot among those that still take turns. */
#include <assert.h>

#include "runtime/base/bounds.h"
#include "runtime/core/places/place_map.h"

typedef struct {
    uint64_t first; /* place of its first row */
    uint64_t round; /* of its first turn */
    uint32_t slot;
} file_t;

typedef struct {
    uint64_t first; /* position */
    uint64_t turn;  /* of the first whole block */
    uint32_t last;  /* the file whose last turn ends the phase */
} phase_t;

typedef struct {
    uint32_t slots;
    uint64_t block;
    file_t *files;          /* and one past the last */
    phase_t *phases;        /* and one past the last */
    uint32_t *queues;       /* the files of slot 0 in order, of slot 1 ... */
    uint32_t *queue_starts; /* where each begins; and one past the last */
    uint32_t *current;      /* where in its queue each slot was seen last */
    uint32_t *heap;         /* slots by their next last turn, while phases are computed */
    uint16_t *alive; /* slots that take turns: all; without the first to stop; the first two ... */
    uint32_t phase;  /* seen last */
    uint64_t whole;  /* turns of whole blocks in it */
    uint64_t pass;   /* that the phases are of, if the files have another order in each */
} interleave_t;

static uint32_t slots_of(const tnd_place_stage_t *self)
{
    uint64_t cycle = self->map->interleave.cycle;
    return (uint32_t)(cycle < self->file_count ? cycle : self->file_count);
}

static size_t interleave_bytes(const tnd_place_stage_t *self)
{
    size_t files = self->file_count, slots = slots_of(self);
    size_t bytes = sizeof(interleave_t) + (files + 1) * (sizeof(file_t) + sizeof(phase_t)) +
                   (files + slots + 1 + 2 * slots) * sizeof(uint32_t) +
                   slots * (slots + 1) / 2 * sizeof(uint16_t);
    return (bytes + 7) / 8 * 8;
}

/*  The round of the last turn of the file of a slot. */
static uint64_t last_round(const interleave_t *state, uint32_t file)
{
    const file_t *of = &state->files[file];
    return of->round + (of[1].first - of->first) / state->block;
}

static bool is_before(const interleave_t *state, uint32_t a, uint32_t b)
{
    uint64_t one = last_round(state, state->current[a]), two = last_round(state, state->current[b]);
    return one != two ? one < two : a < b;
}

static void sift_down(interleave_t *state, uint32_t count)
{
    uint32_t *heap = state->heap;
    for (uint32_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_before(state, heap[child + 1], heap[child]);
        if (!is_before(state, heap[child], heap[at]))
            return;
        uint32_t slot = heap[at];
        heap[at] = heap[child];
        heap[child] = slot;
    }
}

static void sift_up(interleave_t *state, uint32_t at)
{
    uint32_t *heap = state->heap;
    for (; at > 0 && is_before(state, heap[at], heap[(at - 1) / 2]); at = (at - 1) / 2) {
        uint32_t slot = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = slot;
    }
}

/*  Slots that have stopped before phase `phase`, in which they are not in `alive_in`. */
static uint32_t stopped_in(const interleave_t *state, uint32_t files, uint32_t phase)
{
    uint32_t whole = files - state->slots;
    return phase > whole ? phase - whole : 0;
}

static uint16_t *alive_in(const interleave_t *state, uint32_t stopped)
{
    return state->alive + (size_t)stopped * state->slots - (size_t)stopped * (stopped - 1) / 2;
}

/*  How many slots before `slot` take turns. */
static uint32_t rank_of(const uint16_t *alive, uint32_t count, uint32_t slot)
{
    uint32_t at;
    TND_LOWER_BOUND(at, 0, count, alive[at] < slot);
    return at;
}

static void fill_queues(interleave_t *state, uint32_t files)
{
    uint32_t *starts = state->queue_starts, slots = state->slots;
    for (uint32_t i = 0; i <= slots; i++)
        starts[i] = 0;
    for (uint32_t i = 0; i < files; i++)
        starts[state->files[i].slot + 1]++;
    for (uint32_t i = 0; i < slots; i++) {
        starts[i + 1] += starts[i];
        state->current[i] = starts[i];
    }
    for (uint32_t i = 0; i < files; i++)
        state->queues[state->current[state->files[i].slot]++] = i;
    for (uint32_t i = 0; i < slots; i++)
        state->current[i] = starts[i];
}

static void compute_phases(interleave_t *state, uint32_t files)
{
    uint32_t slots = state->slots, begun = slots;
    for (uint32_t i = 0; i < slots; i++) {
        state->heap[i] = state->current[i] = state->files[i].slot = i;
        alive_in(state, 0)[i] = (uint16_t)i;
        sift_up(state, i);
    }
    uint64_t first = 0, round = 0;
    uint32_t after = 0; /* the phase begins in `round` with the first slot from this one on */
    for (uint32_t i = 0; i < files; i++) {
        uint32_t stopped = stopped_in(state, files, i), count = slots - stopped;
        const uint16_t *alive = alive_in(state, stopped);
        uint32_t slot = state->heap[0], file = state->current[slot];
        uint64_t last = last_round(state, file);
        uint64_t from = round * count + rank_of(alive, count, after);
        uint64_t to = last * count + rank_of(alive, count, slot);
        uint64_t rows = state->files[file + 1].first - state->files[file].first;
        state->phases[i] = (phase_t){.first = first, .turn = from, .last = file};
        first += (to - from) * state->block + rows % state->block;
        round = last;
        after = slot + 1;
        if (begun < files) {
            state->files[begun].round = last + 1;
            state->files[begun].slot = slot;
            state->current[slot] = begun++;
            sift_down(state, count);
            continue;
        }
        uint16_t *fewer = alive_in(state, stopped + 1);
        for (uint32_t k = 0; k < count && count > 1; k++)
            if (alive[k] != slot)
                *fewer++ = alive[k];
        state->heap[0] = state->heap[count - 1];
        sift_down(state, count - 1);
    }
    state->phases[files].first = first;
}

static void see_phase(interleave_t *state, uint32_t phase)
{
    const phase_t *of = &state->phases[phase];
    state->phase = phase;
    state->whole = (of[1].first - of->first) / state->block;
}

/*  Whether the files have another order in each pass. */
static bool follows_files(const tnd_place_stage_t *self)
{
    return self->below != NULL && self->below->op == &tnd_place_files;
}

static void begin(tnd_place_stage_t *self, uint64_t pass)
{
    interleave_t *state = self->state;
    const uint64_t *counts =
        follows_files(self) ? tnd_place_files_counts(self->below, pass) : self->files;
    uint32_t files = self->file_count;
    uint64_t first = 0;
    for (uint32_t i = 0; i <= files; i++) {
        state->files[i] = (file_t){.first = first};
        first += i < files ? counts[i] * self->unit : 0;
    }
    assert(first == self->input);
    state->pass = pass;
    compute_phases(state, files);
    see_phase(state, 0);
    fill_queues(state, files);
}

static void interleave_init(tnd_place_stage_t *self)
{
    interleave_t *state = self->state;
    uint32_t files = self->file_count, slots = slots_of(self);
    *state = (interleave_t){.slots = slots, .block = self->map->interleave.block * self->unit};
    state->files = (file_t *)(state + 1);
    state->phases = (phase_t *)(state->files + files + 1);
    state->queues = (uint32_t *)(state->phases + files + 1);
    state->queue_starts = state->queues + files;
    state->current = state->queue_starts + slots + 1;
    state->heap = state->current + slots;
    state->alive = (uint16_t *)(state->heap + slots);
    /* The files below are prepared after this stage. */
    state->pass = UINT64_MAX;
    if (!follows_files(self))
        begin(self, 0);
}

static const phase_t *find_phase(interleave_t *state, uint32_t files, uint64_t position)
{
    const phase_t *phases = state->phases;
    uint32_t after = state->phase + 1;
    if (position < phases[after - 1].first || position >= phases[after].first) {
        TND_LOWER_BOUND(after, 1, files, phases[after].first <= position);
        see_phase(state, after - 1);
    }
    return &phases[after - 1];
}

/*  The file of a slot in a round. */
static const file_t *find_file(interleave_t *state, uint32_t slot, uint64_t round)
{
    const uint32_t *queue = state->queues;
    uint32_t low = state->current[slot], high = state->queue_starts[slot + 1];
    if (state->files[queue[low]].round > round)
        low = state->queue_starts[slot];
    else if (low + 1 == high || state->files[queue[low + 1]].round > round)
        return &state->files[queue[low]];
    uint32_t after;
    TND_LOWER_BOUND(after, low + 1, high, state->files[queue[after]].round <= round);
    state->current[slot] = after - 1;
    return &state->files[queue[after - 1]];
}

/*  The place at a position; the places of the `run_p` positions from it on follow it. */
static uint64_t find_place(tnd_place_stage_t *self, uint64_t position, uint64_t *run_p)
{
    interleave_t *state = self->state;
    const phase_t *phase = find_phase(state, self->file_count, position);
    uint64_t from = position - phase->first, turn = from / state->block;
    if (turn >= state->whole) {
        *run_p = phase[1].first - position;
        return state->files[phase->last + 1].first - *run_p;
    }
    uint32_t stopped = stopped_in(state, self->file_count, (uint32_t)(phase - state->phases));
    uint32_t count = state->slots - stopped;
    turn += phase->turn;
    uint32_t slot = alive_in(state, stopped)[turn % count];
    const file_t *file = find_file(state, slot, turn / count);
    uint64_t offset = from % state->block;
    *run_p = state->block - offset;
    return file->first + (turn / count - file->round) * state->block + offset;
}

static void interleave_trace(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions,
                             size_t count)
{
    uint64_t first = 0, run = 0, place = 0;
    if (follows_files(self) && ((const interleave_t *)self->state)->pass != pass)
        begin(self, pass);
    for (size_t i = 0; i < count; i++) {
        if (positions[i] - first >= run) {
            first = positions[i];
            place = find_place(self, first, &run);
        }
        positions[i] = place + (positions[i] - first);
    }
    tnd_place_below(self, pass, positions, count);
}

const tnd_place_op_t tnd_place_interleave = {.name = "interleave",
                                             .rules = TND_PLACE_FIRST,
                                             .bytes = interleave_bytes,
                                             .init = interleave_init,
                                             .trace = interleave_trace};
