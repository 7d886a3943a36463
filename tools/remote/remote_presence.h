/*  tools/remote/remote_presence.h - what the leader of a run knows of a host that does not answer.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REMOTE_REMOTE_PRESENCE_H
#define TND_TOOLS_REMOTE_REMOTE_PRESENCE_H

#include <stdio.h>

#include "runtime/observe/run_page.h"

/*  Prints "; for the leader it is away (for 3.1 s)", or nothing if the leader does not say. */
void tnd_remote_presence_print(FILE *out, const tnd_host_record_t *host, uint64_t now);

#endif
