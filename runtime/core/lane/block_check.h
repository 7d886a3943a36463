/*  runtime/core/lane/block_check.h - whether a block answers its ticket, and the same ticket alike.
 *
 *  Blocks come from a wire; what passes here is relied on from then on.
 *
 *  Threads: any.  Errors: the text names lane, epoch and positions of the block. */
#ifndef TND_RUNTIME_CORE_LANE_BLOCK_CHECK_H
#define TND_RUNTIME_CORE_LANE_BLOCK_CHECK_H

#include "runtime/base/status.h"
#include "runtime/core/lane/row_bytes.h"
#include "runtime/core/lane/tickets.h"

/*  TND_FAILED, with `why` and the numbers of the block. */
tnd_status_t tnd_block_refuse(const tnd_block_note_t *block, tnd_error_t *error, const char *why);
/*  TND_FAILED unless the block answers its ticket.  `count`: positions per epoch or TND_UNKNOWN. */
tnd_status_t tnd_block_check(const tnd_block_note_t *block, const tnd_ticket_t *ticket,
                             uint64_t count, const tnd_row_bytes_t *bytes, tnd_error_t *error);
/*  TND_FAILED unless the block carries the lengths of its rows, where these are `measured`.  `measured` is a column, plus 1;
 *  0: none. */
tnd_status_t tnd_block_check_lengths(const tnd_block_note_t *block, uint32_t measured,
                                     tnd_error_t *error);
/*  TND_FAILED unless the block has the rows that the first answer to its ticket had, of the
 *  positions that both cover. */
tnd_status_t tnd_block_compare(const tnd_block_note_t *block, const tnd_answer_t *first,
                               tnd_error_t *error);
/*  TND_FAILED unless the first position has more than `used` rows, which a cursor has used. */
tnd_status_t tnd_block_check_used(const tnd_block_note_t *block, uint32_t used, tnd_error_t *error);

#endif
