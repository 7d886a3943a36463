/*  actors/op/text/column_text.h - the type and the shape of a column, as a text: "i64", "f32[8]",
 *  "u8[<=100]" of a ragged one.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_OP_TEXT_COLUMN_TEXT_H
#define TND_ACTORS_OP_TEXT_COLUMN_TEXT_H

#include "runtime/base/dtype.h"

/*  Sets type, rank and shape of *column, whose rank is 0.  Returns false if `text` is not such a text. */
bool tnd_column_text(const char *text, tnd_column_t *column);

#endif
