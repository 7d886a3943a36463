/*  tools/touch/remote_touch.h - runs a touch on the machine of the leader, by the command of `--via`.
 *
 *  That command runs the same subcommand there, and its output is ours.
 *
 *  Threads: one.  Blocks until the command has ended. */
#ifndef TND_TOOLS_TOUCH_REMOTE_TOUCH_H
#define TND_TOOLS_TOUCH_REMOTE_TOUCH_H

#include "tools/cli/command.h"

/*  `host` may be "" if only the address is known.  Returns the exit code of the subcommand there, or
 *  TND_EXIT_USAGE or TND_EXIT_PEER, after it has reported why it did not run. */
int tnd_remote_touch(const tnd_request_t *request, const char *via, const char *verb,
                     const char *host, const char *address);

#endif
