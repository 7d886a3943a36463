/*  runtime/plan/changed_plan.c - a plan of which a user has set an option while the run is under way. */
#include "runtime/plan/changed_plan.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

tnd_plan_t *tnd_changed_plan_new(const tnd_plan_t *plan, uint32_t instance,
                                 const tnd_option_change_t *change)
{
    const char *actor = plan->instances[instance].actor;
    tnd_plan_t *self = tnd_allocate_zeroed(1, sizeof *self);
    tnd_instance_t *instances = tnd_allocate_zeroed(plan->instance_count, sizeof *instances);
    memcpy(instances, plan->instances, plan->instance_count * sizeof *instances);
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        size_t size = instances[i].kind->table.size;
        void *options = tnd_allocate_zeroed(1, size > 0 ? size : 1);
        if (instances[i].options != NULL)
            memcpy(options, instances[i].options, size);
        if (strcmp(instances[i].actor, actor) == 0)
            tnd_option_change_apply(change, options);
        instances[i].options = options;
    }
    *self = *plan;
    self->instances = instances;
    return self;
}

void tnd_changed_plan_free(tnd_plan_t *self)
{
    for (uint32_t i = 0; self != NULL && i < self->instance_count; i++)
        free((void *)(uintptr_t)self->instances[i].options);
    if (self != NULL)
        free((void *)(uintptr_t)self->instances);
    free(self);
}
