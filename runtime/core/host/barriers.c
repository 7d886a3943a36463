/*  runtime/core/host/barriers.c - the barriers of the start, as the process of one host passes them. */
#include "runtime/core/host/barriers.h"

#include "runtime/base/bug_injection.h"

void tnd_barriers_open(tnd_barriers_t *self)
{
    self->opened = true;
}

bool tnd_barriers_stream(tnd_barriers_t *self)
{
    bool is_news = !self->checking && !self->fits;
    self->streams = is_news;
    return is_news;
}

void tnd_barriers_fit(tnd_barriers_t *self)
{
    self->checking = false;
    self->fits = true;
}

tnd_table_use_t tnd_barriers_table(tnd_barriers_t *self)
{
    bool first = !self->goes;
    if (!self->made && !TND_BUG(TABLE_OVERTAKES))
        return TND_TABLE_IGNORED;
    self->goes = true;
    return first ? TND_TABLE_GO : TND_TABLE_LOOK;
}

void tnd_barriers_greet(tnd_barriers_t *self)
{
    self->facts_said = self->endpoints_said = self->ready_said = false;
}

void tnd_barriers_move(tnd_barriers_t *self)
{
    self->endpoints_said = false;
}

bool tnd_barriers_await_actors(const tnd_barriers_t *self)
{
    return self->made && !(self->endpoints_said && self->ready_said);
}

static tnd_barriers_step_t say(bool *said_p, tnd_barriers_step_t step)
{
    *said_p = true;
    return step;
}

tnd_barriers_step_t tnd_barriers_next(tnd_barriers_t *self, const tnd_barriers_facts_t *facts)
{
    if (self->reads && self->opened && !self->facts_said && facts->reaches)
        return say(&self->facts_said, TND_BARRIERS_FACTS);
    if (self->opened && self->streams) {
        self->streams = false;
        return say(&self->checking, TND_BARRIERS_CHECK);
    }
    if (self->fits && !self->made)
        return say(&self->made, TND_BARRIERS_MAKE);
    if (self->made && !self->endpoints_said && facts->bound && facts->reaches)
        return say(&self->endpoints_said, TND_BARRIERS_ENDPOINTS);
    if (self->goes && !self->ready_said && facts->run && facts->reaches)
        return say(&self->ready_said, TND_BARRIERS_READY);
    return TND_BARRIERS_WAIT;
}
