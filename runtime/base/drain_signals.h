/*  runtime/base/drain_signals.h - calls a function when a launcher sends a signal.
 *
 *  Threads: one at a time; the handler runs on any. */
#ifndef TND_RUNTIME_BASE_DRAIN_SIGNALS_H
#define TND_RUNTIME_BASE_DRAIN_SIGNALS_H

#include <stdbool.h>

/*  SIGTERM, SIGUSR1 and SIGUSR2 call drain(context), which is safe in a signal handler; in a child that
 *  was forked they act as by default.  False: there is another context. */
bool tnd_drain_signals_begin(void (*drain)(void *context), void *context);
/*  Puts the former actions back, if they were set for this context. */
void tnd_drain_signals_end(const void *context);

#endif
