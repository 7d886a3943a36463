/*  runtime/core/lane/packed_rows.h - rows of one length, made of the rows of a lane.
 *
 *  The joined rows, here called documents, are laid one after another in their order and cut into
 *  packed rows of `length` values each.  A document may run over several packed rows, and one packed
 *  row may have parts of many.  The last packed row of an epoch is padded, or dropped.
 *
 *  The caller copies the values of a document to their batch at once, and the document is then taken:
 *  otherwise a batch of short ones could hold any number of blocks.  Two batches are stored at the
 *  same time: the one that is taken next and the one after it, which shows whether there is one.
 *
 *  A cursor between two packed rows holds the position of the document that continues, and how many
 *  of its values the rows before have.
 *
 *  The account is a function of the stream: a document is booked with the packed row that has its
 *  last value, and dropped if that row is.  A position without rows and a document without values are
 *  booked with the next packed row that is completed, or when the epoch is closed.
 *
 *  Ownership: the caller provides the memory, and keeps the rule and the joined rows alive.
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_LANE_PACKED_ROWS_H
#define TND_RUNTIME_CORE_LANE_PACKED_ROWS_H

#include "runtime/core/lane/joined_rows.h"
#include "runtime/core/protocol/effect.h"
#include "runtime/core/stream/compose.h"

/*  Batches that are stored at the same time, each in a place of its own: 0, 1. */
enum { TND_PACKED_PLACES = 2 };

typedef struct {
    uint64_t length; /* values of a packed row; 0: rows are not packed */
    bool drop_remainder;
} tnd_pack_rule_t;

/*  Packed rows of one batch: `first` is within it. */
typedef struct {
    uint32_t place, first, rows;
} tnd_packed_slice_t;

typedef struct tnd_packed_rows tnd_packed_rows_t;

/*  `size`: packed rows of a batch. */
size_t tnd_packed_rows_bytes(uint64_t size);
tnd_packed_rows_t *tnd_packed_rows_init(void *memory, const tnd_pack_rule_t *rule, uint64_t size,
                                        tnd_joined_rows_t *rows);
/*  Forgets all rows without booking them.  Of the first document, `used` values are in rows before.
 *  NULL is ignored, here and in tnd_packed_rows_close. */
void tnd_packed_rows_rewind(tnd_packed_rows_t *self, uint64_t used);

/*  Lays out the next values of `epoch`: makes `effect` a STORE of `piece`, which is performed before
 *  the block is released; of a document without values it is a STORE of none, so that the caller sees
 *  all of them.  False: no document is joined, or both places are full. */
bool tnd_packed_rows_store(tnd_packed_rows_t *self, uint32_t epoch, tnd_piece_t *piece,
                           tnd_effect_t *effect);
/*  The packed rows that are complete and not taken; after all stores.  `ended`: no more documents of
 *  the epoch will be joined. */
tnd_left_t tnd_packed_rows_left(tnd_packed_rows_t *self, uint32_t epoch, bool ended);
/*  Takes the next rows, all of one batch, and books them: as fed, or as dropped. */
tnd_packed_slice_t tnd_packed_rows_take(tnd_packed_rows_t *self, uint64_t rows,
                                        tnd_ledger_t *ledger);
void tnd_packed_rows_discard(tnd_packed_rows_t *self, uint64_t rows, tnd_ledger_t *ledger);
/*  The lane's part of the cursor after the last row that was taken. */
tnd_position_t tnd_packed_rows_position(const tnd_packed_rows_t *self, uint64_t *used_p);
/*  Ends the epoch.  Books what is left of it; if it is cut, before the joined rows are abandoned,
 *  drops it. */
void tnd_packed_rows_close(tnd_packed_rows_t *self, bool cut, tnd_ledger_t *ledger);

/*  Whether the first document since the rewind ends within the rows before: the cursor belongs to
 *  other documents.  Nothing is stored then. */
bool tnd_packed_rows_misplaced(const tnd_packed_rows_t *self);

#endif
