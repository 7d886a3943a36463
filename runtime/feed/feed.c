/*  runtime/feed/feed.c - global steps for programs that pull them. */
#include "runtime/feed/feed.h"

#include <stdlib.h>

struct tnd_feed {
    tnd_crew_t *crew;
    tnd_feed_facts_t facts;
    tnd_task_t task; /* of the step that is pulled */
    tnd_step_fn *step, *apply;
    void *user;
};

tnd_feed_t *tnd_feed_new(tnd_crew_t *crew, const tnd_feed_facts_t *facts)
{
    tnd_feed_t *self = calloc(1, sizeof *self);
    if (self == NULL)
        abort();
    self->crew = crew;
    self->facts = *facts;
    if (facts->models != NULL)
        self->facts.models = tnd_models_hold(facts->models);
    return self;
}

void tnd_feed_destroy(tnd_feed_t **self_p)
{
    if (*self_p == NULL)
        return;
    tnd_models_drop(&(*self_p)->facts.models);
    free(*self_p);
    *self_p = NULL;
}

tnd_models_t *tnd_feed_models(tnd_feed_t *self)
{
    return self->facts.models;
}

void tnd_feed_discard(tnd_feed_t *self)
{
    tnd_crew_discard(self->crew);
}

const tnd_schema_t *tnd_feed_schema(const tnd_feed_t *feed)
{
    return feed->facts.schema;
}

tnd_status_t tnd_feed_next(tnd_feed_t *feed)
{
    return tnd_crew_next(feed->crew);
}

static tnd_status_t call_step(void *context, tnd_replica_t *replica)
{
    const tnd_feed_t *feed = context;
    return feed->step(replica, feed->user);
}

static tnd_status_t call_apply(void *context, tnd_replica_t *replica)
{
    const tnd_feed_t *feed = context;
    return feed->apply(replica, feed->user);
}

tnd_status_t tnd_feed_run(tnd_feed_t *feed, tnd_step_fn *step, tnd_step_fn *apply, void *user)
{
    feed->step = step;
    feed->apply = apply;
    feed->user = user;
    feed->task = (tnd_task_t){
        .step = call_step, .apply = apply != NULL ? call_apply : NULL, .context = feed};
    return tnd_crew_run(feed->crew, &feed->task);
}

uint32_t tnd_feed_replicas(const tnd_feed_t *feed, uint32_t *first_p, uint32_t *count_p)
{
    *first_p = feed->facts.first;
    *count_p = feed->facts.count;
    return feed->facts.replicas;
}

uint64_t tnd_feed_steps(const tnd_feed_t *feed)
{
    return feed->facts.steps;
}
