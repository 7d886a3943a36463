/*  runtime/observe/run_page.c - what a process knows about its run, in shared memory. */
#include "runtime/observe/run_page.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/word.h"
#include "runtime/core/leader.h"
#include "runtime/notes/page_text.h"
#include "runtime/observe/statistics.h"
#include "runtime/plan/placement.h"
#include "runtime/text/printable.h"

/*  Parts begin at multiples of this, so that no two writers share a cache line. */
enum { PART_BYTES = 4096 };

_Static_assert(sizeof(tnd_run_page_t) <= PART_BYTES, "the run page fills one page");
_Static_assert(sizeof(tnd_history_t) == 2 * PART_BYTES, "a history fills two pages");
_Static_assert(sizeof(tnd_log_record_t) <= 288, "log records are small");

static size_t part(size_t count, size_t bytes)
{
    return (count * bytes + PART_BYTES - 1) / PART_BYTES * PART_BYTES;
}

tnd_run_record_t tnd_run_record_at(void *memory, const tnd_pages_shape_t *shape)
{
    char *at = memory;
    tnd_run_record_t self = {.shape = *shape, .page = memory};
    at += part(1, sizeof *self.page);
    self.hosts = (tnd_host_record_t *)(void *)at;
    at += part(shape->hosts, sizeof *self.hosts);
    self.instances = (tnd_instance_record_t *)(void *)at;
    at += part(shape->hosts > 0 ? shape->actors : 0, sizeof *self.instances);
    self.edges = (tnd_edge_record_t *)(void *)at;
    at += part(shape->edges, sizeof *self.edges);
    self.log = (tnd_log_record_t *)(void *)at;
    at += part(TND_LOG_RECORDS, sizeof *self.log);
    self.notes = shape->notes > 0 ? (tnd_run_notes_t *)(void *)at : NULL;
    at += part(shape->notes, sizeof *self.notes);
    self.memory = (tnd_memory_record_t *)(void *)at;
    at += part(1, sizeof *self.memory);
    self.histories = (tnd_history_t *)(void *)at;
    at += part(shape->histories, sizeof *self.histories);
    self.details = (tnd_actor_detail_t *)(void *)at;
    at += part(shape->details, sizeof *self.details);
    self.timings = (tnd_timing_t *)(void *)at;
    at += part(shape->timings, sizeof *self.timings);
    self.rings = (tnd_event_ring_t *)(void *)at;
    return self;
}

size_t tnd_run_record_bytes(const tnd_pages_shape_t *shape)
{
    return part(1, sizeof(tnd_run_page_t)) + part(shape->hosts, sizeof(tnd_host_record_t)) +
           part(shape->hosts > 0 ? shape->actors : 0, sizeof(tnd_instance_record_t)) +
           part(shape->edges, sizeof(tnd_edge_record_t)) +
           part(TND_LOG_RECORDS, sizeof(tnd_log_record_t)) +
           part(shape->notes, sizeof(tnd_run_notes_t)) + part(1, sizeof(tnd_memory_record_t)) +
           part(shape->histories, sizeof(tnd_history_t)) +
           part(shape->details, sizeof(tnd_actor_detail_t)) +
           part(shape->timings, sizeof(tnd_timing_t)) +
           part(shape->rings, sizeof(tnd_event_ring_t));
}

/*  Replicas that follow each other on one device share its thread. */
static uint32_t count_devices(const tnd_plan_t *plan, const tnd_instance_t *instance)
{
    const tnd_chain_plan_t *chain = &plan->chains[instance->chain];
    const char *const *names = plan->hosts[instance->host].devices;
    const char *last = NULL;
    uint32_t count = 0;
    for (uint32_t r = 0; r < instance->replica_count; r++) {
        const char *name = names[chain->carriers[instance->replica_first + r].device];
        count += last == NULL || strcmp(last, name) != 0;
        last = name;
    }
    return count < TND_PAGE_DEVICES ? count : TND_PAGE_DEVICES;
}

tnd_pages_shape_t tnd_run_record_shape(const tnd_plan_t *plan, uint32_t host)
{
    tnd_pages_shape_t shape = {
        .actors = plan->instance_count, .hosts = plan->host_count, .edges = plan->edge_count};
    shape.notes = host == 0 ? TND_RUN_NOTES_KINDS : 0;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        if (plan->instances[i].host != host)
            continue;
        shape.histories++;
        shape.rings += 1 + count_devices(plan, &plan->instances[i]);
    }
    shape.details = shape.histories;
    shape.timings = shape.rings;
    return shape;
}

static void fill_host(tnd_host_record_t *record, const tnd_plan_t *plan,
                      const tnd_plan_host_t *host)
{
    snprintf(record->name, sizeof record->name, "%s", host->name);
    snprintf(record->address, sizeof record->address, "%s", host->address);
    snprintf(record->pool, sizeof record->pool, "%s", host->pool != NULL ? host->pool : "");
    record->memory_bytes = host->memory;
    record->parent = host->isolated ? host->parent : UINT32_MAX;
    record->isolated = host->isolated;
    record->spare = host->spare;
    record->restarts_max = (uint32_t)plan->restarts.max;
}

static void fill_instance(tnd_instance_record_t *record, const tnd_instance_t *instance)
{
    snprintf(record->name, sizeof record->name, "%s", instance->name);
    snprintf(record->kind, sizeof record->kind, "%s", instance->kind->table.name);
    snprintf(record->actor, sizeof record->actor, "%s", instance->actor);
    record->host = instance->host;
    record->chain = instance->chain;
    record->lane = instance->lane;
    record->number = instance->number;
    record->role = (uint32_t)instance->kind->role;
    record->history = UINT32_MAX;
}

void tnd_run_record_fill(const tnd_run_record_t *self, const tnd_plan_t *plan, uint32_t host,
                         uint64_t now)
{
    tnd_run_page_t *page = self->page;
    page->host = host;
    page->lanes = plan->lanes;
    page->seed = plan->seed;
    page->chain_count = plan->chain_count < TND_PAGE_CHAINS ? plan->chain_count : TND_PAGE_CHAINS;
    for (uint32_t c = 0; c < page->chain_count; c++)
        snprintf(page->chains[c], sizeof page->chains[c], "%s",
                 plan->chains[c].feeder != NULL ? plan->chains[c].feeder : "");
    if (plan->checkpoint != NULL)
        snprintf(page->checkpoints, sizeof page->checkpoints, "%s", plan->checkpoint->dir);
    tnd_word_write(&page->started_ns, now);
    for (uint32_t h = 0; h < self->shape.hosts; h++)
        fill_host(&self->hosts[h], plan, &plan->hosts[h]);
    for (uint32_t i = 0, history = 0, ring = 0; i < self->shape.actors; i++) {
        tnd_instance_record_t *record = &self->instances[i];
        fill_instance(record, &plan->instances[i]);
        if (plan->instances[i].host != host)
            continue;
        record->history = history++;
        record->ring = ring;
        record->ring_count = 1 + count_devices(plan, &plan->instances[i]);
        ring += record->ring_count;
    }
    for (uint32_t e = 0; e < self->shape.edges; e++) {
        self->edges[e].from = plan->edges[e].from;
        self->edges[e].to = plan->edges[e].to;
        self->edges[e].transport = (uint32_t)plan->edges[e].transport;
    }
}

const tnd_actor_detail_t *tnd_run_record_detail(const tnd_run_record_t *self, uint32_t instance)
{
    bool known = self->details != NULL && self->shape.hosts > 0 && instance < self->shape.actors;
    uint32_t number = known ? self->instances[instance].history : UINT32_MAX;
    return number < self->shape.details ? &self->details[number] : NULL;
}

const tnd_timing_t *tnd_run_record_timing(const tnd_run_record_t *self, uint32_t instance,
                                          uint32_t device)
{
    if (self->timings == NULL || self->shape.hosts == 0 || instance >= self->shape.actors)
        return NULL;
    const tnd_instance_record_t *record = &self->instances[instance];
    bool known = device < record->ring_count && record->ring + device < self->shape.timings;
    return known ? &self->timings[record->ring + device] : NULL;
}

void tnd_run_record_memory(const tnd_run_record_t *self, const tnd_memory_estimate_t *estimate)
{
    tnd_memory_record_t *memory = self->memory;
    uint32_t count = estimate->count < TND_MEMORY_TERMS ? estimate->count : TND_MEMORY_TERMS;
    atomic_store_explicit(&memory->count, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    memory->bytes = estimate->bytes;
    for (uint32_t t = 0; t < count; t++) {
        tnd_memory_record_term_t *term = &memory->terms[t];
        snprintf(term->actor, sizeof term->actor, "%s", estimate->items[t].who);
        snprintf(term->what, sizeof term->what, "%s", estimate->items[t].what);
        term->bytes = estimate->items[t].bytes;
    }
    atomic_store_explicit(&memory->count, count, memory_order_release);
}

void tnd_run_record_presence(tnd_host_record_t *host, tnd_presence_t presence, uint64_t now)
{
    if (tnd_word_read(&host->presence) == presence)
        return;
    tnd_word_write(&host->since_ns, now);
    tnd_word_write(&host->presence, presence);
}

void tnd_run_record_log(const tnd_run_record_t *self, unsigned level, const char *host,
                        const char *actor, const char *text, uint64_t now)
{
    uint64_t number = tnd_word_read(&self->page->log_next);
    tnd_log_record_t *record = &self->log[number % TND_LOG_RECORDS];
    uint64_t words[TND_LOG_WORDS] = {0};
    char line[sizeof words];
    snprintf(line, sizeof line, "%.40s %.48s %s", host, actor, text);
    memcpy(words, line, strlen(line));
    tnd_word_write(&record->after, 0);
    /* A reader that sees a new word also sees that the record is not complete. */
    atomic_store_explicit(&record->at_ns, now, memory_order_release);
    atomic_store_explicit(&record->level, level, memory_order_release);
    for (unsigned w = 0; w < TND_LOG_WORDS; w++)
        atomic_store_explicit(&record->text[w], words[w], memory_order_release);
    tnd_word_write(&record->before, number + 1);
    atomic_store_explicit(&record->after, number + 1, memory_order_release);
    atomic_store_explicit(&self->page->log_next, number + 1, memory_order_release);
}

bool tnd_run_record_log_text(const tnd_log_record_t *record, char *text, size_t room)
{
    uint64_t words[TND_LOG_WORDS];
    char line[sizeof words];
    if (record->after == 0 || record->before != record->after)
        return false;
    for (unsigned w = 0; w < TND_LOG_WORDS; w++)
        words[w] = tnd_word_read(&record->text[w]);
    memcpy(line, words, sizeof line);
    (void)tnd_printable(line, sizeof line);
    snprintf(text, room, "%s", line);
    return true;
}

void tnd_run_page_metric_name(const tnd_run_page_t *page, uint64_t number, char name[32])
{
    tnd_page_text_read(page->metric_names[number], 4, name);
}

bool tnd_run_page_paused(const tnd_run_page_t *self, char by[32])
{
    tnd_page_text_read(self->paused_by, 4, by);
    return atomic_load_explicit(&self->paused_ns, memory_order_relaxed) != 0;
}

void tnd_run_record_bound(const tnd_run_record_t *copy)
{
    if (copy->page->outcome > TND_OUTCOMES)
        copy->page->outcome = 0;
    tnd_run_page_t *page = copy->page;
    if (page->state > TND_LEADER_CORE_FAILED + 1)
        page->state = 0;
    if (page->control >= TND_CONTROL_STATES)
        page->control = TND_CONTROL_NONE;
    if (page->metric_count > 4)
        page->metric_count = 4;
    page->chain_count = page->chain_count < TND_PAGE_CHAINS ? page->chain_count : TND_PAGE_CHAINS;
    for (unsigned c = 0; c < TND_PAGE_CHAINS; c++)
        (void)tnd_printable(page->chains[c], sizeof page->chains[c]);
    (void)tnd_printable(page->checkpoints, sizeof page->checkpoints);
    (void)tnd_printable(page->metrics_path, sizeof page->metrics_path);
    if (page->chain >= page->chain_count)
        page->chain = 0;
    if (page->host >= copy->shape.hosts)
        page->host = 0;
    for (uint32_t h = 0; h < copy->shape.hosts; h++) {
        tnd_host_record_t *host = &copy->hosts[h];
        (void)tnd_printable(host->name, sizeof host->name);
        (void)tnd_printable(host->address, sizeof host->address);
        (void)tnd_printable(host->pool, sizeof host->pool);
        if (host->presence >= TND_PRESENCES)
            host->presence = TND_PRESENCE_UNKNOWN;
        if (host->parent >= copy->shape.hosts)
            host->parent = UINT32_MAX;
    }
    for (uint32_t i = 0; copy->shape.hosts > 0 && i < copy->shape.actors; i++) {
        tnd_instance_record_t *instance = &copy->instances[i];
        (void)tnd_printable(instance->name, sizeof instance->name);
        (void)tnd_printable(instance->kind, sizeof instance->kind);
        (void)tnd_printable(instance->actor, sizeof instance->actor);
        if (instance->host >= copy->shape.hosts)
            instance->host = 0;
        if (instance->history >= copy->shape.histories)
            instance->history = UINT32_MAX;
        if (instance->ring > copy->shape.rings ||
            instance->ring_count > copy->shape.rings - instance->ring)
            instance->ring = instance->ring_count = 0;
    }
    if (copy->memory->count > TND_MEMORY_TERMS)
        copy->memory->count = TND_MEMORY_TERMS;
    for (unsigned t = 0; t < TND_MEMORY_TERMS; t++) {
        tnd_memory_record_term_t *term = &copy->memory->terms[t];
        (void)tnd_printable(term->actor, sizeof term->actor);
        (void)tnd_printable(term->what, sizeof term->what);
    }
    for (uint32_t d = 0; d < copy->shape.details; d++)
        tnd_actor_detail_bound(&copy->details[d]);
    for (uint32_t e = 0; e < copy->shape.edges; e++) {
        tnd_edge_record_t *edge = &copy->edges[e];
        bool exists = edge->from < copy->shape.actors && edge->to < copy->shape.actors;
        if (!exists)
            edge->from = edge->to = 0;
        if (edge->transport > TND_TRANSPORT_TCP)
            edge->transport = TND_TRANSPORT_INPROC;
    }
}
