/*  runtime/base/dtype.h - the type of one element of a column.
 *
 *  All types are little-endian in memory and on the wire.  F16 and BF16 are carried as their 16-bit
 *  patterns (uint16_t); BOOL is one byte, 0 or 1.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_DTYPE_H
#define TND_RUNTIME_BASE_DTYPE_H

#include "runtime/tundish/types.h"

#define TND_DTYPE_COUNT ((int)TND_BOOL + 1)

/*  Bytes of one element: 1, 2, 4 or 8. */
size_t tnd_dtype_size(tnd_dtype_t dtype);

/*  The name that files, schemas and reports use: "u8", "i64", "bf16", "f32", "bool", ... */
const char *tnd_dtype_name(tnd_dtype_t dtype);

/*  Finds the type called `name`, exactly as tnd_dtype_name spells it, and stores it in *dtype_p.
 *  False if there is none; *dtype_p is then unchanged. */
bool tnd_dtype_parse(const char *name, tnd_dtype_t *dtype_p);

/*  True for F16, BF16, F32 and F64. */
bool tnd_dtype_is_float(tnd_dtype_t dtype);

/*  True for I8, I16, I32, I64 and the floats: the types that hold negative values. */
bool tnd_dtype_is_signed(tnd_dtype_t dtype);

#endif
