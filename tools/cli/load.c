/*  tools/cli/load.c - loads the graph of a command line. */
#include "tools/cli/load.h"

#include "runtime/base/allocation.h"
#include "tools/cli/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/resources/resources.h"

/*  As text between quotes, which YAML reads as a string. */
static void set_path(tnd_graph_t *graph, const char *key, const char *place)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_json_text(out, place);
    fclose(out);
    tnd_graph_set(graph, key, text);
    free(text);
}

static bool ends_as(const char *path, size_t length, const char *name)
{
    size_t last = strlen(name);
    return length >= last && strncmp(path + length - last, name, last) == 0 &&
           (length == last || path[length - last - 1] == '/');
}

/*  The folder of a checkpoint, of its manifest, or the folder itself. */
static char *folder_of(const char *place)
{
    size_t length = strlen(place);
    while (length > 1 && place[length - 1] == '/')
        length--;
    if (ends_as(place, length, "manifest"))
        length = length > strlen("manifest/") ? length - strlen("/manifest") : 0;
    size_t begin = length;
    while (begin > 0 && place[begin - 1] != '/')
        begin--;
    if (length - begin > 5 && strncmp(place + begin, "step-", 5) == 0)
        length = begin;
    while (length > 1 && place[length - 1] == '/')
        length--;
    char *folder =
        length > 0 ? tnd_format_string("%.*s", (int)length, place) : tnd_copy_string(".");
    return folder;
}

/*  Whether `checkpoint` of the graph is valid, or the graph has other errors. */
static bool keeps(tnd_graph_t *graph)
{
    return tnd_graph_check(graph) != TND_OK || tnd_graph_plan(graph)->checkpoint != NULL;
}

static tnd_graph_t *load(const tnd_load_options_t *options, const char *const *files, size_t count,
                         const tnd_graph_purpose_t *purpose)
{
    tnd_graph_t *graph = tnd_graph_load(files, count);
    for (size_t i = 0; i < options->settings.count; i++)
        tnd_graph_set(graph, options->settings.items[i].key, options->settings.items[i].value);
    tnd_graph_purpose(graph, purpose);
    const char *from = options->evaluate != NULL ? options->evaluate : options->resume;
    if (from == NULL)
        return graph;
    if (!keeps(graph)) {
        char *folder = folder_of(from);
        set_path(graph, "checkpoint.dir", folder);
        free(folder);
    }
    set_path(graph, "checkpoint.resume", from);
    if (options->evaluate != NULL)
        tnd_graph_set(graph, "checkpoint.evaluate", "true");
    if (options->trust_data)
        tnd_graph_set(graph, "checkpoint.trust_data", "true");
    return graph;
}

tnd_graph_t *tnd_load_graph(const tnd_request_t *request, const tnd_load_options_t *options,
                            const char *host, bool open_ended)
{
    tnd_graph_purpose_t purpose = {
        .data = options->data,
        .fallback_data = getenv("TUNDISH_DATA"), /* as tnd_graph_load */
        .host = host,
        .open_ended = open_ended,
    };
    return load(options, request->files, request->file_count, &purpose);
}

tnd_graph_t *tnd_load_form(const tnd_load_options_t *options, const char *const *files,
                           size_t count)
{
    tnd_graph_purpose_t purpose = {.fallback_data = ".", .open_ended = true};
    return load(options, files, count, &purpose);
}

bool tnd_load_resumes(const tnd_request_t *request, const tnd_load_options_t *options,
                      const char *host, const char *command)
{
    const char *from = options->evaluate != NULL ? options->evaluate : options->resume;
    const char *option = options->evaluate != NULL ? "--evaluate" : "--resume";
    if (options->evaluate != NULL && options->resume != NULL)
        return tnd_usage_error(command, "--evaluate trains nothing, so it has no --resume") ==
               TND_EXIT_OK;
    if (options->trust_data && from == NULL)
        return tnd_usage_error(command, "--trust-data needs --resume or --evaluate") == TND_EXIT_OK;
    if (from == NULL || (strcmp(from, "latest") != 0 && strcmp(from, "best") != 0))
        return true;
    tnd_load_options_t bare = *options;
    bare.resume = bare.evaluate = NULL;
    tnd_graph_t *graph = tnd_load_graph(request, &bare, host, false);
    bool good = keeps(graph);
    tnd_graph_destroy(&graph);
    return good || tnd_usage_error(command,
                                   "%s: this topology has no checkpoint folder: name it with "
                                   "%s FROM or --set checkpoint.dir=DIR",
                                   option, option) == TND_EXIT_OK;
}

bool tnd_load_check(tnd_graph_t *graph)
{
    bool good = tnd_graph_check(graph) == TND_OK;
    tnd_diagnostics_print(tnd_load_diagnostics(graph), stderr);
    return good;
}

tnd_diagnostics_t *tnd_load_diagnostics(const tnd_graph_t *graph)
{
    tnd_diagnostics_t *diagnostics = tnd_diagnostics_copy(tnd_graph_diagnostics(graph));
    const tnd_plan_t *sketch = tnd_graph_sketch(graph);
    tnd_resources_t resources;
    if (sketch == NULL)
        return diagnostics;
    tnd_resources_list(&resources, sketch, 0);
    (void)tnd_resources_look(&resources, diagnostics);
    tnd_resources_close(&resources);
    return diagnostics;
}

bool tnd_load_tell(const tnd_session_t *session, FILE *out)
{
    const tnd_diagnostics_t *diagnostics = tnd_session_diagnostics(session);
    tnd_diagnostics_print(diagnostics, out);
    return tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR) > 0;
}

bool tnd_load_steps(const tnd_plan_t *plan, uint32_t chain)
{
    const tnd_chain_plan_t *is = &plan->chains[chain];
    if (is->feeder == NULL)
        return false;
    const tnd_instance_t *feeder = &plan->instances[is->carriers[0].instance];
    const void *const *step =
        tnd_options_field(&feeder->kind->table, feeder->options, "step", TND_OPTION_TABLE);
    return step != NULL && *step != NULL;
}

bool tnd_load_host(const tnd_plan_t *plan, const char *command, const char *name, uint32_t *host_p)
{
    char names[512] = "";
    size_t used = 0;
    tnd_nearest_t nearest = {.word = name};
    uint32_t hosts = 0;
    for (uint32_t h = 0; h < plan->host_count; h++)
        hosts += !plan->hosts[h].isolated && !plan->hosts[h].spare;
    for (uint32_t h = 0; h < plan->host_count; h++) {
        if (name != NULL ? strcmp(plan->hosts[h].name, name) == 0 : hosts == 1) {
            *host_p = h;
            return true;
        }
        if (plan->hosts[h].isolated || plan->hosts[h].spare)
            continue;
        if (name != NULL)
            tnd_nearest_offer(&nearest, plan->hosts[h].name);
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", h > 0 ? ", " : "",
                                     plan->hosts[h].name);
    }
    if (name == NULL)
        tnd_usage_error(command,
                        "this graph has %" PRIu32
                        " hosts (%s): name the host of this process with --host, "
                        "or start them all with `tundish up`",
                        hosts, names);
    else if (nearest.best != NULL)
        tnd_usage_error(command, "no host is named '%s'; did you mean '%s'?", name, nearest.best);
    else
        tnd_usage_error(command, "no host is named '%s'; there are: %s", name, names);
    return false;
}
