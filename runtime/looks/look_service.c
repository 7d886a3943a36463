/*  runtime/looks/look_service.c - answers inspectors that look by the control connection. */
#include "runtime/looks/look_service.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/data/buffer.h"
#include "runtime/looks/page_changes.h"

struct tnd_look_service {
    tnd_look_config_t config;
    tnd_look_output_t output;
    tnd_inspectors_t *inspectors;
    tnd_page_changes_t *changes; /* NULL: no inspector looks */
    uint64_t looked_ns;          /* when one last did */
};

tnd_look_service_t *tnd_look_service_new(const tnd_look_config_t *config,
                                         const tnd_look_output_t *output)
{
    tnd_look_service_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->config = *config;
    self->output = *output;
    self->inspectors =
        tnd_inspectors_init(tnd_allocate_zeroed(1, tnd_inspectors_bytes(config->host_count)),
                            config->host_count, tnd_clock_read(CLOCK_REALTIME));
    return self;
}

void tnd_look_service_destroy(tnd_look_service_t **self_p)
{
    if (*self_p == NULL)
        return;
    tnd_page_changes_free((*self_p)->changes);
    free((*self_p)->inspectors);
    free(*self_p);
    *self_p = NULL;
}

/* --- the leader ------------------------------------------------------------------------------- */

static void judge(tnd_look_service_t *self, tnd_actor_id_t inspector, const char *why)
{
    if (why != NULL)
        self->output.disconnect(self->output.context, inspector, why);
}

void tnd_look_service_came(tnd_look_service_t *self, tnd_actor_id_t inspector, uint64_t now)
{
    judge(self, inspector, tnd_inspectors_came(self->inspectors, inspector, now));
}

void tnd_look_service_gone(tnd_look_service_t *self, tnd_actor_id_t inspector)
{
    tnd_inspectors_gone(self->inspectors, inspector);
}

static bool read_question(const tnd_msg_t *msg, tnd_look_question_t *question)
{
    tnd_buffer_t *payload = msg->note.payload;
    if (msg->kind != TND_MSG_LOOK || payload == NULL ||
        tnd_buffer_size(payload) != sizeof *question)
        return false;
    memcpy(question, tnd_buffer_data(payload), sizeof *question);
    return true;
}

void tnd_look_service_asked(tnd_look_service_t *self, tnd_actor_id_t inspector,
                            const tnd_msg_t *msg, uint64_t now)
{
    tnd_look_question_t question;
    if (read_question(msg, &question)) {
        judge(self, inspector,
              tnd_inspectors_ask(self->inspectors, inspector, msg->note.number, &question, now));
        return;
    }
    tnd_inspectors_gone(self->inspectors, inspector);
    judge(self, inspector, "it is an inspector, and this is not a question of one");
}

void tnd_look_service_answered(tnd_look_service_t *self, const tnd_msg_t *msg)
{
    tnd_msg_t answer = {
        .kind = TND_MSG_LOOK, .from = self->config.self, .to = (tnd_actor_id_t)msg->note.number};
    uint32_t host = msg->from - self->config.first_host;
    if (msg->note.payload == NULL || msg->note.number > UINT32_MAX ||
        !tnd_inspectors_answered(self->inspectors, answer.to, host,
                                 tnd_buffer_size(msg->note.payload), &answer.note.number))
        return;
    answer.note.payload = tnd_buffer_hold(msg->note.payload);
    self->output.send(self->output.context, &answer);
}

static void pass_on(tnd_look_service_t *self, const tnd_look_turn_t *turn)
{
    tnd_msg_t msg = {.kind = TND_MSG_LOOK,
                     .from = TND_LEADER,
                     .to = self->config.first_host + turn->host,
                     .note.number = turn->inspector};
    tnd_buffer_t *payload = tnd_buffer_new(sizeof turn->question);
    memcpy(tnd_buffer_data(payload), &turn->question, sizeof turn->question);
    tnd_buffer_seal(payload);
    msg.note.payload = payload;
    self->output.send(self->output.context, &msg);
}

/* --- a host ----------------------------------------------------------------------------------- */

void tnd_look_service_question(tnd_look_service_t *self, const tnd_msg_t *msg, uint64_t now)
{
    tnd_look_question_t question;
    if (!read_question(msg, &question))
        return;
    if (self->changes == NULL)
        self->changes = tnd_page_changes_new(self->config.pages, self->config.host_count,
                                             tnd_clock_read(CLOCK_REALTIME));
    self->looked_ns = now;
    uint64_t bytes[TND_LOOK_BYTES / sizeof(uint64_t)];
    size_t size = tnd_page_changes_answer(self->changes, &question, now, (uint8_t *)bytes);
    tnd_buffer_t *payload = tnd_buffer_new(size);
    memcpy(tnd_buffer_data(payload), bytes, size);
    tnd_buffer_seal(payload);
    tnd_msg_t answer = {.kind = TND_MSG_LOOK,
                        .from = self->config.self,
                        .to = TND_LEADER,
                        .note.number = msg->note.number};
    answer.note.payload = payload;
    self->output.send(self->output.context, &answer);
}

uint64_t tnd_look_service_work(tnd_look_service_t *self, uint64_t now)
{
    tnd_actor_id_t late;
    while ((late = tnd_inspectors_expired(self->inspectors, now)) != TND_NOBODY)
        judge(self, late, "it has not asked for so long that its lease has ended");
    for (tnd_look_turn_t turn; tnd_inspectors_next(self->inspectors, now, &turn);)
        pass_on(self, &turn);
    uint64_t due = tnd_inspectors_due(self->inspectors);
    if (self->changes == NULL)
        return due;
    uint64_t end = self->looked_ns + TND_LOOK_LEASE_NS;
    if (now >= end) {
        tnd_page_changes_free(self->changes);
        self->changes = NULL;
    }
    return end < due && now < end ? end : due;
}
