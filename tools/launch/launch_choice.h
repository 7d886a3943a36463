/*  tools/launch/launch_choice.h - what a launcher told this process, for a command.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_LAUNCH_LAUNCH_CHOICE_H
#define TND_TOOLS_LAUNCH_LAUNCH_CHOICE_H

#include "runtime/launch/launched_host.h"
#include "runtime/plan/graph.h"
#include "tools/launch/run_options.h"

/*  Why --leader and --meet are not written together. */
extern const char tnd_launch_two_places[];

/*  Reads the environment as --launch asks; --host has precedence.  False: an error was printed. */
bool tnd_launch_choose(tnd_launch_t *self, const tnd_run_options_t *options, const char *command);

/*  Tells a graph, before its check, how many processes the launcher of this one has started. */
void tnd_launch_expect(tnd_graph_t *graph);

/*  Whether a graph is right for so many processes of a launcher, as far as this machine can tell.  Returns
 *  TND_EXIT_OK, or prints an error and returns another exit code. */
int tnd_launch_fits(tnd_graph_t *graph, const char *command, uint32_t size);

/*  Checks the graph, and meets the other processes if it has a range such as `node[*]`.  `again`:
 *  the run starts again.  Returns TND_EXIT_OK, or prints an error and returns another exit code. */
int tnd_launch_meet(tnd_launch_t *self, tnd_graph_t *graph, const tnd_run_options_t *options,
                    bool again);

/*  Finds the host of `tundish run` without --host and tells the log.  Returns TND_EXIT_OK, or prints
 *  an error and returns another exit code. */
int tnd_launch_host(const tnd_launch_t *self, const tnd_plan_t *plan, tnd_log_t *log,
                    uint32_t *host_p);

/*  Tells the other processes that this one, which has met them, ends with an exit code after an error
 *  (tnd_session_decline). */
void tnd_launch_decline(const tnd_launch_t *self, tnd_graph_t *graph, int code);

/*  What a launcher told this process and its place in the plan, what is wrong with that, or what to
 *  do; NULL: no launcher was found. */
const char *tnd_launch_describe(const tnd_plan_t *plan, char *text, size_t room);

#endif
