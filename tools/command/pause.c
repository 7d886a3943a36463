/*  tools/command/pause.c - `tundish pause`: stops a run between two steps. */
#include "tools/cli/command.h"
#include "tools/touch/touch_client.h"

static int pause_run(const tnd_request_t *request)
{
    tnd_touch_t touch = {.verb = TND_TOUCH_PAUSE};
    return tnd_touch_command(request, request->options, 0, &touch);
}

const tnd_command_t tnd_command_pause = {
    .name = "pause",
    .operands = "[RUN]",
    .summary = "stops a run between two steps, until `tundish resume`",
    TND_TOUCH_ARGUMENTS,
    .details =
        "Steps that have started finish, and no further one is started: all replicas stop after "
        "the\n"
        "same step.  Rows that were read wait where they are.  A program that asks for the next\n"
        "batch waits.  `tundish why`, `ps` and `top` show who paused the run.  A run that has not\n"
        "begun begins when it is resumed; a run that drains cannot be paused.  Hosts that are "
        "lost\n"
        "meanwhile must return in time, as in a run that works.  The stream and the model do not\n"
        "change by a pause.\n" TND_TOUCH_ELSEWHERE,
    .codes = TND_TOUCH_CODES,
    .operands_max = 1,
    .run = pause_run,
};
