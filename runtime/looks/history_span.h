/*  runtime/looks/history_span.h - the coarser part of an actor's history (run_page.h).
 *
 *  Threads: the control thread of the host, which writes the seconds. */
#ifndef TND_RUNTIME_LOOKS_HISTORY_SPAN_H
#define TND_RUNTIME_LOOKS_HISTORY_SPAN_H

#include "runtime/observe/run_page.h"

/*  Makes the span of a history that ends with second `number`, the last that was written, if one does. */
void tnd_history_span(tnd_history_t *self, uint64_t number);

#endif
