/*  runtime/host/leader_touch.c - touches: carried out, told to all hosts and answered.
 *
 *  Who is told what, and when, is decided by runtime/core/host/run_touches.h.
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

/*  Takes the text. */
static void send(tnd_leader_t *self, uint32_t host, tnd_msg_kind_t kind, uint64_t number,
                 tnd_buffer_t *text)
{
    tnd_msg_t msg = {.kind = kind, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.number = number;
    msg.note.payload = text;
    self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
}

static void answer(tnd_leader_t *self, uint32_t host, uint64_t client, bool done, const char *text)
{
    send(self, host, TND_MSG_TOUCH, client,
         tnd_text_payload_of("%s %s", done ? "ok" : "refused", text));
}

/*  `option`: the touch that has set one, or "". */
static void tell(tnd_leader_t *self, uint32_t host, const char *text, const char *option)
{
    send(self, host, TND_MSG_TOUCH, 0, tnd_text_payload_of("%s\n%s", text, option));
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

static tnd_status_t change_run(tnd_leader_t *self, const tnd_option_change_t *change, uint64_t now,
                               tnd_error_t *error)
{
    switch (change->option->live) {
    case TND_LIVE_DEPTH:
        return tnd_run_carry_out(&self->run, TND_TOUCH_SET, (uint32_t)change->value, now, error);
    case TND_LIVE_NOT:
        break;
    }
    return tnd_fail(error, "it cannot be changed in a run");
}

static tnd_status_t set(tnd_leader_t *self, const tnd_touch_t *touch, uint64_t now, char *done,
                        size_t room, tnd_error_t *error)
{
    const tnd_plan_t *plan = self->changed != NULL ? self->changed : self->plan;
    uint32_t first = tnd_plan_first_in(self->plan, touch->actor, self->chain), workers;
    tnd_option_change_t change;
    char before[64], after[64];
    if (first == plan->instance_count)
        return tnd_plan_absent(self->plan, touch->actor, self->chain, error);
    const tnd_instance_t *instance = &plan->instances[first];
    TND_TRY(tnd_option_change_read(&change, &instance->kind->table, instance->options,
                                   touch->option, touch->value, error));
    print_option(change.option, instance->options, before, sizeof before);
    tnd_plan_t *changed = tnd_changed_plan_new(plan, first, &change);
    print_option(change.option, changed->instances[first].options, after, sizeof after);
    bool same = strcmp(before, after) == 0;
    tnd_status_t status = TND_OK;
    if (!same && !self->output.fits(self->output.context, changed, &workers, error))
        status = TND_FAILED;
    else
        status = change_run(self, &change, now, error);
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
static void tell_options_of(tnd_leader_t *self, uint32_t host, uint32_t first)
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

static void tell_options(tnd_leader_t *self, uint32_t host)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (tnd_plan_first_of(self->plan, self->plan->instances[i].actor) == i)
            tell_options_of(self, host, i);
}

/* --- workers ---------------------------------------------------------------------------------- */

/*  How many workers an actor has, asleep ones included; with `workers: auto`, as many as the memory
 *  allows. */
static uint32_t workers_of(const tnd_leader_t *self, uint32_t first, tnd_error_t *error)
{
    const tnd_plan_t *plan = self->changed != NULL ? self->changed : self->plan;
    const tnd_instance_t *instance = &plan->instances[first];
    uint32_t count = tnd_plan_count_of(plan, instance->actor), allowed = UINT32_MAX;
    if (instance->tuned && self->output.fits(self->output.context, plan, &allowed, error) &&
        allowed < count)
        return allowed;
    return count;
}

static tnd_status_t scale(tnd_leader_t *self, const tnd_touch_t *touch, tnd_touch_scale_t *scale,
                          char *done, size_t room, tnd_error_t *error)
{
    uint32_t first = tnd_plan_first_of(self->plan, touch->actor);
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
    *scale = (tnd_touch_scale_t){first, (uint32_t)number.u64};
    snprintf(done, room,
             instance->tuned ? "%s: at most %" PRIu64 " of %" PRIu32 " workers are awake"
                             : "%s: %" PRIu64 " of %" PRIu32 " workers are awake",
             touch->actor, number.u64, most);
    return TND_OK;
}

/* --- all touches ---------------------------------------------------------------------------------- */

/*  What a user asks for, and what came of it. */
typedef struct {
    tnd_touch_t touch;
    tnd_touch_scale_t scale; /* of SCALE */
    char done[300];          /* what follows */
    tnd_error_t error;       /* why not */
} asked_t;

static tnd_status_t may_start_again(const tnd_leader_t *self, tnd_error_t *error)
{
    if (self->config.resumption.max == 0)
        return tnd_fail(error, "it has no `restarts: {run: N}`");
    if (self->run.touches.drains)
        return tnd_fail(error, "it drains");
    return TND_OK;
}

static tnd_status_t carry_out(tnd_leader_t *self, asked_t *asked, uint64_t now)
{
    const char *name = self->plan->name;
    const tnd_touch_t *touch = &asked->touch;
    char *done = asked->done;
    size_t room = sizeof asked->done;
    uint32_t instance = 0;
    if (touch->verb == TND_TOUCH_SET)
        return set(self, touch, now, done, room, &asked->error);
    if (touch->verb == TND_TOUCH_SCALE)
        return scale(self, touch, &asked->scale, done, room, &asked->error);
    if (touch->verb == TND_TOUCH_RESTART)
        TND_TRY(tnd_plan_find(self->plan, touch->actor, self->chain, &instance, &asked->error));
    if (touch->verb == TND_TOUCH_START_AGAIN)
        TND_TRY(may_start_again(self, &asked->error));
    TND_TRY(tnd_run_carry_out(&self->run, touch->verb, instance, now, &asked->error));
    switch (touch->verb) {
    case TND_TOUCH_PAUSE:
        snprintf(self->paused_by, sizeof self->paused_by, "%s", touch->user);
        snprintf(done, room,
                 "%s pauses: steps that have started finish, and no further one is started", name);
        break;
    case TND_TOUCH_RESUME:
        snprintf(done, room, "%s continues", name);
        break;
    case TND_TOUCH_DRAIN:
        snprintf(done, room,
                 "%s drains: every replica finishes the same last step, and the run ends", name);
        break;
    case TND_TOUCH_RESTART:
        snprintf(done, room, "%s is replaced by a new life", touch->actor);
        break;
    case TND_TOUCH_START_AGAIN:
        snprintf(done, room, "%s starts again, with all hosts that are there", name);
        break;
    case TND_TOUCH_SET:
    case TND_TOUCH_SCALE:
        break;
    }
    return TND_OK;
}

/*  The log of every host records a touch, and every host shows what an option that was set needs. */
static void tell_news(tnd_leader_t *self, uint32_t host, const asked_t *asked)
{
    char text[512], option[TND_TOUCH_LINE] = "";
    if (asked->touch.verb == TND_TOUCH_SET)
        tnd_touch_write(&asked->touch, option);
    snprintf(text, sizeof text, "%s by %s, after %" PRIu64 " steps: %s",
             tnd_touch_verb(asked->touch.verb), asked->touch.user,
             tnd_leader_core_cursor(tnd_leader_session(self))->step, asked->done);
    if (host == 0)
        tnd_leader_log(self, TND_LOG_INFO, self->plan->hosts[0].name, "control", text);
    tell(self, host, text, option);
}

static void say_result(tnd_leader_t *self, const tnd_touches_step_t *step, const asked_t *asked)
{
    const tnd_touch_t *touch = &asked->touch;
    const char *const why[] = {[TND_TOUCH_REFUSED] = asked->error.text,
                               [TND_TOUCH_ENDED] = "the run has ended",
                               [TND_TOUCH_DRAINS] = "it drains already"};
    char text[512];
    if (step->result == TND_TOUCH_DONE) {
        answer(self, step->host, step->client, true, asked->done);
        return;
    }
    snprintf(text, sizeof text, "cannot %s %s%s%s: %.400s", tnd_touch_verb(touch->verb),
             touch->actor[0] != '\0' ? touch->actor : self->plan->name,
             touch->option[0] != '\0' ? "." : "", touch->option, why[step->result]);
    answer(self, step->host, step->client, false, text);
}

/*  `asked`: NULL if a host is greeted. */
static void follow(tnd_leader_t *self, asked_t *asked, uint64_t now)
{
    tnd_touches_step_t step;
    while (tnd_run_touches_next(&self->run.touches, &step))
        switch (step.kind) {
        case TND_TOUCHES_TRY: {
            bool done = carry_out(self, asked, now) == TND_OK;
            tnd_run_touches_tried(&self->run.touches, done, &asked->scale, now);
            break;
        }
        case TND_TOUCHES_OPTIONS:
            tell_options(self, step.host);
            break;
        case TND_TOUCHES_SCALE:
            send(self, step.host, TND_MSG_SCALE, step.scale.first,
                 tnd_text_payload_of("%" PRIu32, step.scale.workers));
            break;
        case TND_TOUCHES_NEWS:
            tell_news(self, step.host, asked);
            break;
        case TND_TOUCHES_ANSWER:
            say_result(self, &step, asked);
            break;
        }
}

void tnd_leader_touch(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    asked_t asked = {.error.text = ""};
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *line = tnd_text_payload_line(&reader);
    if (tnd_touch_read(&asked.touch, line != NULL ? line : "", line != NULL ? strlen(line) : 0,
                       &asked.error) != TND_OK) {
        answer(self, host, msg->note.number, false, asked.error.text);
        return;
    }
    tnd_run_touches_take(&self->run.touches, asked.touch.verb, host, msg->note.number,
                         self->run.ended);
    follow(self, &asked, now);
    if (asked.touch.verb == TND_TOUCH_START_AGAIN && asked.done[0] != '\0') {
        char why[100];
        snprintf(why, sizeof why, "user %s asks for another start", asked.touch.user);
        tnd_leader_end_without(self, TND_RESUMPTION_ASKED, why);
    }
}

void tnd_leader_follow_touches(tnd_leader_t *self)
{
    follow(self, NULL, 0);
}

void tnd_leader_end_touches(tnd_leader_t *self)
{
    tnd_changed_plan_free(self->changed);
    free(self->run.touches.awake);
}
