/*  runtime/core/numeric/vector_paths.h - the sets of instructions that hot loops are compiled for.
 *
 *  A file with loops writes each of them once, and `TND_VECTOR_PATHS(PATH)` with a macro
 *  PATH(name, target, has) that compiles them with the attribute `target`.  Tables of such paths
 *  are in this order, slowest first; all paths give the same bits.
 *
 *  `plain` is what every machine of the architecture has (SSE2, NEON); `avx2` is twice as fast with
 *  floats.  (AVX-512 was measured and is not faster: loops wait for memory or for divisions.)
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_NUMERIC_VECTOR_PATHS_H
#define TND_RUNTIME_CORE_NUMERIC_VECTOR_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/*  Name, attribute, and whether this machine has it. */
#if defined(__x86_64__)
#define TND_VECTOR_PATHS(PATH)                                                                     \
    PATH(plain, , true)                                                                            \
    PATH(avx2, __attribute__((target("avx2"))), __builtin_cpu_supports("avx2"))
#else
#define TND_VECTOR_PATHS(PATH) PATH(plain, , true)
#endif

#define TND_VECTOR_PATH_NUMBER(name, target, has) TND_VECTOR_PATH_##name,
#define TND_VECTOR_PATH_HAS(name, target, has) has,
#define TND_VECTOR_PATH_ADDRESS(name, target, has) &name,

enum { TND_VECTOR_PATHS(TND_VECTOR_PATH_NUMBER) TND_VECTOR_PATHS_MAX };

/*  How many paths, from the first on, this machine can run; at least 1.  The last of them is the
 *  fastest. */
static inline size_t tnd_vector_paths(void)
{
    const bool has[] = {TND_VECTOR_PATHS(TND_VECTOR_PATH_HAS)};
    size_t count = 1;
    while (count < TND_VECTOR_PATHS_MAX && has[count])
        count++;
    return count;
}

#endif
