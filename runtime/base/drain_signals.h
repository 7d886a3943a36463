/*  runtime/base/drain_signals.h - calls a function when a launcher sends a signal.
 *
 *  Threads: one at a time; the handler runs on any. */
#ifndef TND_RUNTIME_BASE_DRAIN_SIGNALS_H
#define TND_RUNTIME_BASE_DRAIN_SIGNALS_H

#include <stdbool.h>

/*  SIGTERM, SIGUSR1 and SIGUSR2 call drain(context), which is safe in a signal handler; in a child that
 *  was forked they act as by default.  False: there is another context. */
bool tnd_drain_signals_begin(void (*drain)(void *context), void *context);
/*  From now on they are remembered, and the next begin drains at once if one `came`.  False: there is a
 *  context. */
bool tnd_drain_signals_expect(void);
/*  Whether they are, and have no context yet. */
bool tnd_drain_signals_are_expected(void);
/*  Signal-safe. */
bool tnd_drain_signals_came(void);
/*  Puts the former actions back, if they were set for this context. */
void tnd_drain_signals_end(const void *context);

#endif
