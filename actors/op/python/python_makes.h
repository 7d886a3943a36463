/*  actors/op/python/python_makes.h - the columns that a function or a data set in Python makes.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_OP_PYTHON_PYTHON_MAKES_H
#define TND_ACTORS_OP_PYTHON_PYTHON_MAKES_H

#include "runtime/data/schema.h"
#include "runtime/option/option.h"

typedef struct {
    tnd_pairs_t columns;
} tnd_python_makes_t;
extern const tnd_table_t tnd_python_makes_table;

/*  An interpreter with NumPy has about 30 MiB of its own, and what the module imports. */
#define TND_PYTHON_MEMORY_OPTION(type)                                                             \
    {                                                                                              \
        TND_OPTION(type, memory, BYTES, PLACE), .fallback = "64MiB",                               \
                                                .help = "what each interpreter takes, for the "    \
                                                        "memory sum; it is not held to it"         \
    }

/*  The columns of `makes`.  Errors: TND_FAILED; the text names the column. */
tnd_status_t tnd_python_makes(const tnd_python_makes_t *options, tnd_schema_t *made,
                              tnd_error_t *error) TND_CHECKED;

#endif
