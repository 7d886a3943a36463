/*  actors/python/reply.c - what an interpreter answers to a call. */
#include "actors/python/reply.h"

#include "runtime/data/buffer.h"

bool tnd_reply_init(tnd_reply_t *self, const uint8_t *base, size_t size, const uint64_t *words,
                    size_t count, const tnd_schema_t *schema)
{
    if (count != TND_REPLY_HEAD_WORDS + (size_t)schema->count * TND_REPLY_COLUMN_WORDS)
        return false;
    *self = (tnd_reply_t){.base = base,
                          .size = size,
                          .words = words + TND_REPLY_HEAD_WORDS,
                          .schema = schema,
                          .rows = words[1],
                          .more = words[2]};
    return true;
}

const void *tnd_reply_at(const tnd_reply_t *self, uint64_t offset, uint64_t bytes)
{
    bool there = offset > 0 && offset % TND_BUFFER_ALIGN == 0 && offset <= self->size &&
                 bytes <= self->size - offset;
    return there ? self->base + offset : NULL;
}

/*  Of so many elements of `unit` bytes; UINT64_MAX if that is more than any memory. */
static uint64_t bytes_of(uint64_t count, size_t unit)
{
    uint64_t bytes;
    return __builtin_mul_overflow(count, (uint64_t)unit, &bytes) ? UINT64_MAX : bytes;
}

const uint8_t *tnd_reply_fixed(const tnd_reply_t *self, uint32_t column)
{
    size_t unit = tnd_column_bytes(&self->schema->columns[column]);
    return tnd_reply_at(self, self->words[column * TND_REPLY_COLUMN_WORDS],
                        bytes_of(self->rows, unit));
}

const uint8_t *tnd_reply_ragged(const tnd_reply_t *self, uint32_t column, uint64_t *lengths,
                                size_t *bytes_p)
{
    const tnd_column_t *like = &self->schema->columns[column];
    const uint64_t *words = self->words + column * TND_REPLY_COLUMN_WORDS;
    const volatile uint64_t *from =
        tnd_reply_at(self, words[1], bytes_of(self->rows, sizeof *from));
    uint64_t sum = 0;
    for (uint64_t row = 0; row < self->rows; row++) {
        if (from == NULL || (lengths[row] = from[row]) > like->shape[0] ||
            lengths[row] > self->size)
            return NULL;
        sum += lengths[row];
    }
    *bytes_p = bytes_of(sum, tnd_column_unit(like));
    return from != NULL ? tnd_reply_at(self, words[0], *bytes_p) : NULL;
}
