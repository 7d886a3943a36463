/*  tools/validate.c - everything that is wrong with a topology, in one pass. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/json.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/survey.h"

static void print_text(const tnd_plan_t *plan, const tnd_survey_t *survey)
{
    for (uint32_t e = 0; e < survey->error_count; e++)
        tnd_complain("validate", "%s", survey->errors[e].text);
    if (survey->error_count > 0)
        return;
    printf("ok: %" PRIu32 " instances of actors, %" PRIu32 " connections, %" PRIu32
           " chain%s, %" PRIu32 " host%s\n",
           plan->instance_count, plan->edge_count, plan->chain_count,
           plan->chain_count == 1 ? "" : "s", plan->host_count, plan->host_count == 1 ? "" : "s");
    for (uint32_t h = 0; h < plan->host_count; h++) {
        tnd_memory_t memory;
        tnd_memory_sum(&memory, plan, h, survey);
        printf("memory of %s: at most %.1f MiB%s\n", plan->hosts[h].name,
               (double)memory.bytes / (1 << 20), memory.known ? "" : ", and what awaits a host");
        tnd_memory_free(&memory);
    }
    for (uint32_t a = 0; a < survey->await_count; a++)
        printf("the files of %s await host %s: columns, counts, and what operations make of them\n",
               survey->awaits[a].actor, survey->awaits[a].host);
}

static void print_json(const tnd_graph_t *graph, const tnd_survey_t *survey, bool good)
{
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    printf("{\"ok\":%s", good ? "true" : "false");
    if (plan != NULL) {
        printf(",\"instances\":%" PRIu32 ",\"connections\":%" PRIu32 ",\"chains\":%" PRIu32
               ",\"hosts\":%" PRIu32 ",\"fingerprint\":",
               plan->instance_count, plan->edge_count, plan->chain_count, plan->host_count);
        tnd_json_hash(stdout, plan->fingerprint);
    }
    printf(",\"diagnostics\":");
    tnd_diagnostics_print_json(tnd_graph_diagnostics(graph), stdout);
    printf(",\"data\":[");
    for (uint32_t e = 0; e < survey->error_count; e++) {
        printf("%s", e > 0 ? "," : "");
        tnd_json_text(stdout, survey->errors[e].text);
    }
    printf("],\"awaits\":[");
    for (uint32_t a = 0; a < survey->await_count; a++) {
        printf("%s{\"host\":", a > 0 ? "," : "");
        tnd_json_text(stdout, survey->awaits[a].host);
        printf(",\"actor\":");
        tnd_json_text(stdout, survey->awaits[a].actor);
        putchar('}');
    }
    puts("]}");
}

static void check_memory(const tnd_plan_t *plan, tnd_survey_t *survey)
{
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (tnd_memory_check(plan, h, survey, &survey->errors[survey->error_count]) != TND_OK)
            survey->error_count++;
}

static int validate(const tnd_request_t *request)
{
    tnd_graph_t *graph = tnd_load_graph(request, NULL, false);
    tnd_survey_t survey = {0};
    bool good = request->json ? tnd_graph_check(graph) == TND_OK : tnd_load_check(graph);
    if (good) {
        tnd_survey_make(&survey, tnd_graph_plan(graph));
        check_memory(tnd_graph_plan(graph), &survey);
        good = survey.error_count == 0;
        if (!request->json)
            print_text(tnd_graph_plan(graph), &survey);
    }
    if (request->json)
        print_json(graph, &survey, good);
    tnd_survey_destroy(&survey);
    tnd_graph_destroy(&graph);
    return good ? TND_EXIT_OK : TND_EXIT_TOPOLOGY;
}

const tnd_command_t tnd_command_validate;
const tnd_command_t tnd_command_validate = {
    .name = "validate",
    .operands = "FILE...",
    .summary = "says everything that is wrong with a topology, in one pass",
    .arguments = (const char *const[]){"--set", "--data", "--json", NULL},
    .details =
        "Reads a topology and its overlays, checks all that can be known before the start, and\n"
        "opens the data that is on this machine.  What only another host can check is listed.\n",
    .codes =
        "  0   all is well\n  2   usage\n  78  errors, printed on stderr (--json: on stdout)\n",
    .operands_min = 1,
    .run = validate,
};
