/*  tools/inspect/reading_progress.h - shows on stderr how far a command is with reading data files.
 *
 *  After half a second a terminal has one line, which is redrawn; otherwise there is a line every three
 *  seconds.
 *
 *  Lifecycle: init; report any number of times; clear before other output; end.
 *  Threads: reports on any; init and end on one. */
#ifndef TND_TOOLS_INSPECT_READING_PROGRESS_H
#define TND_TOOLS_INSPECT_READING_PROGRESS_H

#include <pthread.h>

#include "runtime/interface/source.h"
#include "runtime/observe/open_progress.h"
#include "tools/cli/terminal.h"

typedef struct {
    pthread_mutex_t lock; /* of what follows */
    tnd_open_progress_t progress;
    tnd_terminal_t terminal;
    tnd_open_pace_t pace;
    uint64_t next_ns; /* when it is shown next */
    bool drawn;
} tnd_reading_progress_t;

void tnd_reading_progress_init(tnd_reading_progress_t *self);
/*  Sets what sources report to while they are opened. */
void tnd_reading_progress_attach(tnd_reading_progress_t *self, tnd_source_scope_t *scope);
/*  So many records of `all`, which may be TND_UNKNOWN, were read; `self` is a
 *  tnd_reading_progress_t. */
void tnd_reading_progress_records(void *self, uint64_t done, uint64_t all);
/*  Removes the line that is redrawn. */
void tnd_reading_progress_clear(tnd_reading_progress_t *self);
void tnd_reading_progress_end(tnd_reading_progress_t *self);

#endif
