/*  runtime/plan/membership.h - members of a run and limits of its streams, as the validator's
 *  input.
 *
 *  Threads: any; const once created.  Ownership: the caller frees the parties with free(). */
#ifndef TND_RUNTIME_PLAN_MEMBERSHIP_H
#define TND_RUNTIME_PLAN_MEMBERSHIP_H

#include "runtime/core/message_validator.h"
#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"

/*  The members of a plan.  `host_id`: of the first host's control. */
tnd_membership_t tnd_membership_of_plan(const tnd_plan_t *plan, tnd_actor_id_t host_id);
tnd_bounds_t tnd_membership_bounds(const tnd_plan_t *plan, const tnd_stream_t *stream);

#endif
