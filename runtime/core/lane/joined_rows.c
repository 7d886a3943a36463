/*  runtime/core/lane/joined_rows.c - the rows of a lane that are in order and not taken yet. */
#include "runtime/core/lane/joined_rows.h"

#include <string.h>

#include "runtime/base/bug_injection.h"

static tnd_joined_block_t *block_at(const tnd_joined_rows_t *self, uint64_t at)
{
    return &self->ring[at & self->mask];
}

static tnd_joined_epoch_t *epoch_of(tnd_joined_rows_t *self, uint32_t epoch)
{
    uint32_t number = tnd_joined_rows_epoch(self, epoch);
    tnd_joined_epoch_t *found = &self->epochs[number & 1];
    assert(found->number == number);
    return found;
}

void tnd_joined_rows_rewind(tnd_joined_rows_t *self, tnd_position_t from)
{
    uint32_t epoch = tnd_joined_rows_epoch(self, from.epoch);
    for (; self->head < self->tail; self->head++)
        tnd_reservations_drop(self->reservations, block_at(self, self->head)->answer.payload);
    self->ready = self->bytes = 0;
    self->position = self->booked = from;
    self->skip = from.used;
    memset(&self->pending, 0, sizeof self->pending);
    self->epochs[epoch & 1] = (tnd_joined_epoch_t){.number = epoch};
    self->epochs[(epoch + 1) & 1] = (tnd_joined_epoch_t){.number = epoch + 1};
}

void tnd_joined_rows_add(tnd_joined_rows_t *self, const tnd_ticket_t *ticket)
{
    tnd_joined_epoch_t *epoch = epoch_of(self, ticket->epoch);
    if (ticket->answer.rows == 0) {
        epoch->gap += ticket->answer.covered;
        epoch->gap_bad += ticket->answer.bad_count;
        tnd_reservations_release(self->reservations, ticket->answer.payload, ticket->reserved);
        return;
    }
    assert(self->tail - self->head <= self->mask);
    tnd_joined_block_t *block = block_at(self, self->tail++);
    *block = (tnd_joined_block_t){.first = ticket->first,
                                  .bytes = ticket->reserved,
                                  .answer = ticket->answer,
                                  .gap = epoch->gap,
                                  .gap_bad = epoch->gap_bad,
                                  .epoch = ticket->epoch,
                                  .attempt = ticket->attempt,
                                  .taken = self->skip};
    epoch->gap = epoch->gap_bad = 0;
    self->skip = 0;
    uint32_t rows = block->answer.rows - block->taken;
    self->ready += rows;
    self->bytes += block->bytes;
    if (!TND_BUG(MARK_AHEAD))
        epoch->rows += rows;
}

const tnd_joined_block_t *tnd_joined_rows_find(const tnd_joined_rows_t *self, uint32_t epoch,
                                               uint64_t first)
{
    uint64_t low = self->head, high = self->tail;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const tnd_joined_block_t *block = block_at(self, middle);
        if (block->epoch == epoch && block->first == first)
            return block;
        if (block->epoch < epoch || (block->epoch == epoch && block->first < first))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool tnd_joined_rows_splits(const tnd_joined_rows_t *self, uint32_t epoch, uint64_t first)
{
    return self->skip > 0 && first == self->position.index && epoch == self->position.epoch;
}

bool tnd_joined_rows_head(const tnd_joined_rows_t *self, tnd_joined_head_t *head)
{
    if (self->head == self->tail)
        return false;
    const tnd_joined_block_t *block = block_at(self, self->head);
    *head = (tnd_joined_head_t){.epoch = tnd_joined_rows_epoch(self, block->epoch),
                                .rows = block->answer.rows - block->taken,
                                .first = block->taken,
                                .payload = block->answer.payload};
    if (block->answer.lengths != NULL)
        head->lengths = block->answer.lengths + (TND_BUG(LENGTHS_OF_THE_BLOCK) ? 0 : block->taken);
    return true;
}

static void book_gap(tnd_ledger_t *ledger, uint64_t positions, uint64_t bad)
{
    ledger->read += positions;
    ledger->bad += bad;
    ledger->filtered += positions - bad;
}

/*  Books the positions without rows from the last booked one up to `offset` of the block. */
static void book_until(tnd_joined_rows_t *self, tnd_joined_block_t *block, uint32_t offset)
{
    const tnd_answer_t *answer = &block->answer;
    uint32_t bad = block->bad_taken;
    while (bad < answer->bad_count && answer->bad[bad] < offset)
        bad++;
    book_gap(&self->pending, block->first + offset - self->booked.index, bad - block->bad_taken);
    block->bad_taken = bad;
    self->booked.index = block->first + offset;
}

static void book_rows(tnd_joined_rows_t *self, tnd_joined_block_t *block, uint32_t rows)
{
    const tnd_answer_t *answer = &block->answer;
    if (answer->origin == NULL) {
        self->pending.read += rows;
        self->booked.index += rows;
        block->taken += rows;
        return;
    }
    for (; rows > 0; rows--) {
        uint32_t offset = answer->origin[block->taken++];
        if (self->booked.used > 0) {
            self->pending.added++;
        } else {
            book_until(self, block, offset);
            self->pending.read++;
        }
        bool more = block->taken < answer->rows && answer->origin[block->taken] == offset;
        self->booked.used = more ? self->booked.used + 1 : 0;
        self->booked.index += !more;
    }
}

/*  Takes rows of the head and moves the cursor past them. */
static void consume(tnd_joined_rows_t *self, uint32_t rows)
{
    tnd_joined_block_t *block = block_at(self, self->head);
    assert(self->head < self->tail && rows > 0);
    assert(rows <= block->answer.rows - block->taken);
    if (block->taken == 0) {
        book_gap(&self->pending, block->gap, block->gap_bad);
        self->booked = (tnd_position_t){.epoch = block->epoch, .index = block->first};
    }
    book_rows(self, block, rows);
    self->position = self->booked;
    self->ready -= rows;
}

static void release_head(tnd_joined_rows_t *self)
{
    const tnd_joined_block_t *block = block_at(self, self->head++);
    tnd_reservations_release(self->reservations, block->answer.payload, block->bytes);
    self->bytes -= block->bytes;
}

/*  Moves the pending bookings to `ledger`; releases the head if it is empty. */
static void settle(tnd_joined_rows_t *self, tnd_ledger_t *ledger)
{
    tnd_ledger_add(ledger, &self->pending);
    memset(&self->pending, 0, sizeof self->pending);
    tnd_joined_block_t *block = block_at(self, self->head);
    if (block->taken < block->answer.rows)
        return;
    book_until(self, block, block->answer.covered);
    release_head(self);
}

void tnd_joined_rows_take(tnd_joined_rows_t *self, uint32_t rows, tnd_ledger_t *ledger)
{
    consume(self, rows);
    ledger->fed += rows;
    settle(self, ledger);
}

void tnd_joined_rows_discard(tnd_joined_rows_t *self, uint64_t rows, tnd_ledger_t *ledger)
{
    tnd_joined_head_t head;
    while (rows > 0 && tnd_joined_rows_head(self, &head)) {
        uint32_t some = head.rows < rows ? head.rows : (uint32_t)rows;
        consume(self, some);
        ledger->dropped += some;
        settle(self, ledger);
        rows -= some;
    }
}

void tnd_joined_rows_move(tnd_joined_rows_t *self, tnd_ledger_t *ledger)
{
    consume(self, 1);
    settle(self, ledger);
}

static void end_epoch(tnd_joined_rows_t *self, uint32_t epoch, tnd_position_t next)
{
    *epoch_of(self, epoch) = (tnd_joined_epoch_t){.number = epoch + 2};
    memset(&self->pending, 0, sizeof self->pending);
    self->position = self->booked = next;
}

void tnd_joined_rows_close(tnd_joined_rows_t *self, uint32_t epoch, tnd_position_t next,
                           tnd_ledger_t *ledger)
{
    const tnd_joined_epoch_t *closed = epoch_of(self, epoch);
    book_gap(&self->pending, closed->gap, closed->gap_bad);
    tnd_ledger_add(ledger, &self->pending);
    end_epoch(self, epoch, next);
}

void tnd_joined_rows_abandon(tnd_joined_rows_t *self, uint32_t epoch, tnd_position_t next)
{
    while (self->head < self->tail) {
        const tnd_joined_block_t *block = block_at(self, self->head);
        if (tnd_joined_rows_epoch(self, block->epoch) != epoch)
            break;
        self->ready -= block->answer.rows - block->taken;
        release_head(self);
    }
    self->skip = 0;
    end_epoch(self, epoch, next);
}
