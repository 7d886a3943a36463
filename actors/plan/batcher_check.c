/*  actors/plan/batcher_check.c - options of a batcher that do not fit each other. */
#include "actors/plan/batcher_check.h"

#include <string.h>

#include "actors/plan/buckets.h"
#include "actors/plan/packing.h"
#include "actors/plan/plan_queries.h"
#include "runtime/topology/error_location.h"

/*  Whole batches need an actor that holds the parameters, and it needs them. */
static void check_deal(const tnd_instance_t *own, const tnd_plan_t *plan,
                       tnd_diagnostics_t *diagnostics)
{
    bool whole = ((const tnd_batcher_options_t *)own->options)->deal == TND_DEAL_WHOLE;
    uint32_t index = tnd_plan_parameters(plan, own->chain);
    const tnd_instance_t *holder = index < plan->instance_count ? &plan->instances[index] : NULL;
    tnd_mark_t deal = tnd_topology_option_mark(own->written, "deal");
    if (whole && holder == NULL) {
        tnd_diagnostics_add(diagnostics, TND_T039_PARAMETERS, deal,
                            "%s: with `deal: whole` an actor of kind `parameters` after the feeder "
                            "holds the state of replicas",
                            own->actor);
        tnd_diagnostics_help(
            diagnostics, "write `params: {kind: parameters, ...}`, and the link `... -> params`");
    } else if (whole && plan->chains[own->chain].feed != TND_FEED_TOGETHER) {
        tnd_diagnostics_add(diagnostics, TND_T039_PARAMETERS, deal,
                            "%s: `deal: whole` gives a batch of all lanes to one replica: leave "
                            "out `apart: true` and `shard: pieces`",
                            own->actor);
    } else if (!whole && holder != NULL && holder->written != NULL) {
        tnd_diagnostics_add(diagnostics, TND_T039_PARAMETERS,
                            tnd_topology_option_mark(holder->written, "kind"),
                            "%s: it deals whole batches to replicas: the batcher needs "
                            "`deal: whole`",
                            holder->actor);
    }
}

void tnd_batcher_check(const tnd_instance_t *instance, const tnd_plan_t *plan,
                       tnd_diagnostics_t *diagnostics)
{
    const tnd_batcher_options_t *options = instance->options;
    tnd_error_t error;
    if (instance->written != NULL && options->size == 0 && options->bucket == NULL)
        tnd_diagnostics_add(diagnostics, TND_T013_MISSING_KEY, instance->written->mark,
                            "batcher `%s` needs `size`: rows of a global batch", instance->actor);
    if (instance->written != NULL &&
        tnd_plan_buckets_check(options, plan->lanes, &error) != TND_OK) {
        tnd_diagnostics_add(diagnostics, TND_T015_RANGE, instance->written->mark, "%s: %s",
                            instance->actor, error.text);
        return;
    }
    if (instance->written != NULL && options->pack != NULL &&
        tnd_plan_pack_check(options, plan->lanes, &error) != TND_OK) {
        tnd_diagnostics_add(
            diagnostics, TND_T015_RANGE,
            tnd_error_location_text(plan->topology, options->pack->column, instance->written->mark),
            "%s: %s", instance->actor, error.text);
        return;
    }
    if (instance->written != NULL && plan->chains != NULL)
        check_deal(instance, plan, diagnostics);
    if (instance->written == NULL || options->ragged != TND_RAGGED_PACK ||
        strcmp(options->pad_value, "0") == 0)
        return;
    tnd_diagnostics_add(
        diagnostics, TND_T073_UNUSED,
        tnd_error_location_text(plan->topology, options->pad_value, instance->written->mark),
        "%s: `pad_value` follows rows that are padded, but `ragged: pack` stores them one after "
        "another",
        instance->actor);
}
