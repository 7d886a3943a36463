/*  tools/command/scale.c - `tundish scale`: changes how many workers of an actor work. */
#include "tools/cli/command.h"
#include "tools/touch/touch_client.h"

static int scale(const tnd_request_t *request)
{
    tnd_touch_t touch = {.verb = TND_TOUCH_SCALE};
    tnd_error_t error;
    if (tnd_touch_parse_scale(&touch, request->files[0], &error) != TND_OK)
        return tnd_usage_error("scale", "%s", error.text);
    return tnd_touch_command(request, request->options, 1, &touch);
}

const tnd_command_t tnd_command_scale = {
    .name = "scale",
    .operands = "ACTOR=NUMBER [RUN]",
    .summary = "changes how many workers of an actor are awake, such as prep=2",
    TND_TOUCH_ARGUMENTS,
    .details =
        "The first NUMBER workers get blocks; the others finish theirs and fall asleep until they\n"
        "are woken.  A run has as many workers as it began with: those of `workers: 4`, or with\n"
        "`workers: auto` one for each processor, if the memory allows.  With `workers: auto` the\n"
        "run still decides how many are awake, and NUMBER is the most.  The stream does not "
        "change.\n" TND_TOUCH_ELSEWHERE,
    .codes = TND_TOUCH_CODES,
    .operands_min = 1,
    .operands_max = 2,
    .missing = "the actor is missing, such as prep=2",
    .run = scale,
};
