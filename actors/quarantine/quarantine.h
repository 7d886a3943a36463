/*  actors/quarantine/quarantine.h - the bad records of one lane, stored on disk.
 *
 *  The folder has, for lane 0: `index.0.jsonl`, one line per record in the order of the stream,
 *  with its origin and the reason; and `COLUMN.0.npy` for each column, the records as they were
 *  read, in the same order.  NumPy and the source `npy` read those:
 *
 *      source: {npy: {image: "quarantine/image.*.npy", label: "quarantine/label.*.npy"}}
 *
 *  For a ragged column they are its values, and `COLUMN-splits.0.npy` divides them into rows:
 *
 *      text: {values: "quarantine/text.*.npy", splits: "quarantine/text-splits.*.npy"}
 *
 *  A record that could not be read has a line in the index alone, whose `row` is null.
 *
 *  A run that goes back to a position cuts off the records after it, so no record is stored twice.
 *  Records that were added and synced survive the process and the machine.  From its first record on
 *  a process locks the index; another one gets an error that names it.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_QUARANTINE_QUARANTINE_H
#define TND_ACTORS_QUARANTINE_QUARANTINE_H

#include "runtime/core/stream/position.h"
#include "runtime/data/block.h"

typedef struct tnd_quarantine tnd_quarantine_t;

/*  Where a record is stored. */
typedef struct {
    tnd_position_t position;
    uint64_t sample;  /* index in the source */
    const char *file; /* NULL: the source has no files */
    uint64_t record;  /* in the file; without one as `sample` */
    uint64_t offset;  /* in bytes */
} tnd_quarantine_place_t;

/*  Creates the folder if it is missing. Errors: TND_FAILED if it cannot be written to. */
tnd_status_t tnd_quarantine_check(const char *folder, tnd_error_t *error) TND_CHECKED;

/*  For rows of `schema`, which must outlive it. Writes nothing before the first record. */
tnd_quarantine_t *tnd_quarantine_new(const char *folder, uint32_t lane, const tnd_schema_t *schema);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_quarantine_destroy(tnd_quarantine_t **self_p);

/*  Keeps the stored records before `from`, and no others. */
tnd_status_t tnd_quarantine_cut(tnd_quarantine_t *self, tnd_position_t from,
                                tnd_error_t *error) TND_CHECKED;
/*  Appends a record: row 0 of `block` (NULL: it could not be read), the actor that found it and the
 *  reason. Cut before the first; sync after the last of some. */
tnd_status_t tnd_quarantine_add(tnd_quarantine_t *self, const tnd_quarantine_place_t *place,
                                const tnd_block_t *block, const char *who, const char *what,
                                tnd_error_t *error) TND_CHECKED;

/*  Returns when everything added so far is on disk: rows before the lines that describe them. */
tnd_status_t tnd_quarantine_sync(tnd_quarantine_t *self, tnd_error_t *error) TND_CHECKED;

#endif
