/*  tools/faults/sandbox.h - places all hosts of a graph on this machine, reached through a relay.
 *
 *  A sandbox is a temporary folder with an overlay that makes every host a process of this machine,
 *  reached by tcp through a relay.  A graph without hosts gets some: one for its feeders, which is
 *  the leader, one each for its readers, batchers and reducers, and two for its workers.
 *  Checkpoints are written to the folder, so the user's own are not touched.
 *
 *  Lifecycle: zeroed; open, after which `plan` is the merged graph; close.
 *  Threads: the main one. */
#ifndef TND_TOOLS_FAULTS_SANDBOX_H
#define TND_TOOLS_FAULTS_SANDBOX_H

#include "tools/cli/load.h"
#include "tools/faults/relay.h"

typedef struct {
    char *folder;
    const char **files; /* those of the request, and the overlay */
    size_t file_count;
    tnd_graph_t *graph;
    const tnd_plan_t *plan;
    tnd_relay_t *relay;
    char *device_faults; /* a file that says what is wrong with simulated devices */
    uint32_t port;       /* of control */
    bool keeps;          /* runs write checkpoints */
    bool own;            /* the hosts come from the sandbox, not from the files */
} tnd_sandbox_t;

/*  `keep`: write checkpoints even if the files do not ask for them.  Returns TND_EXIT_OK, or the
 *  exit code after an error was printed. */
int tnd_sandbox_open(tnd_sandbox_t *self, const tnd_request_t *request,
                     const tnd_load_options_t *options, bool keep);
/*  `remove`: removes the folder too. */
void tnd_sandbox_close(tnd_sandbox_t *self, bool remove);

/*  A path in the folder; the caller frees it. */
char *tnd_sandbox_path(const tnd_sandbox_t *self, const char *name);
/*  The index of a host in the relay: that of its parent if it is isolated. */
uint32_t tnd_sandbox_relayed_host(const tnd_sandbox_t *self, uint32_t host);

#endif
