/*  tools/faults/process_tree.h - finds a host's process among the descendants of a process.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_FAULTS_PROCESS_TREE_H
#define TND_TOOLS_FAULTS_PROCESS_TREE_H

#include <sys/types.h>

/*  Returns a pidfd of the descendant of `parent` that runs host `host` now, which the caller
 *  closes; -1 if it does not exist. */
int tnd_process_tree_open(pid_t parent, const char *host, pid_t *pid_p);

#endif
