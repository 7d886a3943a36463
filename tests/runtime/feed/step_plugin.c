/*  tests/runtime/feed/step_plugin.c - the least step plugin: STEP names it, STEP_ABI its version.
 */
#include <tundish/tundish.h>

extern TND_API const tnd_step_ops_t STEP;

static tnd_status_t open_model(void **model_p, const char *options, tnd_replica_t *replica)
{
    (void)options;
    (void)replica;
    *model_p = (void *)&STEP;
    return TND_OK;
}

static tnd_status_t run_step(void *model, tnd_replica_t *replica)
{
    (void)model;
    (void)replica;
    return TND_OK;
}

static void close_model(void *model)
{
    (void)model;
}

const tnd_step_ops_t STEP = {
    .abi = STEP_ABI, .open = open_model, .step = run_step, .close = close_model};
