/*  tools/report/metrics.h - writes one line of JSON per committed step of the first chain.
 *
 *      {"step":0,"epoch":0,"rows":128,"loss":2.3025850929940457}
 *
 *  and one after each time that a chain with `every:` was fed:
 *
 *      {"feeder":"test","after_step":468,"epoch":0,"accuracy":0.84}
 *
 *  A thread of its own writes the lines (line_writer.h).  If the disk is full, the file ends with
 *  its last whole line.
 *
 *  Threads: step on the host's; open and close on the main one, before and after the run. */
#ifndef TND_TOOLS_REPORT_METRICS_H
#define TND_TOOLS_REPORT_METRICS_H

#include "runtime/observe/observer.h"
#include "runtime/plan/placement.h"
#include "tools/cli/line_writer.h"

typedef struct {
    tnd_line_writer_t *writer; /* NULL: not requested */
    FILE *lines;               /* lines that are not passed to the writer yet, in `text` */
    char *text;
    size_t size;
    const char *path;
    uint64_t flushed_ns;
    bool told;      /* a failed write was reported */
    bool continues; /* the file has lines of steps that may be run again */
} tnd_metrics_t;

/*  Creates the file, or adds to it if the run `continues` that of an earlier session: steps that are run
 *  again replace their lines.  `path` NULL: nothing will be written. */
tnd_status_t tnd_metrics_open(tnd_metrics_t *self, const char *path, bool continues,
                              tnd_error_t *error) TND_CHECKED;
/*  Errors: TND_FAILED, once, if a line could not be written; later lines are not written either. */
tnd_status_t tnd_metrics_step(tnd_metrics_t *self, const tnd_step_record_t *record,
                              tnd_error_t *error) TND_CHECKED;
void tnd_metrics_validated(tnd_metrics_t *self, const tnd_plan_t *plan,
                           const tnd_validated_t *validated);
/*  Why lines of a file were dropped. */
const char *tnd_metrics_why_dropped(const char *path);
/*  What is not written yet. */
void tnd_metrics_backlog(const tnd_metrics_t *self, tnd_backlog_t *backlog);
/*  Waits until `until_ns` for a pipe that is not read; `*dropped_p` is the number of dropped lines.
 *  Errors: TND_FAILED if lines could not be written. */
tnd_status_t tnd_metrics_close(tnd_metrics_t *self, uint64_t until_ns, uint64_t *dropped_p,
                               tnd_error_t *error) TND_CHECKED;

#endif
