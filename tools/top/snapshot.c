/*  tools/top/snapshot.c - what `tundish top` knows of a run at one moment. */
#include "tools/top/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/observe/process.h"
#include "tools/report/bottleneck.h"
#include "tools/report/evidence.h"
#include "tools/report/run_json.h"
#include "tools/report/run_rate.h"

/*  In the order of TND_TIMES: cpu, wait_in, wait_credit, wait_order, wait_step, wait_reduce,
 *  wait_io, run_queue, other. */
const char tnd_top_letters[TND_TOP_SHARES + 1] = "Ricosndq.";

char tnd_top_letter(const tnd_top_actor_t *actor)
{
    if (!actor->here)
        return '?';
    if (actor->killed || actor->failed)
        return 'X';
    if (actor->stopped)
        return 'T';
    if (actor->ended)
        return '.';
    if (actor->silent)
        return '?';
    if (actor->asleep)
        return '.';
    if (actor->working)
        return 'R';
    static const struct {
        const char *wait;
        char letter;
    } letters[] = {{"input", 'i'}, {"credit", 'c'}, {"window", 'c'}, {"memory", 'c'},
                   {"order", 'o'}, {"mark", 'o'},   {"step", 's'},   {"reduce", 'n'},
                   {"peer", 'p'},  {"leader", 'l'}, {"ended", '.'}};
    size_t length = strcspn(actor->waits, ",");
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        if (length == strlen(letters[i].wait) &&
            strncmp(actor->waits, letters[i].wait, length) == 0)
            return letters[i].letter;
    return 'R';
}

void tnd_top_bar(const double *parts, const char *letters, size_t count, unsigned width, char *bar)
{
    double sum = 0;
    unsigned used = 0;
    for (size_t i = 0; i < count; i++) {
        sum += parts[i];
        unsigned until = (unsigned)(sum * width + 0.5);
        while (used < until && used < width)
            bar[used++] = letters[i];
    }
    while (used < width)
        bar[used++] = count > 0 ? letters[count - 1] : ' ';
    bar[width] = '\0';
}

static double seconds_of(uint64_t now, uint64_t at)
{
    return at != 0 && now > at ? (double)(now - at) * 1e-9 : 0;
}

static uint64_t more_of(uint64_t after, uint64_t before)
{
    return after > before ? after - before : 0;
}

static void to_parts(const tnd_times_t *times, double parts[TND_TOP_SHARES])
{
    uint64_t values[TND_TOP_SHARES], sum = 0;
    memcpy(values, times, sizeof values);
    for (unsigned i = 0; i < TND_TOP_SHARES; i++)
        sum += values[i];
    for (unsigned i = 0; i < TND_TOP_SHARES; i++)
        parts[i] = sum > 0 ? (double)values[i] / (double)sum : 0;
}

/* --- histories -------------------------------------------------------------------------------- */

/*  The last `count` seconds of a history; returns how many there are. */
static uint32_t sum_seconds(const tnd_history_t *history, uint64_t next, uint32_t count,
                            double parts[TND_TOP_SHARES], double *rows_p, double *bytes_p)
{
    uint32_t found = 0;
    memset(parts, 0, TND_TOP_SHARES * sizeof *parts);
    *rows_p = *bytes_p = 0;
    for (uint64_t back = 1; back <= count && back <= next && back < TND_HISTORY_SECONDS; back++) {
        const tnd_history_second_t *second = &history->seconds[(next - back) % TND_HISTORY_SECONDS];
        tnd_times_t times;
        double one[TND_TOP_SHARES];
        tnd_times_unpack(second->shares, 1000000000, &times);
        to_parts(&times, one);
        for (unsigned i = 0; i < TND_TOP_SHARES; i++)
            parts[i] += one[i];
        *rows_p += (double)second->rows;
        *bytes_p += (double)second->bytes;
        found++;
    }
    for (unsigned i = 0; i < TND_TOP_SHARES && found > 0; i++)
        parts[i] /= found;
    if (found > 0) {
        *rows_p /= found;
        *bytes_p /= found;
    }
    return found;
}

static tnd_top_moment_t moment_of(const tnd_history_second_t *second, double seconds)
{
    tnd_times_t times;
    double parts[TND_TOP_SHARES], step, program;
    tnd_times_unpack(second->shares, 1000000000, &times);
    to_parts(&times, parts);
    tnd_feeder_shares_unpack(second->shares, &step, &program);
    tnd_top_moment_t moment = {.known = true, .rows = (double)second->rows / seconds};
    for (unsigned i = 0; i < TND_TOP_SHARES; i++)
        if (parts[i] > parts[moment.most])
            moment.most = (uint8_t)i;
    double own = parts[0] + parts[6];
    moment.work = own > step ? own : step;
    return moment;
}

static void read_moments(tnd_top_actor_t *actor, const tnd_history_t *history, uint64_t next)
{
    for (uint64_t back = 1; back <= TND_TOP_MOMENTS && back <= next; back++)
        actor->seconds[TND_TOP_MOMENTS - back] =
            moment_of(&history->seconds[(next - back) % TND_HISTORY_SECONDS], 1);
    uint64_t spans = next / TND_HISTORY_SPAN;
    for (uint64_t back = 1; back <= TND_TOP_MOMENTS && back <= spans; back++)
        actor->spans[TND_TOP_MOMENTS - back] =
            moment_of(&history->spans[(spans - back) % TND_HISTORY_SPANS], TND_HISTORY_SPAN);
}

static void read_history(tnd_top_actor_t *actor, const tnd_inspected_t *process, bool last_second)
{
    const tnd_run_record_t *record = &process->record;
    if (record->histories == NULL || actor->instance >= record->shape.actors)
        return;
    uint32_t index = record->instances[actor->instance].history;
    if (index >= record->shape.histories)
        return;
    const tnd_history_t *history = &record->histories[index];
    uint64_t next = record->page->history_next;
    double rows, bytes;
    actor->minute_seconds =
        sum_seconds(history, next, 60, actor->minute, &actor->rows_minute, &bytes);
    (void)sum_seconds(history, next, 10, actor->ten, &rows, &bytes);
    read_moments(actor, history, next);
    if (last_second)
        (void)sum_seconds(history, next, 1, actor->times, &actor->rows_per_second,
                          &actor->bytes_per_second);
}

/* --- actors ----------------------------------------------------------------------------------- */

/*  The part of the window that a time grew by; it is published now and then, so it may grow by more. */
static double share_of(uint64_t after, uint64_t before, uint64_t window_ns)
{
    double share = window_ns > 0 ? (double)more_of(after, before) / (double)window_ns : 0;
    return share < 1 ? share : 1;
}

static double share_waited(const tnd_device_page_t *page, const tnd_device_page_t *old,
                           tnd_device_wait_t wait, uint64_t now, uint64_t window_ns)
{
    return share_of(tnd_device_waited(page, wait, now),
                    tnd_device_waited(old, wait, now - window_ns), window_ns);
}

/*  `old` is the page at the start of the window, or NULL. */
static void take_link(tnd_top_device_t *device, const tnd_device_page_t *old,
                      const tnd_device_page_t *page, uint64_t window_ns, uint64_t now)
{
    snprintf(device->model, sizeof device->model, "%s", page->model);
    snprintf(device->bus, sizeof device->bus, "%s", page->bus);
    device->memory = page->memory;
    device->bytes_moved = page->bytes_moved;
    tnd_device_pending_text(page, device->pending, sizeof device->pending);
    device->pending_seconds = seconds_of(now, page->pending_since_ns);
    if (old == NULL || window_ns == 0)
        return;
    device->bytes_per_second =
        (double)more_of(page->bytes_moved, old->bytes_moved) * 1e9 / (double)window_ns;
    device->link_share = share_of(page->link_ns, old->link_ns, window_ns);
    device->link_wait_share = share_waited(page, old, TND_DEVICE_WAIT_LINK, now, window_ns);
    device->rows_wait_share = share_waited(page, old, TND_DEVICE_WAIT_ROWS, now, window_ns);
    device->work_share =
        share_of(tnd_device_worked(page, now), tnd_device_worked(old, now - window_ns), window_ns);
    /* A program that keeps its rows until it gets the next ones makes all of that time seem work. */
    double most = 1 - device->link_wait_share - device->rows_wait_share;
    most = most > 0 ? most : 0;
    device->work_share = device->work_share < most ? device->work_share : most;
}

/*  Its thread may do nothing while a device works on a step. */
static void take_work(tnd_top_device_t *device, const tnd_device_page_t *page, uint64_t now)
{
    double *idle = &device->shares[TND_DEVICE_IDLE], *step = &device->shares[TND_DEVICE_STEP];
    device->timed = page->timed != 0;
    double more = device->work_share > *step ? device->work_share - *step : 0;
    more = more < *idle ? more : *idle;
    *step += more;
    *idle -= more;
    tnd_device_doing_t doing = tnd_device_doing(page);
    device->state = doing.state;
    device->step = doing.step;
    device->since_seconds = seconds_of(now, doing.since_ns);
}

static void take_devices(tnd_top_actor_t *actor, const tnd_statistics_t *old,
                         const tnd_statistics_t *page, uint64_t before, uint64_t now)
{
    actor->device_count = (uint32_t)page->device_count;
    actor->devices = tnd_allocate_zeroed(actor->device_count + (size_t)1, sizeof *actor->devices);
    for (uint32_t d = 0; d < actor->device_count; d++) {
        const tnd_device_page_t *from = &page->devices[d];
        tnd_top_device_t *device = &actor->devices[d];
        snprintf(device->name, sizeof device->name, "%s", from->name);
        device->state = from->state & 0xff;
        device->replica = from->state >> 8;
        device->step = from->step;
        device->since_seconds = seconds_of(now, from->since_ns);
        const tnd_device_page_t *older =
            old != NULL && d < old->device_count ? &old->devices[d] : NULL;
        take_link(device, older, from, now - before, now);
        double sum = 0;
        for (unsigned s = 0; s < TND_DEVICE_STATES; s++) {
            uint64_t was = older != NULL ? older->spent_ns[s] : 0;
            device->shares[s] = (double)more_of(from->spent_ns[s], was);
            sum += device->shares[s];
        }
        /* The state that it has been in for the whole window was not booked yet. */
        if (sum <= 0)
            device->shares[device->state] = sum = 1;
        for (unsigned s = 0; s < TND_DEVICE_STATES; s++)
            device->shares[s] /= sum;
        take_work(device, from, now);
    }
}

static void take_window(tnd_top_actor_t *actor, const tnd_statistics_t *old,
                        const tnd_statistics_t *page, uint64_t before, uint64_t now)
{
    tnd_times_t was, is, window;
    double seconds = (double)(now - before) * 1e-9;
    tnd_statistics_times(old, before, &was);
    tnd_statistics_times(page, now, &is);
    tnd_times_between(&was, &is, now - before, &window);
    to_parts(&window, actor->times);
    actor->rows_per_second = (double)more_of(page->rows_out, old->rows_out) / seconds;
    actor->bytes_per_second = (double)more_of(page->bytes_out, old->bytes_out) / seconds;
}

static void take_page(tnd_top_actor_t *actor, const tnd_inspected_t *process,
                      const tnd_statistics_t *page, uint64_t now)
{
    tnd_state_t state = (tnd_state_t)(page->state & 0xff);
    actor->here = true;
    actor->stopped = process->stopped;
    actor->killed = process->killed;
    actor->silent = process->silent_ns != 0;
    actor->ended = state == TND_STATE_ENDED;
    actor->failed = state == TND_STATE_FAILED;
    actor->working = state == TND_STATE_WORKING || state == TND_STATE_RUNNING;
    actor->opens = page->opens != 0;
    actor->asleep = page->asleep != 0 && state == TND_STATE_WAITING;
    actor->queue = page->queue;
    actor->credit = page->credit;
    actor->rows_in = page->rows_in;
    actor->rows_out = page->rows_out;
    actor->lost = page->lost;
    actor->again = page->again;
    actor->doubled = page->doubled;
    actor->stale = page->stale;
    actor->step = page->step;
    actor->thread = page->thread;
    actor->process = process->process;
    actor->since_seconds = tnd_run_json_since(page, now);
    actor->age_seconds = seconds_of(now, page->begun_ns);
    FILE *out = tnd_require_memory(fmemopen(actor->waits, sizeof actor->waits, "w"));
    tnd_run_json_waits(out, page, "", ",", "");
    fclose(out);
    actor->waits[sizeof actor->waits - 1] = '\0';
}

static void name_peers(const tnd_run_record_t *record, uint32_t instance, bool upstream, char *text,
                       size_t room)
{
    size_t used = 0;
    uint32_t left = 0;
    for (uint32_t e = 0; e < record->shape.edges; e++) {
        const tnd_edge_record_t *edge = &record->edges[e];
        if ((upstream ? edge->to : edge->from) != instance)
            continue;
        const char *name = record->instances[upstream ? edge->from : edge->to].name;
        if (used + strlen(name) + 24 < room)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", name);
        else
            left++;
    }
    if (left > 0)
        snprintf(text + used, room - used, " and %" PRIu32 " more", left);
}

/*  The page of an instance, in whichever process has it; a live process is preferred. */
static const tnd_statistics_t *page_of(const tnd_inspection_t *look, const tnd_inspected_t *run,
                                       const char *name, const tnd_inspected_t **process_p)
{
    const tnd_statistics_t *found = NULL;
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *process = &look->processes[p];
        if (!tnd_inspected_same(process, run) || (found != NULL && process->killed))
            continue;
        for (uint32_t a = 0; a < process->count; a++)
            if (strcmp(process->actors[a].actor, name) == 0) {
                found = &process->actors[a];
                *process_p = process;
            }
    }
    return found;
}

static void take_actors(tnd_top_snapshot_t *self, const tnd_inspection_t *before,
                        const tnd_inspection_t *after, const tnd_inspected_t *leader)
{
    const tnd_run_record_t *record = &leader->record;
    self->actor_count = record->shape.hosts > 0 ? record->shape.actors : 0;
    self->actors = tnd_allocate_zeroed(self->actor_count + (size_t)1, sizeof *self->actors);
    for (uint32_t i = 0; i < self->actor_count; i++) {
        const tnd_instance_record_t *instance = &record->instances[i];
        const tnd_inspected_t *process = NULL;
        tnd_top_actor_t *actor = &self->actors[i];
        snprintf(actor->name, sizeof actor->name, "%s", instance->name);
        snprintf(actor->actor, sizeof actor->actor, "%s", instance->actor);
        snprintf(actor->kind, sizeof actor->kind, "%s", instance->kind);
        snprintf(actor->host, sizeof actor->host, "%s", record->hosts[instance->host].name);
        actor->role = (tnd_role_t)instance->role;
        actor->instance = i;
        actor->chain = instance->chain;
        actor->host_index = instance->host;
        actor->credit = TND_UNKNOWN;
        name_peers(record, i, true, actor->upstream, sizeof actor->upstream);
        name_peers(record, i, false, actor->downstream, sizeof actor->downstream);
        const tnd_statistics_t *page = page_of(after, leader, instance->name, &process);
        if (page == NULL)
            continue;
        take_page(actor, process, page, after->now_ns);
        const tnd_statistics_t *old =
            after == before ? NULL : tnd_inspection_find(before, process, instance->name);
        read_history(actor, process, old == NULL);
        if (old != NULL)
            take_window(actor, old, page, before->now_ns, after->now_ns);
        take_devices(actor, old, page, before->now_ns, after->now_ns);
        self->lost += actor->lost;
        self->again += actor->again;
        self->doubled += actor->doubled;
        if (actor->role == TND_ROLE_FEEDER && actor->chain == record->page->chain)
            self->rows_per_second += actor->rows_per_second;
        if (actor->role == TND_ROLE_READER && actor->chain == record->page->chain)
            self->bytes_per_second += actor->bytes_per_second;
    }
}

/*  How far each actor is from the start of the graph: the longest way.  Pages of another
 *  process may contain a cycle. */
static void rank_actors(tnd_top_snapshot_t *self, const tnd_run_record_t *record)
{
    bool changed = true;
    for (uint32_t turn = 0; changed && turn < 32; turn++) {
        changed = false;
        for (uint32_t e = 0; e < record->shape.edges && self->actor_count > 0; e++) {
            tnd_top_actor_t *to = &self->actors[record->edges[e].to];
            uint32_t rank = self->actors[record->edges[e].from].rank + 1;
            if (rank > to->rank && record->edges[e].from != record->edges[e].to) {
                to->rank = rank;
                changed = true;
            }
        }
    }
}

/* --- edges, hosts, log ------------------------------------------------------------------------ */

static const tnd_edge_end_t *end_of(const tnd_inspection_t *look, const tnd_inspected_t *run,
                                    uint32_t edge, uint32_t host, unsigned end)
{
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *process = &look->processes[p];
        if (tnd_inspected_same(process, run) && !process->killed &&
            process->record.page->host == host && edge < process->record.shape.edges)
            return &process->record.edges[edge].ends[end];
    }
    return NULL;
}

static void take_edge(tnd_top_snapshot_t *self, const tnd_inspection_t *before,
                      const tnd_inspection_t *after, const tnd_inspected_t *leader, uint32_t index)
{
    const tnd_run_record_t *record = &leader->record;
    const tnd_edge_record_t *from = &record->edges[index];
    tnd_top_edge_t *edge = &self->edges[index];
    const tnd_top_actor_t *sender = &self->actors[from->from], *receiver = &self->actors[from->to];
    snprintf(edge->from, sizeof edge->from, "%s", sender->name);
    snprintf(edge->to, sizeof edge->to, "%s", receiver->name);
    snprintf(edge->from_actor, sizeof edge->from_actor, "%s", sender->actor);
    snprintf(edge->to_actor, sizeof edge->to_actor, "%s", receiver->actor);
    edge->call = receiver->role == TND_ROLE_REDUCER;
    edge->transport = from->transport;
    edge->chain = sender->chain;
    edge->queue = receiver->queue;
    edge->credit = sender->credit;
    edge->up_seconds = -1;
    edge->free = TND_UNKNOWN;
    /* Either end counts what passes; the receiving one is preferred. */
    for (unsigned turn = 0; turn < 2; turn++) {
        unsigned end = 1 - turn;
        uint32_t host = end == 1 ? receiver->host_index : sender->host_index;
        const tnd_edge_end_t *is = end_of(after, leader, index, host, end);
        const tnd_edge_end_t *was = end_of(before, leader, index, host, end);
        if (is == NULL)
            continue;
        edge->lost += is->lost;
        if (is->credit_given != 0)
            edge->free = more_of(is->credit_given, is->credit_used);
        if (is->round_trip_ns != 0)
            edge->round_trip_seconds = (double)is->round_trip_ns * 1e-9;
        if (is->up_ns != 0)
            edge->up_seconds = seconds_of(after->now_ns, is->up_ns);
        if (edge->known || was == NULL || after == before)
            continue;
        double seconds = (double)(after->now_ns - before->now_ns) * 1e-9;
        edge->known = true;
        edge->rows_per_second = (double)more_of(is->rows, was->rows) / seconds;
        edge->bytes_per_second = (double)more_of(is->bytes, was->bytes) / seconds;
    }
}

static void take_edges(tnd_top_snapshot_t *self, const tnd_inspection_t *before,
                       const tnd_inspection_t *after, const tnd_inspected_t *leader)
{
    self->edge_count = self->actor_count > 0 ? leader->record.shape.edges : 0;
    self->edges = tnd_allocate_zeroed(self->edge_count + (size_t)1, sizeof *self->edges);
    for (uint32_t e = 0; e < self->edge_count; e++)
        take_edge(self, before, after, leader, e);
}

static void take_hosts(tnd_top_snapshot_t *self, const tnd_inspection_t *after,
                       const tnd_inspected_t *leader)
{
    const tnd_run_record_t *record = &leader->record;
    size_t used = 0;
    self->host_count = record->shape.hosts;
    self->hosts = tnd_allocate_zeroed(self->host_count + (size_t)1, sizeof *self->hosts);
    for (uint32_t h = 0; h < self->host_count; h++) {
        const tnd_host_record_t *from = &record->hosts[h];
        tnd_top_host_t *host = &self->hosts[h];
        snprintf(host->name, sizeof host->name, "%s", from->name);
        snprintf(host->address, sizeof host->address, "%s", from->address);
        host->presence = (tnd_presence_t)from->presence;
        host->since_seconds = seconds_of(after->now_ns, from->since_ns);
        host->waited_for = from->waited_for != 0;
        host->process = from->process;
        host->restarts = from->restarts;
        host->restarts_max = from->restarts_max;
        host->isolated = from->isolated != 0;
        host->leads = h == 0;
        host->memory_bytes = from->memory_bytes;
        for (uint32_t p = 0; p < after->count; p++) {
            const tnd_inspected_t *process = &after->processes[p];
            if (!tnd_inspected_same(process, leader) || process->record.page->host != h ||
                (host->here && process->killed))
                continue;
            host->here = true;
            host->stopped = process->stopped;
            host->killed = process->killed;
            host->silent = process->silent_ns != 0 && (host->presence == TND_PRESENCE_UP ||
                                                       host->presence == TND_PRESENCE_UNKNOWN);
            if (host->silent)
                host->since_seconds = seconds_of(after->now_ns, process->silent_ns);
            host->process = (uint64_t)process->process;
            bool here = !process->killed && process->machine[0] == '\0';
            if (process->record.memory->count > 0)
                host->most_bytes = process->record.memory->bytes;
            host->anonymous_bytes = here ? tnd_process_anonymous(process->process) : 0;
        }
        if (host->waited_for && used + strlen(host->name) + 3 < sizeof self->waiting_for)
            used += (size_t)snprintf(self->waiting_for + used, sizeof self->waiting_for - used,
                                     "%s%s", used > 0 ? ", " : "", host->name);
    }
}

static void take_log(tnd_top_snapshot_t *self, const tnd_run_record_t *record, uint64_t now)
{
    uint64_t next = record->page->log_next;
    uint64_t first = next > TND_LOG_RECORDS ? next - TND_LOG_RECORDS : 0;
    self->log = tnd_allocate_zeroed(TND_LOG_RECORDS, sizeof *self->log);
    for (uint64_t n = first; n < next; n++) {
        const tnd_log_record_t *from = &record->log[n % TND_LOG_RECORDS];
        tnd_top_log_t *line = &self->log[self->log_count];
        if (from->before != n + 1 || !tnd_run_record_log_text(from, line->text, sizeof line->text))
            continue;
        line->level = from->level & 3;
        line->age_seconds = seconds_of(now, from->at_ns);
        self->log_count++;
    }
}

/*  What could not be looked at: the last lines of the log. */
static void take_unread(tnd_top_snapshot_t *self, const char *unread)
{
    for (const char *at = unread; *at != '\0'; at += strcspn(at, "\n") + 1) {
        self->log = tnd_resize(self->log, self->log_count + 1u, sizeof *self->log);
        tnd_top_log_t *line = &self->log[self->log_count++];
        *line = (tnd_top_log_t){.level = TND_LOG_WARNING};
        snprintf(line->text, sizeof line->text, "%.*s", (int)strcspn(at, "\n"), at);
    }
}

/* --- the run ---------------------------------------------------------------------------------- */

static const char *const states[] = {"",        "joining",  "opening", "ready",
                                     "running", "draining", "done",    "failed"};

static void take_run(tnd_top_snapshot_t *self, const tnd_inspected_t *leader, uint64_t now)
{
    static const char *const outcomes[] = {NULL,     "done", "drained", "stopped",
                                           "failed", "lost", "unusable"};
    const tnd_run_page_t *page = leader->record.page;
    snprintf(self->run, sizeof self->run, "%s", leader->run);
    self->session = leader->session;
    self->process = leader->process;
    self->state = states[page->state];
    char by[32];
    if (page->state != 0 && page->outcome == 0 && tnd_run_page_paused(page, by))
        snprintf(self->paused, sizeof self->paused, "paused by %s", by);
    self->outcome =
        page->outcome < sizeof outcomes / sizeof *outcomes ? outcomes[page->outcome] : NULL;
    if (leader->killed && self->outcome == NULL)
        self->outcome = "killed";
    self->stopped = leader->stopped && !leader->killed;
    self->age_seconds = seconds_of(now, page->started_ns);
    snprintf(self->chain, sizeof self->chain, "%s",
             page->chain_count > 0 ? page->chains[page->chain] : "");
    self->chains = page->chain_count;
    self->running_chain = (uint32_t)page->chain;
    self->lanes = page->lanes;
    self->epoch = page->epoch;
    bool goes_on = self->outcome == NULL && page->state != 0;
    self->epoch_left_ns = goes_on ? page->epoch_left_ns : 0;
    self->run_left_ns = goes_on ? page->run_left_ns : 0;
    self->step = page->step;
    self->rows = page->rows;
    self->bad = page->bad;
    self->checkpoint_step = page->checkpoint_step;
    self->checkpoint_seconds = page->checkpoint_ns != 0 ? seconds_of(now, page->checkpoint_ns) : -1;
}

static void take_listed(tnd_top_run_t *run, const tnd_inspection_t *before,
                        const tnd_inspection_t *after, const tnd_inspected_t *process)
{
    const tnd_inspected_t *leader = tnd_inspection_leader(after, process);
    const tnd_run_page_t *page = leader->record.page;
    tnd_run_view_t view = tnd_run_view(before, after, leader);
    char by[32];
    snprintf(run->run, sizeof run->run, "%s", leader->run);
    run->session = leader->session;
    run->process = leader->process;
    run->killed = leader->killed;
    run->state = leader->killed                                      ? "killed"
                 : leader->stopped                                   ? "stopped"
                 : page->state != 0 && tnd_run_page_paused(page, by) ? "paused"
                                                                     : states[page->state];
    run->age_seconds = seconds_of(after->now_ns, page->started_ns);
    run->epoch = page->epoch;
    run->step = page->step;
    run->epoch_left_ns = leader->killed ? 0 : page->epoch_left_ns;
    run->run_left_ns = leader->killed ? 0 : page->run_left_ns;
    (void)tnd_run_rate(&view, &run->rows_per_second);
}

void tnd_top_snapshot_take_runs(tnd_top_snapshot_t *self, const tnd_inspection_t *before,
                                const tnd_inspection_t *after)
{
    free(self->runs);
    self->runs = tnd_allocate_zeroed(after->count + (size_t)1, sizeof *self->runs);
    self->run_count = 0;
    for (uint32_t p = 0; p < after->count; p++) {
        const tnd_inspected_t *process = &after->processes[p];
        if ((p > 0 && tnd_inspected_same(process, process - 1)) ||
            tnd_run_is_superseded(after, process))
            continue;
        tnd_top_run_t *run = &self->runs[self->run_count++];
        take_listed(run, before, after, process);
        run->shown = run->session == self->session && strcmp(run->run, self->run) == 0;
    }
}

uint32_t tnd_top_snapshot_others(const tnd_top_snapshot_t *self, bool *same_name_p)
{
    uint32_t count = 0;
    *same_name_p = false;
    for (uint32_t r = 0; r < self->run_count; r++) {
        if (self->runs[r].shown)
            continue;
        count += !self->runs[r].killed;
        *same_name_p = *same_name_p || strcmp(self->runs[r].run, self->run) == 0;
    }
    return count;
}

static void judge(tnd_top_snapshot_t *self, const tnd_inspection_t *before,
                  const tnd_inspection_t *after, const tnd_inspected_t *leader)
{
    tnd_bottleneck_judge(before, after, leader, &self->verdict);
    tnd_evidence_add(&self->verdict);
}

tnd_top_snapshot_t *tnd_top_snapshot_new(const tnd_inspection_t *before,
                                         const tnd_inspection_t *after,
                                         const tnd_inspected_t *process)
{
    tnd_top_snapshot_t *self = tnd_allocate_zeroed(1, sizeof *self);
    const tnd_inspected_t *leader = tnd_inspection_leader(after, process);
    self->window_seconds = (double)(after->now_ns - before->now_ns) * 1e-9;
    self->machine = tnd_machine_use(before, after);
    for (uint32_t p = 0; p < after->count; p++)
        self->processes +=
            tnd_inspected_same(&after->processes[p], process) && !after->processes[p].killed;
    take_run(self, leader, after->now_ns);
    tnd_top_snapshot_take_runs(self, before, after);
    take_actors(self, before, after, leader);
    take_edges(self, before, after, leader);
    rank_actors(self, &leader->record);
    take_hosts(self, after, leader);
    take_log(self, &leader->record, after->now_ns);
    take_unread(self, after->unread);
    if (after != before && !leader->killed)
        judge(self, before, after, leader);
    return self;
}

void tnd_top_snapshot_end(tnd_top_snapshot_t *self, const tnd_inspection_t *last)
{
    if (last != NULL) {
        const tnd_run_record_t *record = &last->processes[0].record;
        free(self->log);
        self->log_count = 0;
        take_run(self, &last->processes[0], last->now_ns);
        take_log(self, record, last->now_ns);
    }
    self->rows_per_second = self->bytes_per_second = 0;
    self->epoch_left_ns = self->run_left_ns = 0;
    self->waiting_for[0] = '\0';
    if (self->outcome == NULL)
        self->outcome = "gone";
}

void tnd_top_snapshot_destroy(tnd_top_snapshot_t **self_p)
{
    tnd_top_snapshot_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (uint32_t a = 0; a < self->actor_count; a++)
        free(self->actors[a].devices);
    free(self->actors);
    free(self->edges);
    free(self->hosts);
    free(self->log);
    free(self->runs);
    free(self);
}
