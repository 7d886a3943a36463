/*  tools/memory.c - the most memory that a host's part of a run takes, term by term. */
#include "tools/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/batcher.h"
#include "actors/feeder.h"
#include "actors/reader.h"

enum { MIB = 1 << 20 };

static void add(tnd_memory_t *self, const char *actor, uint64_t bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void add(tnd_memory_t *self, const char *actor, uint64_t bytes, const char *format, ...)
{
    tnd_memory_term_t *term = &self->terms[self->term_count++];
    va_list list;
    va_start(list, format);
    vsnprintf(term->what, sizeof term->what, format, list);
    va_end(list);
    term->actor = actor;
    term->bytes = bytes;
    self->bytes += bytes;
}

/*  The batcher that a lane of a chain ends in. */
static uint32_t batcher_of(const tnd_plan_t *plan, uint32_t chain, uint32_t lane)
{
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].chain == chain && plan->instances[i].lane == lane &&
            strcmp(plan->instances[i].kind->table.name, "batcher") == 0)
            return i;
    return plan->instance_count;
}

static bool leaves(const tnd_plan_t *plan, uint32_t instance)
{
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if ((plan->edges[e].from == instance || plan->edges[e].to == instance) &&
            plan->edges[e].transport != TND_TRANSPORT_INPROC)
            return true;
    return false;
}

static void add_batcher(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t index,
                        const tnd_stream_t *stream)
{
    const tnd_instance_t *instance = &plan->instances[index];
    tnd_batcher_window_t window = tnd_batcher_window(plan, index, stream);
    add(self, instance->name, window.bytes,
        "window of %" PRIu64 " blocks of %" PRIu64 " rows, and a whole batch", window.blocks,
        window.block_rows);
    if (leaves(plan, index))
        add(self, instance->name, window.blocks * window.block_rows * window.row_bytes,
            "the same blocks while they are received or sent");
}

static void add_worker(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t index,
                       const tnd_stream_t *stream)
{
    const tnd_instance_t *instance = &plan->instances[index];
    uint32_t batcher = batcher_of(plan, instance->chain, instance->lane_first);
    if (batcher == plan->instance_count)
        return;
    tnd_batcher_window_t window = tnd_batcher_window(plan, batcher, stream);
    uint64_t block = window.block_rows * window.row_bytes;
    add(self, instance->name, 2 * block, "one block of %" PRIu64 " rows coming in, one going out",
        window.block_rows);
    if (leaves(plan, index))
        add(self, instance->name, 2 * block, "the same while they are received or sent");
}

static void add_reader(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t index,
                       const tnd_stream_t *stream)
{
    const tnd_instance_t *instance = &plan->instances[index];
    uint32_t batcher = batcher_of(plan, instance->chain, instance->lane);
    if (batcher == plan->instance_count)
        return;
    tnd_batcher_window_t window = tnd_batcher_window(plan, batcher, stream);
    uint64_t rows = window.blocks * window.block_rows;
    add(self, instance->name, rows * sizeof(uint64_t),
        "which rows the %" PRIu64 " blocks of the window hold", window.blocks);
    if (stream->copied > 0)
        add(self, instance->name, rows * stream->copied,
            "the rows of these blocks, of files that are read and not mapped");
    if (leaves(plan, index))
        add(self, instance->name, rows * tnd_schema_row_bytes(&stream->read),
            "the rows of these blocks while they are sent");
    /* A source of the user's writes its rows to memory of ours; the last ones may be kept. */
    const tnd_reader_options_t *options = instance->options;
    const tnd_source_spec_t *source = tnd_source_spec_of(options->source.table);
    if (source->given == NULL)
        return;
    add(self, instance->name, rows * tnd_schema_row_bytes(&stream->read),
        "the rows of these blocks, which the source writes");
    if (source->caps == 0)
        add(self, instance->name, options->retain_bytes,
            "the last rows of a source that can be read only once (`retain:`)");
}

static void add_feeder(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t index,
                       const tnd_stream_t *stream)
{
    const tnd_instance_t *instance = &plan->instances[index];
    uint32_t batcher = batcher_of(plan, instance->chain, 0);
    if (batcher == plan->instance_count)
        return;
    const tnd_batcher_options_t *batch = plan->instances[batcher].options;
    const tnd_feeder_options_t *options = instance->options;
    uint64_t replica = (batch->size + batch->replicas - 1) / batch->replicas;
    uint64_t rows = replica * instance->replica_count;
    add(self, instance->name, options->depth * rows * tnd_schema_row_bytes(&stream->fed),
        "slots of %" PRIu64 " batches, %" PRIu64 " rows each", options->depth, rows);
}

void tnd_memory_sum(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host,
                    const tnd_survey_t *survey)
{
    *self = (tnd_memory_t){.known = true};
    self->terms = calloc(3 * (size_t)plan->instance_count + 2, sizeof *self->terms);
    if (self->terms == NULL)
        abort();
    uint64_t threads = 4; /* main, control, the signals' and one that moves messages */
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->host != host)
            continue;
        const tnd_survey_chain_t *chain = &survey->chains[instance->chain];
        const char *kind = instance->kind->table.name;
        threads++;
        if (strcmp(kind, "feeder") == 0)
            threads += plan->hosts[host].device_count > 0 ? plan->hosts[host].device_count : 1;
        self->known = self->known && chain->known;
        if (!chain->known)
            continue;
        if (strcmp(kind, "reader") == 0)
            add_reader(self, plan, i, &chain->stream);
        else if (strcmp(kind, "preprocessor") == 0)
            add_worker(self, plan, i, &chain->stream);
        else if (strcmp(kind, "batcher") == 0)
            add_batcher(self, plan, i, &chain->stream);
        else if (strcmp(kind, "feeder") == 0)
            add_feeder(self, plan, i, &chain->stream);
    }
    add(self, "process", (16 + threads) * MIB, "16 MiB, and 1 MiB for each of %" PRIu64 " threads",
        threads);
}

void tnd_memory_check(const tnd_plan_t *plan, uint32_t host, const tnd_survey_t *survey,
                      tnd_diagnostics_t *diagnostics)
{
    const tnd_plan_host_t *of = &plan->hosts[host];
    const tnd_value_t *budget = tnd_value_get(plan->topology->root, "memory");
    if (of->memory == 0)
        return;
    tnd_memory_t sum;
    tnd_memory_sum(&sum, plan, host, survey);
    const tnd_memory_term_t *most = &sum.terms[0];
    for (uint32_t t = 1; t < sum.term_count; t++)
        most = sum.terms[t].bytes > most->bytes ? &sum.terms[t] : most;
    if (sum.bytes > of->memory) {
        tnd_diagnostics_add(diagnostics, TND_T065_MEMORY,
                            budget != NULL ? budget->mark : (tnd_mark_t){0},
                            "host %s may need %.1f MiB, `memory:` allows %.1f MiB; most of it, "
                            "%.1f MiB, is for %s (%s)",
                            of->name, (double)sum.bytes / MIB, (double)of->memory / MIB,
                            (double)most->bytes / MIB, most->actor, most->what);
        tnd_diagnostics_help(diagnostics,
                             "the smallest budget that it fits into is `memory: %" PRIu64
                             "MiB`; `tundish explain` shows what takes how much",
                             (sum.bytes + MIB - 1) / MIB);
    }
    tnd_memory_free(&sum);
}

void tnd_memory_free(tnd_memory_t *self)
{
    free(self->terms);
    self->terms = NULL;
}
