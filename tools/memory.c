/*  tools/memory.c - the most memory that a host's part of a run takes, term by term. */
#include "tools/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "runtime/kind.h"

enum { MIB = 1 << 20 };

/*  Threads of a process beside its actors' and devices': main, control, the signals' and one that
 *  moves messages.
 */
enum { THREADS = 4 };

static void add_process(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host, const char *who,
                        const tnd_survey_t *survey)
{
    uint64_t threads = THREADS;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        const tnd_survey_chain_t *chain = &survey->chains[instance->chain];
        const tnd_kind_t *kind = tnd_kind_of(instance->kind);
        if (instance->host != host)
            continue;
        threads++;
        if (strcmp(instance->kind->table.name, "feeder") == 0)
            threads += plan->hosts[host].device_count > 0 ? plan->hosts[host].device_count : 1;
        self->known = self->known && chain->known;
        if (chain->known && kind->needs != NULL)
            kind->needs(plan, i, &chain->stream, &self->needs);
    }
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == host) {
            threads++; /* it keeps them */
            break;
        }
    tnd_needs_add(&self->needs, who, (16 + threads) * MIB,
                  "16 MiB, and 1 MiB for each of %" PRIu64 " threads", threads);
}

void tnd_memory_sum(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host,
                    const tnd_survey_t *survey)
{
    assert(!plan->hosts[host].isolated);
    *self = (tnd_memory_t){.known = true};
    add_process(self, plan, host, "process", survey);
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == host)
            add_process(self, plan, h, plan->hosts[h].name, survey);
}

void tnd_memory_check(const tnd_plan_t *plan, uint32_t host, const tnd_survey_t *survey,
                      tnd_diagnostics_t *diagnostics)
{
    const tnd_plan_host_t *of = &plan->hosts[host];
    const tnd_value_t *budget = tnd_value_get(plan->topology->root, "memory");
    if (of->memory == 0 || of->isolated)
        return;
    tnd_memory_t sum;
    tnd_memory_sum(&sum, plan, host, survey);
    const tnd_needs_t *needs = &sum.needs;
    const tnd_need_t *most = &needs->items[0];
    for (uint32_t t = 1; t < needs->count; t++)
        most = needs->items[t].bytes > most->bytes ? &needs->items[t] : most;
    if (needs->bytes > of->memory) {
        tnd_diagnostics_add(diagnostics, TND_T065_MEMORY,
                            budget != NULL ? budget->mark : (tnd_mark_t){0},
                            "host %s may need %.1f MiB, `memory:` allows %.1f MiB; most of it, "
                            "%.1f MiB, is for %s (%s)",
                            of->name, (double)needs->bytes / MIB, (double)of->memory / MIB,
                            (double)most->bytes / MIB, most->who, most->what);
        tnd_diagnostics_help(diagnostics,
                             "the smallest budget that it fits into is `memory: %" PRIu64
                             "MiB`; `tundish explain` shows what takes how much",
                             (needs->bytes + MIB - 1) / MIB);
    }
    tnd_memory_free(&sum);
}

void tnd_memory_free(tnd_memory_t *self)
{
    tnd_needs_free(&self->needs);
}
