/*  tools/command/drain.c - `tundish drain`: ends a run after a step. */
#include "tools/cli/command.h"
#include "tools/touch/touch_client.h"

static int drain_run(const tnd_request_t *request)
{
    tnd_touch_t touch = {.verb = TND_TOUCH_DRAIN};
    return tnd_touch_command(request, request->options, 0, &touch);
}

const tnd_command_t tnd_command_drain = {
    .name = "drain",
    .operands = "[RUN]",
    .summary = "ends a run after a step, as Ctrl-C does",
    TND_TOUCH_ARGUMENTS,
    .details = "Every replica finishes the same last step, checkpoints and models are written, and "
               "the run\n"
               "exits with 130.  A run that is paused ends where it stopped.  See `tundish help "
               "failures`\n"
               "about --resume.  `tundish wait drained` waits for the end.\n" TND_TOUCH_ELSEWHERE,
    .codes = TND_TOUCH_CODES,
    .operands_max = 1,
    .run = drain_run,
};
