/*  runtime/core/lane/packed_rows.c - rows of one length, made of the rows of a lane. */
#include "runtime/core/lane/packed_rows.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

/*  A packed row that is complete: the cursor after it, and what is booked with it. */
typedef struct {
    tnd_position_t position;
    uint64_t used;
    tnd_ledger_t ledger;
} end_t;

struct tnd_packed_rows {
    const tnd_pack_rule_t *rule;
    uint64_t size;
    tnd_joined_rows_t *joined;
    end_t *ends;    /* of rows [taken, made): ring */
    uint64_t taken; /* rows since the rewind or the start of the epoch, where a batch begins */
    uint64_t made;
    uint64_t filled;   /* values of row `made` */
    uint32_t segments; /* documents in it */
    uint64_t used;     /* values of the document at the head that are stored */
    tnd_ledger_t unbooked;
    end_t last; /* that was taken */
    bool misplaced;
};

static uint64_t end_room(uint64_t size)
{
    return TND_PACKED_PLACES * size;
}

size_t tnd_packed_rows_bytes(uint64_t size)
{
    return tnd_align(sizeof(tnd_packed_rows_t)) + tnd_align(end_room(size) * sizeof(end_t));
}

tnd_packed_rows_t *tnd_packed_rows_init(void *memory, const tnd_pack_rule_t *rule, uint64_t size,
                                        tnd_joined_rows_t *rows)
{
    tnd_packed_rows_t *self = memory;
    assert(rule->length > 0 && size > 0);
    *self = (tnd_packed_rows_t){.rule = rule, .size = size, .joined = rows};
    self->ends = (end_t *)(void *)((char *)memory + tnd_align(sizeof *self));
    return self;
}

/*  The next value is the first one of a batch. */
static void start_batches(tnd_packed_rows_t *self)
{
    self->taken = self->made = self->filled = self->used = 0;
    self->segments = 0;
    memset(&self->unbooked, 0, sizeof self->unbooked);
}

void tnd_packed_rows_rewind(tnd_packed_rows_t *self, uint64_t used)
{
    if (self == NULL)
        return;
    start_batches(self);
    self->used = TND_BUG(PACKED_VALUES_TWICE) ? 0 : used;
    self->misplaced = false;
}

static end_t *end_of(const tnd_packed_rows_t *self, uint64_t row)
{
    return &self->ends[row % end_room(self->size)];
}

/*  Row `made` is complete. */
static void end_row(tnd_packed_rows_t *self)
{
    *end_of(self, self->made++) =
        (end_t){.position = self->joined->position, .used = self->used, .ledger = self->unbooked};
    memset(&self->unbooked, 0, sizeof self->unbooked);
    self->filled = 0;
    self->segments = 0;
}

/*  All values of the document at the head are stored. */
static void end_document(tnd_packed_rows_t *self)
{
    tnd_ledger_t booked = {.fed = 1};
    tnd_joined_rows_move(self->joined, &booked);
    tnd_ledger_add(&self->unbooked, &booked);
    self->used = 0;
}

/*  `values` of the document at the head, which has `length`, follow in row `made` and those after
 *  it. */
static void advance(tnd_packed_rows_t *self, uint64_t values, uint64_t length)
{
    if (length == 0)
        end_document(self);
    while (values > 0) {
        uint64_t room = self->rule->length - self->filled;
        uint64_t some = values < room ? values : room;
        values -= some;
        self->filled += some;
        self->used += some;
        self->segments++;
        if (self->used == length)
            end_document(self);
        if (self->filled == self->rule->length)
            end_row(self);
    }
}

static bool next_document(const tnd_packed_rows_t *self, uint32_t epoch, tnd_joined_head_t *head)
{
    return tnd_joined_rows_head(self->joined, head) && head->epoch == epoch;
}

bool tnd_packed_rows_store(tnd_packed_rows_t *self, uint32_t epoch, tnd_piece_t *piece,
                           tnd_effect_t *effect)
{
    tnd_joined_head_t head;
    bool there = next_document(self, epoch, &head);
    self->misplaced = there && self->used > 0 && self->used >= head.lengths[0];
    uint64_t ahead = self->made / self->size - self->taken / self->size;
    uint64_t places = TND_BUG(PACKED_OVERWRITTEN) ? TND_PACKED_PLACES + 1 : TND_PACKED_PLACES;
    if (!there || self->misplaced || ahead >= places)
        return false;
    uint64_t length = head.lengths[0], row = self->made % self->size;
    uint64_t left = length - self->used;
    uint64_t room = (self->size - row) * self->rule->length - self->filled;
    uint64_t values = left < room ? left : room;
    *piece = (tnd_piece_t){.payload = head.payload, .first = head.first, .rows = 1};
    *effect = (tnd_effect_t){.kind = TND_EFFECT_STORE,
                             .slot = (uint32_t)(self->made / self->size % TND_PACKED_PLACES),
                             .at = (uint32_t)(row * self->rule->length + self->filled),
                             .from = self->used,
                             .values = values,
                             .segment = self->segments + 1,
                             .payload = head.payload,
                             .pieces = piece,
                             .piece_count = 1};
    advance(self, values, length);
    return true;
}

/*  The documents that end in a packed row that is dropped are. */
static void drop_fed(tnd_ledger_t *ledger)
{
    ledger->dropped += ledger->fed;
    ledger->fed = 0;
}

tnd_left_t tnd_packed_rows_left(tnd_packed_rows_t *self, uint32_t epoch, bool ended)
{
    tnd_joined_head_t head;
    ended = ended && !next_document(self, epoch, &head);
    bool drops = self->rule->drop_remainder || TND_BUG(PACKED_REST_FORGOTTEN);
    if (ended && self->filled > 0 && drops) {
        drop_fed(&self->unbooked);
        self->filled = 0;
    } else if (ended && self->filled > 0) {
        end_row(self);
    }
    return (tnd_left_t){self->made - self->taken, ended};
}

tnd_packed_slice_t tnd_packed_rows_take(tnd_packed_rows_t *self, uint64_t rows,
                                        tnd_ledger_t *ledger)
{
    tnd_packed_slice_t slice = {.place = (uint32_t)(self->taken / self->size % TND_PACKED_PLACES),
                                .first = (uint32_t)(self->taken % self->size),
                                .rows = (uint32_t)rows};
    assert(rows > 0 && rows <= self->made - self->taken && slice.first + rows <= self->size);
    for (; rows > 0; rows--) {
        self->last = *end_of(self, self->taken++);
        tnd_ledger_add(ledger, &self->last.ledger);
    }
    return slice;
}

void tnd_packed_rows_discard(tnd_packed_rows_t *self, uint64_t rows, tnd_ledger_t *ledger)
{
    for (; rows > 0; rows--) {
        tnd_ledger_t dropped = {0};
        (void)tnd_packed_rows_take(self, 1, &dropped);
        drop_fed(&dropped);
        tnd_ledger_add(ledger, &dropped);
    }
}

tnd_position_t tnd_packed_rows_position(const tnd_packed_rows_t *self, uint64_t *used_p)
{
    *used_p = self->last.used;
    return self->last.position;
}

void tnd_packed_rows_close(tnd_packed_rows_t *self, bool cut, tnd_ledger_t *ledger)
{
    if (self == NULL)
        return;
    if (!cut)
        tnd_ledger_add(ledger, &self->unbooked);
    start_batches(self);
}

bool tnd_packed_rows_misplaced(const tnd_packed_rows_t *self)
{
    return self != NULL && self->misplaced;
}
