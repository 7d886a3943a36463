/*  runtime/core/numeric/digest.c - one number for a whole stream of rows.  */
#include "runtime/core/numeric/digest.h"

#include <assert.h>
#include <string.h>

#include "runtime/core/numeric/digest_internal.h"
#include "runtime/core/numeric/vector_paths.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are hashed as they lie");

void tnd_digest_row(tnd_digest_t *self, uint64_t rank, const tnd_digest_column_t *columns,
                    size_t count)
{
    assert(count > 0);
    XXH128_hash_t hash = {rank, 0};
    for (size_t i = 0; i < count; i++) {
        if (columns[i].ragged) {
            uint64_t length = columns[i].bytes;
            hash = XXH3_128bits_withSeed(&length, sizeof length, hash.low64);
        }
        hash = XXH3_128bits_withSeed(columns[i].data, columns[i].bytes, hash.low64);
    }
    tnd_digest_put(self, hash.low64, hash.high64);
}

static void tnd_digest_rows_plain(tnd_digest_t *self, uint64_t first_rank, size_t rows,
                                  const tnd_digest_stripe_t *columns, size_t count)
{
    tnd_digest_each(self, first_rank, rows, columns, count);
}

#define ADDRESS(name, target, has) tnd_digest_rows_##name,

static tnd_digest_rows_fn *const paths[] = {TND_VECTOR_PATHS(ADDRESS)};

tnd_digest_rows_fn *const *tnd_digest_paths(void)
{
    return paths;
}

void tnd_digest_rows(tnd_digest_t *self, uint64_t first_rank, size_t rows,
                     const tnd_digest_stripe_t *columns, size_t count)
{
    assert(count > 0);
    paths[tnd_vector_paths() - 1](self, first_rank, rows, columns, count);
}

void tnd_digest_add(tnd_digest_t *self, const tnd_digest_t *other)
{
    tnd_digest_put(self, other->low, other->high);
}

bool tnd_digest_equal(const tnd_digest_t *a, const tnd_digest_t *b)
{
    return a->low == b->low && a->high == b->high;
}

bool tnd_digest_is_empty(const tnd_digest_t *self)
{
    return self->low == 0 && self->high == 0;
}

void tnd_digest_print(const tnd_digest_t *self, char text[TND_DIGEST_TEXT_SIZE])
{
    for (int i = 0; i < 32; i++) {
        uint64_t half = i < 16 ? self->high : self->low;
        text[i] = "0123456789abcdef"[half >> (60 - 4 * (i % 16)) & 15];
    }
    text[32] = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool tnd_digest_parse(tnd_digest_t *self, const char *text)
{
    uint64_t halves[2] = {0, 0};
    for (int i = 0; i < 32; i++) {
        int value = digit_value(text[i]);
        if (value < 0)
            return false;
        halves[i / 16] = halves[i / 16] << 4 | (uint64_t)value;
    }
    if (text[32] != '\0')
        return false;
    *self = (tnd_digest_t){.low = halves[1], .high = halves[0]};
    return true;
}
