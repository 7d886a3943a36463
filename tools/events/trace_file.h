/*  tools/events/trace_file.h - writes a trace in Perfetto's format (perfetto.proto).
 *
 *  Threads: one. */
#ifndef TND_TOOLS_EVENTS_TRACE_FILE_H
#define TND_TOOLS_EVENTS_TRACE_FILE_H

#include <stdio.h>

#include "tools/events/trace.h"

/*  Writes a finished trace; a failed write shows in ferror(out).  `run` is the name of the run. */
void tnd_trace_write(const tnd_trace_t *self, const char *run, FILE *out);

#endif
