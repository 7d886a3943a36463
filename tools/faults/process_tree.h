/*  tools/faults/process_tree.h - the processes below one, by the host of a run that each is.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_BROOD_H
#define TUNDISH_TOOLS_BROOD_H

#include <sys/types.h>

/*  A descriptor of the process below `parent` that is host `host` right now, which the caller
 *  closes; -1: there is none.
 */
int tnd_process_tree_open(pid_t parent, const char *host, pid_t *pid_p);

#endif
