/*  tools/report/report.h - writes the account of a run as JSON.
 *
 *  The file is opened before the start, so that a path that cannot be written is an error then.  It
 *  is written completely when the run has ended, however it did, or not at all.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_REPORT_REPORT_H
#define TND_TOOLS_REPORT_REPORT_H

#include <stdio.h>

#include "runtime/host/host_config.h"
#include "runtime/observe/run_summary.h"
#include "tools/cli/output.h"

typedef struct {
    tnd_output_t output; /* not open: not requested */
} tnd_run_report_t;

/*  How the run ended. */
typedef struct {
    tnd_outcome_t outcome;
    int code;            /* of the process */
    const char *message; /* why; NULL or "": it is done */
} tnd_report_end_t;

tnd_status_t tnd_report_open(tnd_run_report_t *self, const char *path,
                             tnd_error_t *error) TND_CHECKED;
/*  Writes the report and completes the file.  `account`: see tnd_report_print. */
tnd_status_t tnd_report_close(tnd_run_report_t *self, const tnd_run_summary_t *summary,
                              const char *account, const tnd_report_end_t *end,
                              tnd_error_t *error) TND_CHECKED;
/*  Discards the file. */
void tnd_report_abandon(tnd_run_report_t *self);

/*  Prints the report; `account` has further members; NULL: none. */
void tnd_report_print(const tnd_run_summary_t *summary, const char *account,
                      const tnd_report_end_t *end, FILE *out);

#endif
