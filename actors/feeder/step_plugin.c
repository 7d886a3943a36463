/*  actors/feeder/step_plugin.c - the step plugin of a feeder, and the models that it makes. */
#include "actors/feeder/step_plugin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/feeder/feeder_plan.h"
#include "actors/plan/kind_options.h"
#include "runtime/feed/feed.h"
#include "runtime/option/option_print.h"
#include "runtime/topology/error_location.h"

/*  The step whose models an instance uses: its own, or that of the feeder that it comes after. */
static const tnd_step_options_t *step_of(const tnd_instance_t *own, const tnd_plan_t *plan)
{
    const tnd_feeder_options_t *options = tnd_feeder_plan_trained(plan, own)->options;
    return options->step;
}

void tnd_step_plugin_check(const tnd_instance_t *own, const tnd_plan_t *plan,
                           tnd_diagnostics_t *diagnostics)
{
    const tnd_feeder_options_t *options = own->options;
    const tnd_step_options_t *step = step_of(own, plan);
    tnd_error_t error;
    if (step == NULL)
        return;
    tnd_models_config_t config = {.plugin = step->plugin, .folder = plan->directory};
    bool evaluates = options->after != NULL;
    /* A missing plugin is reported at the feeder that names it. */
    if (evaluates && tnd_models_check(&config, false, &error) != TND_OK)
        return;
    if (tnd_models_check(&config, evaluates, &error) == TND_OK)
        return;
    const char *named = evaluates ? options->after : step->plugin;
    tnd_diagnostics_add(diagnostics, TND_T063_PLUGIN,
                        tnd_error_location_text(plan->topology, named, own->written->mark),
                        "%s: %s", own->actor, error.text);
}

tnd_status_t tnd_step_plugin_open(const tnd_actor_t *self, tnd_models_t **models_p,
                                  tnd_error_t *error)
{
    const tnd_feeder_options_t *feeder = tnd_actor_options(self);
    const tnd_instance_t *own = tnd_actor_instance(self);
    char *options = tnd_pairs_text(&feeder->step->options);
    tnd_models_config_t config = {
        .plugin = feeder->step->plugin,
        .options = options,
        .folder = tnd_actor_plan(self)->directory,
        .first = own->replica_first,
        .count = own->replica_count,
        .accumulate = (uint32_t)feeder->accumulate,
        .keep = tnd_actor_keep(self),
        .resume = tnd_actor_resume(self),
    };
    tnd_status_t status = tnd_models_new(models_p, &config, error);
    free(options);
    bool holds =
        tnd_plan_is_dealt(tnd_actor_plan(self), own->chain); /* another actor has the state */
    if (status != TND_OK || holds || tnd_models_can_save(*models_p))
        return status;
    if (tnd_actor_save(self) != NULL)
        return tnd_fail(error, "%s: step plugin %s has no `save`: it cannot write %s",
                        tnd_actor_name(self), feeder->step->plugin, tnd_actor_save(self));
    if (tnd_actor_keep(self) != NULL)
        return tnd_fail(error, "%s: step plugin %s has no `save`: checkpoints cannot be kept",
                        tnd_actor_name(self), feeder->step->plugin);
    return TND_OK;
}

tnd_status_t tnd_step_plugin_borrow(tnd_actor_t *self, tnd_models_t **models_p, tnd_error_t *error)
{
    const char *after = ((const tnd_feeder_options_t *)tnd_actor_options(self))->after;
    const tnd_instance_t *own = tnd_actor_instance(self);
    tnd_feed_t *feed = tnd_actor_sibling(self, after);
    tnd_models_t *models = feed != NULL ? tnd_feed_models(feed) : NULL;
    if (models == NULL)
        return TND_OK;
    if (!tnd_models_cover(models, own->replica_first, own->replica_count))
        return tnd_fail(error,
                        "%s carries replicas %" PRIu32 " to %" PRIu32 ", for which %s has no "
                        "models on this host: give both the same replicas and devices",
                        tnd_actor_name(self), own->replica_first,
                        own->replica_first + own->replica_count - 1, after);
    if (tnd_models_evaluate_task(models) == NULL)
        return tnd_fail(error, "%s: step plugin %s of %s has no `evaluate`", tnd_actor_name(self),
                        tnd_models_plugin(models), after);
    *models_p = tnd_models_hold(models);
    return TND_OK;
}
