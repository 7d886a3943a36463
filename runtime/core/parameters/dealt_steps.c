/*  runtime/core/parameters/dealt_steps.c - the steps that one replica has of those that a holder deals. */
#include "runtime/core/parameters/dealt_steps.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

#define NONE UINT32_MAX

typedef enum {
    SLOT_FREE,
    SLOT_PARTIAL, /* rows are missing */
    SLOT_WHOLE,   /* it waits for parameters */
    SLOT_SERVED,
    SLOT_RUNNING
} slot_state_t;

/*  Rows of a step that one join has sent. */
typedef struct {
    uint32_t first, rows;
} piece_t;

typedef struct {
    slot_state_t state;
    bool read_due;
    uint32_t rows, pieces;  /* so far */
    tnd_slice_note_t first; /* its first slice: describes the whole step */
    void *parameters;
} slot_t;

/*  A gradient that the holder may lack. */
typedef struct {
    void *gradient; /* NULL: none */
    bool due;
    uint64_t step;
} push_t;

struct tnd_dealt_steps {
    tnd_dealt_steps_config_t config;
    uint32_t generation, count; /* count: of slots, and of pushes */
    bool up, stopped;
    bool handed, placed; /* a slice is to be copied or dropped */
    uint32_t handed_slot;
    tnd_slice_note_t slice;
    void *forgotten;
    slot_t *slots;
    piece_t *pieces; /* by slot x join */
    push_t *pushes;
    uint64_t *pushed; /* by step % window: the last such step that was pushed, and 1 */
};

size_t tnd_dealt_steps_bytes(const tnd_dealt_steps_config_t *config)
{
    size_t count = (size_t)config->slots + 1;
    return tnd_align(sizeof(tnd_dealt_steps_t)) + tnd_align(count * sizeof(slot_t)) +
           tnd_align(count * config->joins * sizeof(piece_t)) + tnd_align(count * sizeof(push_t)) +
           tnd_align(config->window * sizeof(uint64_t));
}

tnd_dealt_steps_t *tnd_dealt_steps_init(void *memory, const tnd_dealt_steps_config_t *config)
{
    assert(config->joins > 0 && config->slots > 0 && config->window > 0);
    tnd_dealt_steps_t *self = memory;
    char *at = (char *)memory + tnd_align(sizeof *self);
    self->config = *config;
    self->count = config->slots + 1;
    self->slots = (slot_t *)at;
    at += tnd_align(self->count * sizeof *self->slots);
    self->pieces = (piece_t *)at;
    at += tnd_align((size_t)self->count * config->joins * sizeof *self->pieces);
    self->pushes = (push_t *)at;
    at += tnd_align(self->count * sizeof *self->pushes);
    self->pushed = (uint64_t *)at;
    return self;
}

/* --- rows -------------------------------------------------------------------------------------- */

static uint32_t find_slot(const tnd_dealt_steps_t *self, uint64_t step)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->slots[i].state != SLOT_FREE && self->slots[i].first.step == step)
            return i;
    return NONE;
}

static uint32_t free_slot(const tnd_dealt_steps_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->slots[i].state == SLOT_FREE)
            return i;
    return NONE;
}

static bool was_pushed(const tnd_dealt_steps_t *self, uint64_t step)
{
    return self->pushed[step % self->config.window] == step + 1 &&
           !TND_BUG(PUSHED_STEP_TAKEN_AGAIN);
}

static void begin_generation(tnd_dealt_steps_t *self, uint32_t generation)
{
    self->generation = generation;
    for (uint32_t i = 0; i < self->count; i++)
        if (self->slots[i].state == SLOT_PARTIAL)
            self->slots[i] = (slot_t){.state = SLOT_FREE};
}

static tnd_status_t check_slice(const tnd_dealt_steps_t *self, const tnd_slice_note_t *slice,
                                const slot_t *slot, tnd_error_t *error)
{
    unsigned long long step = slice->step;
    if (slice->replica != self->config.replica)
        return tnd_fail(error, "rows of replica %u, step %llu, came to replica %u", slice->replica,
                        step, self->config.replica);
    uint32_t had = slot != NULL ? slot->rows : 0;
    if (slice->rows == 0 || slice->total != slice->step_rows || slice->rows > slice->total ||
        slice->offset > slice->total - slice->rows)
        return tnd_fail(error,
                        "rows %u + %u of %u came for replica %u, step %llu, which has %u: they are "
                        "not those of a whole step",
                        slice->offset, slice->rows, slice->total, slice->replica, step,
                        slice->step_rows);
    if (slot != NULL && (slot->first.total != slice->total || slot->first.epoch != slice->epoch ||
                         slice->rows > slice->total - had))
        return tnd_fail(error,
                        "%u of %u rows of epoch %u came for replica %u, step %llu, which has %u of "
                        "%u rows of epoch %u already",
                        slice->rows, slice->total, slice->epoch, slice->replica, step, had,
                        slot->first.total, slot->first.epoch);
    return TND_OK;
}

static piece_t *pieces_of(const tnd_dealt_steps_t *self, uint32_t at)
{
    return &self->pieces[(size_t)at * self->config.joins];
}

/*  Whether a join has sent some of these rows, or all joins have sent theirs. */
static tnd_status_t check_pieces(const tnd_dealt_steps_t *self, const tnd_slice_note_t *slice,
                                 uint32_t at, tnd_error_t *error)
{
    const piece_t *pieces = pieces_of(self, at);
    for (uint32_t i = 0; i < self->slots[at].pieces; i++)
        if (slice->offset < pieces[i].first + pieces[i].rows &&
            pieces[i].first < slice->offset + slice->rows)
            return tnd_fail(error,
                            "rows %u + %u came for replica %u, step %llu, which has rows %u + %u "
                            "already: two lanes sent the same rows",
                            slice->offset, slice->rows, slice->replica,
                            (unsigned long long)slice->step, pieces[i].first, pieces[i].rows);
    if (self->slots[at].pieces < self->config.joins)
        return TND_OK;
    return tnd_fail(error, "replica %u got more slices for step %llu than there are lanes",
                    slice->replica, (unsigned long long)slice->step);
}

/*  Adds rows to a slot. */
static void place(tnd_dealt_steps_t *self, const tnd_slice_note_t *slice, uint32_t at)
{
    slot_t *slot = &self->slots[at];
    if (slot->state == SLOT_FREE) {
        *slot = (slot_t){.state = SLOT_PARTIAL, .first = *slice};
        slot->first.payload = NULL;
    }
    pieces_of(self, at)[slot->pieces++] = (piece_t){slice->offset, slice->rows};
    slot->rows += slice->rows;
    self->placed = true;
    self->handed_slot = at;
    if (slot->rows < slice->total)
        return;
    slot->state = SLOT_WHOLE;
    slot->read_due = self->up;
}

tnd_status_t tnd_dealt_steps_slice(tnd_dealt_steps_t *self, const tnd_msg_t *msg,
                                   tnd_error_t *error)
{
    const tnd_slice_note_t *slice = &msg->slice;
    self->handed = true;
    self->placed = false;
    self->slice = *slice;
    if (msg->generation < self->generation)
        return TND_OK;
    if (msg->generation > self->generation)
        begin_generation(self, msg->generation);
    uint32_t at = find_slot(self, slice->step);
    if (was_pushed(self, slice->step) || (at != NONE && self->slots[at].state > SLOT_PARTIAL))
        return TND_OK;
    TND_TRY(check_slice(self, slice, at != NONE ? &self->slots[at] : NULL, error));
    if (at != NONE)
        TND_TRY(check_pieces(self, slice, at, error));
    else
        at = free_slot(self);
    if (at == NONE)
        return tnd_fail(
            error,
            "rows of step %llu came for replica %u, whose %u slots have other steps: the "
            "holder of the parameters exceeded its credit",
            (unsigned long long)slice->step, slice->replica, self->count);
    place(self, slice, at);
    return TND_OK;
}

/* --- the holder -------------------------------------------------------------------------------- */

void tnd_dealt_steps_holder_up(tnd_dealt_steps_t *self)
{
    self->up = true;
    for (uint32_t i = 0; i < self->count; i++) {
        self->slots[i].read_due = self->slots[i].state == SLOT_WHOLE;
        self->pushes[i].due = self->pushes[i].gradient != NULL;
    }
}

void tnd_dealt_steps_holder_lost(tnd_dealt_steps_t *self)
{
    self->up = false;
    for (uint32_t i = 0; i < self->count; i++)
        self->slots[i].read_due = self->pushes[i].due = false;
}

void tnd_dealt_steps_served(tnd_dealt_steps_t *self, uint64_t step, void *payload)
{
    uint32_t at = find_slot(self, step);
    if (at == NONE || self->slots[at].state != SLOT_WHOLE) {
        self->forgotten = payload;
        return;
    }
    self->slots[at].state = SLOT_SERVED;
    self->slots[at].parameters = payload;
}

static uint32_t running_slot(const tnd_dealt_steps_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->slots[i].state == SLOT_RUNNING)
            return i;
    return NONE;
}

void tnd_dealt_steps_done(tnd_dealt_steps_t *self, void *gradient)
{
    uint32_t at = running_slot(self), to = 0;
    assert(at != NONE && gradient != NULL);
    while (self->pushes[to].gradient != NULL)
        to++;
    assert(to < self->count);
    uint64_t step = self->slots[at].first.step;
    self->pushes[to] = (push_t){.gradient = gradient, .due = self->up, .step = step};
    self->pushed[step % self->config.window] = step + 1;
    self->slots[at] = (slot_t){.state = SLOT_FREE};
}

void tnd_dealt_steps_taken(tnd_dealt_steps_t *self, uint64_t step)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->pushes[i].gradient != NULL && self->pushes[i].step == step) {
            self->forgotten = self->pushes[i].gradient;
            self->pushes[i] = (push_t){.gradient = NULL};
        }
}

void tnd_dealt_steps_stop(tnd_dealt_steps_t *self)
{
    self->stopped = true;
}

/* --- effects ----------------------------------------------------------------------------------- */

static bool next_handed(tnd_dealt_steps_t *self, tnd_dealt_steps_effect_t *effect)
{
    if (self->forgotten != NULL) {
        effect->kind = TND_DEALT_STEPS_FORGET;
        effect->payload = self->forgotten;
        self->forgotten = NULL;
        return true;
    }
    if (!self->handed)
        return false;
    self->handed = false;
    effect->kind = self->placed ? TND_DEALT_STEPS_PLACE : TND_DEALT_STEPS_DROP;
    effect->slot = self->handed_slot;
    effect->step = self->slice.step;
    effect->slice = self->slice;
    return true;
}

/*  All of them before it asks: each that the holder has is then taken before a further step is served, so
 *  that there are no more than slots. */
static bool next_push(tnd_dealt_steps_t *self, tnd_dealt_steps_effect_t *effect)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (!self->pushes[i].due)
            continue;
        self->pushes[i].due = false;
        effect->kind = TND_DEALT_STEPS_PUSH;
        effect->step = self->pushes[i].step;
        effect->payload = self->pushes[i].gradient;
        return true;
    }
    return false;
}

static bool next_read(tnd_dealt_steps_t *self, tnd_dealt_steps_effect_t *effect)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (!self->slots[i].read_due)
            continue;
        self->slots[i].read_due = false;
        effect->kind = TND_DEALT_STEPS_READ;
        effect->step = self->slots[i].first.step;
        return true;
    }
    return false;
}

static bool next_run(tnd_dealt_steps_t *self, tnd_dealt_steps_effect_t *effect)
{
    uint32_t least = NONE;
    if (running_slot(self) != NONE)
        return false;
    for (uint32_t i = 0; i < self->count; i++)
        if (self->slots[i].state == SLOT_SERVED &&
            (least == NONE || self->slots[i].first.step < self->slots[least].first.step))
            least = i;
    if (least == NONE)
        return false;
    slot_t *slot = &self->slots[least];
    slot->state = SLOT_RUNNING;
    effect->kind = TND_DEALT_STEPS_RUN;
    effect->slot = least;
    effect->step = slot->first.step;
    effect->slice = slot->first;
    effect->payload = slot->parameters;
    slot->parameters = NULL;
    return true;
}

/*  What it still has. */
static bool next_left(tnd_dealt_steps_t *self, tnd_dealt_steps_effect_t *effect)
{
    effect->kind = TND_DEALT_STEPS_FORGET;
    for (uint32_t i = 0; i < self->count; i++) {
        void **const left = self->slots[i].parameters != NULL ? &self->slots[i].parameters
                                                              : &self->pushes[i].gradient;
        if (*left == NULL)
            continue;
        effect->payload = *left;
        *left = NULL;
        return true;
    }
    return false;
}

bool tnd_dealt_steps_next(tnd_dealt_steps_t *self, tnd_dealt_steps_effect_t *effect)
{
    *effect = (tnd_dealt_steps_effect_t){.slot = 0};
    if (self->stopped)
        return next_left(self, effect);
    return next_handed(self, effect) || next_push(self, effect) || next_read(self, effect) ||
           next_run(self, effect);
}

bool tnd_dealt_steps_holds(const tnd_dealt_steps_t *self, uint64_t step)
{
    uint32_t at = find_slot(self, step);
    return at != NONE && self->slots[at].state > SLOT_PARTIAL;
}

uint32_t tnd_dealt_steps_blocked_on(const tnd_dealt_steps_t *self)
{
    static const uint32_t reasons[] = {[SLOT_FREE] = TND_WAIT_INPUT,
                                       [SLOT_PARTIAL] = TND_WAIT_INPUT,
                                       [SLOT_WHOLE] = TND_WAIT_CREDIT,
                                       [SLOT_SERVED] = TND_WAIT_STEP,
                                       [SLOT_RUNNING] = TND_WAIT_STEP};
    uint32_t waits = self->up ? 0 : TND_WAIT_PEER, seen = 0;
    for (uint32_t i = 0; i < self->count; i++)
        seen |= reasons[self->slots[i].state];
    return waits |
           (seen & ~(uint32_t)TND_WAIT_INPUT ? seen & ~(uint32_t)TND_WAIT_INPUT : TND_WAIT_INPUT);
}
