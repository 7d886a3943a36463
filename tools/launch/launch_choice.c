/*  tools/launch/launch_choice.c - what a launcher told this process, for a command. */
#include "tools/launch/launch_choice.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/host/session.h"
#include "runtime/launch/launch_internal.h"
#include "runtime/meeting/meeting.h"
#include "tools/cli/load.h"
#include "tools/cli/signals.h"

const char tnd_launch_two_places[] =
    "--leader and --meet both tell where rank 0 is: write one of them";

bool tnd_launch_choose(tnd_launch_t *self, const tnd_run_options_t *options, const char *command)
{
    tnd_error_t error;
    const char *wanted = options->launch;
    *self = (tnd_launch_t){.size = 1};
    if (options->leader != NULL && options->meet != NULL)
        return tnd_usage_error(command, "%s", tnd_launch_two_places) == TND_EXIT_OK;
    if (options->host != NULL && wanted != NULL && strcmp(wanted, "none") != 0 &&
        strcmp(wanted, "auto") != 0)
        return tnd_usage_error(command, "--launch %s: --host names the host already", wanted) ==
               TND_EXIT_OK;
    if (options->host != NULL)
        return true;
    if (tnd_launch_read(self, (const char *const *)environ, wanted, &error) != TND_OK)
        return tnd_usage_error(command, "%s", error.text) == TND_EXIT_OK;
    if (self->evaluates && options->load.evaluate != NULL)
        *self = (tnd_launch_t){.size = 1}; /* it does as asked */
    return true;
}

/*  A line of every log level, but not of --quiet. */
static void say(tnd_log_t *log, const char *host, const char *text)
{
    char line[600];
    snprintf(line, sizeof line, "launch: %s", text);
    if (log->level >= TND_LOG_WARNING)
        tnd_log_say(log, TND_LOG_INFO, host, "run", line);
}

void tnd_launch_expect(tnd_graph_t *graph)
{
    tnd_launch_t launch;
    tnd_error_t error;
    if (tnd_launch_read(&launch, (const char *const *)environ, NULL, &error) == TND_OK)
        tnd_meeting_expect(graph, &launch);
}

int tnd_launch_fits(tnd_graph_t *graph, const char *command, uint32_t size)
{
    tnd_launch_t launch = {.launcher = &tnd_launcher_hand, .size = size};
    tnd_error_t error;
    uint32_t host;
    tnd_meeting_expect(graph, &launch);
    if (!tnd_load_check(graph))
        return TND_EXIT_TOPOLOGY;
    if (size == 1 || tnd_launched_host(&launch, tnd_graph_plan(graph), &host, &error) == TND_OK)
        return TND_EXIT_OK;
    tnd_complain(command, "%s", error.text);
    return TND_EXIT_USAGE;
}

int tnd_launch_meet(tnd_launch_t *self, tnd_graph_t *graph, const tnd_run_options_t *options,
                    bool again)
{
    static const int codes[] = {
        [TND_MEETING_HELD] = TND_EXIT_OK,           [TND_MEETING_PLACE] = TND_EXIT_USAGE,
        [TND_MEETING_TOPOLOGY] = TND_EXIT_TOPOLOGY, [TND_MEETING_PORT] = TND_EXIT_FAILED,
        [TND_MEETING_MISSED] = TND_EXIT_PEER,       [TND_MEETING_ENDED] = TND_EXIT_DRAINED};
    tnd_error_t error;
    tnd_meeting_wish_t wish = {options->leader, options->meet, again, tnd_signals_came};
    tnd_meeting_expect(graph, self);
    if (!tnd_load_check(graph)) {
        tnd_meeting_decline(tnd_network, graph, self, &wish);
        return TND_EXIT_TOPOLOGY;
    }
    tnd_meeting_end_t end = tnd_meeting_hold(tnd_network, graph, self, &wish, &error);
    if (end != TND_MEETING_HELD && error.text[0] != '\0')
        tnd_complain("run", "%s", error.text);
    else if (end != TND_MEETING_HELD)
        tnd_diagnostics_print(tnd_graph_diagnostics(graph), stderr);
    return codes[end];
}

int tnd_launch_host(const tnd_launch_t *self, const tnd_plan_t *plan, tnd_log_t *log,
                    uint32_t *host_p)
{
    char text[512];
    tnd_error_t error;
    if (self->hint[0] != '\0')
        say(log, plan->hosts[0].name, self->hint);
    if (self->launcher == NULL)
        return tnd_load_host(plan, "run", NULL, host_p) ? TND_EXIT_OK : TND_EXIT_USAGE;
    if (tnd_launched_host(self, plan, host_p, &error) != TND_OK) {
        tnd_complain("run", "%s", error.text); /* perhaps with an overlay to copy */
        return TND_EXIT_USAGE;
    }
    say(log, plan->hosts[*host_p].name, tnd_launched_text(self, plan, *host_p, text, sizeof text));
    return TND_EXIT_OK;
}

void tnd_launch_decline(const tnd_launch_t *self, tnd_graph_t *graph, int code)
{
    const tnd_session_wishes_t wishes = {.launch = self, .steps_max = TND_UNKNOWN};
    tnd_session_decline(graph, &wishes,
                        code == TND_EXIT_PEER ? TND_OUTCOME_LOST : TND_OUTCOME_UNUSABLE,
                        tnd_last_complaint());
}

const char *tnd_launch_describe(const tnd_plan_t *plan, char *text, size_t room)
{
    tnd_launch_t launch;
    tnd_error_t error = {.text = ""};
    uint32_t host;
    bool good = tnd_launch_read(&launch, (const char *const *)environ, NULL, &error) == TND_OK;
    if (good && launch.launcher == NULL) {
        snprintf(text, room, "%s", launch.hint);
        return *text != '\0' ? text : NULL;
    }
    if (good && tnd_launched_host(&launch, plan, &host, &error) == TND_OK)
        return tnd_launched_text(&launch, plan, host, text, room);
    snprintf(text, room, "%s", error.text);
    return text;
}
