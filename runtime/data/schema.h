/*  runtime/data/schema.h - the columns of a stream: name, element type and shape of each.
 *
 *  Every row of a stream has the same columns, each a dense array, C order, little endian: of fixed
 *  shape, or ragged: then the first axis of a row has any length up to shape[0], 0 too.  TensorFlow
 *  calls this the element spec.  Two actors that connect compare schemas; what differs is said by
 *  column.
 *
 *  Threads: a plain value; any. */
#ifndef TND_RUNTIME_DATA_SCHEMA_H
#define TND_RUNTIME_DATA_SCHEMA_H

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

/*  Elements and bytes of a row of a column, of the longest if ragged; of a row of all columns. */
uint64_t tnd_column_elements(const tnd_column_t *self);
size_t tnd_column_bytes(const tnd_column_t *self);
size_t tnd_schema_row_bytes(const tnd_schema_t *self);
/*  Bytes of what the length of a ragged row counts: one step along its first axis. */
size_t tnd_column_unit(const tnd_column_t *self);
/*  How many columns are ragged; bytes a row of the lists of their offsets and lengths. */
uint32_t tnd_schema_ragged(const tnd_schema_t *self);
/*  The most bytes of the ragged columns of a row. */
size_t tnd_schema_ragged_bytes(const tnd_schema_t *self);
size_t tnd_schema_list_bytes(const tnd_schema_t *self);

/*  Index of the column called `name`, or -1. */
TND_API int tnd_schema_find(const tnd_schema_t *self, const char *name);

/*  Appends a column.  TND_FAILED: the name is empty, too long or taken, too many columns or
 *  dimensions, a dimension of 0, or a row of 2^40 bytes or more; *self is then as it was. */
TND_API tnd_status_t tnd_schema_add(tnd_schema_t *self, const char *name, tnd_dtype_t dtype,
                                    uint32_t rank, const uint64_t *shape,
                                    tnd_error_t *error) TND_CHECKED;
/*  Appends a ragged column, whose longest row has shape[0]; `rank` is at least 1. */
TND_API tnd_status_t tnd_schema_add_ragged(tnd_schema_t *self, const char *name, tnd_dtype_t dtype,
                                           uint32_t rank, const uint64_t *shape,
                                           tnd_error_t *error) TND_CHECKED;
/*  Appends a column like `column`, with another name. */
tnd_status_t tnd_schema_add_like(tnd_schema_t *self, const char *name, const tnd_column_t *column,
                                 tnd_error_t *error) TND_CHECKED;

/*  A hash that is equal for equal schemas; never 0. */
uint64_t tnd_schema_hash(const tnd_schema_t *self);

/*  TND_OK if equal; else the text names the first column that differs and how. */
tnd_status_t tnd_schema_compare(const tnd_schema_t *self, const tnd_schema_t *other,
                                tnd_error_t *error) TND_CHECKED;

/*  "image u8[28,28], tokens i32[<=512], label u8" into `text`, cut if need be; returns text. */
const char *tnd_schema_text(const tnd_schema_t *self, char *text, size_t room);

#endif
