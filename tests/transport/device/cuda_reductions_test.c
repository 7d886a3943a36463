/*  Covers transport/cuda/cuda_reduction_kernels.h, compiled for the host, and cuda_reduction_passes.h: random
 *  trees have the bits of runtime/core/numeric/reduction_tree.h. */
#include "transport/cuda/cuda_reduction_passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { LEAVES = 300, ELEMENTS = 12, TREES = 100000, BYTES = ELEMENTS * sizeof(double) };

typedef struct {
    tnd_dtype_t dtype;
    void (*run)(const tnd_cuda_reduction_t *reduction, unsigned thread, unsigned threads);
} kernel_t;

#define f16_dtype TND_F16
#define bf16_dtype TND_BF16
#define f32_dtype TND_F32
#define f64_dtype TND_F64
#define i32_dtype TND_I32
#define i64_dtype TND_I64

static const kernel_t kernels[] = {
#define KERNEL(name, leaf_t, wide_t, sums_t, each, widen, clean, round, scale, divide)             \
    {name##_dtype, tnd_kernel_reduce_##name},
    TND_CUDA_REDUCTIONS(KERNEL)
#undef KERNEL
};

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/*  The bits of a float with so many of exponent and mantissa: mostly of similar size, so that sums round; now and
 *  then an infinity, a NaN of any payload, a denormal or a zero. */
static uint64_t draw_bits(unsigned exponent, unsigned mantissa)
{
    uint64_t random = draw(), most = ((uint64_t)1 << exponent) - 1;
    uint64_t low = random & (((uint64_t)1 << mantissa) - 1);
    uint64_t sign = (random >> 63) << (exponent + mantissa);
    switch (random >> 50 & 127) {
    case 0:
        return sign | most << mantissa;
    case 1:
        return sign | most << mantissa | low | 1;
    case 2:
        return sign | low;
    case 3:
        return sign;
    default:
        return sign | (most / 2 - 2 + (random >> 57 & 3)) << mantissa | low;
    }
}

static void fill(void *to, tnd_dtype_t dtype, size_t count)
{
    static const unsigned exponents[TND_DTYPE_COUNT] = {
        [TND_F16] = 5, [TND_BF16] = 8, [TND_F32] = 8, [TND_F64] = 11};
    size_t size = tnd_dtype_size(dtype);
    for (size_t i = 0; i < count; i++) {
        unsigned exponent = exponents[dtype];
        uint64_t bits =
            exponent > 0 ? draw_bits(exponent, (unsigned)size * 8 - 1 - exponent) : draw();
        memcpy((char *)to + i * size, &bits, size);
    }
}

static _Alignas(64) char values[LEAVES][BYTES + 64];
static _Alignas(64) char scratch[TND_CUDA_PASS_BLOCKS * BYTES];
static tnd_reduction_tree_input_t inputs[LEAVES];

typedef struct {
    const kernel_t *kernel;
    uint32_t passes;
} launcher_t;

/*  The last thread first. */
static tnd_status_t launch(void *context, const tnd_cuda_reduction_t *pass, tnd_error_t *error)
{
    launcher_t *self = context;
    unsigned threads = 1 + (unsigned)(draw() % 5);
    (void)error;
    for (unsigned thread = threads; thread-- > 0;)
        self->kernel->run(pass, thread, threads);
    self->passes++;
    return TND_OK;
}

/*  Covers the node with leaves, and now and then with a node that was made before. */
static uint32_t cover(tnd_reduction_tree_job_t *job, tnd_reduction_tree_node_t node, uint32_t used,
                      size_t skip)
{
    bool partial = node.count > 1 && draw() % 8 == 0;
    if (node.count > 1 && !partial) {
        uint32_t left = tnd_reduction_tree_left(node.count);
        used = cover(job, (tnd_reduction_tree_node_t){node.first, left}, used, skip);
        return cover(job, (tnd_reduction_tree_node_t){node.first + left, node.count - left}, used,
                     skip);
    }
    partial = partial || draw() % 8 == 0;
    tnd_dtype_t dtype = partial ? tnd_reduction_tree_partial_dtype(job->dtype) : job->dtype;
    char *data = values[used] + skip * tnd_dtype_size(dtype);
    uint64_t rows = draw() % 5;
    fill(data, dtype, ELEMENTS);
    inputs[used] = (tnd_reduction_tree_input_t){
        .node = node, .data = rows > 0 ? data : NULL, .rows = rows, .partial = partial};
    inputs[used].weight = rows > 0 ? (double)(draw() % 1000 + 1) / 7 : 0;
    return used + 1;
}

/*  A tree over so many leaves; returns how many passes it took. */
static uint32_t check(const kernel_t *kernel, tnd_reduce_t reduce, uint32_t leaves, bool root)
{
    static _Alignas(64) char expected[BYTES + 64], found[BYTES + 64];
    tnd_reduction_tree_job_t job = {.reduce = reduce,
                                    .dtype = kernel->dtype,
                                    .node = {0, leaves},
                                    .inputs = inputs,
                                    .weighted = reduce == TND_MEAN && draw() % 2 == 0};
    size_t count = 1 + draw() % 8, begin = draw() % 4;
    launcher_t launcher = {.kernel = kernel};
    tnd_error_t error;
    job.input_count = cover(&job, job.node, 0, draw() % 3 == 0);
    if (tnd_reduction_tree_rows(&job) == 0)
        return 0;
    tnd_dtype_t dtype = root ? job.dtype : tnd_reduction_tree_partial_dtype(job.dtype);
    size_t size = tnd_dtype_size(dtype);
    memset(expected, 0x5a, sizeof expected);
    memset(found, 0x5a, sizeof found);
    (root ? tnd_reduction_tree_root : tnd_reduction_tree_partial)(&job, begin, begin + count,
                                                                  expected);
    const tnd_cuda_reduction_work_t work = {.job = &job,
                                            .root = root,
                                            .begin = begin,
                                            .count = (unsigned)count,
                                            .out = found + begin * size,
                                            .scratch = leaves > 16 ? scratch : NULL,
                                            .block = BYTES};
    cr_assert_eq(tnd_cuda_reduction_passes(&work, launch, &launcher, &error), TND_OK);
    cr_assert_arr_eq(found, expected, sizeof expected, "%s of %s over %u leaves, element %zu",
                     ((const char *[]){"sum", "mean", "min", "max"})[reduce],
                     tnd_dtype_name(kernel->dtype), leaves, begin);
    return launcher.passes;
}

Test(cuda_reductions, have_the_bits_of_the_host_in_random_trees)
{
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        for (tnd_reduce_t reduce = TND_SUM; reduce <= TND_MAX; reduce++)
            for (uint32_t i = 0; i < TREES && tnd_reduction_tree_reduces(reduce, kernels[k].dtype);
                 i++)
                cr_assert(check(&kernels[k], reduce, 1 + (uint32_t)(draw() % 16), i % 2 == 0) <= 1);
}

Test(cuda_reductions, take_several_passes_over_more_than_16_leaves)
{
    uint32_t most = 0;
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        for (tnd_reduce_t reduce = TND_SUM; reduce <= TND_MAX; reduce++)
            for (uint32_t i = 0; i < 500 && tnd_reduction_tree_reduces(reduce, kernels[k].dtype);
                 i++) {
                uint32_t passes =
                    check(&kernels[k], reduce, 17 + (uint32_t)(draw() % (LEAVES - 17)), true);
                most = passes > most ? passes : most;
            }
    cr_assert_gt(most, 17); /* more than two levels of them */
}

Test(cuda_reductions, exist_for_all_types_that_users_reduce)
{
    for (int dtype = 0; dtype < TND_DTYPE_COUNT; dtype++) {
        bool reduces = dtype != TND_U8 && tnd_reduction_tree_reduces(TND_SUM, (tnd_dtype_t)dtype);
        cr_assert_eq(tnd_cuda_reduction_type((tnd_dtype_t)dtype) != NULL, reduces);
    }
}
