/*  runtime/feed/replica_state.c - what a step reads and pushes where others hold the state of replicas. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

const char *tnd_replica_holder(const tnd_replica_t *replica)
{
    return replica->state.holder;
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

static tnd_status_t check_initial(tnd_replica_t *replica, const char *name, tnd_dtype_t dtype,
                                  const float *values, size_t count)
{
    char *error = replica->error;
    const size_t room = sizeof replica->error;
    const tnd_replica_state_t *state = &replica->state;
    if (state->holder == NULL || strcmp(state->holder, name) != 0 || replica->columns != NULL) {
        snprintf(error, room, "it gave first values to `%.64s`%s", name,
                 replica->columns != NULL ? " outside of `open`"
                                          : ", which does not hold its parameters");
    } else if (state->initial != NULL) {
        snprintf(error, room, "it gave first values to `%s` twice", name);
    } else if (dtype != TND_F32 || count == 0 || count > TND_PARAMETERS_MOST) {
        snprintf(error, room, "it gave %zu %s to `%s`, which holds 1 to %d f32", count,
                 tnd_dtype_name(dtype), name, TND_PARAMETERS_MOST);
    } else {
        size_t bad = find_bad(values, count);
        if (bad == count)
            return TND_OK;
        snprintf(error, room, "number %zu of the first values that it gave to `%s` is %g", bad,
                 name, (double)values[bad]);
    }
    return TND_FAILED;
}

tnd_status_t tnd_replica_initial(tnd_replica_t *replica, const char *name, tnd_dtype_t dtype,
                                 const void *values, size_t count)
{
    TND_TRY(check_initial(replica, name, dtype, values, count));
    float *copy = malloc(count * sizeof *copy);
    if (copy == NULL) {
        snprintf(replica->error, sizeof replica->error, "cannot allocate %zu first values", count);
        return TND_FAILED;
    }
    memcpy(copy, values, count * sizeof *copy);
    replica->state.initial = copy;
    replica->state.initial_count = count;
    return TND_OK;
}
