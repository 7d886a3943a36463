/*  actors/feeder/step_plugin.h - the step plugin of a feeder, and the models that it makes.
 *
 *  A feeder opens the plugin of its option `step`.  A feeder `after:` another one evaluates the
 *  models of that feeder instead.
 *
 *  Threads: check on any thread; the others on the feeder's actor. */
#ifndef TND_ACTORS_FEEDER_STEP_PLUGIN_H
#define TND_ACTORS_FEEDER_STEP_PLUGIN_H

#include "runtime/feed/models.h"
#include "runtime/host/actor.h"

/*  Reports a plugin that cannot be used; for an instance that a file describes. */
void tnd_step_plugin_check(const tnd_instance_t *own, const tnd_plan_t *plan,
                           tnd_diagnostics_t *diagnostics);

/*  Opens the plugin of the feeder's own step.  On failure *models_p may be set and must be dropped.
 *
 *  Errors: TND_FAILED if the plugin cannot be opened, or if the run is to save models and the
 *  plugin has no `save`. */
tnd_status_t tnd_step_plugin_open(const tnd_actor_t *self, tnd_models_t **models_p,
                                  tnd_error_t *error) TND_CHECKED;

/*  Takes a reference to the models of the feeder that this one comes `after:`; call it when all
 *  actors are set up.  Leaves *models_p as it is if that feeder has no models.
 *
 *  Errors: TND_FAILED if these models do not cover the replicas or cannot be evaluated. */
tnd_status_t tnd_step_plugin_borrow(tnd_actor_t *self, tnd_models_t **models_p,
                                    tnd_error_t *error) TND_CHECKED;

#endif
