/*  runtime/host/leader_touch.c - touches: decided by the machine, answered, and told to all hosts. */
#include "runtime/host/leader_internal.h"

#include <inttypes.h>
#include <string.h>

static void answer(tnd_leader_t *self, uint32_t host, uint64_t client, bool done, const char *text)
{
    tnd_msg_t msg = {.kind = TND_MSG_TOUCH, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.number = client;
    msg.note.payload = tnd_text_payload_of("%s %s", done ? "ok" : "refused", text);
    self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
}

/*  The log of every host records a touch. */
static void tell_all(tnd_leader_t *self, const char *text)
{
    tnd_leader_log(self, TND_LOG_INFO, self->plan->hosts[0].name, "control", text);
    for (uint32_t h = 1; h < self->plan->host_count; h++) {
        tnd_msg_t msg = {.kind = TND_MSG_TOUCH, .from = TND_LEADER, .to = tnd_host_id(h)};
        msg.note.payload = tnd_text_payload_of("%s", text);
        self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
    }
}

/*  The instance of that name in the running chain, or of the actor of that name if it has only one;
 *  or instance_count. */
static uint32_t find(const tnd_leader_t *self, const char *name)
{
    const tnd_plan_t *plan = self->plan;
    uint32_t found = plan->instance_count, count = 0;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->chain != self->chain)
            continue;
        if (strcmp(instance->name, name) == 0)
            return i;
        if (strcmp(instance->actor, name) != 0)
            continue;
        found = i;
        count++;
    }
    return count == 1 ? found : plan->instance_count;
}

static tnd_status_t restart(tnd_leader_t *self, const tnd_touch_t *touch, uint64_t now,
                            tnd_error_t *error)
{
    uint32_t instance = find(self, touch->actor);
    if (instance == self->plan->instance_count)
        return tnd_fail(error,
                        "it is not one actor of the running chain, %s; `tundish ps` lists them",
                        tnd_leader_chain_name(self));
    return tnd_leader_core_ask_restart(tnd_leader_session(self), instance, now, error);
}

static tnd_status_t carry_out(tnd_leader_t *self, const tnd_touch_t *touch, uint64_t now,
                              tnd_error_t *error)
{
    switch (touch->verb) {
    case TND_TOUCH_PAUSE:
        TND_TRY(tnd_leader_core_pause(tnd_leader_session(self), error));
        self->paused_ns = now;
        snprintf(self->paused_by, sizeof self->paused_by, "%s", touch->user);
        break;
    case TND_TOUCH_RESUME:
        TND_TRY(tnd_leader_core_resume(tnd_leader_session(self), error));
        self->paused_ns = 0;
        break;
    case TND_TOUCH_DRAIN:
        if (self->drain)
            return tnd_fail(error, "it drains already");
        tnd_leader_drain(self, now);
        break;
    case TND_TOUCH_RESTART:
        return restart(self, touch, now, error);
    }
    return TND_OK;
}

void tnd_leader_touch(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    static const char *const done[] = {
        [TND_TOUCH_PAUSE] = "pauses: steps that have started finish, and no further one is started",
        [TND_TOUCH_RESUME] = "continues",
        [TND_TOUCH_DRAIN] = "drains: every replica finishes the same last step, and the run ends",
        [TND_TOUCH_RESTART] = "is replaced by a new life",
    };
    tnd_touch_t touch;
    tnd_error_t error = {.text = ""};
    char text[512];
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *line = tnd_text_payload_line(&reader);
    if (tnd_touch_read(&touch, line != NULL ? line : "", line != NULL ? strlen(line) : 0, &error) !=
        TND_OK) {
        answer(self, host, msg->note.number, false, error.text);
        return;
    }
    const char *of = touch.verb == TND_TOUCH_RESTART ? touch.actor : self->plan->name;
    tnd_status_t status =
        self->ended ? tnd_fail(&error, "the run has ended") : carry_out(self, &touch, now, &error);
    if (status == TND_OK) {
        snprintf(text, sizeof text, "%s by %s, after %" PRIu64 " steps: %s %s",
                 tnd_touch_verb(touch.verb), touch.user,
                 tnd_leader_core_cursor(tnd_leader_session(self))->step, of, done[touch.verb]);
        tell_all(self, text);
        snprintf(text, sizeof text, "%s %s", of, done[touch.verb]);
    } else {
        snprintf(text, sizeof text, "cannot %s %s: %.400s", tnd_touch_verb(touch.verb), of,
                 error.text);
    }
    answer(self, host, msg->note.number, status == TND_OK, text);
}

/*  A pause continues in the next chain. */
void tnd_leader_stay_paused(tnd_leader_t *self)
{
    tnd_error_t error;
    if (self->paused_ns != 0 && tnd_leader_core_pause(tnd_leader_session(self), &error) != TND_OK)
        self->paused_ns = 0;
}
