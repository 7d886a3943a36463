/*  tools/remote/remote_clock.h - converts times of another machine to the clock of this one.
 *
 *  Clocks of machines differ, so times are compared by their age.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REMOTE_REMOTE_CLOCK_H
#define TND_TOOLS_REMOTE_REMOTE_CLOCK_H

#include "runtime/observe/inspection.h"

/*  Converts all times of a process whose machine's clock was at `there` when this one was at
 *  `here`. */
void tnd_remote_clock_convert(tnd_inspected_t *process, uint64_t there, uint64_t here);

#endif
