/*  tundish/parameters.h - what a step uses whose parameters another actor holds.
 *
 *  With `deal: whole` of the batcher, a replica has no state: an actor of kind `parameters` serves each
 *  step the parameters that it computes on, and applies the gradient that it pushes.
 *
 *  Part of <tundish/tundish.h>.  Threads: functions of replicas, inside `step` but for those that say
 *  `open`. */
#ifndef TUNDISH_PARAMETERS_H
#define TUNDISH_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

#include <tundish/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnd_replica tnd_replica_t;

/*  The actor that holds the parameters of this replica, also in `open`; NULL: its model has them itself. */
TND_API const char *tnd_replica_holder(const tnd_replica_t *replica);
/*  In `open`: the first values of the parameters, f32, where the actor `name` reads none from a file; those of
 *  replica 0 count.  They are copied, and their number is that of the parameters.
 *  Errors: TND_FAILED outside of `open`, for a second call, for an actor that does not hold the parameters,
 *  another type, no numbers, more than 66,000,000, and one that is not finite. */
TND_API tnd_status_t tnd_replica_initial(tnd_replica_t *replica, const char *name,
                                         tnd_dtype_t dtype, const void *values, size_t count);
/*  The parameters of this step that the actor `name` holds, f32, as many as tnd_replica_parameter_count
 *  says, until `step` returns.  *version_p: how many pushes have made them; may be NULL.
 *  Errors: NULL if no actor of that name holds parameters of this replica, or outside of `step`. */
TND_API const void *tnd_replica_parameters(tnd_replica_t *replica, const char *name,
                                           uint64_t *version_p);
/*  0 where tnd_replica_parameters is NULL. */
TND_API size_t tnd_replica_parameter_count(const tnd_replica_t *replica, const char *name);
/*  The gradient of this step, of as many f32; it is copied.  Each step pushes once, and the optimizer of
 *  the actor applies it.
 *  Errors: TND_FAILED for another type or count, a number that is not finite, a second push, or where there
 *  are no parameters.  Return it from `step`: the run ends with that. */
TND_API tnd_status_t tnd_replica_push(tnd_replica_t *replica, const char *name, tnd_dtype_t dtype,
                                      const void *gradient, size_t count);

#ifdef __cplusplus
}
#endif

#endif
