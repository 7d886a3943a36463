/*  actors/parameters/parameters_check.h - options of a holder of parameters, and of its chain, that do not
 *  fit each other.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_PARAMETERS_PARAMETERS_CHECK_H
#define TND_ACTORS_PARAMETERS_PARAMETERS_CHECK_H

#include "runtime/plan/placement.h"

/*  As tnd_kind_t.check of the holder. */
void tnd_parameters_check(const tnd_instance_t *own, const tnd_plan_t *plan,
                          tnd_diagnostics_t *diagnostics);

#endif
