/*  runtime/host/host_touch.c - touches: taken at the socket of this process, passed on to the leader,
 *  and logged once the leader has carried them out. */
#include "runtime/host/host_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/data/text_payload.h"
#include "runtime/plan/actor_names.h"
#include "runtime/plan/changed_plan.h"
#include "runtime/resources/memory_sum.h"
#include "runtime/touch/touch_socket.h"

/*  How often the socket is looked at, which takes a system call. */
static const uint64_t look_every_ns = 20000000;

void tnd_host_open_touches(tnd_host_t *self)
{
    char path[128];
    tnd_error_t error;
    const char *pages = tnd_pages_path(self->pages);
    if (*pages == '\0')
        return; /* the reason is reported already */
    if (tnd_touch_path(pages, path, sizeof path, &error) != TND_OK ||
        tnd_touch_socket_new(&self->touches.socket, path, &error) != TND_OK)
        snprintf(self->unseen, sizeof self->unseen, "no command can touch this run: %.150s",
                 error.text);
}

void tnd_host_close_touches(tnd_host_t *self)
{
    tnd_touch_socket_destroy(&self->touches.socket);
    tnd_changed_plan_free(self->changed_plan);
    self->changed_plan = NULL;
}

uint64_t tnd_host_touch(tnd_host_t *self, uint64_t now)
{
    tnd_touch_t touch;
    uint64_t client;
    if (self->touches.socket == NULL)
        return TND_NEVER;
    if (now < self->touches.due_ns)
        return tnd_touch_socket_busy(self->touches.socket) ? self->touches.due_ns : TND_NEVER;
    self->touches.due_ns = now + look_every_ns;
    while (tnd_touch_socket_next(self->touches.socket, now, &client, &touch)) {
        char line[TND_TOUCH_LINE];
        tnd_touch_write(&touch, line);
        if (tnd_host_reaches_leader(self))
            tnd_host_tell_leader(self, TND_MSG_TOUCH, client, tnd_text_payload_of("%s", line));
        else
            tnd_touch_socket_answer(self->touches.socket, client, false,
                                    "this process does not reach the leader");
    }
    return tnd_touch_socket_busy(self->touches.socket) ? self->touches.due_ns : TND_NEVER;
}

bool tnd_host_fits(void *context, const tnd_plan_t *plan, uint32_t *workers_p, tnd_error_t *why)
{
    tnd_host_t *self = context;
    if (!tnd_host_knows_streams(self))
        return tnd_fail(why, "its data is not open yet: ask again later"), false;
    tnd_arena_t *arena = tnd_arena_new();
    tnd_diagnostics_t *found = tnd_diagnostics_new(arena);
    bool fits = true;
    *workers_p = UINT32_MAX;
    for (uint32_t h = 0; h < plan->host_count && fits; h++) {
        uint32_t workers = UINT32_MAX;
        fits = tnd_memory_fits(plan, h, tnd_host_stream, self, &workers, found);
        *workers_p = workers < *workers_p ? workers : *workers_p;
    }
    if (!fits)
        (void)tnd_fail(why, "%s", tnd_diagnostics_sentence(found));
    tnd_arena_destroy(&arena);
    return fits;
}

/*  The leader has logged it already.  "": a host that has come later is told what was set before. */
static void log_touch(tnd_host_t *self, const char *text)
{
    if (tnd_host_leads(self) || *text == '\0')
        return;
    tnd_run_record_log(tnd_pages_record(self->pages), TND_LOG_INFO,
                       self->plan->hosts[self->config.host].name, "control", text, tnd_clock_now());
    const tnd_observer_t *observer = self->config.observer;
    if (tnd_observer_wants(observer, TND_LOG_INFO))
        observer->log(observer->context, TND_LOG_INFO, self->plan->hosts[self->config.host].name,
                      "control", text);
}

void tnd_host_take_scale(tnd_host_t *self, const tnd_msg_t *msg)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *line = tnd_text_payload_line(&reader);
    uint64_t workers = line != NULL ? strtoull(line, NULL, 10) : 0;
    if (msg->note.number < self->plan->instance_count && workers > 0 && workers <= UINT32_MAX)
        tnd_host_scale(self, (uint32_t)msg->note.number, (uint32_t)workers);
}

/*  The option that a user has set, as a touch: the memory that is shown is that of the changed plan. */
static void take_option(tnd_host_t *self, const char *line)
{
    const tnd_plan_t *now = self->changed_plan != NULL ? self->changed_plan : self->plan;
    tnd_option_change_t change;
    tnd_touch_t touch;
    tnd_error_t error;
    if (tnd_touch_read(&touch, line, strlen(line), &error) != TND_OK || touch.verb != TND_TOUCH_SET)
        return;
    uint32_t i = tnd_plan_first_of(now, touch.actor);
    if (i == now->instance_count ||
        tnd_option_change_read(&change, &now->instances[i].kind->table, now->instances[i].options,
                               touch.option, touch.value, &error) != TND_OK)
        return;
    tnd_plan_t *changed = tnd_changed_plan_new(now, i, &change);
    tnd_changed_plan_free(self->changed_plan);
    self->changed_plan = changed;
    if (tnd_host_has_actors(self))
        tnd_host_record_memory(self);
}

void tnd_host_take_touch(tnd_host_t *self, const tnd_msg_t *msg)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    const char *line = tnd_text_payload_line(&reader);
    if (line == NULL)
        return;
    if (msg->note.number == 0) {
        log_touch(self, line);
        line = tnd_text_payload_line(&reader);
        if (line != NULL)
            take_option(self, line);
    } else if (self->touches.socket != NULL && strncmp(line, "ok ", 3) == 0)
        tnd_touch_socket_answer(self->touches.socket, msg->note.number, true, line + 3);
    else if (self->touches.socket != NULL && strncmp(line, "refused ", 8) == 0)
        tnd_touch_socket_answer(self->touches.socket, msg->note.number, false, line + 8);
}
