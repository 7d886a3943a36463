/*  runtime/host/host_record.c - what inspection shows of the run and of this host's control.
 *
 *  The state of the run is written at most every 50 ms, and the histories of the actors once a
 *  second.  The control thread writes both, so that actors that hang have a history. */
#include "runtime/host/host_internal.h"

#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/looks/history_span.h"
#include "runtime/notes/page_text.h"
#include "runtime/observe/process.h"
#include "runtime/resources/process_memory.h"

static const uint64_t record_every_ns = 50000000, second_ns = 1000000000;

/*  An actor at the end of the last second of its history. */
typedef struct {
    uint64_t at_ns, rows, bytes, program_ns;
    tnd_times_t times;
    uint64_t device_ns[TND_PAGE_DEVICES]; /* their threads in steps */
    uint64_t worked_ns[TND_PAGE_DEVICES]; /* they themselves */
} second_t;

struct tnd_host_recorder {
    uint64_t due_ns, second_due_ns;
    second_t seconds[]; /* by history: its actor at the last second */
};

static uint64_t read_of(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void write_to(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

void tnd_host_open_pages(tnd_host_t *self)
{
    tnd_error_t error;
    const tnd_plan_host_t *host = &self->plan->hosts[self->config.host];
    tnd_pages_shape_t shape = tnd_run_record_shape(self->plan, self->config.host);
    if (tnd_pages_new(&self->pages, self->plan->name, host->name, self->life, shape, &error) !=
        TND_OK) {
        self->pages = tnd_pages_new_unseen(shape);
        snprintf(self->unseen, sizeof self->unseen, "%.190s", error.text);
    }
    self->recorder = tnd_allocate_zeroed(
        1, sizeof *self->recorder + shape.histories * sizeof self->recorder->seconds[0]);
    const tnd_run_record_t *record = tnd_pages_record(self->pages);
    uint64_t now = tnd_clock_now();
    tnd_run_record_fill(record, self->plan, self->config.host, now);
    tnd_host_record_t *own = &record->hosts[self->config.host];
    tnd_run_record_presence(own, TND_PRESENCE_UP, now);
    write_to(&own->process, (uint64_t)getpid());
    self->recorder->second_due_ns = now + second_ns;
}

void tnd_host_close_pages(tnd_host_t *self)
{
    if (tnd_host_leads(self))
        tnd_pages_forget(self->pages);
    tnd_pages_destroy(&self->pages);
    free(self->recorder);
}

const tnd_stream_t *tnd_host_stream(const void *host, uint32_t chain)
{
    const tnd_host_t *self = host;
    return &self->streams[chain];
}

void tnd_host_record_memory(const tnd_host_t *self)
{
    tnd_memory_estimate_t estimate = {0};
    const tnd_plan_t *plan = self->changed_plan != NULL ? self->changed_plan : self->plan;
    (void)tnd_process_memory_add(&estimate, plan, self->config.host, "process", self->tuning_most,
                                 tnd_host_stream, self);
    tnd_run_record_memory(tnd_pages_record(self->pages), &estimate);
    tnd_memory_estimate_free(&estimate);
}

void tnd_host_record_control(tnd_host_t *self, tnd_control_state_t state, uint64_t now)
{
    tnd_run_page_t *page = tnd_pages_record(self->pages)->page;
    if (read_of(&page->control) == TND_CONTROL_NONE)
        write_to(&page->control_thread, (uint64_t)gettid());
    write_to(&page->control_ns, now);
    write_to(&page->control, state);
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/*  The parts of the second that the busiest device of a feeder, or its thread, was in its step, and the
 *  program between its calls. */
static void add_feeder_shares(_Atomic uint64_t shares[3], const tnd_statistics_t *page,
                              second_t *last, uint64_t now)
{
    double span = (double)since(now, last->at_ns), most = 0;
    uint64_t count = read_of(&page->device_count), program = tnd_program_spent(page, now);
    if (span <= 0)
        return;
    for (uint64_t d = 0; d < count && d < TND_PAGE_DEVICES; d++) {
        const tnd_device_page_t *device = &page->devices[d];
        uint64_t spent =
            tnd_device_spent(device, 1 << TND_DEVICE_STEP | 1 << TND_DEVICE_APPLY, now);
        uint64_t worked = tnd_device_worked(device, now);
        double thread = (double)since(spent, last->device_ns[d]) / span;
        double itself = (double)since(worked, last->worked_ns[d]) / span;
        most = thread > most ? thread : most;
        most = itself > most ? itself : most;
        last->device_ns[d] = spent;
        last->worked_ns[d] = worked;
    }
    tnd_feeder_shares_pack(most, (double)since(program, last->program_ns) / span, shares);
    last->program_ns = program;
}

static void write_second(tnd_history_second_t *second, const tnd_statistics_t *page, second_t *last,
                         uint64_t now)
{
    tnd_times_t times, window;
    uint64_t rows = read_of(&page->rows_out), bytes = read_of(&page->bytes_out);
    tnd_statistics_times(page, now, &times);
    tnd_times_between(&last->times, &times, since(now, last->at_ns), &window);
    write_to(&second->rows, since(rows, last->rows));
    write_to(&second->bytes, since(bytes, last->bytes));
    write_to(&second->queue, read_of(&page->queue));
    write_to(&second->credit, read_of(&page->credit));
    tnd_times_pack(&window, second->shares);
    if (page->role == TND_ROLE_FEEDER)
        add_feeder_shares(second->shares, page, last, now);
    write_to(&second->at_ns, now);
    last->at_ns = now;
    last->rows = rows;
    last->bytes = bytes;
    last->times = times;
}

/*  The control thread reads them, because a device thread may be in a long step. */
static void write_devices(tnd_statistics_t *page)
{
    uint64_t count = read_of(&page->device_count), cpu_ns, ready_ns;
    for (uint64_t d = 0; d < count && d < TND_PAGE_DEVICES; d++) {
        tnd_device_page_t *device = &page->devices[d];
        uint64_t thread = read_of(&device->thread);
        if (thread == 0 || !tnd_process_thread_times(thread, &cpu_ns, &ready_ns))
            continue;
        write_to(&device->cpu_ns, cpu_ns);
        write_to(&device->ready_ns, ready_ns);
    }
}

static void write_seconds(tnd_host_t *self, uint64_t now)
{
    const tnd_run_record_t *record = tnd_pages_record(self->pages);
    uint64_t number = read_of(&record->page->history_next);
    for (uint32_t i = 0; i < record->shape.actors; i++) {
        tnd_instance_record_t *instance = &record->instances[i];
        if (instance->history >= record->shape.histories)
            continue;
        tnd_history_t *history = &record->histories[instance->history];
        write_second(&history->seconds[number % TND_HISTORY_SECONDS], tnd_pages_at(self->pages, i),
                     &self->recorder->seconds[instance->history], now);
        tnd_history_span(history, number);
        write_devices(tnd_pages_at(self->pages, i));
        write_to(&instance->restarts, tnd_host_births(self, i));
    }
    atomic_store_explicit(&record->page->history_next, number + 1, memory_order_release);
}

/*  The connection to the leader is all that another host knows. */
static void record_leader(tnd_host_t *self, uint64_t now)
{
    const tnd_leader_presence_t *known = &self->leader_presence;
    tnd_presence_t presence = known->up     ? TND_PRESENCE_UP
                              : known->came ? TND_PRESENCE_AWAY
                                            : TND_PRESENCE_EXPECTED;
    tnd_host_record_t *leader = &tnd_pages_record(self->pages)->hosts[0];
    tnd_run_record_presence(leader, presence, now);
    write_to(&leader->waited_for, !known->up);
}

static void record_opening(tnd_host_t *self, uint64_t now)
{
    tnd_run_page_t *page = tnd_pages_record(self->pages)->page;
    char text[8 * TND_PAGE_WHY_WORDS];
    uint64_t since_ns = tnd_host_show_trial(self, now, text, sizeof text);
    if (since_ns != 0)
        tnd_page_text_write(page->opening, TND_PAGE_WHY_WORDS, text);
    write_to(&page->opening_ns, since_ns);
}

uint64_t tnd_host_record(tnd_host_t *self, uint64_t now)
{
    if (now < self->recorder->due_ns)
        return self->recorder->due_ns;
    self->recorder->due_ns = now + record_every_ns;
    if (tnd_host_leads(self))
        tnd_leader_record(self->leader, now);
    else
        record_leader(self, now);
    record_opening(self, now);
    if (now >= self->recorder->second_due_ns) {
        self->recorder->second_due_ns = now < self->recorder->second_due_ns + second_ns
                                            ? self->recorder->second_due_ns + second_ns
                                            : now + second_ns;
        write_seconds(self, now);
    }
    write_to(&tnd_pages_record(self->pages)->page->written_ns, now);
    return self->recorder->second_due_ns;
}

void tnd_host_record_end(tnd_host_t *self, uint64_t now)
{
    self->recorder->due_ns = 0;
    (void)tnd_host_record(self, now);
    write_to(&tnd_pages_record(self->pages)->page->outcome, (uint64_t)self->end.outcome);
}
