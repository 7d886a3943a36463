/*  runtime/core/numeric/reduction_loops.c - loops that reduce two to eight leaves in one pass.
 *
 *  They are written with vectors of the compiler, of 32 bytes.  On x86-64 they use AVX2, and there
 *  are none for processors without it. */
#include "runtime/core/numeric/reduction_loops.h"

#include <math.h>

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define RUNS_HERE __builtin_cpu_supports("avx2")
#else
#define TARGET
#define RUNS_HERE true
#endif

/*  Eight or four elements, aligned to one of them where they are in memory. */
#define VECTOR(type, bytes) __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias))
typedef float f32_vector VECTOR(float, 32);
typedef double f64_vector VECTOR(double, 32);
typedef int32_t i32_vector VECTOR(int32_t, 32);
typedef int64_t i64_vector VECTOR(int64_t, 32);
typedef uint32_t u32_vector VECTOR(uint32_t, 32);
typedef uint64_t u64_vector VECTOR(uint64_t, 32);
typedef uint16_t bf16_vector VECTOR(uint16_t, 16);

/*  The tree over n leaves v[at] ...; the value of a node is where its first leaf was. */
#define JOIN1(op, at)
#define JOIN2(op, at) v[at] = op(v[at], v[(at) + 1]);
#define JOIN3(op, at) JOIN2(op, at) v[at] = op(v[at], v[(at) + 2]);
#define JOIN4(op, at) JOIN2(op, at) JOIN2(op, (at) + 2) v[at] = op(v[at], v[(at) + 2]);
#define JOIN5(op, at) JOIN3(op, at) JOIN2(op, (at) + 3) v[at] = op(v[at], v[(at) + 3]);
#define JOIN6(op, at) JOIN3(op, at) JOIN3(op, (at) + 3) v[at] = op(v[at], v[(at) + 3]);
#define JOIN7(op, at) JOIN4(op, at) JOIN3(op, (at) + 4) v[at] = op(v[at], v[(at) + 4]);
#define JOIN8(op, at) JOIN4(op, at) JOIN4(op, (at) + 4) v[at] = op(v[at], v[(at) + 4]);

/*  `mask` of bits that come from a, the others from b. */
#define CHOOSE(mask, vector, bits, a, b)                                                           \
    ((vector)(((bits)(mask) & (bits)(a)) | (~(bits)(mask) & (bits)(b))))

#define PLUS(a, b) ((a) + (b))
#define F32_LESSER(a, b) CHOOSE(((a) < (b)) | ((a) != (a)), f32_vector, u32_vector, a, b)
#define F32_GREATER(a, b) CHOOSE(((a) > (b)) | ((a) != (a)), f32_vector, u32_vector, a, b)
#define F64_LESSER(a, b) CHOOSE(((a) < (b)) | ((a) != (a)), f64_vector, u64_vector, a, b)
#define F64_GREATER(a, b) CHOOSE(((a) > (b)) | ((a) != (a)), f64_vector, u64_vector, a, b)
#define I32_LESSER(a, b) CHOOSE((a) < (b), i32_vector, u32_vector, a, b)
#define I32_GREATER(a, b) CHOOSE((a) > (b), i32_vector, u32_vector, a, b)
#define I64_LESSER(a, b) CHOOSE((a) < (b), i64_vector, u64_vector, a, b)
#define I64_GREATER(a, b) CHOOSE((a) > (b), i64_vector, u64_vector, a, b)

/*  What a value becomes at the root: all NaNs become the same one. */
#define AS_IT_IS(value) (value)
#define F32_NAN(value) CHOOSE((value) == (value), f32_vector, u32_vector, value, nan)
#define F64_NAN(value) CHOOSE((value) == (value), f64_vector, u64_vector, value, nan)

/*  From memory, and to it.  bf16 is rounded to the nearest; the only NaN stays one. */
#define LOAD(memory, from) (*(const memory *)(from))
#define STORE(memory, to, value) (*(memory *)(to) = (value))
#define LOAD_BF16(memory, from)                                                                    \
    ((f32_vector)(__builtin_convertvector(*(const bf16_vector *)(from), u32_vector) << 16))
#define STORE_BF16(memory, to, value)                                                              \
    (*(bf16_vector *)(to) = __builtin_convertvector(                                               \
         ((u32_vector)(value) + 0x7fff + (((u32_vector)(value) >> 16) & 1)) >> 16, bf16_vector))

/*  A loop over n leaves of elements of type `element`, in vectors of `number`s.  `restrict`: what it stores
 *  does not change `leaves`, whose pointers would be read again for each vector. */
#define LOOP(name, n, element, vector, number, load, store, op, root)                              \
    TARGET static size_t name##n(const tnd_reduction_leaves_t *restrict leaves, size_t begin,      \
                                 size_t end)                                                       \
    {                                                                                              \
        enum { LANES = sizeof(vector) / sizeof(number) };                                          \
        const vector nan = (vector){0} + (number)NAN_OF(number);                                   \
        (void)nan;                                                                                 \
        for (; end - begin >= LANES; begin += LANES) {                                             \
            vector v[n];                                                                           \
            _Pragma("GCC unroll 8") for (int i = 0; i < (n); i++) v[i] =                           \
                load(vector, (const element *)leaves->in[i] + begin);                              \
            JOIN##n(op, 0) const vector value = root(v[0]);                                        \
            _Pragma("GCC unroll 8") for (int i = 0; i < (n); i++)                                  \
                store(vector, (element *)leaves->out[i] + begin, value);                           \
        }                                                                                          \
        return begin;                                                                              \
    }

/*  The same of a mean: each leaf is multiplied on the way, the root is divided. */
#define MEAN(name, n, element, vector, number, load, store, op, root)                              \
    TARGET static size_t name##n(const tnd_reduction_leaves_t *restrict leaves, size_t begin,      \
                                 size_t end)                                                       \
    {                                                                                              \
        enum { LANES = sizeof(vector) / sizeof(number) };                                          \
        const vector nan = (vector){0} + (number)NAN_OF(number);                                   \
        const number divisor = (number)leaves->divisor, inverse = 1 / divisor;                     \
        const bool inverts = leaves->inverts;                                                      \
        number factor[n];                                                                          \
        for (int i = 0; i < (n); i++)                                                              \
            factor[i] = (number)leaves->factor[i];                                                 \
        for (; end - begin >= LANES; begin += LANES) {                                             \
            vector v[n];                                                                           \
            _Pragma("GCC unroll 8") for (int i = 0; i < (n); i++) v[i] =                           \
                load(vector, (const element *)leaves->in[i] + begin) * factor[i];                  \
            JOIN##n(op, 0) const vector mean = inverts ? v[0] * inverse : v[0] / divisor;          \
            const vector value = root(mean);                                                       \
            _Pragma("GCC unroll 8") for (int i = 0; i < (n); i++)                                  \
                store(vector, (element *)leaves->out[i] + begin, value);                           \
        }                                                                                          \
        return begin;                                                                              \
    }

#define NAN_OF(number) _Generic((number)0, float : NAN, double : NAN, default : 0)

/*  All counts of leaves, and a table of them. */
#define LOOPS(kind, name, ...)                                                                     \
    kind(name, 2, __VA_ARGS__) kind(name, 3, __VA_ARGS__) kind(name, 4, __VA_ARGS__)               \
        kind(name, 5, __VA_ARGS__) kind(name, 6, __VA_ARGS__) kind(name, 7, __VA_ARGS__)           \
            kind(name, 8, __VA_ARGS__) static tnd_reduction_loop_fn                                \
                *const name##_loops[TND_REDUCTION_LEAVES_MOST + 1] = {                             \
                    NULL, NULL, name##2, name##3, name##4, name##5, name##6, name##7, name##8};

#define F32 float, f32_vector, float, LOAD, STORE
#define F64 double, f64_vector, double, LOAD, STORE
#define BF16 uint16_t, f32_vector, float, LOAD_BF16, STORE_BF16

LOOPS(LOOP, sum_f32, F32, PLUS, F32_NAN)
LOOPS(MEAN, mean_f32, F32, PLUS, F32_NAN)
LOOPS(LOOP, min_f32, F32, F32_LESSER, F32_NAN)
LOOPS(LOOP, max_f32, F32, F32_GREATER, F32_NAN)
LOOPS(LOOP, sum_f64, F64, PLUS, F64_NAN)
LOOPS(MEAN, mean_f64, F64, PLUS, F64_NAN)
LOOPS(LOOP, min_f64, F64, F64_LESSER, F64_NAN)
LOOPS(LOOP, max_f64, F64, F64_GREATER, F64_NAN)
LOOPS(LOOP, sum_bf16, BF16, PLUS, F32_NAN)
LOOPS(MEAN, mean_bf16, BF16, PLUS, F32_NAN)
LOOPS(LOOP, min_bf16, BF16, F32_LESSER, F32_NAN)
LOOPS(LOOP, max_bf16, BF16, F32_GREATER, F32_NAN)
LOOPS(LOOP, sum_i32, uint32_t, u32_vector, uint32_t, LOAD, STORE, PLUS, AS_IT_IS)
LOOPS(LOOP, min_i32, int32_t, i32_vector, int32_t, LOAD, STORE, I32_LESSER, AS_IT_IS)
LOOPS(LOOP, max_i32, int32_t, i32_vector, int32_t, LOAD, STORE, I32_GREATER, AS_IT_IS)
LOOPS(LOOP, sum_i64, uint64_t, u64_vector, uint64_t, LOAD, STORE, PLUS, AS_IT_IS)
LOOPS(LOOP, min_i64, int64_t, i64_vector, int64_t, LOAD, STORE, I64_LESSER, AS_IT_IS)
LOOPS(LOOP, max_i64, int64_t, i64_vector, int64_t, LOAD, STORE, I64_GREATER, AS_IT_IS)

static tnd_reduction_loop_fn *const *const loops[TND_DTYPE_COUNT][TND_MAX + 1] = {
    [TND_F32] = {sum_f32_loops, mean_f32_loops, min_f32_loops, max_f32_loops},
    [TND_F64] = {sum_f64_loops, mean_f64_loops, min_f64_loops, max_f64_loops},
    [TND_BF16] = {sum_bf16_loops, mean_bf16_loops, min_bf16_loops, max_bf16_loops},
    [TND_I32] = {sum_i32_loops, NULL, min_i32_loops, max_i32_loops},
    [TND_I64] = {sum_i64_loops, NULL, min_i64_loops, max_i64_loops},
};

tnd_reduction_loop_fn *tnd_reduction_loop(tnd_reduce_t reduce, tnd_dtype_t dtype, uint32_t leaves)
{
    if (leaves < 2 || leaves > TND_REDUCTION_LEAVES_MOST || reduce > TND_MAX ||
        loops[dtype][reduce] == NULL || !RUNS_HERE)
        return NULL;
    return loops[dtype][reduce][leaves];
}
