/*  runtime/core/lane/ticket_size.c - how many positions a ticket asks for. */
#include "runtime/core/lane/ticket_size.h"

#include "runtime/base/bounds.h"

/*  This part of the budget is left for rows that are larger than usual. */
enum { SPARE_PART = 8 };

/*  A ticket to the largest block before it; one that costs much by itself to the mean. */
enum { GROWTH = 4 };

/*  A block that costs much by itself takes so many times as long. */
enum { COSTLY = 4 };

/*  One of so many of its tickets is small, to see whether that is still so; fewer blocks say nothing. */
enum { TRIED = 16, KNOWN = 8 };

static uint64_t smooth(uint64_t before, uint64_t now)
{
    return before == 0 ? now : before - before / 4 + now / 4;
}

/*  A line through the times of blocks of several sizes, as far as their sizes differ: its height at no
 *  rows is what a block costs by itself. */
static void learn_time(tnd_ticket_size_t *self, double rows, double ns)
{
    tnd_ticket_times_t *times = &self->times;
    double more = rows - times->rows, longer = ns - times->ns, part = times->rows > 0 ? 0.25 : 1;
    times->blocks++;
    times->rows += more * part;
    times->ns += longer * part;
    times->spread = (1 - part) * (times->spread + more * more * part);
    times->slope = (1 - part) * (times->slope + more * longer * part);
    if (times->spread * 64 > times->rows * times->rows) {
        double by_rows = times->slope / times->spread * times->rows;
        times->block_ns = by_rows < 0 ? times->ns : by_rows < times->ns ? times->ns - by_rows : 0;
    }
    times->block_ns = times->block_ns < times->ns ? times->block_ns : times->ns;
}

void tnd_ticket_size_learn(tnd_ticket_size_t *self, const tnd_block_note_t *block)
{
    uint32_t count = block->count;
    if (self->rows_now > 0 && count > self->rows_now / GROWTH)
        self->rows_now = count < self->rows_max / GROWTH ? count * GROWTH : 0;
    if (self->block_ns > 0 && count > 0) {
        self->row_ns = smooth(self->row_ns, block->work_ns / count);
        learn_time(self, count, (double)block->work_ns);
    }
    if (self->budget == 0 || (count == 0 && block->end))
        return;
    uint64_t ragged = count > 0 ? block->ragged / count : block->ragged;
    self->row_ragged = smooth(self->row_ragged, ragged < self->budget ? ragged : self->budget);
}

static uint64_t least(uint64_t rows, uint64_t all, uint64_t of_a_row)
{
    return of_a_row > 0 && all / of_a_row < rows ? all / of_a_row : rows;
}

/*  Fewer rows would not take less time where a block costs much by itself. */
static uint64_t rows_in_time(const tnd_ticket_size_t *self, uint64_t most)
{
    const tnd_ticket_times_t *times = &self->times;
    if (times->blocks < KNOWN || times->block_ns * 2 <= (double)self->block_ns)
        return least(most, self->block_ns, self->row_ns);
    uint64_t block_ns = (uint64_t)times->block_ns;
    uint64_t row_ns = (uint64_t)((times->ns - times->block_ns) / times->rows);
    most = tnd_least(most, (uint64_t)(GROWTH * times->rows) + 1);
    uint64_t rows = least(most, tnd_most(self->block_ns, COSTLY * block_ns) - block_ns, row_ns);
    return times->blocks % TRIED == 0 ? rows / 2 : rows;
}

uint32_t tnd_ticket_size_rows(const tnd_ticket_size_t *self, uint64_t first)
{
    uint64_t rows = rows_in_time(self, self->rows_now > 0 ? self->rows_now : self->rows_max);
    rows = least(rows, self->budget - self->budget / SPARE_PART, self->row_ragged);
    if (rows == self->rows_max)
        rows -= first % rows;
    return rows > 0 ? (uint32_t)rows : 1;
}
