/*  tools/rows/show.h - prints the rows of a step as text or JSON.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_ROWS_SHOW_H
#define TND_TOOLS_ROWS_SHOW_H

#include "tools/rows/capture.h"

/*  Prints type, shape, minimum, maximum, mean and the first rows of each column; images as small
 *  pictures of characters.  `batches`: the rows come from a batcher; otherwise they are rows of the
 *  stream, from `first` on. */
void tnd_show_text(const tnd_capture_t *capture, bool batches, bool replicas, uint64_t first);

/*  Prints a line per replica:
 *      {"step":0,"replica":0,"rows":32,"last":false,"columns":{"label":{"dtype":"u8","shape":[32],
 *      "data":[...]}}}
 *  with "padded" after "rows" if there is padding.  Data is flat and row-major.  Floats read back
 *  as the same bits; "nan", "inf", "-inf" and integers above 2^53 are strings.  In a ragged column
 *  the first length in "shape" is null, and "splits" has the starts of its rows in the data, as
 *  row_splits of a RaggedTensor. */
void tnd_show_json(const tnd_capture_t *capture);
/*  Prints rows of the stream, without a line break: {"first":0,"rows":32,"columns":{...}} */
void tnd_show_passing_json(const tnd_capture_t *capture, uint64_t first);

#endif
