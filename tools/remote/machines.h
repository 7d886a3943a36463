/*  tools/remote/machines.h - starts a run with a process on each of several machines, by a command such as ssh.
 *
 *  The command of a machine runs `tundish run --sent` there (sent_run.h).  Its output is merged, and
 *  a drain goes to all by their stdin, because most such commands pass on no signal.  A machine whose
 *  command fails, or that does not answer in three quarters of `start_timeout`, is named.  It ends the
 *  run, unless `min:` lets the others begin without it.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_REMOTE_MACHINES_H
#define TND_TOOLS_REMOTE_MACHINES_H

#include "tools/cli/command.h"

/*  Runs `tundish up --on`; returns the exit code. */
int tnd_machines_run(const tnd_request_t *request);

#endif
