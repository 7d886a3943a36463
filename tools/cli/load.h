/*  tools/cli/load.h - the graph that a command line names.
 *
 *  Threads: the main one.
 */
#ifndef TUNDISH_TOOLS_LOAD_H
#define TUNDISH_TOOLS_LOAD_H

#include "runtime/plan/graph.h"
#include "runtime/host/session.h"
#include "tools/cli/command.h"

/*  Reads the request's files, lays its settings on them and gives it its purpose: `host` and
 *  `open_ended` as tnd_graph_purpose_t says, ${data} as --data or $TUNDISH_DATA say.  Not checked
 *  yet; never NULL.
 */
tnd_graph_t *tnd_load_graph(const tnd_request_t *request, const char *host, bool open_ended);

/*  Whether what --resume asks for can be: the topology keeps checkpoints, or FROM is given, whose
 *  folder is then where the run keeps its own.  False after saying what is wrong.
 */
bool tnd_load_resumes(const tnd_request_t *request, const char *command);

/*  Likewise of other files, for a graph that is only looked at: it may end before a feeder, and
 *  nothing has to be known of its data.
 */
tnd_graph_t *tnd_load_form(const tnd_request_t *request, const char *const *files, size_t count);

/*  Checks it; prints what was found on stderr.  False: there are errors. */
bool tnd_load_check(tnd_graph_t *graph);
/*  What its check found; where that failed, with files and plugins that are missing beside it.
 *  Lives as long as the graph.
 */
tnd_diagnostics_t *tnd_load_diagnostics(const tnd_graph_t *graph);

/*  Prints what was wrong here before the session began, with places.  False: nothing was.
 */
bool tnd_load_tell(const tnd_session_t *session, FILE *out);

/*  Whether the feeder of a chain runs a step; without one it feeds and discards. */
bool tnd_load_steps(const tnd_plan_t *plan, uint32_t chain);

/*  The index of the host called `name`, NULL: the only one.  False after saying what is wrong. */
bool tnd_load_host(const tnd_plan_t *plan, const char *command, const char *name, uint32_t *host_p);

#endif
