/*  actors/python/reply.h - what an interpreter answers to a call, checked before it is used.
 *
 *  The process runs code of the user, which may write anything to the socket and to the shared memory,
 *  also later, from a process that it left.  So words are copied before they are checked, and what the
 *  memory has is only copied.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_PYTHON_REPLY_H
#define TND_ACTORS_PYTHON_REPLY_H

#include "runtime/data/schema.h"

enum { TND_REPLY_HEAD_WORDS = 3, TND_REPLY_COLUMN_WORDS = 2 };

typedef struct {
    const uint8_t *base; /* the shared memory */
    size_t size;
    const uint64_t *words; /* of the columns */
    const tnd_schema_t *schema;
    uint64_t rows, more; /* more: the third word */
} tnd_reply_t;

/*  `words` stay valid as long as the reply.  Returns false if it is not one for these columns. */
bool tnd_reply_init(tnd_reply_t *self, const uint8_t *base, size_t size, const uint64_t *words,
                    size_t count, const tnd_schema_t *schema);

/*  The memory at an offset; NULL: not all of it is there, or it is not aligned. */
const void *tnd_reply_at(const tnd_reply_t *self, uint64_t offset, uint64_t bytes);

/*  The rows of a column of fixed shape, one after another; NULL: they are not there. */
const uint8_t *tnd_reply_fixed(const tnd_reply_t *self, uint32_t column);

/*  The rows of a ragged column, one after another.  Copies their lengths to `lengths`.  *bytes_p: of all
 *  rows.  Returns NULL if they are not there or one is longer than the schema says. */
const uint8_t *tnd_reply_ragged(const tnd_reply_t *self, uint32_t column, uint64_t *lengths,
                                size_t *bytes_p);

#endif
