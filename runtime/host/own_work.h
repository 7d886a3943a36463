/*  runtime/host/own_work.h - the actor whose thread this is, for work that takes long in several parts.
 *
 *  Threads: each has its own. */
#ifndef TND_RUNTIME_HOST_OWN_WORK_H
#define TND_RUNTIME_HOST_OWN_WORK_H

#include "runtime/observe/statistics.h"

/*  This thread runs the actor that has this page. */
void tnd_own_work_of(tnd_statistics_t *page);
/*  A part of the work is done, so what follows has the whole time of `hung_after` again.  On a thread
 *  without an actor it does nothing. */
void tnd_own_work_renew(void);

#endif
