/*  runtime/option/running_part.h - which part of the topology the calling thread runs.
 *
 *  User code may crash.  The handler of the signal then runs on the same thread, and names the part.
 *
 *  Threads: any, each has its own.  Both are safe in handlers of signals. */
#ifndef TND_RUNTIME_OPTION_RUNNING_PART_H
#define TND_RUNTIME_OPTION_RUNNING_PART_H

#include "runtime/option/option.h"

/*  `number` is its place in its list, from 1.  `part` is borrowed until the next call; NULL: none. */
void tnd_running_part_set(const tnd_part_t *part, size_t number);
/*  NULL: it runs none. */
const tnd_part_t *tnd_running_part(size_t *number_p);

#endif
