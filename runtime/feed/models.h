/*  runtime/feed/models.h - a step plugin and its models.
 *
 *  There is a model for each logical replica, or one for `accumulate` consecutive ones.
 *
 *  A plugin is NAME.so, which exports `const tnd_step_ops_t tnd_step_NAME`; runtime/option/plugin.h
 *  lists the folders that are searched.
 *
 *  Ownership: reference-counted; the last drop closes the models.
 *  Threads: new and the functions of tasks as <tundish/tundish.h> says of plugins; hold and drop on
 *  any. */
#ifndef TND_RUNTIME_FEED_MODELS_H
#define TND_RUNTIME_FEED_MODELS_H

#include "runtime/feed/device_workers.h"

typedef struct tnd_models tnd_models_t;

typedef struct {
    const char *plugin;         /* NAME */
    const char *options;        /* text, for `open` */
    const char *folder;         /* searched first; NULL: none */
    uint32_t first, count;      /* replicas carried here */
    uint32_t accumulate;        /* so many share a model, and divide `count`; 0: as 1 */
    const char *keep;           /* the folder of checkpoints; NULL: none */
    const tnd_resume_t *resume; /* the checkpoint to load; the caller's; NULL: none */
} tnd_models_config_t;

/*  Loads the plugin and opens no model yet. Errors: TND_FAILED if it is not found, cannot be
 *  loaded, lacks its symbol or has another version; the text lists the searched folders. */
tnd_status_t tnd_models_new(tnd_models_t **self_p, const tnd_models_config_t *config,
                            tnd_error_t *error) TND_CHECKED;
/*  Whether the plugin can be loaded and, if it is to evaluate, has `evaluate`. It stays loaded. */
tnd_status_t tnd_models_check(const tnd_models_config_t *config, bool evaluates,
                              tnd_error_t *error) TND_CHECKED;
tnd_models_t *tnd_models_hold(tnd_models_t *self);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_models_drop(tnd_models_t **self_p);

/*  Tasks for device workers with the same `accumulate`: open the models, train them, evaluate them.
 *  They are valid as long as the models. */
const tnd_task_t *tnd_models_open_task(tnd_models_t *self);
const tnd_task_t *tnd_models_step_task(tnd_models_t *self);
/*  NULL if the plugin has no `evaluate`. */
const tnd_task_t *tnd_models_evaluate_task(tnd_models_t *self);
/*  Loads the part of each model's first replica, of the checkpoint that the run resumes from; NULL
 *  without one. */
const tnd_task_t *tnd_models_load_task(tnd_models_t *self);
/*  Saves each model as of the step. A failure to write is in the report of its first replica and
 *  does not fail the step. NULL without a folder of checkpoints or a `save` of the plugin. */
const tnd_task_t *tnd_models_keep_task(tnd_models_t *self);
/*  Saves the model whose first replica that is, after the last of `step` steps, while the device
 *  workers are idle. */
tnd_status_t tnd_models_keep(tnd_models_t *self, uint64_t step, uint32_t replica, tnd_saved_t *part,
                             tnd_error_t *error) TND_CHECKED;
/*  Checkpoints of fewer than `below` steps, but for that of `best`, are no longer needed. One thread. */
void tnd_models_forget(tnd_models_t *self, uint64_t below, uint64_t best);
/*  Whether each of these replicas has a model. */
bool tnd_models_cover(const tnd_models_t *self, uint32_t first, uint32_t count);
const char *tnd_models_plugin(const tnd_models_t *self);

/*  Whether the plugin has a `save`. */
bool tnd_models_can_save(const tnd_models_t *self);
/*  Saves the model of replica 0 (all are equal) and sets `text` to XXH3-128 of the file, 32 hex
 *  digits, or "-" if the plugin has no `save`. `place`: the file, written whole or not at all;
 *  NULL: only hash, in /dev/shm or, if that fails, $TMPDIR. Errors: TND_FAILED if it cannot be
 *  written or read. */
tnd_status_t tnd_models_save(tnd_models_t *self, const char *place, char text[33],
                             tnd_error_t *error) TND_CHECKED;

#endif
