/*  runtime/host/host_watch.c - actors and devices that hang: detected, reported, replaced; no free
 *  files.
 *
 *  A thread cannot be killed.  A thread that hangs is abandoned with all memory that it may access,
 *  and another thread replaces its actor under a later life.  The abandoned thread stops if it ever
 *  returns. */
#include "runtime/host/host_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/data/open_files.h"
#include "runtime/base/clock.h"
#include "runtime/host/text_payload.h"

/*  Work that no thread does. */
enum { NO_THREAD = 0 };

static const uint64_t watch_every_ns = 250000000;

static bool reaches_leader(const tnd_host_t *self)
{
    return tnd_host_leads(self) || self->leader_up;
}

static void say_hung(tnd_host_t *self, uint32_t instance, pid_t thread)
{
    char where[700];
    tnd_hang_detector_describe(thread, where, sizeof where);
    self->hangs[instance] = TND_HANG_SAID;
    tnd_host_tell_leader(self, TND_MSG_HUNG, instance,
                         tnd_text_payload_of("it hangs: its work takes longer than %" PRIu64
                                             " ms (hung_after): %s",
                                             self->plan->hung_after_ns / 1000000, where));
}

/*  A device that does not do what it was asked to ends the run; its memory cannot be freed.  What the
 *  thread that asks it reads is not progress. */
static void watch_pending(tnd_host_t *self, const tnd_statistics_t *page,
                          const tnd_device_page_t *device, tnd_hang_detector_t *watch, uint64_t now)
{
    char what[80], why[512];
    uint64_t since = atomic_load_explicit(&device->pending_since_ns, memory_order_relaxed);
    if (tnd_device_pending_text(device, what, sizeof what)[0] == '\0' ||
        now < since + self->plan->hung_after_ns / 2 ||
        !tnd_hang_detector_hangs(watch, since, NO_THREAD, self->plan->hung_after_ns, now))
        return;
    snprintf(why, sizeof why, "%.40s: %s hangs: %s takes longer than %" PRIu64 " ms (hung_after)",
             page->actor, device->name, what, self->plan->hung_after_ns / 1000000);
    self->hung = true;
    tnd_host_fail_here(self, TND_OUTCOME_FAILED, why);
}

/*  The state of a step is lost with its thread, which ends the run. */
static void watch_devices(tnd_host_t *self, uint32_t instance, tnd_statistics_t *page, uint64_t now)
{
    static const char *const works[] = {
        [TND_DEVICE_STEP] = "the step",
        [TND_DEVICE_APPLY] = "what follows the step",
        [TND_DEVICE_KEEP] = "keeping the model",
        [TND_DEVICE_IDLE] = NULL,
        [TND_DEVICE_REDUCE] = NULL,
    };
    uint64_t count = atomic_load_explicit(&page->device_count, memory_order_relaxed);
    if (self->device_watches[instance] == NULL) {
        self->device_watches[instance] =
            tnd_allocate_zeroed(2 * TND_PAGE_DEVICES, sizeof(tnd_hang_detector_t));
    }
    for (uint64_t d = 0; d < count && d < TND_PAGE_DEVICES; d++) {
        tnd_device_page_t *device = &page->devices[d];
        watch_pending(self, page, device, &self->device_watches[instance][TND_PAGE_DEVICES + d],
                      now);
        uint64_t state = atomic_load_explicit(&device->state, memory_order_relaxed);
        uint64_t since = atomic_load_explicit(&device->since_ns, memory_order_relaxed);
        uint64_t kind = state & 0xff;
        if (kind >= TND_DEVICE_STATES || works[kind] == NULL ||
            now < since + self->plan->hung_after_ns / 2)
            continue;
        char where[300], why[512];
        pid_t thread = (pid_t)atomic_load_explicit(&device->thread, memory_order_relaxed);
        if (!tnd_hang_detector_hangs(&self->device_watches[instance][d], since, thread,
                                     self->plan->hung_after_ns, now))
            continue;
        tnd_hang_detector_describe(thread, where, sizeof where);
        snprintf(why, sizeof why,
                 "%.40s: %s of replica %" PRIu64 " hangs: step %" PRIu64
                 " takes longer than %" PRIu64 " ms (hung_after): %s",
                 page->actor, works[kind], state >> 8,
                 atomic_load_explicit(&device->step, memory_order_relaxed),
                 self->plan->hung_after_ns / 1000000, where);
        self->hung = true;
        tnd_host_fail_here(self, TND_OUTCOME_FAILED, why);
    }
}

/*  An actor opens its data again, which may hang now.  A feeder's thread waits for its devices'. */
static void watch_birth(tnd_host_t *self, uint32_t instance, tnd_statistics_t *page, uint64_t now)
{
    char where[300], why[512];
    uint64_t since = atomic_load_explicit(&page->since_ns, memory_order_relaxed);
    pid_t thread = (pid_t)atomic_load_explicit(&page->thread, memory_order_relaxed);
    if (self->plan->instances[instance].kind->role == TND_ROLE_FEEDER ||
        !tnd_hang_detector_hangs(&self->watches[instance], since, thread, self->plan->hung_after_ns,
                                 now))
        return;
    tnd_hang_detector_describe(thread, where, sizeof where);
    snprintf(why, sizeof why,
             "%.40s hangs: to open what it works with takes longer than %" PRIu64
             " ms (hung_after): %s",
             page->actor, self->plan->hung_after_ns / 1000000, where);
    self->hung = true;
    tnd_host_fail_here(self, TND_OUTCOME_UNUSABLE, why);
}

/*  Without a file descriptor no connection and no checkpoint can be opened. libzmq does not report
 *  that.  A plugin may close some soon. */
static void watch_descriptors(tnd_host_t *self, uint64_t now)
{
    tnd_error_t error;
    if (tnd_open_files_left(&error) == TND_OK) {
        self->exhausted_ns = 0;
        return;
    }
    if (self->exhausted_ns == 0) {
        self->exhausted_ns = now;
        tnd_host_tell_leader(self, TND_MSG_LOG, TND_LOG_WARNING,
                             tnd_text_payload_of("control %s", error.text));
    } else if (now >= self->exhausted_ns + self->plan->dead_after_ns) {
        tnd_host_fail_here(self, TND_OUTCOME_FAILED, error.text);
    }
}

void tnd_host_watch(tnd_host_t *self, uint64_t now)
{
    if (now < self->watch_due_ns)
        return;
    self->watch_due_ns = now + watch_every_ns;
    if (self->plan->hung_after_ns / 4 < watch_every_ns)
        self->watch_due_ns = now + self->plan->hung_after_ns / 4;
    watch_descriptors(self, now);
    if (!reaches_leader(self))
        return;
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        if (self->actors[i] == NULL || self->hangs[i] != TND_HANG_NONE)
            continue;
        tnd_statistics_t *page = tnd_pages_at(self->pages, i);
        uint64_t state = atomic_load_explicit(&page->state, memory_order_relaxed) & 0xff;
        uint64_t since = atomic_load_explicit(&page->since_ns, memory_order_relaxed);
        pid_t thread = (pid_t)atomic_load_explicit(&page->thread, memory_order_relaxed);
        watch_devices(self, i, page, now);
        if (state == TND_STATE_WORKING && tnd_actor_phase(self->actors[i]) == TND_ACTOR_STARTING)
            watch_birth(self, i, page, now);
        else if (state == TND_STATE_WORKING &&
                 tnd_hang_detector_hangs(&self->watches[i], since, thread,
                                         self->plan->hung_after_ns, now))
            say_hung(self, i, thread);
    }
}

static void make_next(tnd_host_t *self, uint32_t instance)
{
    self->watches[instance] = (tnd_hang_detector_t){0};
    self->hangs[instance] = TND_HANG_REPLACED;
    self->births[instance]++;
    tnd_host_make_actor(self, instance);
}

/*  Abandons an actor that does not leave its hook, and makes the next one. */
static void abandon(tnd_host_t *self, uint32_t instance)
{
    self->left = tnd_resize(self->left, self->left_count + 1, sizeof *self->left);
    tnd_actor_stop(self->actors[instance]);
    self->left[self->left_count++] = self->actors[instance];
    make_next(self, instance);
}

/*  An actor that works frees its memory and ports before the next one begins. */
static void follow(tnd_host_t *self, uint32_t instance, uint64_t now)
{
    if (!tnd_actor_join(self->actors[instance], 0)) {
        if (now >= self->stops_ns[instance])
            abandon(self, instance);
        return;
    }
    tnd_actor_destroy(&self->actors[instance]);
    make_next(self, instance);
}

void tnd_host_replace(tnd_host_t *self, uint32_t instance, bool asked)
{
    if (instance >= self->plan->instance_count || self->actors[instance] == NULL)
        return;
    if (self->hangs[instance] == TND_HANG_SAID) {
        abandon(self, instance);
    } else if (self->hangs[instance] == TND_HANG_NONE && asked) {
        self->hangs[instance] = TND_HANG_STOPS;
        self->stops_ns[instance] = tnd_clock_now() + self->plan->hung_after_ns;
        tnd_actor_stop(self->actors[instance]);
    } else if (self->hangs[instance] == TND_HANG_NONE) {
        /* The message that it was restarted was lost. */
        tnd_host_tell_leader(self, TND_MSG_RESTARTED, instance, NULL);
    }
}

/*  Passes the barriers of the start on its own. */
void tnd_host_raise(tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        if (self->hangs[i] == TND_HANG_STOPS)
            follow(self, i, tnd_clock_now());
        if (self->hangs[i] == TND_HANG_REPLACED &&
            tnd_actor_phase(self->actors[i]) == TND_ACTOR_BOUND) {
            self->hangs[i] = TND_HANG_RISING;
            self->endpoints_said = false;
            tnd_actor_go(self->actors[i]);
        } else if (self->hangs[i] == TND_HANG_RISING && reaches_leader(self) &&
                   tnd_actor_phase(self->actors[i]) == TND_ACTOR_RUNNING) {
            self->hangs[i] = TND_HANG_NONE;
            tnd_host_tell_leader(self, TND_MSG_RESTARTED, i, NULL);
        }
    }
}

void tnd_host_forget_hangs(tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (self->hangs[i] == TND_HANG_SAID)
            self->hangs[i] = TND_HANG_NONE; /* it is reported again */
}

/* --- memory that was leaked ------------------------------------------------------------------- */

void tnd_host_leaked(tnd_host_t *self, const char *why)
{
    pthread_mutex_lock(&self->lock);
    snprintf(self->leaked, sizeof self->leaked, "%s", why);
    pthread_mutex_unlock(&self->lock);
}

void tnd_host_leaked_why(tnd_host_t *self, char *text, size_t room)
{
    pthread_mutex_lock(&self->lock);
    snprintf(text, room, "%s", self->leaked);
    pthread_mutex_unlock(&self->lock);
}

/*  The outcome of the run is known, but a device that hangs must not be ignored. */
void tnd_host_say_leak(tnd_host_t *self)
{
    pthread_mutex_lock(&self->lock);
    tnd_buffer_t *note =
        self->leaked[0] != '\0' ? tnd_text_payload_of("control %s", self->leaked) : NULL;
    pthread_mutex_unlock(&self->lock);
    if (note != NULL)
        tnd_host_tell_leader(self, TND_MSG_LOG, TND_LOG_ERROR, note);
}
