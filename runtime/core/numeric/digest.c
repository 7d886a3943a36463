/*  runtime/core/numeric/digest.c - one number for a whole stream of rows.  */
#include "runtime/core/numeric/digest.h"

#include <assert.h>
#include <string.h>

#include "runtime/core/numeric/digest_internal.h"
#include "runtime/core/numeric/hexadecimal.h"
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
    tnd_hexadecimal_print(self->high, text);
    tnd_hexadecimal_print(self->low, text + TND_HEXADECIMAL_DIGITS);
    text[TND_DIGEST_TEXT_SIZE - 1] = '\0';
}

bool tnd_digest_parse(tnd_digest_t *self, const char *text)
{
    tnd_digest_t read;
    if (!tnd_hexadecimal_parse(text, &read.high) ||
        !tnd_hexadecimal_parse(text + TND_HEXADECIMAL_DIGITS, &read.low) ||
        text[TND_DIGEST_TEXT_SIZE - 1] != '\0')
        return false;
    *self = read;
    return true;
}
