/*  tools/report/metrics.h - one line of JSON for each committed step of the first chain.
 *
 *      {"step":0,"epoch":0,"rows":128,"loss":2.3025850929940457}
 *
 *  Lines are written by a thread of their own (line_writer.h).  When the disk is full, what was
 *  written stays, up to its last whole line.
 *
 *  Threads: step on the host's; open and close on the main one, before and after the run.
 */
#ifndef TUNDISH_TOOLS_METRICS_H
#define TUNDISH_TOOLS_METRICS_H

#include "runtime/observe/observer.h"
#include "tools/cli/line_writer.h"

typedef struct {
    tnd_line_writer_t *writer; /* NULL: not asked for */
    FILE *lines;               /* those that are not handed to the writer yet, in `text` */
    char *text;
    size_t size;
    const char *path;
    uint64_t flushed_ns;
    bool told; /* that a write failed */
} tnd_metrics_t;

/*  Creates the file.  `path` NULL: nothing will be written. */
tnd_status_t tnd_metrics_open(tnd_metrics_t *self, const char *path,
                              tnd_error_t *error) TND_CHECKED;
/*  TND_FAILED, once: a line could not be written, nor will later ones be. */
tnd_status_t tnd_metrics_step(tnd_metrics_t *self, const tnd_step_record_t *record,
                              tnd_error_t *error) TND_CHECKED;
/*  Waits for a pipe that is not read until `until_ns`; `*dropped_p`: the lines that were dropped,
 *  because it was not read in time.  TND_FAILED: lines could not be written.
 */
tnd_status_t tnd_metrics_close(tnd_metrics_t *self, uint64_t until_ns, uint64_t *dropped_p,
                               tnd_error_t *error) TND_CHECKED;

#endif
