/*  actors/reader/refused_rows.h - the rows of one ticket that the source refuses.
 *
 *  A RANDOM source refuses whole calls; this finds the bad rows of one, and reads the others.
 *
 *  Ownership: tnd_refused_rows_free releases the lists.
 *  Threads: the reader's actor. */
#ifndef TND_ACTORS_READER_REFUSED_ROWS_H
#define TND_ACTORS_READER_REFUSED_ROWS_H

#include "actors/reader/row_reader.h"
#include "runtime/core/protocol/message.h"

typedef struct {
    uint32_t *offsets; /* ascending: positions from the first of the ticket */
    char *why;         /* by offset: a string, as in tnd_block_note_t */
    uint32_t count, why_bytes;
} tnd_refused_rows_t;

/*  Reads the rows of a ticket one by one, then those that the source accepts into `block`.
 *
 *  Errors: TND_FAILED if a read fails or the source refuses rows together that it accepts alone. */
tnd_status_t tnd_refused_rows_read(tnd_refused_rows_t *self, tnd_row_reader_t *rows,
                                   const tnd_actor_t *reader, const tnd_msg_t *ticket,
                                   tnd_block_t *block, tnd_error_t *error) TND_CHECKED;
/*  Takes the rows that the last read of a source that is not RANDOM has left out. */
void tnd_refused_rows_take(tnd_refused_rows_t *self, const tnd_row_reader_t *rows,
                           const tnd_actor_t *reader);
/*  Fails with the place of the first refused row and the reason. */
tnd_status_t tnd_refused_rows_fail(const tnd_refused_rows_t *self, tnd_row_reader_t *rows,
                                   const tnd_actor_t *reader, const tnd_msg_t *ticket,
                                   tnd_error_t *error) TND_CHECKED;
/*  Lists the refused rows, which the block lacks as it does those of held positions, in the marks of
 *  the block and in its note. */
void tnd_refused_rows_mark(const tnd_refused_rows_t *self, const tnd_held_t *held,
                           tnd_block_t *block, tnd_block_note_t *note);
void tnd_refused_rows_free(tnd_refused_rows_t *self);

#endif
