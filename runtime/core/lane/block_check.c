/*  runtime/core/lane/block_check.c - whether a block answers its ticket, and always alike. */
#include "runtime/core/lane/block_check.h"

#include <string.h>

#include "runtime/base/bug_injection.h"

tnd_status_t tnd_block_refuse(const tnd_block_note_t *block, tnd_error_t *error, const char *why)
{
    return tnd_fail(error,
                    "lane %u, epoch %u, positions %llu to %llu: %s "
                    "(%u positions asked, %u covered, %u rows, %u bad, %llu bytes%s)",
                    block->lane, block->epoch, (unsigned long long)block->first,
                    (unsigned long long)(block->first + block->asked), why, block->asked,
                    block->count, block->rows, block->bad_count, (unsigned long long)block->bytes,
                    block->end ? ", end" : "");
}

static bool ascends(const uint32_t *offsets, uint32_t count, uint32_t below, bool strictly)
{
    for (uint32_t i = 0; i < count; i++)
        if (offsets[i] >= below || (i > 0 && offsets[i] < offsets[i - 1] + strictly))
            return false;
    return true;
}

tnd_status_t tnd_block_check(const tnd_block_note_t *block, const tnd_ticket_t *ticket,
                             uint64_t count, const tnd_row_bytes_t *bytes, tnd_error_t *error)
{
    if (ticket->first != block->first || ticket->epoch != block->epoch ||
        ticket->asked != block->asked || ticket->budget != block->budget)
        return tnd_block_refuse(block, error, "a block that was not asked for");
    if (block->count > block->asked || (tnd_block_is_short(block) && bytes->ragged_max == 0))
        return tnd_block_refuse(block, error, "the block does not cover its ticket");
    if (tnd_block_is_too_small(block) &&
        (block->ragged <= ticket->budget || block->ragged > bytes->ragged_max))
        return tnd_block_refuse(block, error, "the size of its first position cannot be right");
    if (block->end && count != TND_UNKNOWN && block->first + block->count != count)
        return tnd_block_refuse(block, error, "the source is shorter than it was at the start");
    if (block->bytes > ticket->reserved && !TND_BUG(RESERVATION_MISSING))
        return tnd_block_refuse(block, error, "the block is larger than its reservation");
    if (block->origin == NULL ? block->rows != block->count || block->bad_count > 0
                              : !ascends(block->origin, block->rows, block->count, false))
        return tnd_block_refuse(block, error, "the rows do not fit their positions");
    if (!ascends(block->bad, block->bad_count, block->count, true))
        return tnd_block_refuse(block, error, "the bad positions are not in order");
    return TND_OK;
}

tnd_status_t tnd_block_check_lengths(const tnd_block_note_t *block, uint32_t measured,
                                     tnd_error_t *error)
{
    if (block->measured == measured &&
        (block->lengths != NULL) == (measured > 0 && block->rows > 0))
        return TND_OK;
    return tnd_block_refuse(block, error, "it carries the lengths of another column, or of none");
}

/*  How many of the ascending offsets are below `end`. */
static uint32_t below(const uint32_t *offsets, uint32_t count, uint32_t end)
{
    uint32_t found = count;
    while (found > 0 && offsets[found - 1] >= end)
        found--;
    return found;
}

static uint32_t origin_of(const uint32_t *origin, uint32_t row)
{
    return origin != NULL ? origin[row] : row;
}

/*  Whether both have the same rows of the first `end` positions.  Of two blocks that cover different
 *  positions perhaps only one needs a list of origins. */
static bool same_rows(const tnd_block_note_t *block, const tnd_answer_t *first, uint32_t end)
{
    uint32_t row = 0;
    while (row < block->rows && row < first->rows && origin_of(block->origin, row) < end &&
           origin_of(first->origin, row) == origin_of(block->origin, row))
        row++;
    return (row == block->rows || origin_of(block->origin, row) >= end) &&
           (row == first->rows || origin_of(first->origin, row) >= end);
}

tnd_status_t tnd_block_compare(const tnd_block_note_t *block, const tnd_answer_t *first,
                               tnd_error_t *error)
{
    uint32_t both = block->count < first->covered ? block->count : first->covered;
    uint32_t bad = below(first->bad, first->bad_count, both);
    bool same = (both == first->covered || !block->end) &&
                bad == below(block->bad, block->bad_count, both) && same_rows(block, first, both);
    uint32_t both_rows = block->rows < first->rows ? block->rows : first->rows;
    if (same && first->lengths != NULL && block->lengths != NULL)
        same = memcmp(first->lengths, block->lengths, both_rows * sizeof *first->lengths) == 0;
    if (same && bad > 0)
        same = memcmp(first->bad, block->bad, bad * sizeof *first->bad) == 0;
    if (same)
        return TND_OK;
    return tnd_block_refuse(block, error,
                            "a second attempt gave other rows: an operation is not deterministic");
}

tnd_status_t tnd_block_check_used(const tnd_block_note_t *block, uint32_t used, tnd_error_t *error)
{
    uint32_t row = 0;
    while (row < used && row < block->rows && block->origin != NULL && block->origin[row] == 0)
        row++;
    if (row == used && row < block->rows && block->origin[row] == 0)
        return TND_OK;
    return tnd_block_refuse(
        block, error,
        "fewer rows of the first position than the cursor has used: an operation "
        "is not deterministic");
}
