/*  tools/command/wait.c - `tundish wait`: waits until a run is in some state, for scripts. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/observe/inspection.h"
#include "runtime/text/quantity.h"
#include "tools/choice/absent_run.h"
#include "tools/choice/run_choice.h"
#include "tools/cli/command.h"
#include "tools/report/bottleneck.h"

typedef struct {
    const char *timeout;
} wait_options_t;

enum { EXIT_LATE = 124 };

/*  The time between two inspections, as of `tundish why`. */
static const struct timespec pause_between = {.tv_nsec = 500000000};

/*  A run is healthy if so many verdicts in a row say so. */
enum { HEALTHY_TIMES = 2 };

typedef enum { HEALTHY, DRAINED, STALLED, STATES } wanted_t;

static const char *const states[STATES] = {"healthy", "drained", "stalled"};

typedef struct {
    tnd_run_choice_t run;
    tnd_inspection_t *before, *after;
    unsigned healthy;
    char said[128]; /* for what it waits, as said last */
} wait_t;

static const tnd_inspected_t *find(const wait_t *self, bool killed)
{
    for (uint32_t p = 0; p < self->after->count; p++) {
        const tnd_inspected_t *process = &self->after->processes[p];
        if (process->killed == killed && tnd_run_choice_fits(&self->run, process))
            return process;
    }
    return NULL;
}

static void look(wait_t *self)
{
    tnd_inspection_destroy(&self->before);
    self->before = self->after;
    self->after = tnd_inspection_of_run(self->run.name, TND_LOOK_DETAILS);
}

/*  Says what the run is in place of the wanted state, once until `key` changes. */
static void say(wait_t *self, const char *key, const char *text)
{
    if (strcmp(self->said, key) == 0)
        return;
    snprintf(self->said, sizeof self->said, "%s", key);
    tnd_complain("wait", "waiting: %s", text);
}

/*  A run that is not shown has ended, unless a process of another version may be of it. */
static void say_absent(wait_t *self, wanted_t wanted)
{
    char key[sizeof self->said], absent[600], text[640];
    snprintf(key, sizeof key, "absent %" PRIu32, self->after->others);
    snprintf(text, sizeof text, "%s%s", wanted == DRAINED ? "it may still run: " : "",
             tnd_absent_run_text(self->run.name, NULL, self->after, absent, sizeof absent));
    say(self, key, text);
}

/*  A sentence has times, which change with each look. */
static void say_verdict(wait_t *self, const tnd_verdict_t *verdict)
{
    bool slow = verdict->state == TND_RUN_SLOW && verdict->fault_count > 0;
    char key[sizeof self->said];
    snprintf(key, sizeof key, "%d %s %s", (int)verdict->state,
             verdict->fault_count > 0 ? tnd_cause(verdict->faults[0].cause)->name : "",
             slow ? verdict->faults[0].actor : verdict->actor);
    say(self, key, slow ? verdict->faults[0].text : verdict->sentence);
}

/*  Rows flow, and nothing is wrong but that other programs have the processors. */
static bool is_healthy(const tnd_verdict_t *verdict)
{
    for (uint32_t i = 0; i < verdict->fault_count; i++)
        if ((tnd_cause(verdict->faults[i].cause)->traits & TND_CAUSE_OF_MACHINE) == 0)
            return false;
    return verdict->state == TND_RUN_FLOWS || verdict->state == TND_RUN_SLOW;
}

/*  The exit code once the run is in that state, or -1. */
static int judge(wait_t *self, wanted_t wanted)
{
    const tnd_inspected_t *process = find(self, false);
    if (process == NULL && find(self, true) != NULL)
        return TND_EXIT_FAILED;
    if (process == NULL && wanted == DRAINED && self->after->others == 0)
        return TND_EXIT_OK;
    if (process == NULL) {
        say_absent(self, wanted);
        return -1;
    }
    if (wanted == DRAINED) {
        say(self, "here", "the run has not ended");
        return -1;
    }
    tnd_verdict_t verdict;
    tnd_bottleneck_judge(self->before, self->after, process, &verdict);
    self->healthy = is_healthy(&verdict) ? self->healthy + 1 : 0;
    bool stalled = verdict.state == TND_RUN_STALLED || verdict.state == TND_RUN_CYCLE;
    if (wanted == HEALTHY ? self->healthy >= HEALTHY_TIMES : stalled)
        return TND_EXIT_OK;
    if (wanted == STALLED || !is_healthy(&verdict))
        say_verdict(self, &verdict);
    return -1;
}

static int wait_for(const tnd_request_t *request)
{
    const wait_options_t *options = request->options;
    wait_t self = {.healthy = 0};
    uint64_t span_ns = UINT64_MAX, begin_ns = tnd_clock_now();
    unsigned wanted = 0;
    int code = -1;
    while (wanted < STATES && strcmp(states[wanted], request->files[0]) != 0)
        wanted++;
    if (wanted == STATES)
        return tnd_usage_error("wait", "`%s` is not healthy, drained or stalled",
                               request->files[0]);
    if (options->timeout != NULL &&
        tnd_quantity_duration(options->timeout, &span_ns) != TND_QUANTITY_OK)
        return tnd_usage_error("wait", "--timeout %s is not a time, such as 30s", options->timeout);
    tnd_run_choice_read(&self.run, request->file_count > 1 ? request->files[1] : NULL);
    look(&self);
    while (code < 0) {
        nanosleep(&pause_between, NULL);
        look(&self);
        code = judge(&self, (wanted_t)wanted);
        if (code < 0 && tnd_clock_now() - begin_ns >= span_ns)
            code = EXIT_LATE;
    }
    if (code != TND_EXIT_OK)
        tnd_complain("wait", "%s", code == EXIT_LATE ? "the time is over" : "the run was killed");
    tnd_inspection_destroy(&self.before);
    tnd_inspection_destroy(&self.after);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT("--timeout", TEXT, wait_options_t, timeout, "TIME",
                  "waits for TIME at most, such as 30s")},
};

const tnd_command_t tnd_command_wait = {
    .name = "wait",
    .operands = "healthy|drained|stalled [RUN]",
    .summary = "waits until a run is healthy, has ended, or is stalled",
    TND_ARGUMENTS(arguments, wait_options_t),
    .details =
        "healthy: `tundish why` finds no fault in two looks in a row, or only that other programs\n"
        "have the processors.  A run that has not come yet is waited for; RUN is its name, or the "
        "number\n"
        "of one of its processes.\n"
        "stalled: `why` says that no row is fed (its codes 11 and 12).  A pause counts too.\n"
        "drained: no process of the run is here any more, for whatever reason it ended; the exit\n"
        "code of the run itself tells the reason.  Processes of another version of tundish whose\n"
        "files have the run's name count too.\n"
        "\n"
        "What the run is instead is printed to stderr, again when it changes.  Without --timeout\n"
        "it waits for ever.  Only processes on this machine are seen.\n",
    .codes = "  0    the run is in that state\n"
             "  1    all processes of the run were killed\n"
             "  2    usage\n"
             "  124  the time of --timeout is over\n",
    .operands_min = 1,
    .operands_max = 2,
    .missing = "the state to wait for is missing: healthy, drained or stalled",
    .run = wait_for,
};
