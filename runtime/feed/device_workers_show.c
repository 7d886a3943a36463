/*  runtime/feed/device_workers_show.c - publishes what devices and their threads do, and what they wait for.
 *
 *  A thread says what it does from now on.  The copier of a device also publishes what the device has
 *  not done yet, what it waits for, and the times that it measured itself by events. */
#include "runtime/feed/device_workers_internal.h"

#include <string.h>

#include "runtime/base/clock.h"

/*  How often facts are published while nothing is done. */
static const uint64_t show_facts_ns = 100000000;

/* --- threads ---------------------------------------------------------------------------------- */

/*  Jobs without a step, such as opening the model, are not timed. */
static void time_part(const worker_t *worker, tnd_device_state_t ended, uint64_t took_ns)
{
    static const unsigned parts[TND_DEVICE_STATES] = {
        [TND_DEVICE_IDLE] = TND_TIMING_BETWEEN,
        [TND_DEVICE_STEP] = TND_TIMING_STEP,
        [TND_DEVICE_REDUCE] = TND_TIMING_REDUCE,
        [TND_DEVICE_APPLY] = TND_TIMING_APPLY,
    };
    if (worker->timing != NULL && worker->steps && ended != TND_DEVICE_KEEP)
        tnd_histogram_add(&worker->timing->parts[parts[ended]], took_ns);
}

void tnd_device_workers_show(worker_t *worker, tnd_device_state_t state, uint32_t replica,
                             uint64_t step, uint64_t now)
{
    static const tnd_event_kind_t kinds[TND_DEVICE_STATES] = {
        [TND_DEVICE_STEP] = TND_EVENT_STEP_RUN,
        [TND_DEVICE_REDUCE] = TND_EVENT_STEP_REDUCED,
        [TND_DEVICE_APPLY] = TND_EVENT_STEP_APPLIED,
        [TND_DEVICE_KEEP] = TND_EVENT_STEP_SAVED,
    };
    uint64_t before = atomic_load_explicit(&worker->page->state, memory_order_relaxed);
    tnd_device_state_t ended = (tnd_device_state_t)(before & 0xff);
    uint64_t since = atomic_load_explicit(&worker->page->since_ns, memory_order_relaxed);
    if ((unsigned)ended < (unsigned)TND_DEVICE_STATES)
        time_part(worker, ended, now - since);
    if (worker->events != NULL && (unsigned)ended < (unsigned)TND_DEVICE_STATES &&
        kinds[ended] != TND_EVENT_NONE) {
        tnd_event_t event = {
            .end_ns = now,
            .duration_ns = now - since,
            .first = atomic_load_explicit(&worker->page->step, memory_order_relaxed),
            .kind = (uint8_t)kinds[ended],
            .lane = (uint16_t)(before >> 8),
            .peer = TND_EVENT_NO_PEER,
        };
        tnd_event_ring_add(worker->events, &event);
    }
    tnd_statistics_device(worker->page, state, replica, step, now);
}

/* --- devices ---------------------------------------------------------------------------------- */

_Static_assert(sizeof((tnd_device_page_t *)0)->calls == TND_DEVICE_CALL_KINDS * sizeof(uint64_t),
               "each kind of call has a place on the page");

void tnd_copier_show_facts(const copier_t *self)
{
    tnd_device_page_t *page = self->worker->page;
    tnd_device_facts_t facts;
    self->worker->device->ops->facts(self->worker->device, &facts);
    atomic_store_explicit(&page->bytes_moved, facts.bytes_moved, memory_order_relaxed);
    atomic_store_explicit(&page->link_ns, facts.link_ns, memory_order_relaxed);
    if (page->timed == TND_TIMED_BY_THREAD) {
        facts.worked_until_ns = tnd_clock_now();
        facts.work_ns = tnd_device_worked(page, facts.worked_until_ns);
    }
    atomic_store_explicit(&page->work_ns, facts.work_ns, memory_order_relaxed);
    atomic_store_explicit(&page->worked_until_ns, facts.worked_until_ns, memory_order_relaxed);
    for (size_t i = 0; i < TND_DEVICE_CALL_KINDS; i++)
        atomic_store_explicit(&page->calls[i], facts.calls[i], memory_order_relaxed);
}

void tnd_copier_show_pending(copier_t *self, uint64_t now)
{
    tnd_device_page_t *page = self->worker->page;
    tnd_device_slots_t counts = tnd_copier_counts(self);
    tnd_device_pending_t is = tnd_device_slots_pending(&counts);
    uint64_t seq = is == TND_PENDING_WORK ? counts.finished : counts.copied;
    uint64_t pending =
        is != TND_PENDING_NOTHING ? (uint64_t)is | tnd_copier_job(self, seq)->note.step << 8 : 0;
    if (pending == atomic_load_explicit(&page->pending, memory_order_relaxed))
        return;
    atomic_store_explicit(&page->pending_since_ns, now, memory_order_relaxed);
    atomic_store_explicit(&page->pending, pending, memory_order_release);
}

/*  Publishes what the device waits for.  The host sees the end of a copy late, on a busy machine by
 *  milliseconds: the link was waited for while it copied, and the host after that. */
static void show_wait(copier_t *self, tnd_device_wait_t wait, uint64_t now)
{
    tnd_device_page_t *page = self->worker->page;
    uint64_t before = atomic_load_explicit(&page->wait, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&page->wait_since_ns, memory_order_relaxed);
    uint64_t link_ns = atomic_load_explicit(&page->link_ns, memory_order_relaxed);
    uint64_t copied_ns = link_ns - self->link_before_ns; /* 0: the device does not time copies */
    if (before != TND_DEVICE_WAIT_LINK)
        self->link_before_ns = link_ns;
    else if (wait != TND_DEVICE_WAIT_LINK && copied_ns > 0 && since + copied_ns < now)
        tnd_statistics_device_wait(page, TND_DEVICE_WAIT_HOST, since + copied_ns);
    tnd_statistics_device_wait(page, wait, now);
}

uint64_t tnd_copier_show(copier_t *self, bool any)
{
    uint64_t now = tnd_clock_now();
    tnd_device_slots_t counts = tnd_copier_counts(self);
    bool discards = tnd_device_workers_discards(self->worker->group);
    bool late = now - self->shown_ns >= show_facts_ns;
    /* It asks many times for a long step: nothing has changed then. */
    if (!any && !late && discards == self->seen_discards &&
        memcmp(&counts, &self->seen, sizeof counts) == 0)
        return now;
    self->seen = counts;
    self->seen_discards = discards;
    if (any || late) {
        self->shown_ns = now;
        tnd_copier_show_facts(self);
    }
    tnd_copier_show_pending(self, now);
    show_wait(self, tnd_device_slots_wait(&counts, discards), now);
    return now;
}
