/*  tools/events/row_tap.h - rows that pass an actor of a run, in all of its processes on this
 *  machine.
 *
 *  Takes at most 10 copies a second of each process, and fewer where the caller needs more than 2 % of
 *  a processor for them, so that the run does not feel it.
 *
 *  Ownership: the caller destroys it.  Threads: one. */
#ifndef TND_TOOLS_EVENTS_ROW_TAP_H
#define TND_TOOLS_EVENTS_ROW_TAP_H

#include "tools/events/event_stream.h"
#include "tools/events/tap_reader.h"

typedef struct tnd_row_tap tnd_row_tap_t;

/*  The rows of one block in `every` that `from`, an instance or an actor, sends to `to`; "": to any.
 *  The names are borrowed. */
tnd_row_tap_t *tnd_row_tap_new(const char *from, const char *to, uint64_t every);
void tnd_row_tap_destroy(tnd_row_tap_t **self_p);

/*  Returns the next copy and fills the event of its block or slice, both valid until the next call;
 *  NULL: there is none now.  Call it again after a few milliseconds. */
const tnd_tap_t *tnd_row_tap_poll(tnd_row_tap_t *self, const tnd_event_stream_t *stream,
                                  tnd_event_entry_t *entry);
/*  Why the rows of a process cannot be read; "": those of all can. */
const char *tnd_row_tap_error(const tnd_row_tap_t *self);

#endif
