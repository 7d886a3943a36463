/*  tests/sim/validations.c - the chain rests after some steps or epochs, for a validation of any length.
 *
 *  It rests after exactly the steps that are due, with all of them booked, and once for each.  No feeder
 *  starts a step of what follows before the leader lets them go on. */
#include <inttypes.h>

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
    self->validation =
        self->chain == 0 ? self->plan.validation : (tnd_validation_t){.made = TND_UNKNOWN};
    self->validates = false;
    go_on(self);
}

void sim_validations_start(sim_t *self, uint32_t id, const tnd_slice_note_t *slice)
{
    if (slice->step >= self->rest_step || slice->epoch >= self->rest_epoch)
        sim_violate(self, "%s starts step %" PRIu64 " of epoch %u before what is due is validated",
                    sim_name(self, id), slice->step, slice->epoch);
}

/*  Whether the reference has a validation after the steps that are booked. */
static bool is_expected(const sim_t *self)
{
    uint64_t step = self->booked - self->base;
    const tnd_validation_t *every = &self->plan.validation;
    if (every->steps > 0)
        return self->booked > 0 && self->booked % every->steps == 0;
    if (step == 0 || !self->reference.steps[step - 1].last_of_epoch)
        return false;
    uint32_t ended = self->reference.steps[step - 1].epoch;
    uint32_t next =
        step < self->reference.step_count ? self->reference.steps[step].epoch : self->plan.epochs;
    return next / every->epochs > ended / every->epochs;
}

/*  Whether that was the last step of the stream, as its rows say: the run ends, and is validated then.  A run
 *  that resumes after it has not seen them. */
static bool is_end(const sim_t *self)
{
    uint64_t step = self->booked - self->base;
    const sim_reference_t *reference = &self->reference;
    return step == reference->step_count && self->booked > self->from.step && !self->plan.rewinds &&
           reference->steps[step - 1].last_of_epoch &&
           reference->steps[step - 1].epoch + 1 == self->plan.epochs;
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
    if (self->validation.made == self->booked || !is_expected(self) || is_end(self))
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
    go_on(self);
    sim_leader_run(self);
}
