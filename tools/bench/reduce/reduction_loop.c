/*  tools/bench/reduce/reduction_loop.c - the bound of reductions: plain loops that read and write all arrays.
 */
#include "tools/bench/reduce/reduction_loop.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void *const *arrays;
    unsigned count;
    size_t begin, end;
    bool mean, bf16;
} part_t;

static inline float widen(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static inline uint16_t narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define KEEP(value) (value)
#define SUM2(at, from) (from(a[at][i]) + from(a[(at) + 1][i]))
#define SUM4(at, from) (SUM2(at, from) + SUM2((at) + 2, from))
#define SUM8(at, from) (SUM4(at, from) + SUM4((at) + 4, from))

/*  The compiler knows the count, so it keeps the pointers in registers. */
#define LOOP(name, type, n, from, to)                                                              \
    static void name##n(const part_t *part)                                                        \
    {                                                                                              \
        type *a[n];                                                                                \
        float scale = part->mean ? 1.0f / (n) : 1;                                                 \
        for (int k = 0; k < (n); k++)                                                              \
            a[k] = part->arrays[k];                                                                \
        _Pragma("GCC ivdep") for (size_t i = part->begin; i < part->end; i++)                      \
        {                                                                                          \
            type value = to(SUM##n(0, from) * scale);                                              \
            for (int k = 0; k < (n); k++)                                                          \
                a[k][i] = value;                                                                   \
        }                                                                                          \
    }

LOOP(f32_, float, 2, KEEP, KEEP)
LOOP(f32_, float, 4, KEEP, KEEP)
LOOP(f32_, float, 8, KEEP, KEEP)
LOOP(bf16_, uint16_t, 2, widen, narrow)
LOOP(bf16_, uint16_t, 4, widen, narrow)
LOOP(bf16_, uint16_t, 8, widen, narrow)

static void *run(void *context)
{
    static void (*const loops[2][3])(const part_t *) = {{f32_2, f32_4, f32_8},
                                                        {bf16_2, bf16_4, bf16_8}};
    const part_t *part = context;
    loops[part->bf16][part->count == 8 ? 2 : part->count / 4](part);
    return NULL;
}

void bench_reduction_loop(void *const *arrays, unsigned count, size_t elements, bool mean,
                          bool bf16)
{
    pthread_t thread;
    part_t parts[2] = {{arrays, count, 0, elements / 2, mean, bf16},
                       {arrays, count, elements / 2, elements, mean, bf16}};
    if (pthread_create(&thread, NULL, run, &parts[1]) != 0)
        abort();
    run(&parts[0]);
    pthread_join(thread, NULL);
}
