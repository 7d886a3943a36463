/*  actors/python/setup.h - what an interpreter is told when it starts: the function or data set, and its columns.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_PYTHON_SETUP_H
#define TND_ACTORS_PYTHON_SETUP_H

#include "runtime/data/schema.h"
#include "runtime/text/value.h"

typedef struct {
    const char *call, *directory; /* NULL: the current one */
    const char *source;           /* the file of the module; "": not known */
    const tnd_schema_t *in;       /* it gets `columns` of these */
    const uint32_t *columns;
    uint32_t column_count;
    const tnd_schema_t *makes;
    const tnd_value_t *options;
    const char *rows; /* one, filter or many */
    uint64_t max;
    bool each, random, allow_nan;
    const char
        *items; /* of a source: auto, true (any row) or false (in order); NULL: an operation */
} tnd_python_setup_t;

/*  A text in JSON; the caller frees it. */
char *tnd_python_setup_text(const tnd_python_setup_t *self);

/*  The interpreter: of the topology, with its folder before a relative path; else of the environment.
 *  The caller frees it. */
char *tnd_python_program(const char *python, const char *directory);

#endif
