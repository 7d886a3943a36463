/*  tools/faults/sandbox.h - a place on this machine where any graph can be run and disturbed.
 *
 *  A folder of its own, and in it an overlay under which every host of a graph is a process of this
 *  machine that others reach through a relay, by tcp.  A graph whose files name no hosts gets some:
 *  one with its feeders, which leads, one each with its readers, batchers and reducers, and two
 * with its workers.  Checkpoints go to the folder, so that nobody's own are touched.
 *
 *  Lifecycle: zeroed; open, after which `plan` is what runs; close.
 *  Threads: the main one.
 */
#ifndef TUNDISH_TOOLS_STAGE_H
#define TUNDISH_TOOLS_STAGE_H

#include "tools/cli/load.h"
#include "tools/faults/relay.h"

typedef struct {
    char *folder;
    const char **files; /* those of the request, and the overlay */
    size_t file_count;
    tnd_graph_t *graph;
    const tnd_plan_t *plan;
    tnd_relay_t *relay;
    uint32_t port; /* of control */
    bool keeps;    /* there are checkpoints */
    bool own;      /* the hosts are ours */
} tnd_sandbox_t;

/*  `keep`: with checkpoints also where the files ask for none.  TND_EXIT_OK, or the exit code after
 *  what is wrong was said.
 */
int tnd_sandbox_open(tnd_sandbox_t *self, const tnd_request_t *request, bool keep);
/*  `remove`: the folder too, with all that is in it. */
void tnd_sandbox_close(tnd_sandbox_t *self, bool remove);

/*  A path in the folder; the caller frees it. */
char *tnd_sandbox_path(const tnd_sandbox_t *self, const char *name);
/*  Removes a folder with all that is in it; one that is not there is none. */
void tnd_sandbox_forget(const char *path);
/*  The door of a host: that of its parent if it is isolated. */
uint32_t tnd_sandbox_door(const tnd_sandbox_t *self, uint32_t host);

#endif
