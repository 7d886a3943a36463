/*  tools/rows/tapped_rows.h - rows that were copied from a run (runtime/observe/tap.h), as a capture.
 *
 *  Ownership: the caller's; tnd_capture_fini frees it.  Threads: one. */
#ifndef TND_TOOLS_ROWS_TAPPED_ROWS_H
#define TND_TOOLS_ROWS_TAPPED_ROWS_H

#include "runtime/observe/tap.h"
#include "tools/rows/capture.h"

/*  `tap` is a copy that tnd_tap_bound accepted. */
void tnd_tapped_rows(tnd_capture_t *self, const tnd_tap_t *tap);

#endif
