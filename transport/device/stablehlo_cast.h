/*  transport/device/stablehlo_cast.h - a cast of rows as a program of StableHLO.
 *
 *  Its function `main` takes the elements of the rows, and scale and bias as one f64 per channel.  It
 *  returns the bits of what tnd_row_cast (runtime/core/numeric/row_cast.h) gives, as u32 or u16.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_DEVICE_STABLEHLO_CAST_H
#define TND_TRANSPORT_DEVICE_STABLEHLO_CAST_H

#include "runtime/core/numeric/row_cast.h"

/*  The program for exactly `rows` rows; the caller frees it. */
char *tnd_stablehlo_cast(const tnd_row_cast_t *cast, uint64_t rows, size_t *length_p);

#endif
