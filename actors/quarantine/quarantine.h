/*  actors/quarantine/quarantine.h - the bad records of one lane, set aside on disk.
 *
 *  In its folder there are, for lane 0: `index.0.jsonl`, one line a record in the order of the
 *  stream, which says where it came from and why it is bad; and `COLUMN.0.npy` for each column, the
 *  records as they were read, in the same order.  NumPy and the source `npy` read those:
 *
 *      source: {npy: {image: "quarantine/image.*.npy", label: "quarantine/label.*.npy"}}
 *
 *  Of a ragged column these are its values, and `COLUMN-splits.0.npy` says which make a row:
 *
 *      text: {values: "quarantine/text.*.npy", splits: "quarantine/text-splits.*.npy"}
 *
 *  A record that could not be read has a line in the index alone, whose `row` is null.
 *
 *  A run that goes back to a position cuts off what lies behind it, as it takes up everything else
 *  there, and so no record is ever in it twice.  What was added and synced survives the process and
 *  the machine.
 *
 *  Threads: one at a time.
 */
#ifndef TND_ACTORS_QUARANTINE_QUARANTINE_H
#define TND_ACTORS_QUARANTINE_QUARANTINE_H

#include "runtime/core/order/position.h"
#include "runtime/data/block.h"

typedef struct tnd_quarantine tnd_quarantine_t;

/*  Where a record lies. */
typedef struct {
    tnd_position_t position;
    uint64_t sample;  /* index in the source */
    const char *file; /* NULL: the source has none */
    uint64_t record;  /* of the file; else as `sample` */
    uint64_t offset;  /* in bytes */
} tnd_quarantine_place_t;

/*  Makes the folder where it is missing.  TND_FAILED: it cannot be made or written to. */
tnd_status_t tnd_quarantine_check(const char *folder, tnd_error_t *error) TND_CHECKED;

/*  Of the rows of `schema`, which must stay.  Nothing is written before the first record. */
tnd_quarantine_t *tnd_quarantine_new(const char *folder, uint32_t lane, const tnd_schema_t *schema);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_quarantine_destroy(tnd_quarantine_t **self_p);

/*  Keeps the records that stand before `from`, whoever wrote them, and no others. */
tnd_status_t tnd_quarantine_cut(tnd_quarantine_t *self, tnd_position_t from,
                                tnd_error_t *error) TND_CHECKED;
/*  Adds a record behind the others: row 0 of `block` (NULL: it could not be read), who found it and
 *  what is wrong.  Cut first; sync after the last of some.
 */
tnd_status_t tnd_quarantine_add(tnd_quarantine_t *self, const tnd_quarantine_place_t *place,
                                const tnd_block_t *block, const char *who, const char *what,
                                tnd_error_t *error) TND_CHECKED;

/*  Everything added so far is on disk when this returns: rows before the lines that speak of them.
 */
tnd_status_t tnd_quarantine_sync(tnd_quarantine_t *self, tnd_error_t *error) TND_CHECKED;

#endif
