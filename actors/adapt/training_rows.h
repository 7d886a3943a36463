/*  actors/adapt/training_rows.h - the rows of a reader that train, each once, for `auto` options.
 *
 *  They are those that `part`, `skip`, `take`, `shard`, `unbatch` and `window` leave, over all lanes
 *  that share files, in the order in which they are stored: a shuffle or a repeat changes neither.
 *
 *  Ownership: everything in the arguments remains the caller's; blocks may outlive the rows.
 *  Threads: one at a time. */
#ifndef TND_ACTORS_ADAPT_TRAINING_ROWS_H
#define TND_ACTORS_ADAPT_TRAINING_ROWS_H

#include "actors/reader/shared_source.h"
#include "runtime/data/block.h"

/*  Of a block of rows, about. */
enum { TND_TRAINING_BLOCK_BYTES = 4 << 20 };

typedef struct tnd_training_rows tnd_training_rows_t;

/*  `stream`: what the opened source `shared` says; `part`: whose rows; `whole`: all of them, whichever
 *  train.  Errors: TND_FAILED if they differ from epoch to
 *  epoch, can be read only once, or are not known without the files of other hosts. */
tnd_status_t tnd_training_rows_open(tnd_training_rows_t **self_p, const tnd_plan_t *plan,
                                    const tnd_instance_t *reader, const tnd_stream_t *stream,
                                    const void *shared, const tnd_shared_part_t *part, bool whole,
                                    tnd_error_t *error) TND_CHECKED;
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_training_rows_close(tnd_training_rows_t **self_p);

/*  Before the first row: what a row becomes has so many bytes at most.  Returns the rows of a block. */
uint32_t tnd_training_rows_limit(tnd_training_rows_t *self, size_t made);

/*  A hash of the data and of which rows of it are read. */
uint64_t tnd_training_rows_hash(const tnd_training_rows_t *self);
/*  Positions that were read, and all; TND_UNKNOWN. */
uint64_t tnd_training_rows_done(const tnd_training_rows_t *self);
uint64_t tnd_training_rows_all(const tnd_training_rows_t *self);

/*  Reads the next rows into a sealed block, which the caller holds; NULL: there are none.  Bad records
 *  are left out if the reader leaves them out.  Errors: TND_FAILED; the text names the record. */
tnd_status_t tnd_training_rows_next(tnd_training_rows_t *self, tnd_block_t **block_p,
                                    tnd_error_t *error) TND_CHECKED;
/*  Where the row of a position is stored: "record 3 of x.csv, at byte 224". */
void tnd_training_rows_place(tnd_training_rows_t *self, uint64_t position, char *text, size_t room);

#endif
