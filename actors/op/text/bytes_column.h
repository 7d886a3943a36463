/*  actors/op/text/bytes_column.h - a column of byte strings, and the column that is made of it.
 *
 *  Byte strings are a ragged column of u8: the records of a file, a feature of an example.  What is
 *  made of them replaces them, or becomes a new column.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_OP_TEXT_BYTES_COLUMN_H
#define TND_ACTORS_OP_TEXT_BYTES_COLUMN_H

#include "actors/op/ops.h"

/*  The options `column` and `into` of a struct of options. */
#define TND_BYTES_OPTIONS(options_t, text)                                                         \
    {TND_OPTION(options_t, column, COLUMN, GRAPH), .fallback = "record", .help = (text)},          \
    {                                                                                              \
        TND_OPTION(options_t, into, COLUMN, GRAPH),                                                \
            .fallback = "",                                                                        \
            .help = "a new column for the result; without it, the result replaces the column"      \
    }

typedef struct {
    uint32_t columns, column; /* how many come in; the one of byte strings */
    uint32_t to;              /* the column that is made */
    uint64_t longest;         /* bytes of the longest row */
    char name[TND_COLUMN_NAME_MAX];
} tnd_bytes_column_t;

/*  Finds the column.  Errors: TND_FAILED if it does not exist or has no byte strings. */
tnd_status_t tnd_bytes_find(tnd_bytes_column_t *self, const tnd_schema_t *in, const char *column,
                            tnd_error_t *error) TND_CHECKED;

/*  Sets *facts to those of an operation that reads the column and makes one with this name, or in
 *  its place if `into` is NULL; self->to becomes its index. */
tnd_status_t tnd_bytes_make(tnd_bytes_column_t *self, const tnd_schema_t *in, const char *into,
                            const tnd_column_t *made, tnd_op_facts_t *facts,
                            tnd_error_t *error) TND_CHECKED;

/*  Sets *facts to those of an operation that leaves the column out and passes the others on, as
 *  tnd_bytes_pass does. */
tnd_status_t tnd_bytes_leave_out(const tnd_bytes_column_t *self, const tnd_schema_t *in,
                                 tnd_op_facts_t *facts, tnd_error_t *error) TND_CHECKED;
void tnd_bytes_pass(const tnd_bytes_column_t *self, const tnd_tile_t *in, tnd_tile_t *out);

/*  Reads an option `shape` into *column.  Errors: TND_FAILED for too many axes or elements. */
tnd_status_t tnd_bytes_shape(const tnd_numbers_t *shape, tnd_column_t *column,
                             tnd_error_t *error) TND_CHECKED;

/*  Text for a message: at most 40 bytes; those that are not printable become `?`. */
typedef struct {
    char text[48];
} tnd_excerpt_t;
const char *tnd_excerpt(tnd_excerpt_t *self, const void *bytes, size_t size);

#endif
