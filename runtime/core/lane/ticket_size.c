/*  runtime/core/lane/ticket_size.c - how many positions a ticket asks for. */
#include "runtime/core/lane/ticket_size.h"

/*  This part of the budget is left for rows that are larger than usual. */
enum { SPARE_PART = 8 };

/*  A ticket to the largest block before it. */
enum { GROWTH = 4 };

static uint64_t smooth(uint64_t before, uint64_t now)
{
    return before == 0 ? now : before - before / 4 + now / 4;
}

void tnd_ticket_size_learn(tnd_ticket_size_t *self, const tnd_block_note_t *block)
{
    uint32_t count = block->count;
    if (self->rows_now > 0 && count > self->rows_now / GROWTH)
        self->rows_now = count < self->rows_max / GROWTH ? count * GROWTH : 0;
    if (self->block_ns > 0 && count > 0)
        self->row_ns = smooth(self->row_ns, block->work_ns / count);
    if (self->budget == 0 || (count == 0 && block->end))
        return;
    uint64_t ragged = count > 0 ? block->ragged / count : block->ragged;
    self->row_ragged = smooth(self->row_ragged, ragged < self->budget ? ragged : self->budget);
}

static uint64_t least(uint64_t rows, uint64_t all, uint64_t of_a_row)
{
    return of_a_row > 0 && all / of_a_row < rows ? all / of_a_row : rows;
}

uint32_t tnd_ticket_size_rows(const tnd_ticket_size_t *self, uint64_t first)
{
    uint64_t most = self->rows_now > 0 ? self->rows_now : self->rows_max;
    uint64_t rows = least(most, self->block_ns, self->row_ns);
    rows = least(rows, self->budget - self->budget / SPARE_PART, self->row_ragged);
    if (rows == self->rows_max)
        rows -= first % rows;
    return rows > 0 ? (uint32_t)rows : 1;
}
