/*  tests/e2e/step_rogue.c - a step whose replicas post different reductions.
 *
 *  Options: `does`, what replicas from `replica` on do in `step`, or always, where the others post
 *  one reduction: less, more, never, longer. */
#include <stdlib.h>
#include <string.h>
#include <tundish/tundish.h>

typedef struct {
    const char *does;
    uint64_t replica, step;
    float values[2];
} rogue_t;

static uint64_t option(const char *options, const char *name)
{
    const char *at = strstr(options, name);
    at = at != NULL ? strpbrk(at, "0123456789") : NULL;
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static tnd_status_t rogue_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    static const char *const deeds[] = {"less", "more", "never", "longer"};
    rogue_t *self = calloc(1, sizeof *self);
    (void)replica;
    if (self == NULL)
        return TND_FAILED;
    self->does = "";
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (strstr(options, deeds[i]) != NULL)
            self->does = deeds[i];
    self->replica = option(options, "replica");
    self->step = option(options, "step");
    *model_p = self;
    return TND_OK;
}

static bool is_told(const rogue_t *self, const char *deed)
{
    return strcmp(self->does, deed) == 0;
}

static tnd_status_t rogue_step(void *model, tnd_replica_t *replica)
{
    rogue_t *self = model;
    bool now = tnd_replica_step(replica) == self->step && tnd_replica_id(replica) >= self->replica;
    uint32_t posts = 1;
    if (now && is_told(self, "less"))
        posts = 0;
    if (now && is_told(self, "more"))
        posts = 2;
    if (tnd_replica_id(replica) >= self->replica && is_told(self, "never"))
        posts = 0;
    tnd_status_t status = TND_OK;
    for (uint32_t i = 0; i < posts && status == TND_OK; i++)
        status = tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, self->values,
                                    now && is_told(self, "longer") ? 2 : 1);
    return status;
}

static tnd_status_t rogue_apply(void *model, tnd_replica_t *replica)
{
    (void)model;
    (void)replica;
    return TND_OK;
}

static tnd_status_t rogue_save(void *model, const char *file)
{
    (void)model;
    (void)file;
    return TND_OK;
}

static void rogue_close(void *model)
{
    free(model);
}

TND_API extern const tnd_step_ops_t tnd_step_rogue;
const tnd_step_ops_t tnd_step_rogue = {
    .abi = TND_ABI,
    .name = "rogue",
    .open = rogue_open,
    .step = rogue_step,
    .apply = rogue_apply,
    .save = rogue_save,
    .close = rogue_close,
};
