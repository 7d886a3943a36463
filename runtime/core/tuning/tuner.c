/*  runtime/core/tuning/tuner.c - how many workers of an actor are awake, with `workers: auto`. */
#include "runtime/core/tuning/tuner.h"

#include <assert.h>
#include <string.h>

/*  Parts of the time, or of a rate. */
static const double tickets_wait = 0.10, feeder_waits = 0.05;
static const double fits_less = 0.70; /* busy, were there one worker less */
static const double least_gain = 0.03, clear_gain = 0.10, clear_loss = 0.10;
static const double other_load = 2;

enum {
    SHORT_PERIODS = 2, /* that ask for a worker more, in a row */
    BLIND_PERIODS = 3, /* likewise, if hardly a block was made */
    IDLE_PERIODS = 8,  /* that ask for one less */
    SKIPPED = 1,       /* after a change, and at first */
    TRIAL_LEAST = 2,   /* periods of a trial with a clear result */
    TRIAL_USUAL = 4,   /* of any other */
    TRIAL_MOST = 16,   /* of one with few blocks */
    TRIAL_BLOCKS = 50, /* else */
    MEMORY = 16,       /* periods that the rate before a trial is an average of */
    LOAD_BLOCKS = 8,   /* of a period that can show another load */
    LOAD_PERIODS = 4,  /* that show another load */
    HOLD_FIRST = 16,   /* periods; doubled each time */
    HOLD_MOST = 256,
    NEEDED_SOON = 120 /* periods from the removal of a worker until it is added again */
};

static void add(tnd_tuner_sum_t *sum, const tnd_tuner_sample_t *sample)
{
    sum->seconds += (double)sample->span_ns * 1e-9;
    sum->rows += (double)sample->rows;
    sum->blocks += (double)sample->blocks;
    sum->work += (double)sample->work_ns * 1e-9;
    sum->periods++;
}

static void halve(tnd_tuner_sum_t *sum)
{
    sum->seconds /= 2;
    sum->rows /= 2;
    sum->blocks /= 2;
    sum->work /= 2;
    sum->periods /= 2;
}

static double rate_of(const tnd_tuner_sum_t *sum)
{
    return sum->seconds > 0 ? sum->rows / sum->seconds : 0;
}

static void hold(tnd_tuner_hold_t *self)
{
    self->left = self->next;
    self->next = self->next < HOLD_MOST ? 2 * self->next : HOLD_MOST;
}

static void forget_holds(tnd_tuner_t *self)
{
    self->more = self->less = (tnd_tuner_hold_t){.next = HOLD_FIRST};
    self->judged_rate = 0;
}

void tnd_tuner_init(tnd_tuner_t *self, uint32_t most)
{
    assert(most > 0);
    memset(self, 0, sizeof *self);
    self->most = most;
    self->workers = self->decision.workers = 1;
    self->skipped = SKIPPED;
    self->since_removal = UINT32_MAX;
    self->needed.next = HOLD_FIRST;
    forget_holds(self);
}

void tnd_tuner_limit(tnd_tuner_t *self, uint32_t most)
{
    assert(most > 0);
    bool returns = self->state == TND_TUNER_TRIES_LESS;
    self->most = most;
    if (self->workers + returns <= most)
        return;
    self->workers = self->workers < most ? self->workers : most;
    self->decision.workers = self->workers;
    self->decision.act = TND_TUNER_LIMITED;
    self->state = TND_TUNER_WATCHES;
    self->skipped = SKIPPED;
    self->short_of = self->idle = self->unjudged = 0;
    memset(&self->now, 0, sizeof self->now);
}

static void change(tnd_tuner_t *self, bool more)
{
    self->workers += more ? 1u : -1u;
    self->skipped = SKIPPED;
    self->short_of = self->idle = 0;
    self->decision.workers = self->workers;
}

static void begin_trial(tnd_tuner_t *self, bool more)
{
    self->before = self->now;
    memset(&self->now, 0, sizeof self->now);
    self->state = more ? TND_TUNER_TRIES_MORE : TND_TUNER_TRIES_LESS;
    change(self, more);
}

/*  The rate of the setting that was left holds for the one that is returned to. */
static void end_trial(tnd_tuner_t *self, bool good)
{
    bool more = self->state == TND_TUNER_TRIES_MORE;
    self->state = TND_TUNER_WATCHES;
    if (good) {
        self->decision.act = more ? TND_TUNER_KEPT : TND_TUNER_SPARED;
        return;
    }
    self->decision.act = more ? TND_TUNER_UNDONE : TND_TUNER_RESTORED;
    if (!more)
        self->unjudged = 0; /* those before it gained at least as much */
    self->now = self->before;
    self->judged_rate = rate_of(&self->before);
    hold(more ? &self->more : &self->less);
    change(self, !more);
}

/*  True if the trial has ended. */
static bool judge(tnd_tuner_t *self)
{
    double before = rate_of(&self->before);
    double gain = before > 0 ? rate_of(&self->now) / before - 1 : 0;
    bool enough = (self->now.blocks >= TRIAL_BLOCKS && self->before.blocks >= TRIAL_BLOCKS) ||
                  self->now.periods >= TRIAL_MOST;
    bool more = self->state == TND_TUNER_TRIES_MORE;
    if (self->now.periods < TRIAL_LEAST)
        return false;
    if (self->before.blocks < LOAD_BLOCKS) { /* before it was known what a block takes */
        self->decision.act = TND_TUNER_UNJUDGED;
        self->state = TND_TUNER_WATCHES;
        self->unjudged++;
        return true;
    }
    double expected = self->before.blocks / self->before.periods * self->now.periods;
    bool clear = (expected >= LOAD_BLOCKS && gain <= -clear_loss) || (enough && gain >= clear_gain);
    if (!clear && (!enough || self->now.periods < TRIAL_USUAL))
        return false;
    self->decision.gain = gain;
    end_trial(self, more ? gain >= least_gain : gain > -least_gain);
    return true;
}

/*  Whether a period differs so much from those before it that the load must have changed. */
static bool is_other_load(const tnd_tuner_sum_t *before, const tnd_tuner_sample_t *sample)
{
    double expected = before->blocks / (before->periods > 0 ? before->periods : 1);
    double rate = (double)sample->rows / ((double)sample->span_ns * 1e-9);
    if (before->periods == 0 || (expected < LOAD_BLOCKS && sample->blocks < LOAD_BLOCKS))
        return false;
    return rate > other_load * rate_of(before) || rate * other_load < rate_of(before);
}

/*  What was tried and failed says nothing about another load. */
static void notice_load(tnd_tuner_t *self)
{
    if (self->judged_rate <= 0 || self->now.periods < LOAD_PERIODS)
        return;
    double rate = rate_of(&self->now);
    if (rate > other_load * self->judged_rate || rate * other_load < self->judged_rate)
        forget_holds(self);
}

static bool asks_for_more(const tnd_tuner_sample_t *sample)
{
    double span = (double)sample->span_ns;
    return (double)sample->ticket_wait_ns >= tickets_wait * span &&
           (double)sample->feeder_wait_ns >= feeder_waits * span;
}

static bool asks_for_less(const tnd_tuner_t *self, const tnd_tuner_sample_t *sample)
{
    double could = fits_less * (self->workers - 1) * (double)sample->span_ns;
    return self->workers > 1 && (double)sample->work_ns < could;
}

static bool try_more(tnd_tuner_t *self, const tnd_tuner_sample_t *sample)
{
    /* Without blocks there is nothing to compare with, but a slow pipeline is not waited for. */
    bool judgeable = self->now.blocks >= LOAD_BLOCKS || self->short_of >= BLIND_PERIODS;
    if (self->short_of < SHORT_PERIODS || !judgeable || self->workers == self->most ||
        self->more.left > 0)
        return false;
    self->decision.act = TND_TUNER_ADDED;
    self->decision.tickets_waited = (double)sample->ticket_wait_ns / (double)sample->span_ns;
    self->decision.feeder_waited = (double)sample->feeder_wait_ns / (double)sample->span_ns;
    if (self->since_removal < NEEDED_SOON)
        hold(&self->needed);
    begin_trial(self, true);
    return true;
}

/*  Of more workers even those that are needed gain less. */
static bool can_check(const tnd_tuner_t *self)
{
    return self->unjudged > 0 && self->workers * least_gain < 1 && self->now.blocks >= LOAD_BLOCKS;
}

static bool try_less(tnd_tuner_t *self)
{
    bool idle = self->idle >= IDLE_PERIODS;
    if (self->workers == 1)
        self->unjudged = 0;
    if ((!idle && !can_check(self)) || self->less.left > 0 || self->needed.left > 0)
        return false;
    self->decision.act = idle ? TND_TUNER_REMOVED : TND_TUNER_CHECKED;
    self->unjudged -= self->unjudged > 0;
    self->decision.busy = self->now.work / self->now.seconds / self->workers;
    self->since_removal = 0;
    begin_trial(self, false);
    return true;
}

bool tnd_tuner_step(tnd_tuner_t *self, const tnd_tuner_sample_t *sample)
{
    if (sample->span_ns == 0)
        return false;
    self->since_removal += self->since_removal < UINT32_MAX;
    self->more.left -= self->more.left > 0;
    self->less.left -= self->less.left > 0;
    self->needed.left -= self->needed.left > 0;
    if (self->since_removal == HOLD_MOST + NEEDED_SOON)
        self->needed.next = HOLD_FIRST;
    if (self->skipped > 0) {
        self->skipped--;
        return false;
    }
    if (self->state == TND_TUNER_WATCHES && is_other_load(&self->now, sample))
        memset(&self->now, 0, sizeof self->now);
    add(&self->now, sample);
    if (self->state != TND_TUNER_WATCHES)
        return judge(self);
    if (self->now.periods > MEMORY)
        halve(&self->now);
    notice_load(self);
    self->short_of = asks_for_more(sample) ? self->short_of + 1 : 0;
    self->idle = asks_for_less(self, sample) ? self->idle + 1 : 0;
    return try_more(self, sample) || try_less(self);
}
