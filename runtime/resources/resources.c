/*  runtime/resources/resources.c - what a host has before a run begins. */
#include "runtime/resources/resources.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/allocation.h"
#include "runtime/data/mapping.h"
#include "runtime/interface/kind.h"

void tnd_resources_list(tnd_resources_t *self, const tnd_plan_t *plan, uint32_t host)
{
    *self = (tnd_resources_t){.plan = plan, .host = host};
    self->data = tnd_allocate_zeroed(plan->instance_count + 1, sizeof *self->data);
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->host != host || tnd_kind_of(instance->kind)->facts == NULL)
            continue;
        bool known = false;
        for (uint32_t s = 0; s < self->count; s++)
            known = known || strcmp(self->data[s].instance->actor, instance->actor) == 0;
        if (known)
            continue;
        self->data[self->count].stream.chain = instance->chain;
        self->data[self->count++].instance = instance;
    }
}

typedef struct {
    const tnd_instance_t *instance;
    const tnd_part_t *source;
    tnd_diagnostics_t *diagnostics;
} search_t;

/*  Reports a path that does not exist; the source expands patterns. */
static void look_for(void *context, const char *path)
{
    const search_t *self = context;
    struct stat found;
    tnd_error_t error;
    if (path == NULL || strpbrk(path, "*?[{$") != NULL || stat(path, &found) == 0 ||
        errno != ENOENT)
        return;
    (void)tnd_mapping_missing(path, &error);
    error.about = self->source->value;
    tnd_placement_report(self->instance, TND_T061_SOURCE, &error, self->diagnostics);
}

static void visit_all(const tnd_strings_t *paths, tnd_resources_visit_fn *visit, void *context)
{
    for (size_t i = 0; i < paths->count; i++)
        visit(context, paths->items[i]);
}

void tnd_resources_paths(const tnd_part_t *source, tnd_resources_visit_fn *visit, void *context)
{
    for (size_t i = 0; source->options != NULL && i < source->table->option_count; i++) {
        const tnd_option_t *option = &source->table->options[i];
        const void *field = (const char *)source->options + option->offset;
        const tnd_pairs_t *pairs = field;
        bool several = option->type == TND_OPTION_PATHS;
        if (option->type != TND_OPTION_PATH && !several)
            continue;
        bool any = tnd_option_is_any(option);
        for (size_t j = 0; any && j < pairs->count; j++) {
            if (several)
                visit_all(&pairs->items[j].texts, visit, context);
            else
                visit(context, pairs->items[j].text);
        }
        if (!any && several)
            visit_all(field, visit, context);
        else if (!any)
            visit(context, *(const char *const *)field);
    }
}

/*  Reports missing files of a source.  If lanes share files, other hosts may have them. */
static void look_for_files(const tnd_instance_t *instance, uint32_t lanes,
                           tnd_diagnostics_t *diagnostics)
{
    enum { BY_FILE = 1, BY_SOURCE };
    const int *shard =
        tnd_options_field(&instance->kind->table, instance->options, "shard", TND_OPTION_ENUM);
    if (lanes > 1 && shard != NULL && (*shard == BY_FILE || *shard == BY_SOURCE))
        return;
    const tnd_part_t *source =
        tnd_options_field(&instance->kind->table, instance->options, "source", TND_OPTION_PART);
    search_t search = {instance, source, diagnostics};
    if (source != NULL)
        tnd_resources_paths(source, look_for, &search);
}

bool tnd_resources_look(const tnd_resources_t *self, tnd_diagnostics_t *diagnostics)
{
    size_t before = tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR);
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *instance = &self->plan->instances[i];
        const tnd_kind_t *kind = tnd_kind_of(instance->kind);
        /* For options with errors only the files are checked. */
        if (instance->host == self->host && kind->check != NULL &&
            (instance->written == NULL || instance->written->options != NULL))
            kind->check(instance, self->plan, diagnostics);
    }
    for (uint32_t s = 0; s < self->count; s++)
        look_for_files(self->data[s].instance, self->plan->lanes, diagnostics);
    return tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR) == before;
}

/*  The data of one actor while it is opened. */
typedef struct {
    const tnd_plan_t *plan;
    tnd_guarded_call_t *call;
    tnd_resources_data_t *data;
    tnd_error_t error;
    bool apart; /* on a thread of its own */
    pthread_t thread;
} opening_t;

static void *open_one(void *context)
{
    opening_t *self = context;
    tnd_resources_data_t *data = self->data;
    tnd_guarded_call_enter(self->call, data->instance, TND_T061_SOURCE);
    data->open = tnd_kind_of(data->instance->kind)
                     ->facts(self->plan, data->instance, self->call, &data->stream, &data->opened,
                             &self->error) == TND_OK;
    tnd_guarded_call_leave(self->call);
    return NULL;
}

/*  After all sources are open, so that a mistake elsewhere costs no pass over the data. */
static bool adapt_all(const tnd_resources_t *self, tnd_guarded_call_t *call,
                      tnd_diagnostics_t *diagnostics)
{
    bool good = true;
    for (uint32_t s = 0; s < self->count && good; s++) {
        tnd_resources_data_t *data = &self->data[s];
        const tnd_instance_t *culprit = data->instance;
        const tnd_kind_t *kind = tnd_kind_of(culprit->kind);
        tnd_error_t error;
        if (kind->adapt == NULL)
            continue;
        tnd_guarded_call_enter(call, culprit, TND_T061_SOURCE);
        good = kind->adapt(self->plan, culprit, call, data->opened, &data->stream, &culprit,
                           &error) == TND_OK;
        tnd_guarded_call_leave(call);
        if (!good)
            tnd_placement_report(culprit,
                                 culprit == data->instance ? TND_T061_SOURCE : TND_T062_OPERATION,
                                 &error, diagnostics);
    }
    return good;
}

/*  Concurrently, because opening compressed files may take long. */
bool tnd_resources_open(tnd_resources_t *self, tnd_guarded_call_t *call,
                        tnd_diagnostics_t *diagnostics)
{
    bool good = tnd_resources_look(self, diagnostics);
    opening_t *openings = tnd_allocate_zeroed(self->count + 1, sizeof *openings);
    for (uint32_t s = self->count; s > 0; s--) {
        opening_t *opening = &openings[s - 1];
        *opening = (opening_t){.plan = self->plan, .call = call, .data = &self->data[s - 1]};
        opening->apart = s > 1 && pthread_create(&opening->thread, NULL, open_one, opening) == 0;
        if (!opening->apart)
            (void)open_one(opening);
    }
    for (uint32_t s = 0; s < self->count; s++) {
        opening_t *opening = &openings[s];
        if (opening->apart)
            pthread_join(opening->thread, NULL);
        const tnd_instance_t *instance = opening->data->instance;
        if (!opening->data->open)
            tnd_placement_report(instance, TND_T061_SOURCE, &opening->error, diagnostics);
        good = good && opening->data->open;
        if (opening->data->open && instance->written != NULL)
            good = tnd_topology_check_source(instance->written, opening->data->stream.own.caps,
                                             self->plan->lanes, diagnostics) &&
                   good;
    }
    free(openings);
    return good && adapt_all(self, call, diagnostics);
}

bool tnd_resources_table(const tnd_resources_t *self, uint32_t chain, tnd_guarded_call_t *call,
                         tnd_data_table_t *table, tnd_diagnostics_t *diagnostics)
{
    bool good = true;
    for (uint32_t s = 0; s < self->count; s++) {
        const tnd_resources_data_t *data = &self->data[s];
        const tnd_instance_t *instance = data->instance;
        tnd_error_t error;
        if (!data->open || instance->chain != chain)
            continue;
        tnd_guarded_call_enter(call, instance, TND_T061_SOURCE);
        bool listed =
            tnd_kind_of(instance->kind)->list(self->plan, instance, data->opened, table, &error) ==
            TND_OK;
        tnd_guarded_call_leave(call);
        if (!listed)
            tnd_placement_report(instance, TND_T061_SOURCE, &error, diagnostics);
        good = good && listed;
    }
    tnd_data_table_settle(table);
    return good;
}

void *tnd_resources_opened(const tnd_resources_t *self, const tnd_instance_t *instance)
{
    for (uint32_t s = 0; s < self->count; s++)
        if (strcmp(self->data[s].instance->actor, instance->actor) == 0)
            return self->data[s].opened;
    return NULL;
}

void tnd_resources_close(tnd_resources_t *self)
{
    for (uint32_t s = 0; s < self->count; s++)
        if (self->data[s].open)
            tnd_kind_of(self->data[s].instance->kind)
                ->unshare(self->data[s].instance, self->data[s].opened);
    for (uint32_t s = 0; s < self->count; s++)
        tnd_adapted_free(&self->data[s].stream.adapted);
    free(self->data);
    *self = (tnd_resources_t){0};
}

/*  An instance of the first actor of a chain. */
static const tnd_instance_t *first_of(const tnd_plan_t *plan, uint32_t chain)
{
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].chain == chain && plan->instances[i].kind->role == TND_ROLE_READER)
            return &plan->instances[i];
    return NULL;
}

void tnd_resources_budget(const tnd_plan_t *plan, tnd_stream_t *stream)
{
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        const tnd_kind_t *kind = tnd_kind_of(instance->kind);
        if (instance->chain != stream->chain || kind->budget == NULL)
            continue;
        kind->budget(plan, instance, stream);
        return;
    }
}

bool tnd_resources_derive(const tnd_plan_t *plan, tnd_guarded_call_t *call, tnd_stream_t *stream,
                          tnd_diagnostics_t *diagnostics)
{
    tnd_error_t error;
    stream->lanes = plan->lanes;
    stream->seed = plan->seed;
    stream->graph[0] = plan->fingerprint[0];
    stream->graph[1] = plan->fingerprint[1];
    stream->read.rows_max = 1;
    stream->read.growth_max = stream->read.growth_usual = 1;
    stream->epochs = 1;
    stream->fed = stream->read;
    for (const tnd_instance_t *at = first_of(plan, stream->chain); at != NULL;
         at = tnd_plan_next(plan, at)) {
        const tnd_kind_t *kind = tnd_kind_of(at->kind);
        tnd_guarded_call_enter(call, at, TND_T062_OPERATION);
        tnd_status_t status =
            kind->derive == NULL ? TND_OK : kind->derive(plan, at, call, stream, &error);
        tnd_guarded_call_leave(call);
        if (status == TND_OK)
            continue;
        tnd_placement_report(at, TND_T062_OPERATION, &error, diagnostics);
        return false;
    }
    tnd_resources_budget(plan, stream);
    bool fits = true;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        const tnd_kind_t *kind = tnd_kind_of(instance->kind);
        if (instance->chain != stream->chain || kind->fits == NULL ||
            kind->fits(instance, stream, &error) == TND_OK)
            continue;
        tnd_placement_report(instance, TND_T062_OPERATION, &error, diagnostics);
        fits = false;
    }
    return fits;
}
