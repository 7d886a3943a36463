/*  runtime/host/leader_touch.c - touches: decided by the machine, answered, and told to all hosts.
 *
 *  The leader keeps a copy of the plan with the options that users have set, so that the next change
 *  is judged by what holds now. */
#include "runtime/host/leader_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/option/number.h"
#include "runtime/option/option_change.h"
#include "runtime/option/option_print.h"
#include "runtime/plan/changed_plan.h"

static void answer(tnd_leader_t *self, uint32_t host, uint64_t client, bool done, const char *text)
{
    tnd_msg_t msg = {.kind = TND_MSG_TOUCH, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.number = client;
    msg.note.payload = tnd_text_payload_of("%s %s", done ? "ok" : "refused", text);
    self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
}

/*  `option`: the touch that has set one, or "". */
static void tell(tnd_leader_t *self, uint32_t host, const char *text, const char *option)
{
    tnd_msg_t msg = {.kind = TND_MSG_TOUCH, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.payload = tnd_text_payload_of("%s\n%s", text, option);
    self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
}

/*  The log of every host records a touch, and every host shows what an option that was set needs. */
static void tell_all(tnd_leader_t *self, const char *text, const tnd_touch_t *touch)
{
    char option[TND_TOUCH_LINE] = "";
    if (touch->verb == TND_TOUCH_SET)
        tnd_touch_write(touch, option);
    tnd_leader_log(self, TND_LOG_INFO, self->plan->hosts[0].name, "control", text);
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        tell(self, h, text, option);
}

/*  The instance of that name in the running chain, or of the actor of that name if it has only
 *  one. */
static tnd_status_t find(const tnd_leader_t *self, const char *name, uint32_t *instance_p,
                         tnd_error_t *error)
{
    const tnd_plan_t *plan = self->plan;
    uint32_t found = plan->instance_count, count = 0;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->chain != self->chain)
            continue;
        if (strcmp(instance->name, name) == 0) {
            *instance_p = i;
            return TND_OK;
        }
        if (strcmp(instance->actor, name) != 0)
            continue;
        found = found < i ? found : i;
        count++;
    }
    *instance_p = found;
    if (count == 0)
        return tnd_fail(error,
                        "no actor of that name is in the running chain, %s; `tundish ps` "
                        "lists them",
                        tnd_leader_chain_name(self));
    if (count > 1)
        return tnd_fail(error, "there are %" PRIu32 " of it; name one, such as %s", count,
                        plan->instances[found].name);
    return TND_OK;
}

static tnd_status_t restart(tnd_leader_t *self, const tnd_touch_t *touch, uint64_t now,
                            tnd_error_t *error)
{
    uint32_t instance;
    TND_TRY(find(self, touch->actor, &instance, error));
    return tnd_leader_core_ask_restart(tnd_leader_session(self), instance, now, error);
}

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

static tnd_status_t change_run(tnd_leader_t *self, const tnd_option_change_t *change,
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

static tnd_status_t set(tnd_leader_t *self, const tnd_touch_t *touch, char *done, size_t room,
                        tnd_error_t *error)
{
    const tnd_plan_t *now = self->changed != NULL ? self->changed : self->plan;
    uint32_t first = first_of(self, touch->actor, true), workers;
    tnd_option_change_t change;
    char before[64], after[64];
    if (first == now->instance_count)
        return tnd_fail(error, "no actor of that name is in the running chain, %s",
                        tnd_leader_chain_name(self));
    const tnd_instance_t *instance = &now->instances[first];
    TND_TRY(tnd_option_change_read(&change, &instance->kind->table, instance->options,
                                   touch->option, touch->value, error));
    print_option(change.option, instance->options, before, sizeof before);
    tnd_plan_t *changed = tnd_changed_plan_new(now, first, &change);
    print_option(change.option, changed->instances[first].options, after, sizeof after);
    bool same = strcmp(before, after) == 0;
    tnd_status_t status = TND_OK;
    if (!same && !self->output.fits(self->output.context, changed, &workers, error))
        status = TND_FAILED;
    else
        status = change_run(self, &change, error);
    if (status != TND_OK) {
        tnd_changed_plan_free(changed);
        return status;
    }
    tnd_changed_plan_free(self->changed);
    self->changed = changed;
    if (same)
        snprintf(done, room,
                 "%s.%s is set to %s already; a feeder that could not follow tries again",
                 touch->actor, touch->option, after);
    else
        snprintf(done, room, "%s.%s becomes %s between two steps; it was %s", touch->actor,
                 touch->option, touch->value, before);
    return TND_OK;
}

/*  Tells a host which options of an actor users have set. */
static void tell_options(tnd_leader_t *self, uint32_t host, uint32_t first)
{
    const tnd_instance_t *before = &self->plan->instances[first];
    const tnd_instance_t *now = &self->changed->instances[first];
    const tnd_table_t *table = &before->kind->table;
    for (size_t o = 0; o < table->option_count; o++) {
        const tnd_option_t *option = &table->options[o];
        tnd_touch_t touch = {.verb = TND_TOUCH_SET, .user = "leader"};
        char line[TND_TOUCH_LINE], was[sizeof touch.value], is[sizeof touch.value];
        if (option->live == TND_LIVE_NOT)
            continue;
        print_option(option, before->options, was, sizeof was);
        print_option(option, now->options, is, sizeof is);
        if (strcmp(was, is) == 0)
            continue;
        snprintf(touch.actor, sizeof touch.actor, "%s", before->actor);
        snprintf(touch.option, sizeof touch.option, "%s", option->name);
        snprintf(touch.value, sizeof touch.value, "%s", is);
        tnd_touch_write(&touch, line);
        tell(self, host, "", line);
    }
}

/* --- workers ---------------------------------------------------------------------------------- */

static void tell_scale(tnd_leader_t *self, uint32_t host, uint32_t first)
{
    tnd_msg_t msg = {.kind = TND_MSG_SCALE, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.number = first;
    msg.note.payload = tnd_text_payload_of("%" PRIu32, self->awake[first]);
    self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
}

void tnd_leader_tell_changes(tnd_leader_t *self, uint32_t host)
{
    for (uint32_t i = 0; self->changed != NULL && i < self->plan->instance_count; i++)
        if (first_of(self, self->plan->instances[i].actor, false) == i)
            tell_options(self, host, i);
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

static tnd_status_t scale(tnd_leader_t *self, const tnd_touch_t *touch, char *done, size_t room,
                          tnd_error_t *error)
{
    uint32_t first = first_of(self, touch->actor, false);
    tnd_number_t number;
    if (first == self->plan->instance_count)
        return tnd_fail(error, "the run has no actor of that name");
    const tnd_instance_t *instance = &self->plan->instances[first];
    if (instance->kind->role != TND_ROLE_WORKER)
        return tnd_fail(error, "only the workers of a preprocessor can be scaled, and it is a %s",
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
    tnd_changed_plan_free(self->changed);
    free(self->awake);
}

/* --- all touches ---------------------------------------------------------------------------------- */

/*  `done`: what follows. */
static tnd_status_t carry_out(tnd_leader_t *self, const tnd_touch_t *touch, uint64_t now,
                              char *done, size_t room, tnd_error_t *error)
{
    const char *name = self->plan->name;
    switch (touch->verb) {
    case TND_TOUCH_PAUSE:
        TND_TRY(tnd_leader_core_pause(tnd_leader_session(self), error));
        self->paused_ns = now;
        snprintf(self->paused_by, sizeof self->paused_by, "%s", touch->user);
        snprintf(done, room,
                 "%s pauses: steps that have started finish, and no further one is started", name);
        break;
    case TND_TOUCH_RESUME:
        TND_TRY(tnd_leader_core_resume(tnd_leader_session(self), error));
        self->paused_ns = 0;
        snprintf(done, room, "%s continues", name);
        break;
    case TND_TOUCH_DRAIN:
        if (self->drain)
            return tnd_fail(error, "it drains already");
        tnd_leader_drain(self, now);
        snprintf(done, room,
                 "%s drains: every replica finishes the same last step, and the run ends", name);
        break;
    case TND_TOUCH_RESTART:
        snprintf(done, room, "%s is replaced by a new life", touch->actor);
        return restart(self, touch, now, error);
    case TND_TOUCH_SET:
        return set(self, touch, done, room, error);
    case TND_TOUCH_SCALE:
        return scale(self, touch, done, room, error);
    }
    return TND_OK;
}

void tnd_leader_touch(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    tnd_touch_t touch;
    tnd_error_t error = {.text = ""};
    char text[512], done[300];
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *line = tnd_text_payload_line(&reader);
    if (tnd_touch_read(&touch, line != NULL ? line : "", line != NULL ? strlen(line) : 0, &error) !=
        TND_OK) {
        answer(self, host, msg->note.number, false, error.text);
        return;
    }
    const char *of = touch.actor[0] != '\0' ? touch.actor : self->plan->name;
    bool option = touch.option[0] != '\0';
    tnd_status_t status = self->ended ? tnd_fail(&error, "the run has ended")
                                      : carry_out(self, &touch, now, done, sizeof done, &error);
    if (status == TND_OK) {
        snprintf(text, sizeof text, "%s by %s, after %" PRIu64 " steps: %s",
                 tnd_touch_verb(touch.verb), touch.user,
                 tnd_leader_core_cursor(tnd_leader_session(self))->step, done);
        tell_all(self, text, &touch);
    } else {
        snprintf(text, sizeof text, "cannot %s %s%s%s: %.400s", tnd_touch_verb(touch.verb), of,
                 option ? "." : "", touch.option, error.text);
    }
    answer(self, host, msg->note.number, status == TND_OK, status == TND_OK ? done : text);
}

/*  A pause continues in the next chain. */
void tnd_leader_stay_paused(tnd_leader_t *self)
{
    tnd_error_t error;
    if (self->paused_ns != 0 && tnd_leader_core_pause(tnd_leader_session(self), &error) != TND_OK)
        self->paused_ns = 0;
}
