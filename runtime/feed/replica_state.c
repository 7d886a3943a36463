/*  runtime/feed/replica_state.c - what a step reads and pushes where others hold the state of replicas. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "runtime/feed/replica.h"

/*  Whether `name` holds the state of the replica, and its step runs. */
static bool is_served(const tnd_replica_t *replica, const char *name)
{
    return replica->state.holder != NULL && replica->columns != NULL &&
           strcmp(replica->state.holder, name) == 0;
}

const void *tnd_replica_parameters(tnd_replica_t *replica, const char *name, uint64_t *version_p)
{
    if (!is_served(replica, name))
        return NULL;
    if (version_p != NULL)
        *version_p = replica->state.version;
    return replica->state.values;
}

size_t tnd_replica_parameter_count(const tnd_replica_t *replica, const char *name)
{
    return is_served(replica, name) ? replica->state.count : 0;
}

/*  The first number that is not finite; `count`: all are. */
static size_t find_bad(const float *gradient, size_t count)
{
    size_t i = 0;
    while (i < count && isfinite(gradient[i]))
        i++;
    return i;
}

static tnd_status_t check(tnd_replica_t *replica, const char *name, tnd_dtype_t dtype,
                          const float *gradient, size_t count)
{
    char *error = replica->error;
    const size_t room = sizeof replica->error;
    const tnd_replica_state_t *state = &replica->state;
    if (!is_served(replica, name)) {
        snprintf(error, room, "it pushed a gradient to `%.64s`, which %s", name,
                 state->holder != NULL ? "does not hold its parameters"
                                       : "needs `deal: whole` and an actor of kind `parameters`");
    } else if (state->pushed) {
        snprintf(error, room, "it pushed a second gradient to `%s`: each step pushes one", name);
    } else if (dtype != TND_F32 || count != state->count) {
        snprintf(error, room, "it pushed %zu %s to `%s`, which holds %zu f32", count,
                 tnd_dtype_name(dtype), name, state->count);
    } else {
        size_t bad = find_bad(gradient, count);
        if (bad == count)
            return TND_OK;
        snprintf(error, room, "number %zu of the gradient that it pushed to `%s` is %g", bad, name,
                 (double)gradient[bad]);
    }
    return TND_FAILED;
}

tnd_status_t tnd_replica_push(tnd_replica_t *replica, const char *name, tnd_dtype_t dtype,
                              const void *gradient, size_t count)
{
    TND_TRY(check(replica, name, dtype, gradient, count));
    memcpy(replica->state.gradient, gradient, count * sizeof *replica->state.gradient);
    replica->state.pushed = true;
    return TND_OK;
}
