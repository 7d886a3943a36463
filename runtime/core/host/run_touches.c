/*  runtime/core/host/run_touches.c - what users ask of a run, as its leader carries it out and answers. */
#include "runtime/core/host/run_touches.h"

#include "runtime/base/bug_injection.h"

/*  In the order in which they are done; RECALL and OPTIONS greet one host. */
enum { TRY = 1, OPTIONS = 2, RECALL = 4, SCALE = 8, NEWS = 16, ANSWER = 32 };

void tnd_run_touches_take(tnd_run_touches_t *self, tnd_verb_t verb, uint32_t host, uint64_t client,
                          bool ended)
{
    bool drains = verb == TND_TOUCH_DRAIN && self->drains;
    self->verb = verb;
    self->from = host;
    self->client = client;
    self->result = ended ? TND_TOUCH_ENDED : drains ? TND_TOUCH_DRAINS : TND_TOUCH_DONE;
    self->pending = self->result == TND_TOUCH_DONE ? TRY | ANSWER : ANSWER;
}

void tnd_run_touches_drain(tnd_run_touches_t *self)
{
    self->drains = true;
    self->paused_ns = 0;
}

void tnd_run_touches_finish(tnd_run_touches_t *self)
{
    self->finishes = true;
}

bool tnd_run_touches_goes_on(const tnd_run_touches_t *self)
{
    return !self->drains && !self->finishes;
}

void tnd_run_touches_tried(tnd_run_touches_t *self, bool done, const tnd_touch_scale_t *scale,
                           uint64_t now)
{
    self->pending &= ~(uint32_t)TRY;
    self->result = done ? TND_TOUCH_DONE : TND_TOUCH_REFUSED;
    if (!done)
        return;
    self->host = 0;
    self->pending |= NEWS;
    switch (self->verb) {
    case TND_TOUCH_PAUSE:
        self->paused_ns = now;
        break;
    case TND_TOUCH_RESUME:
        self->paused_ns = 0;
        break;
    case TND_TOUCH_DRAIN:
        tnd_run_touches_drain(self);
        break;
    case TND_TOUCH_SET:
        self->is_set = true;
        break;
    case TND_TOUCH_SCALE:
        self->first = scale->first;
        self->awake[scale->first] = scale->workers;
        self->pending |= SCALE;
        break;
    case TND_TOUCH_RESTART:
    case TND_TOUCH_START_AGAIN:
        break;
    }
}

void tnd_run_touches_greet(tnd_run_touches_t *self, uint32_t host)
{
    self->host = host;
    self->first = 0;
    self->pending = TND_BUG(SCALE_TOLD_ONCE) ? 0 : RECALL;
    if (self->is_set)
        self->pending |= OPTIONS;
}

static bool tell(tnd_run_touches_t *self, tnd_touches_step_kind_t kind, tnd_touches_step_t *step)
{
    *step = (tnd_touches_step_t){.kind = kind, .host = self->host};
    if (kind == TND_TOUCHES_SCALE)
        step->scale = (tnd_touch_scale_t){self->first, self->awake[self->first]};
    return true;
}

/*  Tells the next host; when all were told, `what` is done. */
static bool tell_all(tnd_run_touches_t *self, uint32_t what, tnd_touches_step_kind_t kind,
                     tnd_touches_step_t *step)
{
    (void)tell(self, kind, step);
    if (++self->host < self->host_count)
        return true;
    self->host = 0;
    self->pending &= ~what;
    return true;
}

/*  Tells one host the next actor whose workers a user has scaled. */
static bool recall(tnd_run_touches_t *self, tnd_touches_step_t *step)
{
    while (self->first < self->instance_count && self->awake[self->first] == 0)
        self->first++;
    if (self->first == self->instance_count) {
        self->pending = 0;
        return false;
    }
    (void)tell(self, TND_TOUCHES_SCALE, step);
    self->first++;
    return true;
}

bool tnd_run_touches_next(tnd_run_touches_t *self, tnd_touches_step_t *step)
{
    if (self->pending == ANSWER || (self->pending & ANSWER && TND_BUG(TOUCH_ANSWERED_EARLY))) {
        *step = (tnd_touches_step_t){.kind = TND_TOUCHES_ANSWER,
                                     .host = self->from,
                                     .client = self->client,
                                     .result = self->result};
        self->pending &= ~(uint32_t)ANSWER;
        return true;
    }
    if (self->pending & TRY)
        return tell(self, TND_TOUCHES_TRY, step);
    if (self->pending & OPTIONS) {
        self->pending &= ~(uint32_t)OPTIONS;
        return tell(self, TND_TOUCHES_OPTIONS, step);
    }
    if (self->pending & SCALE)
        return tell_all(self, SCALE, TND_TOUCHES_SCALE, step);
    if (self->pending & NEWS)
        return tell_all(self, NEWS, TND_TOUCHES_NEWS, step);
    return self->pending & RECALL && recall(self, step);
}
