/*  tools/cli/load.h - loads the graph of a command line.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_CLI_LOAD_H
#define TND_TOOLS_CLI_LOAD_H

#include "runtime/host/session.h"
#include "runtime/plan/graph.h"
#include "tools/cli/command.h"

/*  The options of commands that load a graph. */
typedef struct {
    tnd_setting_list_t settings;
    const char *data, *resume, *evaluate; /* NULL: not given */
    bool trust_data;
} tnd_load_options_t;

/*  Loads the request's files and settings.  `host` and `open_ended` as in tnd_graph_purpose_t,
 *  ${data} from --data or $TUNDISH_DATA.  The graph is not checked yet; never NULL. */
tnd_graph_t *tnd_load_graph(const tnd_request_t *request, const tnd_load_options_t *options,
                            const char *host, bool open_ended);

/*  Whether --resume is possible: the topology keeps checkpoints, or FROM is given, whose folder is
 *  then used for new checkpoints too.  Prints an error if not. */
bool tnd_load_resumes(const tnd_request_t *request, const tnd_load_options_t *options,
                      const char *host, const char *command);

/*  Loads files as a graph that is only inspected: it may end before a feeder, and its
 *  data may be absent. */
tnd_graph_t *tnd_load_form(const tnd_load_options_t *options, const char *const *files,
                           size_t count);

/*  Checks the graph and prints errors and warnings on stderr.  False: there are errors. */
bool tnd_load_check(tnd_graph_t *graph);
/*  What the check found; after a failure also missing files and plugins.  Valid with the graph. */
tnd_diagnostics_t *tnd_load_diagnostics(const tnd_graph_t *graph);

/*  Prints the errors of this host before the session began, with places.  False: there are none. */
bool tnd_load_tell(const tnd_session_t *session, FILE *out);

/*  Whether the feeder of a chain runs a step; without one it feeds and discards. */
bool tnd_load_steps(const tnd_plan_t *plan, uint32_t chain);

/*  The index of the host called `name`; NULL: the only one.  Prints an error and returns false if
 *  it does not exist. */
bool tnd_load_host(const tnd_plan_t *plan, const char *command, const char *name, uint32_t *host_p);

#endif
