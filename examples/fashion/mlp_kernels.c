/*  examples/fashion/mlp_kernels.c - a tile of outputs stays in registers while its sums grow.
 *
 *  Compiled with -DMLP_KERNELS=mlp_kernels_NAME and the compiler's flag for that instruction set.
 */
#include "mlp_kernels.h"

#include <stdint.h>

/*  The tile that each register file holds without spilling; measured, not guessed. */
#if defined(__AVX512F__)
enum { LANES = 16, TILE_ROWS = 8, TILE_VECTORS = 1 };
#elif defined(__AVX2__)
enum { LANES = 8, TILE_ROWS = 4, TILE_VECTORS = 2 };
#else
enum { LANES = 4, TILE_ROWS = 4, TILE_VECTORS = 2 };
#endif

typedef float lanes_t __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t masks_t __attribute__((vector_size(LANES * sizeof(float))));
typedef float floats_t __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

enum { TILE_COLUMNS = TILE_VECTORS * LANES, BLOCK_ROWS = 64 };

_Static_assert(MLP_LANES % TILE_COLUMNS == 0, "columns come in whole tiles");

static inline lanes_t load(const float *from)
{
    return *(const floats_t *)from;
}

/*  Inlined with constant `rows` and `add`, so that `sum` becomes registers. */
static inline __attribute__((always_inline)) void
tile(size_t rows, size_t terms, const float *restrict a, size_t a_row, size_t a_term,
     const float *restrict b, size_t b_row, float *restrict c, size_t c_row, bool add)
{
    lanes_t sum[TILE_ROWS][TILE_VECTORS];
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; v < TILE_VECTORS; v++)
            sum[i][v] = add ? load(c + i * c_row + v * LANES) : (lanes_t){0};
    for (size_t t = 0; t < terms; t++, a += a_term, b += b_row)
        for (size_t i = 0; i < rows; i++)
            for (size_t v = 0; v < TILE_VECTORS; v++)
                sum[i][v] += a[i * a_row] * load(b + v * LANES);
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; v < TILE_VECTORS; v++)
            *(floats_t *)(c + i * c_row + v * LANES) = sum[i][v];
}

/*  One stripe of tiles: the same columns of `b`, hence out of the nearest cache. */
static inline __attribute__((always_inline)) void stripe(size_t rows, size_t terms, const float *a,
                                                         size_t a_row, size_t a_term,
                                                         const float *b, size_t b_row, float *c,
                                                         size_t c_row, bool add)
{
    size_t i = 0;
    for (; i + TILE_ROWS <= rows; i += TILE_ROWS)
        tile(TILE_ROWS, terms, a + i * a_row, a_row, a_term, b, b_row, c + i * c_row, c_row, add);
    for (; i < rows; i++)
        tile(1, terms, a + i * a_row, a_row, a_term, b, b_row, c + i * c_row, c_row, add);
}

static void multiply(size_t rows, size_t columns, size_t terms, const float *a, size_t a_row,
                     size_t a_term, const float *b, size_t b_row, float *c, size_t c_row, bool add)
{
    for (size_t first = 0; first < rows; first += BLOCK_ROWS) {
        size_t count = rows - first < BLOCK_ROWS ? rows - first : BLOCK_ROWS;
        const float *a_block = a + first * a_row;
        float *c_block = c + first * c_row;
        for (size_t j = 0; j < columns; j += TILE_COLUMNS)
            if (add)
                stripe(count, terms, a_block, a_row, a_term, b + j, b_row, c_block + j, c_row,
                       true);
            else
                stripe(count, terms, a_block, a_row, a_term, b + j, b_row, c_block + j, c_row,
                       false);
    }
}

/*  The weights of pixels that stay dark are never pushed again: their velocities only shrink, and
 *  below 2^-126 every operation on them would take a hundred times as long.  Cut far above that, by
 *  arithmetic, which unlike a mode of the processor is the same everywhere. */
static inline lanes_t without_dust(lanes_t x)
{
    const float dust = 0x1p-64f;
    masks_t small = (x > -dust) & (x < dust);
    return (lanes_t)((masks_t)x & ~small);
}

static void momentum(size_t count, float *restrict weights, float *restrict velocity,
                     const float *restrict grad, float rate, float momentum)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        lanes_t v = without_dust(momentum * load(velocity + i) - rate * load(grad + i));
        *(floats_t *)(velocity + i) = v;
        *(floats_t *)(weights + i) = load(weights + i) + v;
    }
    for (; i < count; i++) {
        lanes_t last = {momentum * velocity[i] - rate * grad[i]};
        velocity[i] = without_dust(last)[0];
        weights[i] += velocity[i];
    }
}

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

const mlp_kernels_t MLP_KERNELS = {
    .name = &TEXT(MLP_KERNELS)[sizeof "mlp_kernels_" - 1],
    .multiply = multiply,
    .momentum = momentum,
};
