/*  tools/command/explain.c - `tundish explain`: a merged graph with placement and connections. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/adapt/adaptation.h"
#include "actors/plan/reduction_through.h"
#include "actors/plan/strategy.h"
#include "runtime/base/allocation.h"
#include "runtime/option/option_print.h"
#include "runtime/resources/descriptors.h"
#include "runtime/resources/memory_sum.h"
#include "runtime/text/quantity.h"
#include "tools/cli/json.h"
#include "tools/cli/load.h"
#include "tools/launch/launch_choice.h"
#include "tools/machine/preflight.h"

typedef struct {
    tnd_load_options_t load;
    bool json;
} explain_options_t;

/*  Where an instance listens or connects, as far as that is known before the start. */
static void print_endpoint(FILE *out, const tnd_plan_t *plan, const tnd_edge_t *edge)
{
    const tnd_instance_t *binds = &plan->instances[edge->from_connects ? edge->to : edge->from];
    const tnd_plan_host_t *host = &plan->hosts[binds->host];
    switch (edge->transport) {
    case TND_TRANSPORT_INPROC:
        fprintf(out, "inproc://%s", binds->name);
        break;
    case TND_TRANSPORT_IPC:
        fprintf(out, "ipc://%s", binds->name);
        break;
    case TND_TRANSPORT_TCP:
        if (host->ports_first != 0)
            fprintf(out, "tcp://%s:%" PRIu32 "-%" PRIu32, host->address, host->ports_first,
                    host->ports_last);
        else
            fprintf(out, "tcp://%s:*", host->address);
        break;
    }
}

static void print_hosts(const tnd_plan_t *plan)
{
    puts("\nhosts");
    for (uint32_t h = 0; h < plan->host_count; h++) {
        const tnd_plan_host_t *host = &plan->hosts[h];
        printf("  %-10s %s", host->name, host->address);
        if (strcmp(host->listen, host->address) != 0)
            printf(", listens at %s", host->listen);
        if (h == 0 && plan->host_count > 1 && host->port == 0)
            printf(", leads, control at a port that derives from the job");
        else if (h == 0 && plan->host_count > 1)
            printf(", leads, control at tcp://%s:%" PRIu32, host->address, host->port);
        if (host->data != NULL)
            printf(", data %s", host->data);
        for (uint32_t d = 0; d < host->device_count; d++)
            printf("%s%s", d == 0 ? ", devices " : " ", host->devices[d]);
        putchar('\n');
    }
}

static void print_launch(const tnd_plan_t *plan)
{
    char text[600];
    if (tnd_launch_describe(plan, text, sizeof text) != NULL)
        printf("\nlaunch\n  %s\n", text);
}

/*  How files are accessed, and why. */
static void print_files(const tnd_stream_t *stream)
{
    char bytes[TND_QUANTITY_SIZE], room[TND_QUANTITY_SIZE];
    const tnd_access_plan_t *plan = &stream->own.access;
    if (stream->own.mapped + stream->own.copied == 0)
        return;
    printf("    files      %s, %s",
           tnd_quantity_size(stream->own.mapped + stream->own.copied, bytes),
           stream->own.copied == 0   ? "mapped"
           : stream->own.mapped == 0 ? "read"
                                     : "mapped and read");
    if (!plan->random)
        printf(" from the first row to the last");
    else if (plan->fits)
        printf(" at random");
    else
        printf(" at random, each row requested by itself");
    if (plan->random && stream->own.room > 0)
        printf(": the page cache may use %s%s", plan->fits ? "" : "only ",
               tnd_quantity_size(stream->own.room, room));
    puts(plan->scarce ? "; there are too many files to keep open" : "");
}

/*  What `auto` means, and how lanes feed replicas. */
static void print_lanes(const tnd_plan_t *plan, uint32_t chain)
{
    const tnd_topology_t *topology = plan->topology;
    uint32_t own = plan->chains[chain].replicas / plan->lanes;
    for (uint32_t i = 0; topology != NULL && i < topology->choice_count; i++) {
        const tnd_topology_choice_t *choice = &topology->choices[i];
        if (topology->actors[choice->actor].chain == chain)
            printf("    %-10s %s (auto): %s\n", choice->option, choice->chosen, choice->why);
    }
    switch (plan->chains[chain].feed) {
    case TND_FEED_APART:
        printf("    lanes      apart: each feeds %" PRIu32
               " replica%s of its own, and none once it has "
               "ended\n",
               own, own == 1 ? "" : "s");
        break;
    case TND_FEED_PIECES:
        printf("    lanes      each reads all rows, and feeds pieces of each batch to %" PRIu32
               " replica%s of its own\n",
               own, own == 1 ? "" : "s");
        break;
    case TND_FEED_TOGETHER:
        break;
    }
}

/*  What carries the values of each reducer, and why. */
static void print_reducers(const tnd_plan_t *plan, uint32_t chain)
{
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        const tnd_collective_ops_t *ops;
        if (instance->chain == chain && instance->kind->role == TND_ROLE_REDUCER &&
            tnd_reduction_through(instance, &ops, NULL) == TND_OK)
            printf("    %-10s through %s, because %s\n", instance->actor, ops->name,
                   tnd_reduction_through_why(instance));
    }
}

/*  What users of TensorFlow call it. */
static void print_strategy(const tnd_plan_t *plan, uint32_t chain)
{
    tnd_strategy_t strategy = tnd_strategy_of(plan, chain);
    if (strategy.name == NULL)
        return;
    printf("    strategy   %s of tf.distribute: %" PRIu32 " replica%s on %" PRIu32
           " device%s of %" PRIu32 " host%s\n",
           strategy.name, strategy.replicas, strategy.replicas == 1 ? "" : "s", strategy.devices,
           strategy.devices == 1 ? "" : "s", strategy.hosts, strategy.hosts == 1 ? "" : "s");
}

static void print_chain(const tnd_plan_t *plan, uint32_t index, const tnd_preflight_chain_t *known)
{
    const tnd_chain_plan_t *chain = &plan->chains[index];
    char text[1024];
    printf("  %s", chain->feeder != NULL ? chain->feeder : "(without a feeder)");
    if (chain->after != NULL)
        printf(", after %s", chain->after);
    if (chain->every.steps > 0)
        printf(" and each %" PRIu64 " steps of it", chain->every.steps);
    if (chain->every.epochs > 0)
        printf(" and each %" PRIu64 " epochs of it", chain->every.epochs);
    printf(": %" PRIu32 " replica%s\n", chain->replicas, chain->replicas == 1 ? "" : "s");
    for (uint32_t r = 0; chain->carriers != NULL && r < chain->replicas; r++) {
        const tnd_instance_t *feeder = &plan->instances[chain->carriers[r].instance];
        const tnd_plan_host_t *host = &plan->hosts[feeder->host];
        printf("    replica %" PRIu32 "  %s, %s\n", r, host->name,
               chain->carriers[r].device < host->device_count
                   ? host->devices[chain->carriers[r].device]
                   : "cpu:0");
    }
    print_strategy(plan, index);
    print_reducers(plan, index);
    print_lanes(plan, index);
    if (!known->known) {
        puts("    rows       known only to the host that has the files");
        return;
    }
    uint64_t rows = tnd_stream_positions(&known->stream);
    if (rows != TND_UNKNOWN)
        printf("    rows       %" PRIu64, rows);
    else if (known->stream.by_file)
        printf("    rows       known only to the hosts that have the files of the other lanes");
    else
        printf("    rows       not known before the end");
    if (known->stream.epochs == TND_ENDLESS)
        puts(", again and again");
    else
        printf(", %" PRIu32 " epoch%s\n", known->stream.epochs,
               known->stream.epochs == 1 ? "" : "s");
    printf("    read as    %s\n", tnd_schema_text(&known->stream.read.schema, text, sizeof text));
    printf("    fed as     %s\n", tnd_schema_text(&known->stream.fed.schema, text, sizeof text));
    tnd_adaptation_show(plan, &known->stream, "    ", stdout);
    print_files(&known->stream);
}

/*  The options of an instance.  `workers` is their number on its host, which the placement decides,
 *  or `auto` where the run does. */
static void print_options(const tnd_plan_t *plan, const tnd_instance_t *instance)
{
    const tnd_table_t *table = &instance->kind->table;
    uint64_t workers = 0;
    char *options = tnd_allocate(1, table->size + 1);
    memcpy(options, instance->options, table->size);
    for (uint32_t i = 0; i < plan->instance_count; i++)
        workers += strcmp(plan->instances[i].actor, instance->actor) == 0 &&
                   plan->instances[i].host == instance->host &&
                   plan->instances[i].lane == instance->lane;
    uint64_t *written = (uint64_t *)tnd_options_field(table, options, "workers", TND_OPTION_U64);
    if (written != NULL && !instance->tuned)
        *written = workers;
    tnd_options_show(table, options, stdout);
    free(options);
}

static void print_instances(const tnd_plan_t *plan)
{
    puts("\nactors");
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        printf("  %-12s %-12s %-10s", instance->name, instance->kind->table.name,
               plan->hosts[instance->host].name);
        if (instance->kind->instances == TND_INSTANCE_LANE)
            printf(" lane %" PRIu32, instance->lane);
        if (instance->replica_count > 0)
            printf(" replicas %" PRIu32 "-%" PRIu32, instance->replica_first,
                   instance->replica_first + instance->replica_count - 1);
        putchar('\n');
        if (i > 0 && strcmp(instance->actor, plan->instances[i - 1].actor) == 0 &&
            instance->host == plan->instances[i - 1].host)
            continue;
        printf("    ");
        print_options(plan, instance);
        putchar('\n');
    }
}

static void print_edges(const tnd_plan_t *plan)
{
    puts("\nconnections");
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        printf("  %-12s -> %-12s at ", plan->instances[edge->from].name,
               plan->instances[edge->to].name);
        print_endpoint(stdout, plan, edge);
        printf(", %s connects\n",
               plan->instances[edge->from_connects ? edge->from : edge->to].name);
    }
}

static void print_memory(const tnd_plan_t *plan, const tnd_preflight_t *preflight)
{
    for (uint32_t h = 0; h < plan->host_count; h++) {
        tnd_memory_t memory;
        if (plan->hosts[h].isolated)
            continue;
        tnd_memory_sum(&memory, plan, h, tnd_preflight_stream, preflight);
        char size[TND_QUANTITY_SIZE];
        printf("\nmemory of %s: at most %s%s\n", plan->hosts[h].name,
               tnd_quantity_size(memory.estimate.bytes, size),
               memory.known ? "" : ", and terms that only its host can compute");
        for (uint32_t t = 0; t < memory.estimate.count; t++)
            printf("  %12s  %s: %s\n", tnd_quantity_size(memory.estimate.items[t].bytes, size),
                   memory.estimate.items[t].who, memory.estimate.items[t].what);
        for (uint32_t d = 0; d < memory.estimate.device_count; d++)
            printf("  %12s  of %s: %s\n", tnd_quantity_size(memory.estimate.devices[d].bytes, size),
                   memory.estimate.devices[d].who, memory.estimate.devices[d].what);
        tnd_memory_free(&memory);
    }
}

static void print_descriptors(const tnd_plan_t *plan)
{
    tnd_plan_t whole = tnd_placement_whole(plan);
    puts("\nfile descriptors");
    for (uint32_t h = 0; h < plan->host_count; h++) {
        tnd_descriptors_t of;
        tnd_descriptors_count(&of, &whole, h, &tnd_network->cost);
        printf("  %-10s at most %" PRIu64 ": process %" PRIu64 ", actors %" PRIu64
               ", listeners %" PRIu64 ", connections %" PRIu64 ", children %" PRIu64
               ", reserve %" PRIu64 "\n",
               plan->hosts[h].name, of.total, of.process, of.actors, of.listeners, of.connections,
               of.children, of.reserve);
    }
}

static void print_text(const tnd_plan_t *plan, const tnd_preflight_t *preflight)
{
    printf("%s: seed %" PRIu64 ", %" PRIu32 " lane%s, fingerprint %016" PRIx64 "%016" PRIx64 "\n",
           plan->name != NULL ? plan->name : "(no name)", plan->seed, plan->lanes,
           plan->lanes == 1 ? "" : "s", plan->fingerprint[1], plan->fingerprint[0]);
    print_hosts(plan);
    print_launch(plan);
    puts("\nchains");
    for (uint32_t c = 0; c < plan->chain_count; c++)
        print_chain(plan, c, &preflight->chains[c]);
    print_instances(plan);
    print_edges(plan);
    print_memory(plan, preflight);
    print_descriptors(plan);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_memory(const tnd_plan_t *plan, uint32_t host, const tnd_preflight_t *preflight)
{
    tnd_memory_t memory;
    tnd_memory_sum(&memory, plan, host, tnd_preflight_stream, preflight);
    printf(",\"memory\":{\"known\":%s,\"bytes\":%" PRIu64 ",\"terms\":[",
           memory.known ? "true" : "false", memory.estimate.bytes);
    for (uint32_t t = 0; t < memory.estimate.count; t++) {
        const tnd_memory_term_t *need = &memory.estimate.items[t];
        tnd_json_begin(stdout, t > 0, "actor", need->who);
        tnd_json_member(stdout, "what", need->what);
        printf(",\"bytes\":%" PRIu64 "}", need->bytes);
    }
    printf("],\"devices\":[");
    for (uint32_t d = 0; d < memory.estimate.device_count; d++) {
        const tnd_memory_term_t *need = &memory.estimate.devices[d];
        tnd_json_begin(stdout, d > 0, "device", need->who);
        tnd_json_member(stdout, "what", need->what);
        printf(",\"bytes\":%" PRIu64 "}", need->bytes);
    }
    printf("]}");
    tnd_memory_free(&memory);
}

static void json_hosts(const tnd_plan_t *plan, const tnd_preflight_t *preflight)
{
    tnd_plan_t whole = tnd_placement_whole(plan);
    printf(",\"hosts\":[");
    for (uint32_t h = 0; h < plan->host_count; h++) {
        const tnd_plan_host_t *host = &plan->hosts[h];
        tnd_json_begin(stdout, h > 0, "name", host->name);
        tnd_json_member(stdout, "address", host->address);
        tnd_json_member(stdout, "listen", host->listen);
        printf(",\"leads\":%s,\"port\":%" PRIu32 ",\"data\":", h == 0 ? "true" : "false",
               host->port);
        tnd_json_text(stdout, host->data);
        printf(",\"devices\":[");
        for (uint32_t d = 0; d < host->device_count; d++) {
            printf("%s", d > 0 ? "," : "");
            tnd_json_text(stdout, host->devices[d]);
        }
        printf("]");
        tnd_descriptors_t files;
        tnd_descriptors_count(&files, &whole, h, &tnd_network->cost);
        printf(",\"descriptors\":{\"most\":%" PRIu64 ",\"reserve\":%" PRIu64 "}", files.total,
               files.reserve);
        if (host->isolated) {
            tnd_json_member(stdout, "parent", plan->hosts[host->parent].name);
        } else {
            json_memory(plan, h, preflight);
        }
        printf("}");
    }
    printf("]");
}

static void json_schema(const char *name, const tnd_schema_t *schema)
{
    printf(",\"%s\":{", name);
    for (uint32_t c = 0; c < schema->count; c++) {
        const tnd_column_t *column = &schema->columns[c];
        printf("%s", c > 0 ? "," : "");
        tnd_json_text(stdout, column->name);
        printf(":{\"dtype\":\"%s\",\"shape\":[", tnd_dtype_name(column->dtype));
        for (uint32_t d = 0; d < column->rank; d++)
            printf("%s%" PRIu64, d > 0 ? "," : "", column->shape[d]);
        printf("]%s}", column->ragged ? ",\"ragged\":true" : "");
    }
    printf("}");
}

/*  A text for each operation with `auto` options. */
static void json_adapted(const tnd_plan_t *plan, const tnd_stream_t *stream)
{
    char *text;
    size_t size;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_adaptation_show(plan, stream, "", out);
    fclose(out);
    printf(",\"auto\":[");
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        fputs(line > text ? "," : "", stdout);
        tnd_json_text(stdout, line);
    }
    putchar(']');
    free(text);
}

static void json_choices(const tnd_topology_t *topology, uint32_t chain)
{
    bool any = false;
    printf(",\"choices\":[");
    for (uint32_t i = 0; topology != NULL && i < topology->choice_count; i++) {
        const tnd_topology_choice_t *choice = &topology->choices[i];
        if (topology->actors[choice->actor].chain != chain)
            continue;
        tnd_json_begin(stdout, any, "actor", topology->actors[choice->actor].name);
        tnd_json_member(stdout, "option", choice->option);
        tnd_json_member(stdout, "chosen", choice->chosen);
        tnd_json_member(stdout, "why", choice->why);
        putchar('}');
        any = true;
    }
    putchar(']');
}

static void json_reducers(const tnd_plan_t *plan, uint32_t chain)
{
    bool any = false;
    printf(",\"reducers\":[");
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        const tnd_collective_ops_t *ops;
        if (instance->chain != chain || instance->kind->role != TND_ROLE_REDUCER ||
            tnd_reduction_through(instance, &ops, NULL) != TND_OK)
            continue;
        tnd_json_begin(stdout, any, "actor", instance->actor);
        tnd_json_member(stdout, "through", ops->name);
        tnd_json_member(stdout, "why", tnd_reduction_through_why(instance));
        putchar('}');
        any = true;
    }
    putchar(']');
}

static void json_chains(const tnd_plan_t *plan, const tnd_preflight_t *preflight)
{
    static const char *const feeds[] = {
        [TND_FEED_TOGETHER] = "together", [TND_FEED_APART] = "apart", [TND_FEED_PIECES] = "pieces"};
    printf(",\"chains\":[");
    for (uint32_t c = 0; c < plan->chain_count; c++) {
        const tnd_chain_plan_t *chain = &plan->chains[c];
        const tnd_preflight_chain_t *known = &preflight->chains[c];
        tnd_json_begin(stdout, c > 0, "feeder", chain->feeder);
        tnd_json_member(stdout, "after", chain->after);
        tnd_json_member(stdout, "strategy", tnd_strategy_of(plan, c).name);
        tnd_json_member(stdout, "lanes", feeds[chain->feed]);
        json_choices(plan->topology, c);
        json_reducers(plan, c);
        printf(",\"replicas\":[");
        for (uint32_t r = 0; chain->carriers != NULL && r < chain->replicas; r++) {
            const tnd_instance_t *feeder = &plan->instances[chain->carriers[r].instance];
            tnd_json_begin(stdout, r > 0, "feeder", feeder->name);
            printf(",\"device\":%" PRIu32 "}", chain->carriers[r].device);
        }
        printf("]");
        if (known->known) {
            uint64_t rows = tnd_stream_positions(&known->stream);
            if (rows != TND_UNKNOWN)
                printf(",\"rows\":%" PRIu64, rows);
            if (known->stream.epochs != TND_ENDLESS)
                printf(",\"epochs\":%" PRIu32, known->stream.epochs);
            json_schema("read", &known->stream.read.schema);
            json_schema("fed", &known->stream.fed.schema);
            json_adapted(plan, &known->stream);
            printf(",\"files\":{\"mapped\":%" PRIu64 ",\"read\":%" PRIu64 ",\"page_cache\":%" PRIu64
                   ",\"fits\":%s}",
                   known->stream.own.mapped, known->stream.own.copied, known->stream.own.room,
                   known->stream.own.access.fits ? "true" : "false");
        }
        printf("}");
    }
    printf("]");
}

static void json_options(const tnd_instance_t *instance)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_options_print(&instance->kind->table, instance->options, TND_ROLE_ALL, out);
    fclose(out);
    tnd_json_text(stdout, text);
    free(text);
}

static void print_json(const tnd_plan_t *plan, const tnd_preflight_t *preflight)
{
    tnd_json_begin(stdout, false, "name", plan->name);
    printf(",\"seed\":%" PRIu64 ",\"lanes\":%" PRIu32 ",\"fingerprint\":", plan->seed, plan->lanes);
    tnd_json_hash(stdout, plan->fingerprint);
    char launch[600];
    tnd_json_member(stdout, "launch", tnd_launch_describe(plan, launch, sizeof launch));
    json_hosts(plan, preflight);
    json_chains(plan, preflight);
    printf(",\"actors\":[");
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        tnd_json_begin(stdout, i > 0, "actor", instance->actor);
        tnd_json_member(stdout, "name", instance->name);
        tnd_json_member(stdout, "kind", instance->kind->table.name);
        tnd_json_member(stdout, "host", plan->hosts[instance->host].name);
        printf(",\"chain\":%" PRIu32 ",\"lane\":%" PRIu32 ",\"options\":", instance->chain,
               instance->lane);
        json_options(instance);
        printf("}");
    }
    printf("],\"connections\":[");
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        tnd_json_begin(stdout, e > 0, "from", plan->instances[edge->from].name);
        tnd_json_member(stdout, "to", plan->instances[edge->to].name);
        printf(",\"transport\":\"%s\",\"endpoint\":\"", tnd_transport_name(edge->transport));
        print_endpoint(stdout, plan, edge);
        printf("\",\"connects\":");
        tnd_json_text(stdout, plan->instances[edge->from_connects ? edge->from : edge->to].name);
        printf("}");
    }
    puts("]}");
}

static int explain(const tnd_request_t *request)
{
    const explain_options_t *options = request->options;
    tnd_graph_t *graph = tnd_load_graph(request, &options->load, NULL, false);
    tnd_launch_expect(graph);
    if (tnd_graph_check(graph) != TND_OK) {
        tnd_diagnostics_print(tnd_graph_diagnostics(graph), stderr);
        tnd_graph_destroy(&graph);
        return TND_EXIT_TOPOLOGY;
    }
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    tnd_preflight_t preflight;
    tnd_diagnostics_t *diagnostics = tnd_diagnostics_copy(tnd_graph_diagnostics(graph));
    tnd_preflight_make(&preflight, graph, plan, diagnostics);
    bool good = tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR) == 0;
    tnd_diagnostics_print(diagnostics, stderr);
    if (options->json)
        print_json(plan, &preflight);
    else
        print_text(plan, &preflight);
    tnd_preflight_destroy(&preflight);
    tnd_graph_destroy(&graph);
    return good ? TND_EXIT_OK : TND_EXIT_TOPOLOGY;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--set", explain_options_t, load.settings)},
    {TND_COMMON("--data", explain_options_t, load.data)},
    {TND_COMMON("--json", explain_options_t, json)},
};

const tnd_command_t tnd_command_explain = {
    .name = "explain",
    .operands = "FILE...",
    .summary = "shows the graph as it would run: hosts, actors, connections, memory",
    TND_ARGUMENTS(arguments, explain_options_t),
    .details =
        "Merges a topology and its overlays and shows every instance of every actor: its host,\n"
        "its options with their defaults, its connections, and which device carries which\n"
        "replica.  It also shows the memory and file descriptors of each host, term by term;\n"
        "and which host this process is, if a launcher such as srun started it.\n",
    .codes =
        "  0   shown\n"
        "  2   usage\n"
        "  78  the topology has errors, lacks files or plugins, or exceeds its `memory:`; what is\n"
        "      known is shown nevertheless\n",
    .operands_min = 1,
    .run = explain,
};
