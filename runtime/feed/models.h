/*  runtime/feed/models.h - a step plugin, and one model of it a logical replica.
 *
 *  A plugin is NAME.so, which exports `const tnd_step_ops_t tnd_step_NAME`; runtime/option/plugin.h
 * says where it is looked for.
 *
 *  Threads: new and the tasks' functions as <tundish/tundish.h> says of plugins; hold and drop on
 *  any.  Models are closed by the last drop.
 */
#ifndef TND_RUNTIME_FEED_MODELS_H
#define TND_RUNTIME_FEED_MODELS_H

#include "runtime/feed/device_workers.h"

typedef struct tnd_models tnd_models_t;

typedef struct {
    const char *plugin;    /* NAME */
    const char *options;   /* text, for `open` */
    const char *folder;    /* looked at first; NULL: none */
    uint32_t first, count; /* replicas carried here */
    const char *keep;      /* where checkpoints are kept; NULL: nowhere */
    const tnd_resume_t
        *resume; /* where models are loaded from, kept by the caller; NULL: nowhere */
} tnd_models_config_t;

/*  Loads the plugin; no model is open yet.  TND_FAILED: it is nowhere, cannot be loaded, lacks its
 *  symbol or is of another version; the text says where it was looked for.
 */
tnd_status_t tnd_models_new(tnd_models_t **self_p, const tnd_models_config_t *config,
                            tnd_error_t *error) TND_CHECKED;
/*  Whether the plugin can be loaded, and has `evaluate` if it is to evaluate.  It stays loaded. */
tnd_status_t tnd_models_check(const tnd_models_config_t *config, bool evaluates,
                              tnd_error_t *error) TND_CHECKED;
tnd_models_t *tnd_models_hold(tnd_models_t *self);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_models_drop(tnd_models_t **self_p);

/*  What a crew does: opens one model a replica; trains them; evaluates them.  They live as long as
 *  the models.
 */
const tnd_task_t *tnd_models_open_task(tnd_models_t *self);
const tnd_task_t *tnd_models_step_task(tnd_models_t *self);
/*  NULL: the plugin has no `evaluate`. */
const tnd_task_t *tnd_models_evaluate_task(tnd_models_t *self);
/*  Loads each replica's part of the checkpoint that the run goes on from; NULL: it begins anew. */
const tnd_task_t *tnd_models_load_task(tnd_models_t *self);
/*  Keeps each replica's model behind the step.  That it cannot be written fails no step: it is in
 *  the replica's report.  NULL: nothing is kept, or the plugin has no `save`.
 */
const tnd_task_t *tnd_models_keep_task(tnd_models_t *self);
/*  The same behind the last of `step` steps, while the crew is idle. */
tnd_status_t tnd_models_keep(tnd_models_t *self, uint64_t step, uint32_t replica, tnd_saved_t *part,
                             tnd_error_t *error) TND_CHECKED;
/*  Checkpoints behind fewer steps need not be kept any more.  Any thread. */
void tnd_models_forget(tnd_models_t *self, uint64_t below);
/*  Whether there is a model for each of these replicas. */
bool tnd_models_cover(const tnd_models_t *self, uint32_t first, uint32_t count);
const char *tnd_models_plugin(const tnd_models_t *self);

/*  Whether the plugin has a `save`. */
bool tnd_models_can_save(const tnd_models_t *self);
/*  Lets replica 0's model be saved, all of them being equal, and gives XXH3-128 of the file as 32
 *  hex digits; "-" if the plugin has no `save`.  `place`: where the file goes, whole or not at all;
 *  NULL: it is only hashed, in /dev/shm, or in $TMPDIR where that fails.  TND_FAILED: it cannot be
 * written or read.
 */
tnd_status_t tnd_models_save(tnd_models_t *self, const char *place, char text[33],
                             tnd_error_t *error) TND_CHECKED;

#endif
