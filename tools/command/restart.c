/*  tools/command/restart.c - `tundish restart`: replaces an actor of a run. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/command.h"
#include "tools/touch/touch_client.h"

typedef struct {
    tnd_touch_options_t touch;
    bool whole;
} restart_options_t;

static int restart_run(const tnd_request_t *request)
{
    const restart_options_t *options = request->options;
    tnd_touch_t touch = {.verb = TND_TOUCH_START_AGAIN};
    const char *files[] = {"--run", request->files[0]}; /* as --via passes them on */
    tnd_request_t own = *request;
    if (request->file_count > 1)
        return tnd_usage_error("restart", "--run restarts the run, not `%s`", request->files[0]);
    own.files = files;
    own.file_count++;
    return tnd_touch_command(&own, &options->touch, 1, &touch);
}

static int restart(const tnd_request_t *request)
{
    const restart_options_t *options = request->options;
    tnd_touch_t touch = {.verb = TND_TOUCH_RESTART};
    if (options->whole)
        return restart_run(request);
    if (request->file_count == 0)
        return tnd_usage_error("restart", "ACTOR is missing, or --run");
    if (strlen(request->files[0]) >= sizeof touch.actor)
        return tnd_usage_error("restart", "`%s` is too long for an actor", request->files[0]);
    snprintf(touch.actor, sizeof touch.actor, "%s", request->files[0]);
    return tnd_touch_command(request, &options->touch, 1, &touch);
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT("--run", FLAG, restart_options_t, whole, NULL,
                  "starts the whole run again, from its newest checkpoint")},
    {TND_COMMON("--via", restart_options_t, touch.via)},
    {TND_COMMON("--leader", restart_options_t, touch.leader)},
};

const tnd_command_t tnd_command_restart = {
    .name = "restart",
    .operands = "ACTOR [RUN]",
    .summary = "replaces an actor of a run, such as prep.0, by a new life, or starts all again",
    TND_ARGUMENTS(arguments, restart_options_t),
    .details =
        "The actor ends after the block that it works on, and a new one takes its place in the "
        "same\n"
        "process: it opens its files, sources and operations again.  What it had is asked for\n"
        "again, so the stream does not change.  One that hangs is abandoned after `hung_after`.\n"
        "This does not count towards `restarts:`.  Feeders cannot be replaced, because they have\n"
        "the models.  ACTOR is an instance, as `tundish ps` shows it.\n"
        "\n"
        "--run, without an actor, ends the sessions of all hosts without saving anything; they "
        "meet\n"
        "again, with those that have come late, and resume from the newest checkpoint.  The run "
        "has\n"
        "`restarts: {run: N}`; this start does not count.\n" TND_TOUCH_ELSEWHERE,
    .codes = TND_TOUCH_CODES,
    .operands_max = 2,
    .run = restart,
};
