/*  tools/process/evaluations.h - `tundish run --evaluate --watch`: evaluates the checkpoints of a folder
 *  as they come.
 *
 *  First the newest one, then each that a run adds, in their order, in a process each; ends when no
 *  run writes there any more.
 *
 *  Threads: the main thread, before any other exists. */
#ifndef TND_TOOLS_PROCESS_EVALUATIONS_H
#define TND_TOOLS_PROCESS_EVALUATIONS_H

#include "runtime/launch/launch.h"
#include "tools/cli/command.h"

/*  `run` evaluates one checkpoint, the one that --evaluate names, and returns the exit code of the command.
 *  Returns the code of the last evaluation, or of the first that failed. */
int tnd_evaluations_run(const tnd_request_t *request, int (*run)(const tnd_request_t *request));

/*  Same, in a process that a launcher has started beside those of a run, with their command line: all actors
 *  are in it, and the outputs that the command line names are those of the run. */
int tnd_evaluations_beside(const tnd_request_t *request, const tnd_launch_t *launch,
                           int (*run)(const tnd_request_t *request));

#endif
