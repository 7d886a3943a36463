/*  runtime/resources/memory_sum.c - the upper bound of a host's memory, term by term. */
#include "runtime/resources/memory_sum.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/limits.h"
#include "runtime/plan/machine.h"
#include "runtime/resources/resources.h"
#include "runtime/text/quantity.h"

enum { MIB = 1 << 20 };

/*  What this machine has, or the control group allows, and which of them it is. */
static uint64_t limit_here(const char *whose, char *words, size_t room)
{
    char size[TND_QUANTITY_SIZE];
    tnd_group_limits_t limits;
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    tnd_group_limits_read("", &limits);
    if (limits.memory_bytes < machine) {
        snprintf(words, room, "%s control group allows %s (%.150s)", whose,
                 tnd_quantity_size(limits.memory_bytes, size), limits.memory_by);
        return limits.memory_bytes;
    }
    snprintf(words, room, "this machine has %s", tnd_quantity_size(machine, size));
    return machine;
}

/*  The limit of the host, and where it comes from. */
static uint64_t limit_of(const tnd_plan_host_t *host, char *words, size_t room)
{
    char size[TND_QUANTITY_SIZE];
    if (host->memory != 0) {
        snprintf(words, room, "`memory:` allows %s", tnd_quantity_size(host->memory, size));
        return host->memory;
    }
    return tnd_machine_has(host->address) ? limit_here("its", words, room) : UINT64_MAX;
}

/*  What the estimates need of the chains. */
typedef struct {
    tnd_stream_of_t of;
    const void *context;
} streams_t;

static void add_process(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host, const char *who,
                        const streams_t *streams)
{
    bool known = tnd_process_memory_add(&self->estimate, plan, host, who, self->workers,
                                        streams->of, streams->context);
    self->known = self->known && known;
}

/*  With that many workers awake. */
static void add_host(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host,
                     const streams_t *streams, uint32_t workers)
{
    *self = (tnd_memory_t){.known = true, .workers = workers};
    add_process(self, plan, host, "process", streams);
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == host)
            add_process(self, plan, h, plan->hosts[h].name, streams);
}

/*  The most workers of an actor with `workers: auto`; 1 without one. */
static uint32_t tuned_workers(const tnd_plan_t *plan)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].tuned && plan->instances[i].number >= most)
            most = plan->instances[i].number + 1;
    return most;
}

/*  With as many workers as fit into the limit, at least one. */
static void add_within(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host,
                       const streams_t *streams, uint64_t limit)
{
    uint32_t workers = tuned_workers(plan);
    assert(!plan->hosts[host].isolated);
    add_host(self, plan, host, streams, workers);
    while (self->estimate.bytes > limit && workers > 1) {
        tnd_memory_free(self);
        add_host(self, plan, host, streams, --workers);
    }
}

void tnd_memory_sum(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host,
                    tnd_stream_of_t stream_of, const void *context)
{
    char words[256];
    add_within(self, plan, host, &(streams_t){stream_of, context},
               limit_of(&plan->hosts[host], words, sizeof words));
}

/*  What makes a term of actor `who` smaller. */
static const char *remedy_of_role(const tnd_plan_t *plan, const char *who)
{
    static const char *const remedies[] = {
        [TND_ROLE_READER] =
            "files that are not compressed, or a smaller `block:` or `size:` of the batcher",
        [TND_ROLE_CACHE] = "a smaller `limit:` of the cache",
        [TND_ROLE_WORKER] = "a smaller `block:` of the batcher",
        [TND_ROLE_JOIN] = "a smaller `size:` or `block:` of the batcher",
        [TND_ROLE_FEEDER] = "a smaller `size:` of the batcher, `depth:` or `spare:` of the feeder",
        [TND_ROLE_PARAMETERS] = "a smaller `staleness:`",
        [TND_ROLE_OBSERVER] = NULL,
    };
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (strcmp(plan->instances[i].name, who) == 0 &&
            remedies[plan->instances[i].kind->role] != NULL)
            return remedies[plan->instances[i].kind->role];
    return "fewer actors on this host";
}

/*  The option of a term, or else what helps its actor. */
static void print_remedy(const tnd_plan_t *plan, const tnd_memory_term_t *term, char *text,
                         size_t room)
{
    if (term->option != NULL)
        snprintf(text, room, "a smaller `%s:` of %s", term->option, term->who);
    else
        snprintf(text, room, "%s", remedy_of_role(plan, term->who));
}

/*  The terms that matter most: the largest, and the second if it has half of its size. */
static void print_remedies(const tnd_plan_t *plan, const tnd_memory_estimate_t *estimate,
                           const tnd_memory_term_t *most, char *text, size_t room)
{
    const tnd_memory_term_t *next = NULL;
    char more[160] = "";
    print_remedy(plan, most, text, room);
    for (uint32_t t = 0; t < estimate->count; t++)
        if (&estimate->items[t] != most && (next == NULL || estimate->items[t].bytes > next->bytes))
            next = &estimate->items[t];
    if (next != NULL && next->bytes >= most->bytes / 2)
        print_remedy(plan, next, more, sizeof more);
    if (more[0] != '\0' && strcmp(more, text) != 0)
        snprintf(text + strlen(text), room - strlen(text), ", and %s", more);
}

/*  A plan whose hosts have another budget, and its streams. */
typedef struct {
    tnd_plan_t plan;
    tnd_plan_host_t *hosts;
    tnd_stream_t *streams;
    bool *known; /* by chain */
} trial_t;

static void begin_trial(trial_t *self, const tnd_plan_t *plan, const streams_t *streams)
{
    *self = (trial_t){.plan = *plan,
                      .hosts = tnd_allocate_zeroed(plan->host_count, sizeof *self->hosts),
                      .streams = tnd_allocate_zeroed(plan->chain_count, sizeof *self->streams),
                      .known = tnd_allocate_zeroed(plan->chain_count, sizeof *self->known)};
    memcpy(self->hosts, plan->hosts, plan->host_count * sizeof *self->hosts);
    self->plan.hosts = self->hosts;
    for (uint32_t c = 0; c < plan->chain_count; c++) {
        const tnd_stream_t *stream = streams->of(streams->context, c);
        self->known[c] = stream != NULL;
        if (stream != NULL)
            self->streams[c] = *stream;
    }
}

static void end_trial(trial_t *self)
{
    free(self->hosts);
    free(self->streams);
    free(self->known);
}

static const tnd_stream_t *stream_of_trial(const void *context, uint32_t chain)
{
    const trial_t *self = context;
    return self->known[chain] ? &self->streams[chain] : NULL;
}

/*  What the host needs with that budget, with one worker awake; both in MiB. */
static uint64_t need_with(trial_t *self, uint32_t host, uint64_t budget)
{
    tnd_memory_t sum;
    for (uint32_t h = 0; h < self->plan.host_count; h++)
        self->hosts[h].memory = budget * MIB;
    for (uint32_t c = 0; c < self->plan.chain_count; c++)
        if (self->known[c])
            tnd_resources_budget(&self->plan, &self->streams[c]);
    add_host(&sum, &self->plan, host, &(streams_t){stream_of_trial, self}, 1);
    uint64_t need = (sum.estimate.bytes + MIB - 1) / MIB;
    tnd_memory_free(&sum);
    return need;
}

/*  The smallest budget that the host fits into, in MiB.  Windows and slots grow with the budget, so
 *  what it needs with one may not fit into as much.  The smallest is found from below: no budget
 *  under what is needed with a smaller one can do. */
static uint64_t least_budget(const tnd_plan_t *plan, uint32_t host, const streams_t *streams)
{
    trial_t trial;
    uint64_t budget = 1, need;
    begin_trial(&trial, plan, streams);
    while ((need = need_with(&trial, host, budget)) > budget)
        budget = need;
    end_trial(&trial);
    return budget;
}

static void refuse(const tnd_plan_t *plan, uint32_t host, const streams_t *streams,
                   const tnd_memory_estimate_t *estimate, const char *words,
                   tnd_diagnostics_t *diagnostics)
{
    const tnd_plan_host_t *of = &plan->hosts[host];
    const tnd_value_t *budget = tnd_value_get(plan->topology->root, "memory");
    const tnd_memory_term_t *most = &estimate->items[0];
    char needed[TND_QUANTITY_SIZE], part[TND_QUANTITY_SIZE], helps[400];
    for (uint32_t t = 1; t < estimate->count; t++)
        most = estimate->items[t].bytes > most->bytes ? &estimate->items[t] : most;
    tnd_diagnostics_add(diagnostics, TND_T065_MEMORY,
                        budget != NULL ? budget->mark : (tnd_mark_t){0},
                        "host %s may need %s, %s; most of it, %s, is for %s (%s)", of->name,
                        tnd_quantity_size(estimate->bytes, needed), words,
                        tnd_quantity_size(most->bytes, part), most->who, most->what);
    print_remedies(plan, estimate, most, helps, sizeof helps);
    if (of->memory != 0)
        tnd_diagnostics_help(diagnostics,
                             "the smallest budget that it fits into is `memory: %" PRIu64
                             "MiB`; what helps otherwise: %s; `tundish explain` shows each term",
                             least_budget(plan, host, streams), helps);
    else
        tnd_diagnostics_help(diagnostics,
                             "what helps: %s; `tundish explain` shows what takes how much", helps);
}

/*  The hosts of this machine, with one worker of `workers: auto` awake on each. */
typedef struct {
    uint64_t bytes, largest_bytes;
    uint32_t count, largest;
} together_t;

static together_t add_together(const tnd_plan_t *plan, const streams_t *streams)
{
    together_t sum = {0};
    for (uint32_t h = 0; h < plan->host_count; h++) {
        tnd_memory_t of;
        if (plan->hosts[h].isolated || !tnd_machine_has(plan->hosts[h].address))
            continue;
        add_host(&of, plan, h, streams, 1);
        sum.count++;
        sum.bytes += of.estimate.bytes;
        if (of.estimate.bytes > sum.largest_bytes) {
            sum.largest = h;
            sum.largest_bytes = of.estimate.bytes;
        }
        tnd_memory_free(&of);
    }
    return sum;
}

bool tnd_memory_fits_together(const tnd_plan_t *plan, tnd_stream_of_t stream_of,
                              const void *context, char *text, size_t room)
{
    char words[256], needed[TND_QUANTITY_SIZE], part[TND_QUANTITY_SIZE];
    text[0] = '\0';
    if (plan->host_count < 2)
        return true;
    uint64_t limit = limit_here("this process's", words, sizeof words);
    together_t sum = add_together(plan, &(streams_t){stream_of, context});
    if (sum.count < 2 || sum.bytes <= limit)
        return true;
    snprintf(text, room,
             "the %" PRIu32 " hosts of this machine together may need %s, %s; most of it, %s, is "
             "for host %s: `memory:` is the budget of each host",
             sum.count, tnd_quantity_size(sum.bytes, needed), words,
             tnd_quantity_size(sum.largest_bytes, part), plan->hosts[sum.largest].name);
    return false;
}

bool tnd_memory_fits(const tnd_plan_t *plan, uint32_t host, tnd_stream_of_t stream_of,
                     const void *context, uint32_t *workers_p, tnd_diagnostics_t *diagnostics)
{
    const tnd_plan_host_t *of = &plan->hosts[host];
    char words[256];
    uint64_t limit = of->isolated ? UINT64_MAX : limit_of(of, words, sizeof words);
    *workers_p = UINT32_MAX;
    if (limit == UINT64_MAX)
        return true;
    tnd_memory_t sum;
    const streams_t streams = {stream_of, context};
    add_within(&sum, plan, host, &streams, limit);
    bool fits = sum.estimate.bytes <= limit;
    if (!fits)
        refuse(plan, host, &streams, &sum.estimate, words, diagnostics);
    *workers_p = sum.workers;
    tnd_memory_free(&sum);
    return fits;
}

void tnd_memory_free(tnd_memory_t *self)
{
    tnd_memory_estimate_free(&self->estimate);
}
