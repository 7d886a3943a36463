/*  tests/sim/validations.c - the chain rests after some steps or epochs, for a validation of any length.
 *
 *  It rests after exactly the steps that are due, with all of them booked, and once for each.  No feeder
 *  starts a step of what follows before the leader lets them go on. */
#include <inttypes.h>
#include <math.h>

#include "tests/sim/cluster.h"

static tnd_validation_place_t place_of(const sim_t *self)
{
    tnd_validation_place_t place = {.cursor = tnd_leader_core_cursor(self->run.session)};
    (void)tnd_leader_core_rests(self->run.session, &place.epoch);
    return place;
}

static void go_on(sim_t *self)
{
    tnd_validation_place_t place = place_of(self);
    self->rest_step = TND_UNKNOWN;
    self->rest_epoch = TND_ENDLESS;
    tnd_validation_rest(&self->validation, &place, &self->rest_step, &self->rest_epoch);
    tnd_leader_core_rest_at(self->run.session, self->rest_step, self->rest_epoch);
}

void sim_validations_begin(sim_t *self)
{
    uint64_t made = self->plan.best ? self->validation.made : TND_UNKNOWN;
    self->validation =
        self->chain == 0 ? self->plan.validation : (tnd_validation_t){.made = TND_UNKNOWN};
    self->validation.made = self->chain == 0 ? made : TND_UNKNOWN;
    self->validates = false;
    go_on(self);
}

void sim_validations_start(sim_t *self, uint32_t id, const tnd_slice_note_t *slice)
{
    if (slice->step >= self->rest_step || slice->epoch >= self->rest_epoch)
        sim_violate(self, "%s starts step %" PRIu64 " of epoch %u before what is due is validated",
                    sim_name(self, id), slice->step, slice->epoch);
}

/*  Whether the reference has a validation after so many steps. */
static bool is_expected(const sim_t *self, uint64_t step)
{
    const tnd_validation_t *every = &self->plan.validation;
    if (every->steps > 0)
        return step > 0 && (step + self->base) % every->steps == 0;
    if (every->epochs == 0)
        return false;
    if (step == 0 || !self->reference.steps[step - 1].last_of_epoch)
        return false;
    uint32_t ended = self->reference.steps[step - 1].epoch;
    uint32_t next =
        step < self->reference.step_count ? self->reference.steps[step].epoch : self->plan.epochs;
    return next / every->epochs > ended / every->epochs;
}

/*  Whether the step before `step` is the last of the stream, as its rows say. */
static bool is_last(const sim_t *self, uint64_t step)
{
    const sim_reference_t *reference = &self->reference;
    return step == reference->step_count && step > 0 && !self->plan.rewinds &&
           reference->steps[step - 1].last_of_epoch &&
           reference->steps[step - 1].epoch + 1 == self->plan.epochs;
}

/*  Whether the run ends there, and is validated then.  One that resumes after it has not seen the rows. */
static bool is_end(const sim_t *self)
{
    return self->booked > self->from.step && is_last(self, self->booked - self->base);
}

/*  Of the models after so many steps; equal ones are frequent. */
static double value_of(const sim_t *self, uint64_t step)
{
    uint64_t drawn = sim_hash(self->plan.seed, 70000 + step);
    return drawn % 16 == 0 ? (double)NAN : (double)(drawn / 16 % 6);
}

uint64_t sim_validations_end(const sim_t *self)
{
    const tnd_best_t *judge = &self->plan.judge;
    double sign = judge->least ? -1 : 1, best = -(double)INFINITY;
    uint64_t without = 0;
    for (uint64_t step = 1; self->plan.best && step <= self->reference.step_count; step++) {
        if (!is_expected(self, step) || is_last(self, step))
            continue;
        double value = sign * value_of(self, step);
        without = value > best ? 0 : without + 1;
        best = value > best ? value : best;
        if (judge->patience > 0 && without == judge->patience)
            return step;
    }
    return TND_UNKNOWN;
}

void sim_validations_check(sim_t *self)
{
    tnd_validation_place_t place;
    uint32_t epoch;
    if (self->over || self->validates || !tnd_leader_core_rests(self->run.session, &epoch))
        return;
    place = place_of(self);
    if (!tnd_validation_is_due(&self->validation, &place)) {
        go_on(self);
        return;
    }
    sim_say(self, "a validation begins after %" PRIu64 " steps", self->booked);
    if (self->validation.made == self->booked || !is_expected(self, self->booked - self->base) ||
        is_end(self))
        sim_violate(self, "a validation begins after %" PRIu64 " steps, where none is due",
                    self->booked);
    self->validates = true;
    self->counts.validations++;
    sim_after(self, sim_below(&self->chance, 30000) * 1000ull, SIM_AT_VALIDATED, self->plan.session,
              0, 0);
}

void sim_validated(sim_t *self)
{
    if (!self->validates) /* the stream has ended there */
        return;
    self->validates = false;
    self->progress_at = self->now;
    self->validation.made = self->booked;
    if (self->plan.best && self->chain == 0) {
        (void)tnd_best_add(&self->best, self->booked, value_of(self, self->booked));
        sim_checkpoint_validated(self, self->booked);
        if (tnd_best_ends(&self->best))
            tnd_leader_core_end_here(self->run.session);
    }
    go_on(self);
    sim_leader_run(self);
}
