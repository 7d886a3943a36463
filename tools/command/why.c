/*  tools/command/why.c - `tundish why`: names the bottleneck of a run in one sentence. */
#include <stdio.h>
#include <time.h>

#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/report/bottleneck.h"

/*  The time between the two inspections, longer than a short step. */
static const struct timespec pause_between = {.tv_nsec = 500000000};

/*  Whether the process belongs to a requested run that is still alive. */
static bool is_asked(const tnd_request_t *request, const tnd_inspected_t *process)
{
    return !process->killed && tnd_request_names(request, process->run);
}

/*  Whether other runs are shown too, so that the sentence must name its run. */
static bool has_others(const tnd_request_t *request, const tnd_inspection_t *made,
                       const tnd_inspected_t *process)
{
    for (uint32_t p = 0; p < made->count; p++)
        if (is_asked(request, &made->processes[p]) &&
            !tnd_inspected_same(&made->processes[p], process))
            return true;
    return false;
}

static void print_json(const tnd_verdict_t *verdict, bool first)
{
    tnd_json_begin(stdout, !first, "run", verdict->run);
    printf(",\"flows\":%s,\"rows_per_second\":%.1f,\"sentence\":",
           verdict->flows ? "true" : "false", verdict->rows_per_second);
    tnd_json_text(stdout, verdict->sentence);
    const char *const names[] = {"actor", "host", "device"};
    const char *const values[] = {verdict->actor, verdict->host, verdict->device};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        printf(",\"%s\":", names[i]);
        tnd_json_text(stdout, *values[i] != '\0' ? values[i] : NULL);
    }
    if (verdict->process > 0)
        printf(",\"pid\":%d}", verdict->process);
    else
        fputs(",\"pid\":null}", stdout);
}

static int why(const tnd_request_t *request)
{
    tnd_inspection_t *before = tnd_inspection_new();
    nanosleep(&pause_between, NULL);
    tnd_inspection_t *after = tnd_inspection_new();
    const tnd_inspected_t *last = NULL;
    bool first = true, still = false;
    if (request->json)
        fputs("{\"runs\":[", stdout);
    else
        fputs(after->unread, stderr);
    for (uint32_t p = 0; p < after->count; p++) {
        const tnd_inspected_t *process = &after->processes[p];
        if (!is_asked(request, process) || (last != NULL && tnd_inspected_same(last, process)))
            continue;
        tnd_verdict_t verdict;
        last = process;
        tnd_bottleneck_judge(before, after, last, &verdict);
        still = still || !verdict.flows;
        if (request->json)
            print_json(&verdict, first);
        else if (has_others(request, after, process))
            printf("%s (process %d): %s\n", process->run, process->process, verdict.sentence);
        else
            printf("%s\n", verdict.sentence);
        first = false;
    }
    if (request->json)
        fputs("]}\n", stdout);
    else if (first && request->file_count == 0)
        fputs("no run on this machine\n", stderr);
    for (size_t i = 0; i < request->file_count; i++) {
        if (tnd_inspection_has(after, request->files[i], false))
            continue;
        tnd_complain("why", "no run `%s` on this machine", request->files[i]);
        still = true;
    }
    tnd_inspection_destroy(&before);
    tnd_inspection_destroy(&after);
    return still ? TND_EXIT_FAILED : TND_EXIT_OK;
}

const tnd_command_t tnd_command_why;
const tnd_command_t tnd_command_why = {
    .name = "why",
    .operands = "[RUN...]",
    .summary = "names the bottleneck of each run on this machine",
    .arguments = (const char *const[]){"--json", NULL},
    .details =
        "Reads the pages of `tundish ps` twice, half a second apart.  If rows were fed\n"
        "meanwhile, it names the actor that works most of the time.  If not, it follows the\n"
        "waits from the feeder to the actor that does not wait:\n"
        "\n"
        "  feed waits for mean, which waits for replica 3 on host c (cpu:1), whose step 57 has\n"
        "  been running for 12 s\n"
        "\n"
        "With RUN, the `name:` of a topology, only runs of that name are judged.  If there are\n"
        "several runs, each sentence starts with the name and a process of its run.\n"
        "\n"
        "--json prints {\"runs\":[{\"run\",\"flows\",\"rows_per_second\",\"sentence\",\"actor\",\n"
        "\"host\",\"device\",\"pid\"}]}.\n",
    .codes = "  0   rows flow in every run, or nothing runs and no RUN was given\n"
             "  1   no row was fed in a run, or a RUN does not exist here\n"
             "  2   usage\n",
    .run = why,
};
