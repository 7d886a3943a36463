/*  tools/cli/line_writer.h - writes lines to a file, a pipe or a terminal on its own thread.
 *
 *  Metrics, log and progress must not stop a run, but a pipe that is not read blocks its writer.
 *  So lines wait in a queue of TND_LINES_BYTES.  If it is full, lines for a pipe, a socket or a
 *  terminal are dropped and counted.  The caller waits for a regular file or another device, which
 *  receives every line or reports an error; if it takes nothing for a second, its lines are dropped
 *  too.
 *
 *  Threads: put, await, stream and the counts on any; open and close on one.
 *  Errors: nothing is written after a failed write.  A regular file that was opened here then ends
 *  with its last whole line. */
#ifndef TND_TOOLS_CLI_LINE_WRITER_H
#define TND_TOOLS_CLI_LINE_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "runtime/base/status.h"

typedef struct tnd_line_writer tnd_line_writer_t;

enum { TND_LINES_BYTES = 1 << 20 };

/*  Creates the file, or truncates it unless lines are to be added (`adds`).  A FIFO is opened for writing once it has a reader; until then
 *  its lines wait in the queue. */
tnd_status_t tnd_line_writer_open(tnd_line_writer_t **self_p, const char *path, bool adds,
                                  tnd_error_t *error) TND_CHECKED;
/*  Writes to a descriptor of the caller, which stays open.  Errors: TND_FAILED if no thread can be
 *  started. */
tnd_status_t tnd_line_writer_new(tnd_line_writer_t **self_p, int file,
                                 tnd_error_t *error) TND_CHECKED;
/*  Writes the queue until `until_ns` (monotonic clock), to a regular file without a limit, and
 *  drops the rest.  `*reason_p` is the errno of a failed write, or 0.  Returns the number of
 *  dropped lines. */
uint64_t tnd_line_writer_close(tnd_line_writer_t **self_p, uint64_t until_ns, int *reason_p);

/*  Waits until the queue is written, at most until then. */
void tnd_line_writer_await(tnd_line_writer_t *self, uint64_t until_ns);

/*  Queues whole lines. */
void tnd_line_writer_put(tnd_line_writer_t *self, const char *lines, size_t size);
/*  A stream whose lines are queued; it is closed with the writer. */
FILE *tnd_line_writer_stream(tnd_line_writer_t *self);
/*  The number of lines dropped so far. */
uint64_t tnd_line_writer_dropped(tnd_line_writer_t *self);
/*  Since when queued lines wait and none is written (monotonic clock); 0: none wait. */
uint64_t tnd_line_writer_waits_since(tnd_line_writer_t *self);
/*  The errno of the failed write; 0: none failed. */
int tnd_line_writer_reason(tnd_line_writer_t *self);

#endif
