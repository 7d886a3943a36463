/*  runtime/data/room.h - memory for the ragged rows of a block, which is taken row by row.
 *
 *  Rows are stored one after the other, so a block takes the bytes that its rows have, not those
 *  that the longest could have.  A room remembers how much the last blocks took, and takes as much
 *  at once; blocks of usual size therefore need no new memory.
 *
 *  Lifecycle: for each block any number of takes, tnd_room_buffer, a tnd_room_column per column,
 *  and tnd_room_clear.
 *
 *  Threads: one at a time. */
#ifndef TND_RUNTIME_DATA_ROOM_H
#define TND_RUNTIME_DATA_ROOM_H

#include "runtime/data/block.h"
#include "runtime/tundish/tundish.h"

/*  Every two pieces have at least twice the bytes of those before them. */
enum { TND_ROOM_PIECES_MAX = 128 };

typedef struct tnd_room {
    /*  For the functions of users, see tnd_room_serve; the error is that of the first call that
     *  failed, else empty. */
    const tnd_schema_t *schema, *in_schema;
    const tnd_rows_t *in;
    size_t in_row;
    tnd_error_t error;
    /*  Of the block. */
    tnd_buffer_t *pieces[TND_ROOM_PIECES_MAX];
    uint32_t count;
    size_t last, used; /* bytes in the last piece, in all */
    /*  Of blocks so far. */
    size_t usual;
    tnd_pool_t *pool;
    size_t pool_bytes;
} tnd_room_t;

/*  A room that is all zero is ready for the first block. */
void tnd_room_fini(tnd_room_t *self);

/*  Memory for `bytes`, aligned to `align`, which is at most TND_BUFFER_ALIGN; never NULL. */
void *tnd_room_take(tnd_room_t *self, size_t bytes, size_t align);
/*  Whether memory of the block is at this address. */
bool tnd_room_owns(const tnd_room_t *self, const void *at);
/*  Ends the takes.  Returns the buffer that has all rows, sealed; the room holds it.  Returns NULL
 *  if the rows are in several, or take up less than half of one, so that they should be moved. */
tnd_buffer_t *tnd_room_buffer(tnd_room_t *self);
void tnd_room_clear(tnd_room_t *self);

/*  Prepares for calls of tnd_rows_room and tnd_rows_keep, for rows of `schema`; the bytes of row
 *  self->in_row of `in` may be kept, of which `in_schema` is the schema.  NULL: there is none. */
void tnd_room_serve(tnd_room_t *self, const tnd_schema_t *schema, const tnd_schema_t *in_schema,
                    const tnd_rows_t *in);

/*  Sets *column to ragged rows of `unit` bytes per step of their length.  `index` has their
 *  addresses, and gets their offsets; it and `lengths` stay valid as long as the column.  `buffer`
 *  contains all of them, and gets held; NULL: they are moved to a buffer of their own.  Returns the
 *  bytes copied. */
size_t tnd_room_column(uint64_t *index, const uint64_t *lengths, uint32_t rows, size_t unit,
                       tnd_buffer_t *buffer, tnd_block_column_t *column);

#endif
