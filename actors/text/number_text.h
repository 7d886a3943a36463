/*  actors/text/number_text.h - numbers that are written as text, as tf.strings.to_number reads them.
 *
 *  Spaces around a number are allowed: blank, tab, \n, \v, \f and \r.  Integers are decimal and must
 *  fit their type.  Floats are decimal or hexadecimal, inf, infinity or nan in any case, and rounded
 *  to the nearest even; a number that is too large becomes infinity.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_TEXT_NUMBER_TEXT_H
#define TND_ACTORS_TEXT_NUMBER_TEXT_H

#include "runtime/base/dtype.h"

/*  Whether text can be read as numbers of this type: integers, f32 and f64. */
bool tnd_number_text_reads(tnd_dtype_t dtype);

/*  Writes one number of such a type to `out`.  Returns false if the text is not a number of it. */
bool tnd_number_text(tnd_dtype_t dtype, const void *text, size_t size, void *out);

/*  Reads true, false, yes, no, 1 or 0: in lower case, upper case or with a capital, without spaces.
 *  Returns false if the text is another. */
bool tnd_bool_text(const void *text, size_t size, bool *out);

#endif
