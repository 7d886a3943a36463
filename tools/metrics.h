/*  tools/metrics.h - one line of JSON for each committed step of the first chain.
 *
 *      {"step":0,"epoch":0,"rows":128,"loss":2.3025850929940457}
 *
 *  When the disk is full, what is there stays, up to its last whole line.
 *
 *  Threads: step on the host's; open and close on the main one, before and after the run.
 */
#ifndef TUNDISH_TOOLS_METRICS_H
#define TUNDISH_TOOLS_METRICS_H

#include <stdio.h>
#include <sys/types.h>

#include "runtime/life/observer.h"

typedef struct {
    FILE *out; /* NULL: nobody asked */
    const char *path;
    uint64_t flushed_ns;
    off_t whole; /* bytes of lines that are there */
    int reason;  /* why no more are written; 0: they are */
} tnd_metrics_t;

/*  Creates the file.  `path` NULL: nothing will be written. */
tnd_status_t tnd_metrics_open(tnd_metrics_t *self, const char *path,
                              tnd_error_t *error) TND_CHECKED;
/*  TND_FAILED, once: this line cannot be written, nor will later ones be. */
tnd_status_t tnd_metrics_step(tnd_metrics_t *self, const tnd_step_record_t *record,
                              tnd_error_t *error) TND_CHECKED;
/*  TND_FAILED: not all lines could be written. */
tnd_status_t tnd_metrics_close(tnd_metrics_t *self, tnd_error_t *error) TND_CHECKED;

#endif
