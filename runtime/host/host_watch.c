/*  runtime/host/host_watch.c - actors and devices that hang: watched, reported, replaced; no free files.
 *
 *  A thread cannot be killed.  A thread that hangs is abandoned with all memory that it may access,
 *  and another thread replaces its actor under a later life.  The abandoned thread stops if it ever
 *  returns.  What hangs is decided in runtime/core/host/hang_watch.h, what follows in replacement.h. */
#include "runtime/host/host_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/core/host/hang_watch.h"
#include "runtime/core/host/replacement.h"
#include "runtime/data/open_files.h"
#include "runtime/data/text_payload.h"
#include "runtime/observe/thread_state.h"

/*  Work that no thread does. */
enum { NO_THREAD = 0 };

/*  Of one device: its thread, and what it was asked to do. */
typedef struct {
    tnd_hang_watch_t work, pending;
} device_watch_t;

/*  Of one actor here. */
typedef struct {
    tnd_hang_watch_t work;
    tnd_replacement_t replacement;
    device_watch_t *devices; /* NULL: it has none */
} life_t;

struct tnd_host_watch {
    life_t *lives;      /* by instance */
    tnd_actor_t **left; /* actors that hung; their threads may never end */
    uint32_t left_count;
    uint64_t due_ns;
    uint64_t exhausted_ns; /* since when no file can be opened; 0: files can be opened */
    bool ends_run;         /* something hangs that is not replaced */
};

void tnd_host_begin_watch(tnd_host_t *self)
{
    self->watch = tnd_allocate_zeroed(1, sizeof *self->watch);
    self->watch->lives =
        tnd_allocate_zeroed(self->plan->instance_count, sizeof *self->watch->lives);
}

void tnd_host_end_watch(tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        free(self->watch->lives[i].devices);
    for (uint32_t i = 0; i < self->watch->left_count; i++)
        tnd_actor_destroy(&self->watch->left[i]);
    free(self->watch->left);
    free(self->watch->lives);
    free(self->watch);
    self->watch = NULL;
}

uint32_t tnd_host_births(const tnd_host_t *self, uint32_t instance)
{
    return self->watch->lives[instance].replacement.births;
}

bool tnd_host_hangs(const tnd_host_t *self)
{
    return self->watch->ends_run;
}

bool tnd_host_join_abandoned(tnd_host_t *self)
{
    bool all = true;
    for (uint32_t i = 0; i < self->watch->left_count; i++)
        all = tnd_actor_join(self->watch->left[i], 0) && all;
    return all;
}

/* --- what hangs ------------------------------------------------------------------------------- */

/*  Whether work that began at `since` hangs, which the leader can be told.  0: there is none. */
static bool hangs(const tnd_host_t *self, tnd_hang_watch_t *watch, uint64_t since, pid_t thread,
                  uint64_t now)
{
    tnd_thread_progress_t progress = {0};
    if (!tnd_hang_watch_look(watch, since, self->plan->hung_after_ns, now) ||
        !tnd_host_reaches_leader(self))
        return false;
    if (thread != NO_THREAD)
        tnd_thread_state_progress(thread, &progress);
    return tnd_hang_watch_judge(watch, &progress, self->plan->hung_after_ns);
}

static void end_run(tnd_host_t *self, tnd_outcome_t outcome, const char *why)
{
    self->watch->ends_run = true;
    tnd_host_fail_here(self, outcome, why);
}

/*  A device that does not do what it was asked to ends the run; its memory cannot be freed.  What the
 *  thread that asks it reads is not progress. */
static void watch_pending(tnd_host_t *self, const tnd_statistics_t *page,
                          const tnd_device_page_t *device, tnd_hang_watch_t *watch, uint64_t now)
{
    char what[80], why[512];
    uint64_t since = atomic_load_explicit(&device->pending_since_ns, memory_order_relaxed);
    if (tnd_device_pending_text(device, what, sizeof what)[0] == '\0')
        since = 0;
    if (!hangs(self, watch, since, NO_THREAD, now))
        return;
    snprintf(why, sizeof why, "%.40s: %s hangs: %s takes longer than %" PRIu64 " ms (hung_after)",
             page->actor, device->name, what, self->plan->hung_after_ns / 1000000);
    end_run(self, TND_OUTCOME_FAILED, why);
}

/*  The state of a step is lost with its thread, which ends the run. */
static void watch_step(tnd_host_t *self, const tnd_statistics_t *page,
                       const tnd_device_page_t *device, tnd_hang_watch_t *watch, uint64_t now)
{
    static const char *const works[TND_DEVICE_STATES] = {
        [TND_DEVICE_STEP] = "the step",
        [TND_DEVICE_APPLY] = "what follows the step",
        [TND_DEVICE_KEEP] = "keeping the model",
    };
    char where[300], why[512];
    uint64_t state = atomic_load_explicit(&device->state, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&device->since_ns, memory_order_relaxed);
    pid_t thread = (pid_t)atomic_load_explicit(&device->thread, memory_order_relaxed);
    uint64_t kind = state & 0xff;
    if (kind >= TND_DEVICE_STATES || works[kind] == NULL)
        since = 0;
    if (!hangs(self, watch, since, thread, now))
        return;
    tnd_thread_state_describe(thread, where, sizeof where);
    snprintf(why, sizeof why,
             "%.40s: %s of replica %" PRIu64 " hangs: step %" PRIu64 " takes longer than %" PRIu64
             " ms (hung_after): %s",
             page->actor, works[kind], state >> 8,
             atomic_load_explicit(&device->step, memory_order_relaxed),
             self->plan->hung_after_ns / 1000000, where);
    end_run(self, TND_OUTCOME_FAILED, why);
}

static void watch_devices(tnd_host_t *self, life_t *life, const tnd_statistics_t *page,
                          uint64_t now)
{
    uint64_t count = atomic_load_explicit(&page->device_count, memory_order_relaxed);
    if (count > 0 && life->devices == NULL)
        life->devices = tnd_allocate_zeroed(TND_PAGE_DEVICES, sizeof *life->devices);
    for (uint64_t d = 0; d < count && d < TND_PAGE_DEVICES; d++) {
        watch_pending(self, page, &page->devices[d], &life->devices[d].pending, now);
        watch_step(self, page, &page->devices[d], &life->devices[d].work, now);
    }
}

static void report_hang(tnd_host_t *self, uint32_t instance, pid_t thread)
{
    char where[700];
    tnd_thread_state_describe(thread, where, sizeof where);
    tnd_replacement_reported(&self->watch->lives[instance].replacement);
    tnd_host_tell_leader(self, TND_MSG_HUNG, instance,
                         tnd_text_payload_of("it hangs: its work takes longer than %" PRIu64
                                             " ms (hung_after): %s",
                                             self->plan->hung_after_ns / 1000000, where));
}

/*  An actor opens its data again, which may hang now. */
static void end_opening(tnd_host_t *self, const tnd_statistics_t *page, pid_t thread)
{
    char where[300], why[512];
    tnd_thread_state_describe(thread, where, sizeof where);
    snprintf(why, sizeof why,
             "%.40s hangs: to open what it works with takes longer than %" PRIu64
             " ms (hung_after): %s",
             page->actor, self->plan->hung_after_ns / 1000000, where);
    end_run(self, TND_OUTCOME_UNUSABLE, why);
}

static void watch_actor(tnd_host_t *self, uint32_t instance, uint64_t now)
{
    life_t *life = &self->watch->lives[instance];
    const tnd_statistics_t *page = tnd_pages_at(self->pages, instance);
    uint64_t state = atomic_load_explicit(&page->state, memory_order_relaxed) & 0xff;
    uint64_t since = atomic_load_explicit(&page->since_ns, memory_order_relaxed);
    pid_t thread = (pid_t)atomic_load_explicit(&page->thread, memory_order_relaxed);
    bool opens = tnd_actor_phase(self->actors[instance]) == TND_ACTOR_STARTING;
    bool feeds = self->plan->instances[instance].kind->role == TND_ROLE_FEEDER;
    watch_devices(self, life, page, now);
    /* The thread of a feeder that starts waits for those of its devices. */
    if (state != TND_STATE_WORKING || (opens && feeds))
        since = 0;
    if (!hangs(self, &life->work, since, thread, now))
        return;
    if (opens)
        end_opening(self, page, thread);
    else
        report_hang(self, instance, thread);
}

/*  Without a file descriptor no connection and no checkpoint can be opened. libzmq does not report
 *  that.  A plugin may close some soon. */
static void watch_descriptors(tnd_host_t *self, uint64_t now)
{
    tnd_error_t error;
    if (tnd_open_files_left(&error) == TND_OK) {
        self->watch->exhausted_ns = 0;
        return;
    }
    if (self->watch->exhausted_ns == 0) {
        self->watch->exhausted_ns = now;
        tnd_host_tell_leader(self, TND_MSG_LOG, TND_LOG_WARNING,
                             tnd_text_payload_of("control %s", error.text));
    } else if (now >= self->watch->exhausted_ns + self->plan->dead_after_ns) {
        tnd_host_fail_here(self, TND_OUTCOME_FAILED, error.text);
    }
}

uint64_t tnd_host_watch(tnd_host_t *self, uint64_t now)
{
    if (now < self->watch->due_ns)
        return self->watch->due_ns;
    self->watch->due_ns = now + tnd_hang_watch_every(self->plan->hung_after_ns);
    watch_descriptors(self, now);
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (self->actors[i] != NULL &&
            tnd_replacement_is_watched(&self->watch->lives[i].replacement))
            watch_actor(self, i, now);
    return self->watch->due_ns;
}

/* --- what is replaced ------------------------------------------------------------------------- */

static void make_next(tnd_host_t *self, uint32_t instance)
{
    self->watch->lives[instance].work = (tnd_hang_watch_t){0};
    tnd_host_make_actor(self, instance);
}

static void perform(tnd_host_t *self, uint32_t instance, tnd_replacement_step_t step)
{
    struct tnd_host_watch *watch = self->watch;
    switch (step) {
    case TND_REPLACEMENT_WAIT:
        break;
    case TND_REPLACEMENT_STOP:
        tnd_actor_stop(self->actors[instance]);
        break;
    case TND_REPLACEMENT_ABANDON:
        watch->left = tnd_resize(watch->left, watch->left_count + 1, sizeof *watch->left);
        tnd_actor_stop(self->actors[instance]);
        watch->left[watch->left_count++] = self->actors[instance];
        make_next(self, instance);
        break;
    case TND_REPLACEMENT_FREE: /* also its memory and ports, before the next one begins */
        tnd_actor_destroy(&self->actors[instance]);
        make_next(self, instance);
        break;
    case TND_REPLACEMENT_GO:
        tnd_host_move_actor(self);
        tnd_actor_go(self->actors[instance]);
        break;
    case TND_REPLACEMENT_REPORT:
        tnd_host_tell_leader(self, TND_MSG_RESTARTED, instance, NULL);
        break;
    }
}

void tnd_host_replace(tnd_host_t *self, uint32_t instance, bool asked)
{
    if (instance >= self->plan->instance_count || self->actors[instance] == NULL)
        return;
    perform(self, instance,
            tnd_replacement_ask(&self->watch->lives[instance].replacement, asked,
                                self->plan->hung_after_ns, tnd_clock_now()));
}

void tnd_host_raise(tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        tnd_replacement_t *replacement = &self->watch->lives[i].replacement;
        if (tnd_replacement_is_watched(replacement))
            continue;
        tnd_replacement_step_t step;
        do {
            tnd_actor_phase_t phase = tnd_actor_phase(self->actors[i]);
            tnd_replacement_facts_t facts = {
                .ended = replacement->state == TND_REPLACEMENT_STOPPING &&
                         tnd_actor_join(self->actors[i], 0),
                .bound = phase == TND_ACTOR_BOUND,
                .runs = phase == TND_ACTOR_RUNNING,
                .reaches = tnd_host_reaches_leader(self),
            };
            step = tnd_replacement_next(replacement, &facts, tnd_clock_now());
            perform(self, i, step);
        } while (step != TND_REPLACEMENT_WAIT);
    }
}

void tnd_host_forget_hangs(tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        tnd_replacement_forget(&self->watch->lives[i].replacement);
}
