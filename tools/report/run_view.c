/*  tools/report/run_view.c - two inspections of one run, and the actors in it. */
#include "tools/report/run_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/text/printable.h"

/*  Whether a later process of the same host runs. */
static bool is_replaced(const tnd_run_view_t *self, const tnd_inspected_t *process)
{
    for (uint32_t p = 0; p < self->after->count; p++) {
        const tnd_inspected_t *other = &self->after->processes[p];
        if (other != process && tnd_inspected_same(other, process) &&
            strcmp(other->host, process->host) == 0 &&
            (!other->killed || other->last_ns > process->last_ns))
            return true;
    }
    return false;
}

const char *tnd_run_word(const tnd_inspection_t *look, const tnd_inspected_t *process,
                         char text[64])
{
    snprintf(text, 64, "%s", process->run);
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *other = &look->processes[p];
        if (!other->killed && strcmp(other->run, process->run) == 0 &&
            !tnd_inspected_same(other, process))
            snprintf(text, 64, "%d", tnd_inspection_leader(look, process)->process);
    }
    return text;
}

bool tnd_run_is_superseded(const tnd_inspection_t *look, const tnd_inspected_t *process)
{
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *other = &look->processes[p];
        if (strcmp(other->run, process->run) == 0 && !tnd_inspected_same(other, process) &&
            (!other->killed || other->last_ns > process->last_ns))
            return !tnd_inspection_runs(look, process);
    }
    return false;
}

bool tnd_run_view_has(const tnd_run_view_t *self, const tnd_inspected_t *process)
{
    return tnd_inspected_same(process, self->of) &&
           (!process->killed || !is_replaced(self, process));
}

/*  The leader's record has the most; without it, that of any process that runs. */
static const tnd_run_record_t *best_record(const tnd_run_view_t *self)
{
    const tnd_inspected_t *found = NULL;
    for (uint32_t p = 0; p < self->after->count; p++) {
        const tnd_inspected_t *process = &self->after->processes[p];
        if (!tnd_run_view_has(self, process) || process->record.page == NULL)
            continue;
        bool leads = process->record.page->state != 0;
        if (found == NULL || (leads && found->record.page->state == 0))
            found = process;
    }
    return found != NULL ? &found->record : NULL;
}

const char *tnd_run_view_name(const tnd_run_view_t *self, uint32_t instance)
{
    bool known = self->record != NULL && instance < self->record->shape.actors;
    return known ? self->record->instances[instance].name : NULL;
}

const tnd_host_record_t *tnd_run_view_host(const tnd_run_view_t *self, uint32_t instance)
{
    bool known = self->record != NULL && instance < self->record->shape.actors &&
                 self->record->instances[instance].host < self->record->shape.hosts;
    return known ? &self->record->hosts[self->record->instances[instance].host] : NULL;
}

void tnd_run_view_actors(const tnd_run_view_t *self, const char *host, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; self->record != NULL && i < self->record->shape.actors; i++) {
        const tnd_host_record_t *of = tnd_run_view_host(self, i);
        if (of != NULL && strcmp(of->name, host) == 0 && used < room)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "",
                                     self->record->instances[i].name);
    }
}

tnd_run_view_t tnd_run_view(const tnd_inspection_t *before, const tnd_inspection_t *after,
                            const tnd_inspected_t *process)
{
    tnd_run_view_t self = {.before = before, .after = after, .of = process};
    for (uint32_t p = 0; p < after->count; p++)
        self.processes += tnd_run_view_has(&self, &after->processes[p]);
    self.record = best_record(&self);
    return self;
}

tnd_seen_t tnd_run_view_instance(const tnd_run_view_t *self, uint32_t instance)
{
    tnd_seen_t who;
    TND_EACH_ACTOR(self, who)
    if (who.page->instance == instance)
        return who;
    return (tnd_seen_t){NULL, NULL};
}

const tnd_statistics_t *tnd_run_view_before(const tnd_run_view_t *self, const tnd_seen_t *who)
{
    return tnd_inspection_find(self->before, who->process, who->page->actor);
}

bool tnd_seen_are_of(const tnd_statistics_t *page, const tnd_statistics_t *other)
{
    size_t length = strcspn(page->actor, ".@");
    return page->chain == other->chain && page->role == other->role &&
           strcspn(other->actor, ".@") == length && strncmp(page->actor, other->actor, length) == 0;
}

const char *tnd_seen_name(const tnd_run_view_t *self, const tnd_seen_t *who, char text[128])
{
    bool several = self->processes > 1;
    snprintf(text, 128, "%s%s%s", who->page->actor, several ? " on host " : "",
             several ? who->process->host : "");
    return text;
}

uint32_t tnd_seen_wait(const tnd_seen_t *who)
{
    uint32_t waits =
        tnd_seen_state(who) == TND_STATE_WAITING ? (uint32_t)(who->page->state >> 8) : 0;
    return waits != 0 ? 1u << tnd_wait_foremost(waits) : 0;
}

uint64_t tnd_seen_since(const tnd_run_view_t *self, const tnd_seen_t *who)
{
    uint64_t since =
        tnd_seen_state(who) == TND_STATE_WAITING ? who->page->waiting_ns : who->page->since_ns;
    return since != 0 && self->after->now_ns > since ? self->after->now_ns - since : 0;
}

const tnd_device_page_t *tnd_seen_device(const tnd_seen_t *who, uint32_t states)
{
    const tnd_device_page_t *found = NULL;
    for (uint32_t d = 0; d < who->page->device_count; d++) {
        const tnd_device_page_t *device = &who->page->devices[d];
        if ((states >> (device->state & 0xff) & 1) != 0 &&
            (found == NULL || device->since_ns < found->since_ns))
            found = device;
    }
    return found;
}

const tnd_device_page_t *tnd_seen_pending(const tnd_seen_t *who)
{
    const tnd_device_page_t *found = NULL;
    for (uint32_t d = 0; d < who->page->device_count; d++) {
        const tnd_device_page_t *device = &who->page->devices[d];
        if (device->pending != 0 &&
            (found == NULL || device->pending_since_ns < found->pending_since_ns))
            found = device;
    }
    return found;
}

const char *tnd_seen_reads(const tnd_seen_t *who, char *text, size_t room)
{
    const tnd_actor_detail_t *detail =
        tnd_run_record_detail(&who->process->record, who->page->instance);
    char file[8 * TND_DETAIL_FILE_WORDS];
    text[0] = '\0';
    if (detail == NULL || !tnd_actor_detail_file(detail, file, sizeof file))
        return text;
    snprintf(text, room, "reads %s, record %" PRIu64 ", from byte %" PRIu64,
             tnd_printable(file, sizeof file), detail->record, detail->offset);
    return text;
}

const char *tnd_seen_operation(const tnd_seen_t *who, double *share_p)
{
    const tnd_actor_detail_t *detail =
        tnd_run_record_detail(&who->process->record, who->page->instance);
    const tnd_operation_time_t *most = NULL;
    double sum = 0;
    for (uint64_t o = 0; detail != NULL && o < detail->operation_count; o++) {
        const tnd_operation_time_t *operation = &detail->operations[o];
        sum += (double)operation->ns;
        most = most == NULL || operation->ns > most->ns ? operation : most;
    }
    /* The only operation of an actor is of interest if it is a function of the user. */
    if (most == NULL || sum <= 0 ||
        (detail->operation_count < 2 && strchr(most->name, ':') == NULL))
        return NULL;
    *share_p = (double)most->ns / sum;
    return most->name;
}

static const tnd_history_t *history_of(const tnd_seen_t *who)
{
    const tnd_run_record_t *record = &who->process->record;
    uint32_t instance = who->page->instance;
    if (record->page == NULL || record->histories == NULL || instance >= record->shape.actors ||
        record->instances[instance].history >= record->shape.histories)
        return NULL;
    return &record->histories[record->instances[instance].history];
}

uint64_t tnd_seen_seconds(const tnd_seen_t *who)
{
    if (history_of(who) == NULL)
        return 0;
    uint64_t next = who->process->record.page->history_next;
    /* The oldest one may be replaced while it is copied. */
    return next < TND_HISTORY_SECONDS ? next : TND_HISTORY_SECONDS - 1;
}

const tnd_history_second_t *tnd_seen_second(const tnd_seen_t *who, uint64_t age)
{
    uint64_t next = who->process->record.page->history_next;
    return &history_of(who)->seconds[(next - 1 - age) % TND_HISTORY_SECONDS];
}

void tnd_seen_history(const tnd_seen_t *who, uint64_t seconds, tnd_times_t *times)
{
    *times = (tnd_times_t){.other = 0};
    for (uint64_t age = 0; age < seconds && age < tnd_seen_seconds(who); age++) {
        tnd_times_t second;
        tnd_times_unpack(tnd_seen_second(who, age)->shares, 1000000000, &second);
#define ADD_TIME(name, text) times->name += second.name;
        TND_TIMES(ADD_TIME)
#undef ADD_TIME
    }
}

void tnd_run_view_times(const tnd_run_view_t *self, const tnd_seen_t *who, tnd_times_t *times)
{
    const tnd_statistics_t *old = tnd_run_view_before(self, who);
    tnd_times_t was = {0}, is;
    if (old != NULL)
        tnd_statistics_times(old, self->before->now_ns, &was);
    tnd_statistics_times(who->page, self->after->now_ns, &is);
    tnd_times_between(&was, &is, tnd_run_view_window(self), times);
}

double tnd_run_view_throttled(const tnd_run_view_t *self, const tnd_inspected_t *process)
{
    double whole = (double)tnd_run_view_window(self), share = 0;
    for (uint32_t p = 0; p < self->before->count && whole > 0; p++) {
        const tnd_inspected_t *before = &self->before->processes[p];
        if (strcmp(before->path, process->path) == 0 &&
            process->throttled_ns > before->throttled_ns)
            share = (double)(process->throttled_ns - before->throttled_ns) / whole;
    }
    return share < 1 ? share : 1;
}

const char *tnd_death_text(const tnd_inspected_t *process, char text[64])
{
    if (process->killed_by == 0)
        snprintf(text, 64, "killed or crashed");
    else
        snprintf(text, 64, "killed by signal %d (%s)", process->killed_by,
                 strsignal(process->killed_by));
    return text;
}

const char *tnd_duration_text(uint64_t ns, char text[24])
{
    double seconds = (double)ns * 1e-9;
    if (seconds < 0.1)
        snprintf(text, 24, seconds < 0.001 ? "%.2f ms" : "%.0f ms", 1e3 * seconds);
    else if (seconds < 10)
        snprintf(text, 24, "%.1f s", seconds);
    else if (seconds < 120)
        snprintf(text, 24, "%.0f s", seconds);
    else
        snprintf(text, 24, "%.0f min", seconds / 60);
    return text;
}
