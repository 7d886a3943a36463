/*  runtime/timing/time_left.c - how long until an epoch, and a run, ends. */
#include "runtime/timing/time_left.h"

#include "runtime/core/stream/position.h"

static const uint64_t apart_ns = UINT64_C(1000000000);

/*  A step that is late by more than this, and by more than some usual gaps, may never come. */
static const double lost_ns = 5e9, lost_gaps = 4;

/*  A part of the stream shows its rate if it has so many steps, and this share of the rows of an epoch. */
enum { SHOWS_STEPS = 4, MANY_EPOCHS = 8 };
static const double shows_share = 0.05;

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

static void note_end(tnd_time_left_t *self)
{
    if (self->first_ended.steps == 0)
        self->first_ended = self->last;
    self->ends[1] = self->ends[0];
    self->ends[0] = self->last;
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
    bool done = place->steps > self->place.steps, ended = place->epochs != self->place.epochs;
    note_epoch(self, place);
    self->place = *place;
    if (done)
        note_step(self);
    if (done && self->epoch_begins)
        self->epoch_look = self->last;
    self->epoch_begins = ended || (self->epoch_begins && !done);
    if (ended)
        note_end(self);
}

static const tnd_time_left_look_t *oldest_of(const tnd_time_left_t *self)
{
    return &self->looks[self->count > TND_TIME_LEFT_LOOKS ? self->count % TND_TIME_LEFT_LOOKS : 0];
}

static uint64_t rows_of_epoch(const tnd_time_left_t *self)
{
    bool known = self->place.epoch_rows != TND_UNKNOWN;
    return known ? self->place.epoch_rows : self->epoch_found;
}

/*  The later of two looks, if what was done since then shows a rate, or else the first one. */
static const tnd_time_left_look_t *later_of(const tnd_time_left_t *self,
                                            const tnd_time_left_look_t *look,
                                            const tnd_time_left_look_t *later)
{
    double rows = (double)rows_of_epoch(self);
    bool shows = later->at_ns > look->at_ns && self->last.steps >= later->steps + SHOWS_STEPS &&
                 (double)(self->last.rows - later->rows) >= shows_share * rows;
    return shows ? later : look;
}

/*  Where the time begins of which the rate is computed, for the end of the run and of the epoch. */
static const tnd_time_left_look_t *base_of_run(const tnd_time_left_t *self)
{
    return later_of(self, oldest_of(self), &self->first_ended);
}

static const tnd_time_left_look_t *base_of_epoch(const tnd_time_left_t *self)
{
    return later_of(self, base_of_run(self), &self->epoch_look);
}

/*  The time for what is left, if `done` took the time since that look; 0: not known. */
static uint64_t time_for(const tnd_time_left_t *self, const tnd_time_left_look_t *oldest,
                         uint64_t left, uint64_t done)
{
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

/*  The rows until the current epoch ends; TND_UNKNOWN. */
static uint64_t rows_left(const tnd_time_left_t *self)
{
    const tnd_stream_place_t *place = &self->place;
    uint64_t rows = rows_of_epoch(self);
    if (rows == TND_UNKNOWN || rows == 0)
        return TND_UNKNOWN;
    bool known = place->epoch_rows != TND_UNKNOWN;
    return difference(rows, known ? place->rows % rows : place->rows - self->epoch_began);
}

static uint64_t time_for_rows(const tnd_time_left_t *self, const tnd_time_left_look_t *since,
                              uint64_t rows)
{
    return time_for(self, since, rows, self->last.rows - since->rows);
}

/*  The time for rows of later epochs.  If few epochs are known, it is that of the last one, with all that
 *  lay between it and the next. */
static uint64_t time_of_epochs(const tnd_time_left_t *self, uint64_t rows)
{
    const tnd_time_left_look_t *base = base_of_run(self), *end = self->ends, *before = &end[1];
    uint64_t of_epoch = before->steps > 0 ? difference(end->rows, before->rows) : 0;
    if (of_epoch == 0 || self->last.rows - base->rows > MANY_EPOCHS * of_epoch)
        return time_for_rows(self, base, rows);
    double time = (double)rows * (double)(end->at_ns - before->at_ns) / (double)of_epoch;
    return time_for_rows(self, base, rows) == 0 ? 0 : time < 1 ? 1 : (uint64_t)time;
}

/*  Until a number of rows is read: the rest of this epoch at its own rate. */
static uint64_t time_by_rows(const tnd_time_left_t *self)
{
    uint64_t rows = difference(self->place.run_rows, self->place.rows), first = rows_left(self);
    if (first >= rows)
        return time_for_rows(self, base_of_epoch(self), rows);
    uint64_t time = time_for_rows(self, base_of_epoch(self), first);
    uint64_t later = time_of_epochs(self, rows - first);
    return time != 0 && later != 0 ? time + later : 0;
}

uint64_t tnd_time_left_run(const tnd_time_left_t *self)
{
    const tnd_stream_place_t *place = &self->place;
    const tnd_time_left_look_t *since = base_of_run(self);
    uint64_t by_rows = 0, by_steps = 0;
    if (place->run_rows != TND_UNKNOWN)
        by_rows = time_by_rows(self);
    if (place->run_steps != TND_UNKNOWN)
        by_steps = time_for(self, since, difference(place->run_steps, place->steps),
                            self->last.steps - since->steps);
    return sooner(by_rows, by_steps);
}

uint64_t tnd_time_left_epoch(const tnd_time_left_t *self)
{
    uint64_t rows = rows_left(self);
    if (rows == TND_UNKNOWN)
        return 0;
    return sooner(time_for_rows(self, base_of_epoch(self), rows), tnd_time_left_run(self));
}
