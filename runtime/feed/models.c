/*  runtime/feed/models.c - a step plugin and its models. */
#include "runtime/feed/models.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/checkpoint/store.h"
#include "runtime/feed/model_file.h"
#include "runtime/option/plugin.h"

struct tnd_models {
    _Atomic uint32_t references;
    tnd_models_config_t config;
    char *plugin, *options, *keep_dir;
    _Atomic uint64_t forget_below; /* checkpoints of fewer steps may be removed, but for this: */
    _Atomic uint64_t forget_not;
    void *library;
    const tnd_step_ops_t *ops;
    tnd_task_t open, step, evaluate, load, keep;
    void **models; /* those of the replicas carried here; NULL: not open */
};

static void **model_at(const tnd_models_t *self, uint32_t replica)
{
    assert(replica - self->config.first < self->config.count);
    return &self->models[(replica - self->config.first) / self->config.accumulate];
}

static void **model_of(const tnd_models_t *self, const tnd_replica_t *replica)
{
    return model_at(self, tnd_replica_id(replica));
}

static tnd_status_t call_open(void *context, tnd_replica_t *replica)
{
    tnd_models_t *self = context;
    return self->ops->open(model_of(self, replica), self->options, replica);
}

static tnd_status_t call_start(void *context, tnd_replica_t *replica)
{
    tnd_models_t *self = context;
    return self->ops->start(*model_of(self, replica), replica);
}

static tnd_status_t call_step(void *context, tnd_replica_t *replica)
{
    tnd_models_t *self = context;
    return self->ops->step(*model_of(self, replica), replica);
}

static tnd_status_t call_apply(void *context, tnd_replica_t *replica)
{
    tnd_models_t *self = context;
    return self->ops->apply(*model_of(self, replica), replica);
}

static tnd_status_t call_evaluate(void *context, tnd_replica_t *replica)
{
    tnd_models_t *self = context;
    return self->ops->evaluate(*model_of(self, replica), replica);
}

/* --- checkpoints ------------------------------------------------------------------------------ */

static tnd_status_t load_part(tnd_models_t *self, tnd_replica_t *replica, tnd_error_t *error)
{
    char path[TND_STORE_PATH];
    if (self->ops->load == NULL)
        return tnd_fail(error, "step plugin %s has no `load`: no run can go on with its models",
                        self->plugin);
    TND_TRY(tnd_store_check(self->config.resume, tnd_replica_id(replica), path, error));
    if (self->ops->load(*model_of(self, replica), path) != TND_OK)
        return tnd_fail(error, "step plugin %s could not load its model from %s", self->plugin,
                        path);
    return TND_OK;
}

static tnd_status_t call_load(void *context, tnd_replica_t *replica)
{
    tnd_error_t error;
    tnd_status_t status = load_part(context, replica, &error);
    if (status != TND_OK)
        tnd_replica_error(replica, error.text);
    return status;
}

static void forget_old(const tnd_models_t *self)
{
    /* In this order: what is below a bound was not the best one when the bound was set, or still is. */
    uint64_t below = atomic_load(&self->forget_below), best = atomic_load(&self->forget_not);
    tnd_store_forget_below(self->keep_dir, below, best);
}

/*  Lets the plugin save a model, and says why it could not. */
static tnd_status_t save_to(const tnd_models_t *self, void *model, const char *file,
                            tnd_error_t *error)
{
    errno = 0;
    if (self->ops->save(model, file) == TND_OK)
        return TND_OK;
    int reason = errno;
    return tnd_fail(error, "step plugin %s could not save its model to %s%s%s", self->plugin, file,
                    reason != 0 ? ": " : "", reason != 0 ? strerror(reason) : "");
}

tnd_status_t tnd_models_keep(tnd_models_t *self, uint64_t step, uint32_t replica, tnd_saved_t *part,
                             tnd_error_t *error)
{
    char path[TND_STORE_PATH];
    assert(self->keep_dir != NULL);
    if (replica == self->config.first)
        forget_old(self);
    TND_TRY(tnd_store_begin(self->keep_dir, step, error));
    tnd_store_draft_path(path, self->keep_dir, step, replica);
    if (save_to(self, *model_at(self, replica), path, error) == TND_OK)
        return tnd_store_seal(self->keep_dir, step, replica, part, error);
    unlink(path);
    return TND_FAILED;
}

static tnd_status_t call_keep(void *context, tnd_replica_t *replica)
{
    tnd_error_t error;
    tnd_report_t *report = replica->report;
    bool kept = tnd_models_keep(context, tnd_replica_step(replica) + 1, replica->id, &report->part,
                                &error) == TND_OK;
    report->kept = kept ? TND_KEPT : TND_KEPT_NOT;
    if (!kept)
        snprintf(report->not_kept_why, sizeof report->not_kept_why, "%.255s", error.text);
    return TND_OK;
}

void tnd_models_forget(tnd_models_t *self, uint64_t below, uint64_t best)
{
    atomic_store(&self->forget_not, best);
    atomic_store(&self->forget_below, below);
}

/* --- finding it ------------------------------------------------------------------------------- */

static tnd_status_t load(tnd_models_t *self, bool stays, tnd_error_t *error)
{
    const void *table = NULL;
    TND_TRY(tnd_plugin_load(&self->library, &table, self->config.folder, "step", self->plugin,
                            stays, error));
    self->ops = table;
    if (self->ops->open == NULL || self->ops->step == NULL || self->ops->close == NULL)
        return tnd_fail(error, "step plugin %s: its table lacks open, step or close", self->plugin);
    return TND_OK;
}

tnd_status_t tnd_models_new(tnd_models_t **self_p, const tnd_models_config_t *config,
                            tnd_error_t *error)
{
    tnd_models_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->models = tnd_allocate_zeroed(config->count, sizeof *self->models);
    self->plugin = tnd_copy_string(config->plugin);
    self->options = tnd_copy_string(config->options);
    if (config->keep != NULL)
        self->keep_dir = tnd_copy_string(config->keep);
    self->references = 1;
    self->config = *config;
    self->config.accumulate += config->accumulate == 0;
    self->config.plugin = self->plugin;
    tnd_status_t status = load(self, false, error);
    self->config.folder = NULL;
    if (status != TND_OK) {
        tnd_models_drop(&self);
        return status;
    }
    self->open = (tnd_task_t){.step = call_open, .context = self};
    self->step = (tnd_task_t){.step = call_step,
                              .apply = self->ops->apply != NULL ? call_apply : NULL,
                              .start = self->ops->start != NULL ? call_start : NULL,
                              .context = self};
    self->load = (tnd_task_t){.step = call_load, .context = self};
    self->keep = (tnd_task_t){.step = call_keep, .context = self};
    self->evaluate = (tnd_task_t){.step = call_evaluate, .context = self};
    *self_p = self;
    return TND_OK;
}

tnd_status_t tnd_models_check(const tnd_models_config_t *config, bool evaluates, tnd_error_t *error)
{
    tnd_models_t self = {.config = *config, .plugin = (char *)(uintptr_t)config->plugin};
    /* Some plugins take seconds to load; it is needed again at once. */
    tnd_status_t status = load(&self, true, error);
    if (status == TND_OK && evaluates && self.ops->evaluate == NULL)
        status = tnd_fail(error, "step plugin %s has no `evaluate`", config->plugin);
    tnd_plugin_close(&self.library);
    return status;
}

tnd_models_t *tnd_models_hold(tnd_models_t *self)
{
    atomic_fetch_add(&self->references, 1);
    return self;
}

void tnd_models_drop(tnd_models_t **self_p)
{
    tnd_models_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL || atomic_fetch_sub(&self->references, 1) != 1)
        return;
    for (uint32_t i = 0; i < self->config.count; i++)
        if (self->models[i] != NULL)
            self->ops->close(self->models[i]);
    tnd_plugin_close(&self->library);
    free(self->models);
    free(self->plugin);
    free(self->options);
    free(self->keep_dir);
    free(self);
}

const tnd_task_t *tnd_models_open_task(tnd_models_t *self)
{
    return &self->open;
}

const tnd_task_t *tnd_models_step_task(tnd_models_t *self)
{
    return &self->step;
}

const tnd_task_t *tnd_models_evaluate_task(tnd_models_t *self)
{
    return self->ops->evaluate != NULL ? &self->evaluate : NULL;
}

const tnd_task_t *tnd_models_load_task(tnd_models_t *self)
{
    return self->config.resume != NULL ? &self->load : NULL;
}

const tnd_task_t *tnd_models_keep_task(tnd_models_t *self)
{
    return self->keep_dir != NULL && self->ops->save != NULL ? &self->keep : NULL;
}

bool tnd_models_cover(const tnd_models_t *self, uint32_t first, uint32_t count)
{
    return first >= self->config.first && first + count <= self->config.first + self->config.count;
}

const char *tnd_models_plugin(const tnd_models_t *self)
{
    return self->plugin;
}

/* --- what it saves ---------------------------------------------------------------------------- */

bool tnd_models_can_save(const tnd_models_t *self)
{
    return self->ops->save != NULL;
}

static tnd_status_t write_first(void *context, const char *file, tnd_error_t *error)
{
    const tnd_models_t *self = context;
    return save_to(self, self->models[0], file, error);
}

tnd_status_t tnd_models_save(tnd_models_t *self, const char *place, char text[33],
                             tnd_error_t *error)
{
    assert(self->config.first == 0);
    if (self->ops->save == NULL) {
        assert(place == NULL);
        strcpy(text, "-");
        return TND_OK;
    }
    return tnd_model_file_save(write_first, self, place, text, error);
}
