/*  runtime/timing/time_left.c - how long until an epoch, and a run, ends. */
#include "runtime/timing/time_left.h"

#include "runtime/core/stream/position.h"

static const uint64_t apart_ns = UINT64_C(1000000000);

/*  A step that is late by more than this, and by more than some usual gaps, may never come. */
static const double lost_ns = 5e9, lost_gaps = 4;

static uint64_t active(const tnd_time_left_t *self)
{
    return self->now_ns - self->paused_ns;
}

static void begin(tnd_time_left_t *self, const tnd_stream_place_t *place, uint64_t now)
{
    *self = (tnd_time_left_t){
        .place = *place,
        .looked = true,
        .now_ns = now,
        .epoch_began = place->rows == 0 ? 0 : TND_UNKNOWN,
        .epoch_found = TND_UNKNOWN,
    };
}

static void note_epoch(tnd_time_left_t *self, const tnd_stream_place_t *place)
{
    if (place->epochs == self->place.epochs)
        return;
    if (place->epochs == self->place.epochs + 1 && self->epoch_began != TND_UNKNOWN)
        self->epoch_found = place->rows - self->epoch_began;
    self->epoch_began = place->rows;
}

static void note_step(tnd_time_left_t *self)
{
    const tnd_time_left_look_t *newest =
        &self->looks[(self->count + TND_TIME_LEFT_LOOKS - 1) % TND_TIME_LEFT_LOOKS];
    self->last = (tnd_time_left_look_t){
        .at_ns = active(self), .rows = self->place.rows, .steps = self->place.steps};
    if (!self->begun || self->last.at_ns >= newest->at_ns + apart_ns)
        self->looks[self->count++ % TND_TIME_LEFT_LOOKS] = self->last;
    self->begun = true;
}

void tnd_time_left_note(tnd_time_left_t *self, const tnd_stream_place_t *place, uint64_t now)
{
    if (!self->looked || place->steps < self->place.steps || place->rows < self->place.rows) {
        begin(self, place, now);
        return;
    }
    if (now > self->now_ns) {
        if (self->place.paused)
            self->paused_ns += now - self->now_ns;
        self->now_ns = now;
    }
    bool done = place->steps > self->place.steps;
    note_epoch(self, place);
    self->place = *place;
    if (done)
        note_step(self);
}

static const tnd_time_left_look_t *oldest_of(const tnd_time_left_t *self)
{
    return &self->looks[self->count > TND_TIME_LEFT_LOOKS ? self->count % TND_TIME_LEFT_LOOKS : 0];
}

/*  The time for what is left, if `done` took the time since the oldest look; 0: not known. */
static uint64_t time_for(const tnd_time_left_t *self, uint64_t left, uint64_t done)
{
    const tnd_time_left_look_t *oldest = oldest_of(self);
    uint64_t steps = self->last.steps - oldest->steps;
    if (!self->begun || steps == 0 || done == 0)
        return 0;
    double span = (double)(self->last.at_ns - oldest->at_ns), gap = span / (double)steps;
    double quiet = (double)(active(self) - self->last.at_ns);
    if (quiet > lost_ns + lost_gaps * gap)
        return 0;
    if (quiet > gap) { /* the next step is late */
        span += quiet - gap;
        quiet = gap;
    }
    double time = (double)left * span / (double)done - quiet;
    return time < 1 ? 1 : time < 9e18 ? (uint64_t)time : 0;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static uint64_t difference(uint64_t end, uint64_t at)
{
    return end > at ? end - at : 0;
}

uint64_t tnd_time_left_run(const tnd_time_left_t *self)
{
    const tnd_stream_place_t *place = &self->place;
    const tnd_time_left_look_t *oldest = oldest_of(self);
    uint64_t by_rows = 0, by_steps = 0;
    if (place->run_rows != TND_UNKNOWN)
        by_rows = time_for(self, difference(place->run_rows, place->rows),
                           self->last.rows - oldest->rows);
    if (place->run_steps != TND_UNKNOWN)
        by_steps = time_for(self, difference(place->run_steps, place->steps),
                            self->last.steps - oldest->steps);
    return sooner(by_rows, by_steps);
}

uint64_t tnd_time_left_epoch(const tnd_time_left_t *self)
{
    const tnd_stream_place_t *place = &self->place;
    bool known = place->epoch_rows != TND_UNKNOWN;
    uint64_t rows = known ? place->epoch_rows : self->epoch_found;
    if (rows == TND_UNKNOWN || rows == 0)
        return 0;
    uint64_t of_epoch = known ? place->rows % rows : place->rows - self->epoch_began;
    return sooner(
        time_for(self, difference(rows, of_epoch), self->last.rows - oldest_of(self)->rows),
        tnd_time_left_run(self));
}
