/*  tools/rows/show.h - the rows of a step, for a person or as JSON.
 *
 *  Threads: the main one.
 */
#ifndef TUNDISH_TOOLS_SHOW_H
#define TUNDISH_TOOLS_SHOW_H

#include "tools/rows/capture.h"

/*  Type, shape, least, greatest, mean and the first rows of each column; images as small pictures
 *  in characters.  `batches`: of a batcher; else rows that pass, the first at `first`.
 */
void tnd_show_text(const tnd_capture_t *capture, bool batches, bool replicas, uint64_t first);

/*  A line for each replica:
 *      {"step":0,"replica":0,"rows":32,"last":false,"columns":{"label":{"dtype":"u8","shape":[32],
 *      "data":[...]}}}
 *  with "padded" behind "rows" where there is padding.  Data is flat, row-major; floats read back
 *  as the same bits, what JSON lacks is "nan", "inf", "-inf", integers beyond 2^53 are texts.  Of a
 *  ragged column the varying length in "shape" is null, and "splits" says where its rows begin in
 *  the data, as row_splits of a RaggedTensor.
 */
void tnd_show_json(const tnd_capture_t *capture);
/*  Rows that pass: {"first":0,"rows":32,"columns":{...}} */
void tnd_show_passing_json(const tnd_capture_t *capture, uint64_t first);

#endif
