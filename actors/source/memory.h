/*  actors/source/memory.h - a source of arrays in memory.
 *
 *  A C program passes pointers to its arrays; a topology file contains small ones: `source:
 *  {memory: {label: {dtype: u8, data: [3, 1, 4]}}}`.
 *
 *  Threads: any thread reads the arrays, which must not change during a run. */
#ifndef TND_ACTORS_SOURCE_MEMORY_H
#define TND_ACTORS_SOURCE_MEMORY_H

#include "runtime/data/schema.h"
#include "runtime/option/option_parse.h"

typedef struct {
    const char *name;
    tnd_dtype_t dtype;
    uint32_t rank; /* of a row */
    uint64_t shape[TND_RANK_MAX];
    const void *data; /* contiguous rows, aligned to the elements; borrowed */
} tnd_memory_column_t;

typedef struct {
    uint64_t rows;
    uint32_t count;
    tnd_memory_column_t columns[TND_COLUMNS_MAX];
} tnd_memory_columns_t;

/*  The options of the source: one of the two is set. */
typedef struct {
    tnd_pairs_t written;                /* of a topology file */
    const tnd_memory_columns_t *arrays; /* of the program; outlive the source and its blocks */
} tnd_memory_options_t;

#endif
