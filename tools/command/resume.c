/*  tools/command/resume.c - `tundish resume`: continues a run that is paused. */
#include "tools/cli/command.h"
#include "tools/touch/touch_client.h"

static int resume_run(const tnd_request_t *request)
{
    tnd_touch_t touch = {.verb = TND_TOUCH_RESUME};
    return tnd_touch_command(request, request->options, 0, &touch);
}

const tnd_command_t tnd_command_resume = {
    .name = "resume",
    .operands = "[RUN]",
    .summary = "continues a run that `tundish pause` stopped",
    TND_TOUCH_ARGUMENTS,
    .details =
        "The feeders of a run that `tundish pause` stopped start the next step.  A run that ended "
        "or\n"
        "was killed is continued by its own command, `tundish run FILE --resume`, if it saved\n"
        "checkpoints: tundish help checkpoints.\n" TND_TOUCH_ELSEWHERE,
    .codes = TND_TOUCH_CODES,
    .operands_max = 1,
    .run = resume_run,
};
