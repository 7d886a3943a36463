/*  tools/command/validate.c - `tundish validate`: reports all errors of a topology in one pass. */
#include <inttypes.h>
#include <stdio.h>

#include "runtime/resources/memory_sum.h"
#include "runtime/text/quantity.h"
#include "tools/cli/json.h"
#include "tools/cli/load.h"
#include "tools/launch/launch_choice.h"
#include "tools/machine/preflight.h"

typedef struct {
    tnd_load_options_t load;
    bool json;
} validate_options_t;

static void print_text(const tnd_plan_t *plan, const tnd_preflight_t *preflight)
{
    printf("ok: %" PRIu32 " instances of actors, %" PRIu32 " connections, %" PRIu32
           " chain%s, %" PRIu32 " host%s\n",
           plan->instance_count, plan->edge_count, plan->chain_count,
           plan->chain_count == 1 ? "" : "s", plan->host_count, plan->host_count == 1 ? "" : "s");
    for (uint32_t h = 0; h < plan->host_count; h++) {
        tnd_memory_t memory;
        if (plan->hosts[h].isolated)
            continue;
        tnd_memory_sum(&memory, plan, h, tnd_preflight_stream, preflight);
        char size[TND_QUANTITY_SIZE];
        printf("memory of %s: at most %s%s\n", plan->hosts[h].name,
               tnd_quantity_size(memory.estimate.bytes, size),
               memory.known ? "" : ", and terms that only another host can compute");
        for (uint32_t d = 0; d < memory.estimate.device_count; d++)
            printf("memory of %s on %s: %s, for %s\n", memory.estimate.devices[d].who,
                   plan->hosts[h].name, tnd_quantity_size(memory.estimate.devices[d].bytes, size),
                   memory.estimate.devices[d].what);
        tnd_memory_free(&memory);
    }
    for (uint32_t a = 0; a < preflight->await_count; a++)
        printf("the files of %s can be checked only on host %s: columns, counts and operations\n",
               preflight->awaits[a].actor, preflight->awaits[a].host);
}

static void print_json(const tnd_graph_t *graph, const tnd_preflight_t *preflight,
                       const tnd_diagnostics_t *diagnostics, bool good)
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
    tnd_diagnostics_print_json(diagnostics, stdout);
    printf(",\"awaits\":[");
    for (uint32_t a = 0; a < preflight->await_count; a++) {
        tnd_json_begin(stdout, a > 0, "host", preflight->awaits[a].host);
        tnd_json_member(stdout, "actor", preflight->awaits[a].actor);
        putchar('}');
    }
    puts("]}");
}

static int validate(const tnd_request_t *request)
{
    const validate_options_t *options = request->options;
    tnd_graph_t *graph = tnd_load_graph(request, &options->load, NULL, false);
    tnd_launch_expect(graph);
    tnd_preflight_t preflight = {0};
    bool whole = tnd_graph_check(graph) == TND_OK;
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    tnd_diagnostics_t *diagnostics = tnd_load_diagnostics(graph);
    if (whole)
        tnd_preflight_make(&preflight, graph, plan, diagnostics);
    bool good = tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR) == 0;
    if (!options->json)
        tnd_diagnostics_print(diagnostics, stderr);
    if (options->json)
        print_json(graph, &preflight, diagnostics, good);
    else if (good)
        print_text(plan, &preflight);
    tnd_preflight_destroy(&preflight);
    tnd_graph_destroy(&graph);
    return good ? TND_EXIT_OK : TND_EXIT_TOPOLOGY;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--set", validate_options_t, load.settings)},
    {TND_COMMON("--data", validate_options_t, load.data)},
    {TND_COMMON("--json", validate_options_t, json)},
};

const tnd_command_t tnd_command_validate = {
    .name = "validate",
    .operands = "FILE...",
    .summary = "reports everything that is wrong with a topology, in one pass",
    TND_ARGUMENTS(arguments, validate_options_t),
    .details =
        "Loads a topology and its overlays and checks everything that can be known before the\n"
        "start: opens the data on this machine, probes the operations with its columns,\n"
        "searches plugins and devices.  What only another host can check is listed.\n",
    .codes = "  0   no errors\n"
             "  2   usage\n"
             "  78  errors, printed on stderr (--json: on stdout)\n",
    .operands_min = 1,
    .run = validate,
};
