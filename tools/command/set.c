/*  tools/command/set.c - `tundish set`: changes an option of a run. */
#include "tools/cli/command.h"
#include "tools/touch/touch_client.h"

static int set(const tnd_request_t *request)
{
    tnd_touch_t touch = {.verb = TND_TOUCH_SET};
    tnd_error_t error;
    if (tnd_touch_parse_set(&touch, request->files[0], &error) != TND_OK)
        return tnd_usage_error("set", "%s", error.text);
    return tnd_touch_command(request, request->options, 1, &touch);
}

const tnd_command_t tnd_command_set = {
    .name = "set",
    .operands = "ACTOR.OPTION=VALUE [RUN]",
    .summary = "changes an option of a run, such as feed.depth=4",
    TND_TOUCH_ARGUMENTS,
    .details =
        "What can be changed is the `depth` of a feeder: an option that changes only speed and\n"
        "memory (role `tune`) and is not fixed when the run starts.  `tundish help feeder` shows\n"
        "its range.  The leader refuses more than `memory:` or the machine allows.  Each feeder\n"
        "changes between two steps, once its batches are used up, so the stream and the model "
        "stay\n"
        "as they are.  The file does not change: a run that is resumed begins with its value.\n"
        "\n"
        "Any other option is refused with the reason, its value, and what it "
        "takes.\n" TND_TOUCH_ELSEWHERE,
    .codes = TND_TOUCH_CODES,
    .operands_min = 1,
    .operands_max = 2,
    .missing = "the option is missing, such as feed.depth=4",
    .run = set,
};
