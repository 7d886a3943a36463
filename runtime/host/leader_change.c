/*  runtime/host/leader_change.c - touches that change the plan: options, and how many workers work.
 *
 *  The leader keeps a copy of the plan with what users have set, so that the next change is judged
 *  by what holds now. */
#include "runtime/host/leader_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/option/number.h"
#include "runtime/option/option_change.h"
#include "runtime/option/option_print.h"

/*  The first instance of an actor, of the running chain or of any; or instance_count. */
static uint32_t first_of(const tnd_leader_t *self, const char *actor, bool running)
{
    const tnd_plan_t *plan = self->plan;
    uint32_t i = 0;
    while (i < plan->instance_count && (strcmp(plan->instances[i].actor, actor) != 0 ||
                                        (running && plan->instances[i].chain != self->chain)))
        i++;
    return i;
}

/* --- options ---------------------------------------------------------------------------------- */

/*  A plan that shares all but its instances and the options of one actor. */
static tnd_plan_t *plan_with(const tnd_plan_t *plan, uint32_t first,
                             const tnd_option_change_t *change)
{
    const char *actor = plan->instances[first].actor;
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

static void free_plan(tnd_plan_t *self)
{
    for (uint32_t i = 0; self != NULL && i < self->instance_count; i++)
        free((void *)(uintptr_t)self->instances[i].options);
    if (self != NULL)
        free((void *)(uintptr_t)self->instances);
    free(self);
}

static void print_option(const tnd_option_t *option, const void *options, char *text, size_t room)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&line, &size);
    tnd_option_show(option, options, out);
    fclose(out);
    snprintf(text, room, "%s", line);
    free(line);
}

static tnd_status_t perform(tnd_leader_t *self, const tnd_option_change_t *change,
                            tnd_error_t *error)
{
    switch (change->option->live) {
    case TND_LIVE_DEPTH:
        return tnd_leader_core_ask_depth(tnd_leader_session(self), (uint32_t)change->value, error);
    case TND_LIVE_NOT:
        break;
    }
    return tnd_fail(error, "it cannot be changed in a run");
}

tnd_status_t tnd_leader_set(tnd_leader_t *self, const tnd_touch_t *touch, char *done, size_t room,
                            tnd_error_t *error)
{
    const tnd_plan_t *now = self->changed != NULL ? self->changed : self->plan;
    uint32_t first = first_of(self, touch->actor, true), workers;
    tnd_option_change_t change;
    char before[64];
    if (first == now->instance_count)
        return tnd_fail(error, "no actor of that name is in the running chain, %s",
                        tnd_leader_chain_name(self));
    const tnd_instance_t *instance = &now->instances[first];
    TND_TRY(tnd_option_change_read(&change, &instance->kind->table, instance->options,
                                   touch->option, touch->value, error));
    print_option(change.option, instance->options, before, sizeof before);
    tnd_plan_t *changed = plan_with(now, first, &change);
    tnd_status_t status = TND_OK;
    if (!self->output.fits(self->output.context, changed, &workers, error))
        status = TND_FAILED;
    else
        status = perform(self, &change, error);
    if (status != TND_OK) {
        free_plan(changed);
        return status;
    }
    free_plan(self->changed);
    self->changed = changed;
    snprintf(done, room, "%s.%s becomes %s between two steps; it was %s", touch->actor,
             touch->option, touch->value, before);
    return TND_OK;
}

/* --- workers ---------------------------------------------------------------------------------- */

static void tell_scale(tnd_leader_t *self, uint32_t host, uint32_t first)
{
    tnd_msg_t msg = {.kind = TND_MSG_SCALE, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.number = first;
    msg.note.payload = tnd_text_payload_of("%" PRIu32, self->awake[first]);
    self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
}

void tnd_leader_tell_scale(tnd_leader_t *self, uint32_t host)
{
    for (uint32_t i = 0; self->awake != NULL && i < self->plan->instance_count; i++)
        if (self->awake[i] > 0)
            tell_scale(self, host, i);
}

/*  How many workers an actor has, asleep ones included; with `workers: auto`, as many as the memory
 *  allows. */
static uint32_t workers_of(const tnd_leader_t *self, uint32_t first, tnd_error_t *error)
{
    const tnd_plan_t *plan = self->changed != NULL ? self->changed : self->plan;
    const tnd_instance_t *instance = &plan->instances[first];
    uint32_t count = 0, allowed = UINT32_MAX;
    for (uint32_t i = first; i < plan->instance_count; i++)
        count += strcmp(plan->instances[i].actor, instance->actor) == 0;
    if (instance->tuned && self->output.fits(self->output.context, plan, &allowed, error) &&
        allowed < count)
        return allowed;
    return count;
}

tnd_status_t tnd_leader_scale(tnd_leader_t *self, const tnd_touch_t *touch, char *done, size_t room,
                              tnd_error_t *error)
{
    uint32_t first = first_of(self, touch->actor, false);
    tnd_number_t number;
    if (first == self->plan->instance_count)
        return tnd_fail(error, "the run has no actor of that name");
    const tnd_instance_t *instance = &self->plan->instances[first];
    if (instance->kind->role != TND_ROLE_WORKER)
        return tnd_fail(error, "only actors with `workers:` can be scaled, and it is a %s",
                        instance->kind->table.name);
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (strcmp(self->plan->instances[i].actor, instance->actor) == 0 &&
            self->plan->instances[i].lane_count != self->plan->lanes)
            return tnd_fail(error, "its workers serve different lanes, each those of its own host");
    uint32_t most = workers_of(self, first, error);
    if (tnd_number_read(TND_OPTION_U64, touch->value, &number) != TND_QUANTITY_OK ||
        number.u64 == 0)
        return tnd_fail(error, "the number of workers is from 1 to %" PRIu32 ", not `%s`", most,
                        touch->value);
    if (number.u64 > most && instance->tuned)
        return tnd_fail(error,
                        "there are %" PRIu32 " workers, as many as `cpu:` and `memory:` allow; for "
                        "more, give a number, such as `workers: %" PRIu64 "`, and start again",
                        most, number.u64);
    if (number.u64 > most)
        return tnd_fail(error,
                        "the run has %" PRIu32 " worker%s; write `workers: %" PRIu64
                        "`, or in a run of one process `workers: auto`, and start again",
                        most, most == 1 ? "" : "s", number.u64);
    if (self->awake == NULL)
        self->awake = tnd_allocate_zeroed(self->plan->instance_count, sizeof *self->awake);
    self->awake[first] = (uint32_t)number.u64;
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        tell_scale(self, h, first);
    snprintf(done, room,
             instance->tuned ? "%s: at most %" PRIu64 " of %" PRIu32 " workers are awake"
                             : "%s: %" PRIu64 " of %" PRIu32 " workers are awake",
             touch->actor, number.u64, most);
    return TND_OK;
}

void tnd_leader_forget_changes(tnd_leader_t *self)
{
    free_plan(self->changed);
    free(self->awake);
}
