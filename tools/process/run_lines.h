/*  tools/process/run_lines.h - the lines that a run prints on stdout and stderr: a blocked reader of
 *  either cannot block the run.
 *
 *  Threads: those of a line_writer; begin and end: the main thread. */
#ifndef TND_TOOLS_PROCESS_RUN_LINES_H
#define TND_TOOLS_PROCESS_RUN_LINES_H

#include "tools/cli/line_writer.h"

/*  All zero: not begun. */
typedef struct {
    tnd_line_writer_t *out, *err; /* one writer if they are the same file */
} tnd_run_lines_t;

/*  Errors: no thread can be started; then neither has a writer. */
tnd_status_t tnd_run_lines_begin(tnd_run_lines_t *self, tnd_error_t *error);
/*  Waits until what was printed is written, or until `until_ns`. */
void tnd_run_lines_await(tnd_run_lines_t *self, uint64_t until_ns);
/*  Writes what is left, until `until_ns`.  Returns false if stdout is a file that is not complete. */
bool tnd_run_lines_end(tnd_run_lines_t *self, uint64_t until_ns);

#endif
