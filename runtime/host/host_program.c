/*  runtime/host/host_program.c - what the session functions of a program ask of a host. */
#include "runtime/core/session/members.h"
#include "runtime/host/host_internal.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/feed/feed.h"

tnd_outcome_t tnd_host_wait(tnd_host_t *self, uint64_t wait_ns)
{
    uint64_t until = tnd_clock_read(CLOCK_REALTIME) + wait_ns;
    struct timespec deadline = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_mutex_lock(&self->lock);
    while (self->end.outcome == TND_OUTCOME_NONE &&
           (wait_ns == TND_NEVER
                ? pthread_cond_wait(&self->changed, &self->lock)
                : pthread_cond_timedwait(&self->changed, &self->lock, &deadline)) == 0)
        continue;
    tnd_outcome_t outcome = self->end.outcome;
    pthread_mutex_unlock(&self->lock);
    return outcome;
}

tnd_outcome_t tnd_host_wait_running(tnd_host_t *self)
{
    pthread_mutex_lock(&self->lock);
    while (!self->end.running && self->end.outcome == TND_OUTCOME_NONE)
        pthread_cond_wait(&self->changed, &self->lock);
    tnd_outcome_t outcome = self->end.outcome;
    pthread_mutex_unlock(&self->lock);
    return outcome;
}

void tnd_host_wait_chain(tnd_host_t *self, uint32_t chain, uint64_t times)
{
    pthread_mutex_lock(&self->lock);
    while (self->end.ends[chain] < times && self->end.outcome == TND_OUTCOME_NONE)
        pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

bool tnd_host_running(tnd_host_t *self)
{
    pthread_mutex_lock(&self->lock);
    bool running = self->end.running;
    pthread_mutex_unlock(&self->lock);
    return running;
}

void tnd_host_drain(tnd_host_t *self)
{
    atomic_store(&self->wishes.drain, true);
    tnd_hub_wake(self->hub);
}

void tnd_host_drain_because(tnd_host_t *self, const char *cause, bool preempted)
{
    pthread_mutex_lock(&self->lock);
    self->end.preempted = self->end.preempted || preempted;
    if (!atomic_load(&self->wishes.drain))
        snprintf(self->end.cause, sizeof self->end.cause, "%s", cause);
    pthread_mutex_unlock(&self->lock);
    tnd_host_drain(self);
}

void tnd_host_finish(tnd_host_t *self, const uint64_t *steps)
{
    memcpy(self->wishes.last_steps, steps, self->plan->chain_count * sizeof *steps);
    atomic_store(&self->wishes.finish, true);
    tnd_hub_wake(self->hub);
}

void tnd_host_leave(tnd_host_t *self)
{
    atomic_store(&self->wishes.leave, true);
    tnd_hub_wake(self->hub);
}

void tnd_host_stop(tnd_host_t *self)
{
    atomic_store(&self->wishes.stop, true);
    tnd_hub_wake(self->hub);
}

void tnd_host_break(tnd_host_t *self, const char *why)
{
    pthread_mutex_lock(&self->lock);
    if (self->end.broken[0] == '\0')
        snprintf(self->end.broken, sizeof self->end.broken, "%s", why);
    pthread_mutex_unlock(&self->lock);
    atomic_store(&self->wishes.fail, true);
    tnd_hub_wake(self->hub);
}

uint32_t tnd_host_port(const tnd_host_t *self)
{
    return self->port;
}

/*  The feed of an instance of this host, or NULL. */
static tnd_feed_t *feed_of(const tnd_host_t *self, uint32_t instance)
{
    bool feeds = self->plan->instances[instance].kind->role == TND_ROLE_FEEDER;
    return feeds && self->actors[instance] != NULL ? tnd_actor_handle(self->actors[instance])
                                                   : NULL;
}

const char *tnd_host_why(tnd_host_t *self)
{
    bool failed = false;
    for (uint32_t i = 0; i < self->plan->instance_count && tnd_host_running(self); i++)
        failed = failed || (feed_of(self, i) != NULL && tnd_feed_failed(feed_of(self, i)));
    return tnd_host_wait(self, failed ? TND_NEVER : 0) != TND_OUTCOME_NONE ? self->end.why : "";
}

bool tnd_host_over(const tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *instance = &self->plan->instances[i];
        if (instance->host != self->config.host ||
            !tnd_members_commits(tnd_plan_role(self->plan, i)) ||
            tnd_chain_repeats(&self->plan->chains[instance->chain]))
            continue; /* what is not pulled of those that repeat is discarded */
        if (self->actors[i] == NULL || !tnd_actor_is_over(self->actors[i]))
            return false;
    }
    return true;
}

void *tnd_host_handle(tnd_host_t *self, const char *actor)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (self->actors[i] != NULL && strcmp(self->plan->instances[i].actor, actor) == 0)
            return tnd_actor_handle(self->actors[i]);
    return NULL;
}

void tnd_host_discard(tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        tnd_feed_t *feed = feed_of(self, i);
        if (feed != NULL)
            tnd_feed_discard(feed);
    }
}

const tnd_statistics_t *tnd_host_page(const tnd_host_t *self, uint32_t instance)
{
    return tnd_pages_at(self->pages, instance);
}
