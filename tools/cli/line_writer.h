/*  tools/cli/line_writer.h - writes lines to a file, a pipe or a terminal on a thread of its own.
 *
 *  What observes a run (metrics, log, progress) must not stop it, but a pipe that is not read
 * blocks its writer.  So lines wait in a queue of TND_LINES_BYTES.  When it is full, lines for a
 * pipe, a socket or a terminal are dropped and counted, whereas the caller waits for a regular file
 * or another device, which receives every line or reports an error.
 *
 *  Threads: put, await, stream and the counts on any; open and close on one.
 *  Errors: a write that fails is the last one; a regular file that was opened here then ends with
 *  its last whole line.
 */
#ifndef TUNDISH_TOOLS_LINE_WRITER_H
#define TUNDISH_TOOLS_LINE_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "runtime/base/status.h"

typedef struct tnd_line_writer tnd_line_writer_t;

enum { TND_LINES_BYTES = 1 << 20 };

/*  Creates or truncates the file.  A FIFO is opened for writing once it has a reader; until then
 *  its lines wait in the queue.
 */
tnd_status_t tnd_line_writer_open(tnd_line_writer_t **self_p, const char *path,
                                  tnd_error_t *error) TND_CHECKED;
/*  Writes to a descriptor of the caller, which stays open. */
tnd_line_writer_t *tnd_line_writer_new(int file);
/*  Writes what is queued until `until_ns` (monotonic clock), to a regular file however long that
 *  takes; what is left then counts as dropped.  `*reason_p` is the errno of the write that failed,
 *  or 0; returns the number of lines that were dropped.
 */
uint64_t tnd_line_writer_close(tnd_line_writer_t **self_p, uint64_t until_ns, int *reason_p);

/*  Waits until all that is queued is written, at most until then. */
void tnd_line_writer_await(tnd_line_writer_t *self, uint64_t until_ns);

/*  Queues whole lines. */
void tnd_line_writer_put(tnd_line_writer_t *self, const char *lines, size_t size);
/*  A stream whose lines are queued; it ends with the writer. */
FILE *tnd_line_writer_stream(tnd_line_writer_t *self);
/*  Lines that were dropped so far. */
uint64_t tnd_line_writer_dropped(tnd_line_writer_t *self);
/*  The errno of the write that failed; 0: none did. */
int tnd_line_writer_reason(tnd_line_writer_t *self);

#endif
