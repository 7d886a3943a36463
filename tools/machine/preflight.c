/*  tools/machine/preflight.c - checks a plan against this machine before the start. */
#include "tools/machine/preflight.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/plan/machine.h"
#include "runtime/resources/memory_sum.h"
#include "runtime/resources/resources.h"
#include "tools/cli/opening_progress.h"
#include "tools/machine/uneven_end.h"

static const uint64_t show_every_ns = 50000000;

/*  Records what one host reports about a chain; two hosts must report the same. */
static void take_facts(tnd_preflight_t *self, const tnd_plan_t *plan,
                       const tnd_resources_data_t *data, tnd_diagnostics_t *diagnostics)
{
    tnd_preflight_chain_t *chain = &self->chains[data->stream.chain];
    tnd_error_t error;
    if (!data->open)
        return;
    if (!chain->known) {
        chain->stream = data->stream;
        chain->stream.adapted = NULL;
        tnd_adapted_merge(&chain->stream.adapted, data->stream.adapted);
    } else if (tnd_stream_agree(&chain->stream, "one host", &data->stream,
                                plan->hosts[data->instance->host].name, &error) != TND_OK)
        tnd_placement_report(data->instance, TND_T061_SOURCE, &error, diagnostics);
    else
        tnd_stream_merge(&chain->stream, &data->stream);
    chain->known = true;
}

/*  A chain that evaluates the models of another one should have the same columns. */
static void compare_columns(const tnd_preflight_t *self, const tnd_plan_t *plan, uint32_t chain,
                            tnd_diagnostics_t *diagnostics)
{
    const tnd_schema_t *schema = &self->chains[chain].stream.fed.schema;
    uint32_t first = tnd_plan_trains(plan, chain);
    if (first == chain || !self->chains[chain].known || !self->chains[first].known)
        return;
    uint32_t feeder = tnd_topology_find(plan->topology, plan->chains[chain].feeder);
    for (uint32_t c = 0; c < schema->count; c++) {
        const tnd_schema_t *trained = &self->chains[first].stream.fed.schema;
        int other = tnd_schema_find(trained, schema->columns[c].name);
        char one[128], two[128];
        if (other < 0)
            continue;
        tnd_schema_t a = {.count = 1}, b = {.count = 1};
        a.columns[0] = schema->columns[c];
        b.columns[0] = trained->columns[other];
        tnd_schema_text(&a, one, sizeof one);
        tnd_schema_text(&b, two, sizeof two);
        if (strcmp(one, two) != 0)
            tnd_diagnostics_add(diagnostics, TND_T075_OTHER_COLUMNS,
                                plan->topology->actors[feeder].mark,
                                "`%s` is fed %s, but the models of `%s` are trained on %s",
                                plan->chains[chain].feeder, one, plan->chains[chain].after, two);
    }
}

/*  Nothing is known yet. */
static void begin(tnd_preflight_t *self, const tnd_plan_t *plan)
{
    *self = (tnd_preflight_t){0};
    self->chains = tnd_allocate_zeroed(plan->chain_count, sizeof *self->chains);
    self->chain_count = plan->chain_count;
    self->awaits = tnd_allocate_zeroed(plan->instance_count + 1, sizeof *self->awaits);
}

/*  A preflight in progress, whose thread may have to be abandoned. */
typedef struct {
    tnd_preflight_t preflight;
    tnd_plan_t plan;
    tnd_preflight_use_fn *use; /* NULL: nothing is done with the open data */
    void *context;
} making_t;

/*  Opens the data of a host of this machine, or notes that another one has to. */
static void open_host(tnd_preflight_t *self, const tnd_plan_t *plan, uint32_t host,
                      tnd_resources_t *resources, tnd_guarded_call_t *call,
                      tnd_diagnostics_t *diagnostics)
{
    bool here = tnd_machine_has(plan->hosts[host].address);
    tnd_resources_list(resources, plan, host);
    if (here)
        (void)tnd_resources_open(resources, call, diagnostics);
    for (uint32_t s = 0; s < resources->count; s++) {
        if (here)
            take_facts(self, plan, &resources->data[s], diagnostics);
        else
            self->awaits[self->await_count++] = (tnd_preflight_await_t){
                .host = plan->hosts[host].name, .actor = resources->data[s].instance->actor};
    }
}

/*  Derives the streams of all chains, as far as the facts of their data are known. */
static void derive(tnd_preflight_t *self, const tnd_plan_t *plan, tnd_guarded_call_t *call,
                   tnd_diagnostics_t *diagnostics)
{
    uint32_t missing;
    for (uint32_t c = 0; c < plan->chain_count; c++)
        (void)tnd_stream_settle(&self->chains[c].stream, plan->lanes, &missing);
    for (uint32_t c = 0; c < plan->chain_count; c++)
        tnd_adapted_merge(&self->chains[c].stream.adapted, self->chains[0].stream.adapted);
    for (uint32_t c = 0; c < plan->chain_count; c++)
        if (self->chains[c].known)
            self->chains[c].known =
                tnd_resources_derive(plan, call, &self->chains[c].stream, diagnostics);
    for (uint32_t c = 0; c < plan->chain_count; c++)
        compare_columns(self, plan, c, diagnostics);
    for (uint32_t c = 0; c < plan->chain_count; c++)
        if (self->chains[c].known)
            tnd_uneven_end_check(plan, c, &self->chains[c].stream, diagnostics);
}

static void make(void *context, tnd_guarded_call_t *call, tnd_diagnostics_t *diagnostics)
{
    making_t *making = context;
    tnd_preflight_t *self = &making->preflight;
    const tnd_plan_t *plan = &making->plan;
    tnd_resources_t *hosts = tnd_allocate_zeroed(plan->host_count, sizeof *hosts);
    for (uint32_t h = 0; h < plan->host_count; h++) {
        open_host(self, plan, h, &hosts[h], call, diagnostics);
        if (making->use == NULL)
            tnd_resources_close(&hosts[h]);
    }
    derive(self, plan, call, diagnostics);
    if (making->use != NULL)
        making->use(making->context, &(tnd_preflight_opened_t){plan, self, hosts, plan->host_count},
                    call);
    for (uint32_t h = 0; h < plan->host_count && making->use != NULL; h++)
        tnd_resources_close(&hosts[h]);
    free(hosts);
}

/*  Shows what the call opens. */
static void show(tnd_guarded_call_t *call, tnd_opening_progress_t *shown)
{
    char *text;
    size_t size;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_guarded_call_write(call, out);
    fclose(out);
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        tnd_open_progress_t progress;
        *end = '\0';
        if (tnd_open_progress_read(&progress, line))
            tnd_opening_progress_show(shown, 0, &progress);
    }
    if (size == 0)
        tnd_opening_progress_show(shown, 0, NULL);
    free(text);
}

/*  Waits until the call has ended or hangs, which is reported; shows what is opened. */
static bool wait_for(tnd_guarded_call_t **call_p, uint64_t hung_after_ns,
                     tnd_opening_progress_t *shown, tnd_diagnostics_t *diagnostics)
{
    uint64_t every_ns = hung_after_ns / 4 < show_every_ns ? hung_after_ns / 4 : show_every_ns;
    while (!tnd_guarded_call_end(call_p, every_ns, diagnostics)) {
        if (tnd_guarded_call_hangs(*call_p, hung_after_ns, tnd_clock_now(), diagnostics))
            return false;
        show(*call_p, shown);
    }
    return true;
}

void tnd_preflight_use(tnd_preflight_t *self, tnd_graph_t *graph, const tnd_plan_t *plan,
                       tnd_preflight_use_fn *use, void *context, tnd_diagnostics_t *diagnostics)
{
    making_t *making = tnd_allocate_zeroed(1, sizeof *making);
    *making = (making_t){.plan = *plan, .use = use, .context = context};
    making->plan.unread = use == NULL;
    begin(&making->preflight, plan);
    tnd_opening_progress_t shown;
    tnd_guarded_call_t *call;
    tnd_error_t error;
    if (tnd_guarded_call_begin(&call, make, NULL, making, &error) != TND_OK) {
        tnd_diagnostics_add(diagnostics, TND_T061_SOURCE, (tnd_mark_t){0}, "%s", error.text);
        *self = making->preflight;
        free(making);
        return;
    }
    tnd_opening_progress_init(&shown, plan);
    bool ended = wait_for(&call, plan->hung_after_ns, &shown, diagnostics);
    tnd_opening_progress_end(&shown);
    if (ended) {
        *self = making->preflight;
        free(making);
        return;
    }
    begin(self, plan);
    tnd_graph_keep(graph);
}

void tnd_preflight_make(tnd_preflight_t *self, tnd_graph_t *graph, const tnd_plan_t *plan,
                        tnd_diagnostics_t *diagnostics)
{
    uint32_t workers;
    char text[512];
    tnd_preflight_use(self, graph, plan, NULL, NULL, diagnostics);
    for (uint32_t h = 0; h < plan->host_count; h++)
        (void)tnd_memory_fits(plan, h, tnd_preflight_stream, self, &workers, diagnostics);
    if (!tnd_memory_fits_together(plan, tnd_preflight_stream, self, text, sizeof text))
        tnd_diagnostics_add(diagnostics, TND_T080_SHARED_MEMORY, (tnd_mark_t){0}, "%s", text);
}

const tnd_stream_t *tnd_preflight_stream(const void *preflight, uint32_t chain)
{
    const tnd_preflight_t *self = preflight;
    return self->chains[chain].known ? &self->chains[chain].stream : NULL;
}

void tnd_preflight_destroy(tnd_preflight_t *self)
{
    for (uint32_t c = 0; c < self->chain_count; c++)
        tnd_adapted_free(&self->chains[c].stream.adapted);
    free(self->chains);
    free(self->awaits);
}
