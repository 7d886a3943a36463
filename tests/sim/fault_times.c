/*  tests/sim/fault_times.c - when faults are due.
 *
 *  Those that strike by blocks are due at counts of blocks; the others, which need a certain moment,
 *  at times after the start of a chain.
 */
#include <string.h>

#include "tests/sim/cluster.h"

static const uint64_t ms = 1000 * 1000;

enum { HIDDEN_LAGS = 1200 }; /* the random stream that draws them */

/*  Faults during the start; some runs drain before the stream begins. */
static void plan_moments(sim_t *self)
{
    static const sim_fault_kind_t some[] = {SIM_CUT_CONTROL, SIM_CUT_CONTROL,   SIM_PAUSE,
                                            SIM_CUT_BOTH,    SIM_CRASH_PROCESS, SIM_HALF_OPEN};
    self->moments = sim_random(self->plan.seed, 300 + self->plan.session);
    sim_random_t *luck = &self->moments;
    uint32_t count = sim_chance(luck, 30) ? sim_between(luck, 1, 3) : 0;
    for (uint32_t i = 0; i < count; i++)
        sim_agenda_put(&self->agenda, self->now + sim_below(luck, 15 * 1000 * 1000), SIM_AT_EARLY,
                       some[sim_below(luck, sizeof some / sizeof *some)], 0, 0);
    if (sim_chance(luck, 2))
        sim_agenda_put(&self->agenda, self->now + sim_below(luck, 10 * 1000 * 1000), SIM_AT_DRAIN,
                       0, 0, 0);
}

/*  No processor for a while, for all processes or for the hook of one actor. */
static void plan_absences(sim_t *self)
{
    sim_random_t luck = sim_random(self->plan.seed, 600 + self->plan.session);
    uint32_t starves = sim_chance(&luck, 20) ? sim_between(&luck, 1, 2) : 0;
    for (uint32_t i = 0; i < starves; i++)
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 900 * 1000 * 1000), SIM_AT_EARLY,
                       SIM_STARVE, 0, 0);
    if (sim_chance(&luck, 8)) { /* while a host that is lost has to be back in time */
        uint64_t at = self->now + sim_below(&luck, 300 * 1000 * 1000);
        sim_agenda_put(&self->agenda, at, SIM_AT_EARLY, SIM_LONG_DEATH, 0, 0);
        at += self->plan.dead_after_ns + sim_between(&luck, 100, 600) * ms;
        sim_agenda_put(&self->agenda, at, SIM_AT_EARLY, SIM_STARVE, 0, 0);
    }
    if (sim_chance(&luck, 8))
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 500 * 1000 * 1000), SIM_AT_EARLY,
                       SIM_LONG_STOP, 0, 0);
    sim_random_t stops = sim_random(self->plan.seed, 1600 + self->plan.session);
    for (uint32_t i = sim_chance(&stops, 20) ? sim_between(&stops, 1, 2) : 0; i > 0; i--)
        sim_agenda_put(&self->agenda, self->now + sim_below(&stops, 500 * 1000 * 1000),
                       SIM_AT_EARLY, SIM_STAYS_STOPPED, 0, 0);
    uint32_t works = sim_chance(&luck, 30) ? sim_between(&luck, 1, 3) : 0;
    for (uint32_t i = 0; i < works; i++)
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 700 * 1000 * 1000), SIM_AT_EARLY,
                       SIM_LONG_WORK, 0, 0);
    sim_random_t hangs = sim_random(self->plan.seed, 1700 + self->plan.session);
    for (uint32_t i = sim_chance(&hangs, 20) ? sim_between(&hangs, 1, 2) : 0; i > 0; i--)
        sim_agenda_put(&self->agenda, self->now + sim_below(&hangs, 500 * 1000 * 1000),
                       SIM_AT_EARLY, SIM_HANG, 0, 0);
    luck = sim_random(self->plan.seed, 800 + self->plan.session);
    uint32_t late = sim_chance(&luck, 20) ? sim_between(&luck, 1, 3) : 0;
    for (uint32_t i = 0; i < late; i++)
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 500 * 1000 * 1000), SIM_AT_EARLY,
                       SIM_LATE_CONTROL, 0, 0);
}

/*  The connections of one worker end again and again while it works, and it takes longer than they
 *  last: it is lost with most blocks that it begins, and never dies of one. */
static void plan_flaps(sim_t *self)
{
    sim_random_t luck = sim_random(self->plan.seed, 700 + self->plan.session);
    bool goes_on = self->flaps_left > 0; /* from the previous chain */
    self->flaps_left = self->plan.flaps;
    if (self->flaps_left > 0 && !goes_on)
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 300 * 1000 * 1000), SIM_AT_EARLY,
                       SIM_FLAP, 0, 0);
}

/*  Links so slow that a block takes longer than `link_timeout`. */
static void plan_crawls(sim_t *self)
{
    sim_random_t luck = sim_random(self->plan.seed, 900 + self->plan.session);
    uint32_t crawls = sim_chance(&luck, 20) ? sim_between(&luck, 1, 3) : 0;
    for (uint32_t i = 0; i < crawls; i++)
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 500 * 1000 * 1000), SIM_AT_EARLY,
                       SIM_CRAWL, 0, 0);
}

/*  Strangers that know the names of actors, and paths that are long in one direction. */
static void plan_strangers(sim_t *self)
{
    sim_random_t luck = sim_random(self->plan.seed, 1100 + self->plan.session);
    uint32_t liars = sim_chance(&luck, 30) ? sim_between(&luck, 1, 12) : 0;
    for (uint32_t i = 0; i < liars; i++)
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 300 * 1000 * 1000), SIM_AT_EARLY,
                       SIM_LIAR, 0, 0);
    uint32_t lags = sim_chance(&luck, 15) ? sim_between(&luck, 1, 3) : 0;
    for (uint32_t i = 0; i < lags; i++)
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 300 * 1000 * 1000), SIM_AT_EARLY,
                       SIM_LAG, 0, 0);
    luck = sim_random(self->plan.seed, HIDDEN_LAGS + self->plan.session);
    lags = sim_chance(&luck, 15) ? sim_between(&luck, 1, 3) : 0;
    for (uint32_t i = 0; i < lags; i++)
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 300 * 1000 * 1000), SIM_AT_EARLY,
                       SIM_HIDDEN_LAG, 0, 0);
}

/*  Faults while hosts open their data. */
static void plan_opening(sim_t *self)
{
    static const sim_fault_kind_t some[] = {SIM_CUT_CONTROL, SIM_CRASH_PROCESS, SIM_CRASH_PROCESS,
                                            SIM_PAUSE,       SIM_HALF_OPEN,     SIM_LONG_STOP,
                                            SIM_LONG_DEATH,  SIM_STARVE};
    sim_random_t luck = sim_random(self->plan.seed, 1300 + self->plan.session);
    if (!self->plan.opens || self->chain > 0)
        return;
    for (uint32_t i = sim_below(&luck, 5); i > 0; i--)
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 4000) * 5 * ms, SIM_AT_EARLY,
                       some[sim_below(&luck, sizeof some / sizeof *some)], 0, 0);
    if (sim_chance(&luck, 10))
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 4000) * 5 * ms, SIM_AT_DRAIN, 0,
                       0, 0);
}

void sim_faults_plan(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    uint64_t expected = 0;
    for (uint32_t l = 0; l < plan->lanes; l++)
        expected += plan->epochs * (plan->count[l] / plan->block_rows);
    self->fault_next = 0;
    memset(self->kills, 0, sizeof self->kills);
    self->fault_due = false;
    for (uint32_t i = 0; i < plan->faults; i++)
        self->fault_at_blocks[i] = self->blocks + expected *
                                                      (i * 60 + sim_below(&self->bad_luck, 60)) /
                                                      (plan->faults * 90);
    self->drain_at =
        plan->drain ? self->blocks + sim_below(&self->bad_luck, 1 + (uint32_t)expected) : TND_NEVER;
    plan_moments(self);
    plan_opening(self);
    plan_absences(self);
    plan_flaps(self);
    plan_crawls(self);
    plan_strangers(self);
}
