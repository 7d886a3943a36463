/*  tundish/types.h - the words that all of tundish shares: statuses, element types, columns, errors.
 *
 *  Programs include tundish/tundish.h, which includes this. */
#ifndef TUNDISH_TYPES_H
#define TUNDISH_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TND_API __attribute__((visibility("default")))

typedef enum {
    TND_OK = 0,
    TND_END,     /* the stream has ended */
    TND_STOPPED, /* stopped before the end, as requested */
    TND_FAILED,  /* a runtime error, explained by a text */
    TND_AGAIN,   /* not possible now; try again later */
    TND_REFUSED  /* does not fit: a peer, or a bad record */
} tnd_status_t;

/*  The numbers are part of the wire format: new types are added at the end. */
typedef enum {
    TND_U8 = 0,
    TND_I8,
    TND_U16,
    TND_I16,
    TND_U32,
    TND_I32,
    TND_U64,
    TND_I64,
    TND_F16,
    TND_BF16,
    TND_F32,
    TND_F64,
    TND_BOOL
} tnd_dtype_t;

#define TND_UNKNOWN UINT64_MAX /* a number that is known only at the end of the stream */

typedef enum { TND_SUM, TND_MEAN, TND_MIN, TND_MAX, TND_GATHER } tnd_reduce_t;

/* --- columns of a row ------------------------------------------------------------------------- */

enum { TND_COLUMNS_MAX = 64, TND_RANK_MAX = 8, TND_COLUMN_NAME_MAX = 64 };

/*  Every row of a stream has the same columns.  Each is a dense array in C order, little-endian.
 *  In a ragged column, the first axis of each row has its own length, from 0 to shape[0]. */
typedef struct {
    char name[TND_COLUMN_NAME_MAX];
    tnd_dtype_t dtype;
    uint32_t rank; /* of one row; 0: a scalar */
    uint64_t shape[TND_RANK_MAX];
    bool ragged; /* shape[0] is the longest length; each row has its own */
} tnd_column_t;

typedef struct tnd_schema {
    uint32_t count;
    tnd_column_t columns[TND_COLUMNS_MAX];
} tnd_schema_t;

/*  A text that explains a failure; the caller owns the struct. */
typedef struct tnd_error {
    char text[512];
    const void *about; /* used by the library */
} tnd_error_t;

/*  Appends a column to a schema, which starts zeroed; `shape` has `rank` numbers.
 *  Errors: TND_FAILED, and the schema is unchanged, if the name is empty, too long or taken, there
 *  are too many columns or dimensions, a dimension is 0, or a row takes 2^40 bytes or more. */
TND_API tnd_status_t tnd_schema_add(tnd_schema_t *schema, const char *name, tnd_dtype_t dtype,
                                    uint32_t rank, const uint64_t *shape, tnd_error_t *error);
/*  Appends a ragged column, whose longest row has shape[0]; `rank` is at least 1. */
TND_API tnd_status_t tnd_schema_add_ragged(tnd_schema_t *schema, const char *name,
                                           tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape,
                                           tnd_error_t *error);
/*  Index of the column called `name`, or -1. */
TND_API int tnd_schema_find(const tnd_schema_t *schema, const char *name);
/*  Writes a text, truncated if it is too long, and returns TND_FAILED, so that a function can fail
 *  with `return tnd_fail(...)`.  `error` may be NULL. */
TND_API tnd_status_t tnd_fail(tnd_error_t *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*  The levels of log records; `tundish run` prints the last two. */
typedef enum { TND_LOG_DEBUG, TND_LOG_INFO, TND_LOG_WARNING, TND_LOG_ERROR } tnd_log_level_t;

#ifdef __cplusplus
}
#endif

#endif
