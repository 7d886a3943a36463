/*  tools/remote/remote_look.h - an inspection of another machine, as a line of text.
 *
 *  `tundish ps --stream --pages` prints such lines.  A line is a JSON object with the version of
 *  the statistics pages and, for each process, a copy of its pages, compressed and in base64.  So a
 *  reader judges a process on another machine as it judges its own.
 *
 *  The line is not trusted: sizes have bounds, and pages are validated like those of this machine.
 *  Times are converted to the clock of this machine by their age.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REMOTE_REMOTE_LOOK_H
#define TND_TOOLS_REMOTE_REMOTE_LOOK_H

#include <stdio.h>

#include "runtime/observe/inspection.h"

enum { TND_REMOTE_LINE_MAX = 64 << 20, TND_REMOTE_PROCESSES_MAX = 256 };

/*  Prints an inspection as a line. */
void tnd_remote_look_print(FILE *out, const tnd_inspection_t *look);

/*  Reads a line that arrived at `now_ns`, a time of this machine.  `machine` is the address that it
 *  came from; the processes carry it.  The caller destroys the inspection.
 *  A process whose pages are damaged or too large is left out; `error` then names it, also with
 *  TND_OK.  Errors: not such a line; pages of another version. */
tnd_status_t tnd_remote_look_read(const char *line, size_t size, const char *machine,
                                  uint64_t now_ns, tnd_inspection_t **look_p,
                                  tnd_error_t *error) TND_CHECKED;

#endif
