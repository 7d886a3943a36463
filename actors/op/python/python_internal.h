/*  actors/op/python/python_internal.h - the parts of the operation `python`.
 *
 *  python.c has its options and its schema, python_makes.c the columns that it makes, python_tile.c passes
 *  rows to the interpreter and takes what it made of them.
 *
 *  Threads: as runtime/interface/operation.h says. */
#ifndef TND_ACTORS_OP_PYTHON_PYTHON_INTERNAL_H
#define TND_ACTORS_OP_PYTHON_PYTHON_INTERNAL_H

#include "actors/op/ops.h"
#include "actors/op/python/python_makes.h"
#include "actors/python/interpreter_server.h"

/*  What becomes of a row. */
typedef enum { TND_PYTHON_ONE, TND_PYTHON_FILTER, TND_PYTHON_MANY } tnd_python_rows_t;

typedef struct {
    const char *call;
    tnd_strings_t columns, keep;
    const tnd_python_makes_t *makes;
    const tnd_value_t *options;
    bool each, random, pure, allow_nan;
    int rows; /* tnd_python_rows_t */
    uint64_t max, memory;
} tnd_python_options_t;

typedef struct {
    const char *call;
    char shown[72];             /* the name of the operation, for people */
    tnd_schema_t in, made, out; /* made: the columns that the function makes */
    uint32_t read[TND_COLUMNS_MAX], read_count;
    uint32_t place[TND_COLUMNS_MAX]; /* of what it makes: the column of `out` */
    int8_t from[TND_COLUMNS_MAX]; /* by column of `out`: that of `in` that it is; -1: it is made */
    tnd_python_rows_t rows;
    uint32_t most; /* rows that one may become */
    bool random;
    const tnd_op_scope_t *scope;
    tnd_interpreter_t *interpreter; /* NULL: no rows follow */
    tnd_interpreter_terms_t terms;
    tnd_interpreter_server_t *server;
    char *setup, *program;
    uint32_t *counts; /* of a reply: how many rows each row became */
    uint32_t counts_room;
    bool counted;      /* whether the last reply has such counts */
    uint64_t *lengths; /* of a ragged column of it */
    uint64_t lengths_room;
} tnd_python_t;

/*  As the `apply` of an operation. */
tnd_status_t tnd_python_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                              tnd_tile_t *out, tnd_error_t *error);

#endif
