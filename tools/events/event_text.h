/*  tools/events/event_text.h - prints events as text or JSON.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_EVENTS_EVENT_TEXT_H
#define TND_TOOLS_EVENTS_EVENT_TEXT_H

#include <stdio.h>

#include "tools/events/event_stream.h"

/*  A line; its time is relative to `zero_ns`. */
void tnd_event_print(FILE *out, const tnd_event_entry_t *entry, uint64_t zero_ns);
/*  An object in a line; its time is that of the monotonic clock. */
void tnd_event_print_json(FILE *out, const tnd_event_entry_t *entry);
/*  The same without its end, for more members. */
void tnd_event_begin_json(FILE *out, const tnd_event_entry_t *entry);

#endif
