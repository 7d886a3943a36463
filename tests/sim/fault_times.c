/*  tests/sim/fault_times.c - when faults are due.
 *
 *  Those that strike by blocks are due at counts of blocks; the others, which need a certain moment,
 *  at times after the start of a chain.
 */
#include <string.h>

#include "tests/sim/cluster.h"

static const uint64_t ms = 1000 * 1000;

/*  The random streams of a run that draw them. */
enum { MOMENTS = 300, TIMES = 600, DEATHS = 700, OPENING = 1300 };

/*  So many in so many percent of all runs, each at any time below; `kind` of SIM_FAULT_KINDS: any of
 *  those that strike a start. */
static const struct {
    sim_fault_kind_t kind;
    uint32_t percent, most, within_ms;
} times[] = {
    {SIM_FAULT_KINDS, 30, 3, 15},    {SIM_STARVE, 20, 2, 900},     {SIM_LONG_STOP, 8, 1, 500},
    {SIM_STAYS_STOPPED, 20, 2, 500}, {SIM_LONG_WORK, 30, 3, 700},  {SIM_HANG, 25, 2, 400},
    {SIM_LATE_CONTROL, 35, 3, 400},  {SIM_CRAWL, 20, 3, 500},      {SIM_LIAR, 30, 12, 300},
    {SIM_LAG, 25, 3, 300},           {SIM_HIDDEN_LAG, 15, 3, 300},
};

static const sim_fault_kind_t at_start[] = {SIM_CUT_CONTROL, SIM_CUT_CONTROL,   SIM_PAUSE,
                                            SIM_CUT_BOTH,    SIM_CRASH_PROCESS, SIM_HALF_OPEN};

static void plan_times(sim_t *self)
{
    for (uint32_t t = 0; t < sizeof times / sizeof *times; t++) {
        sim_random_t luck = sim_random(self->plan.seed, TIMES + 20 * t + self->plan.session);
        if (!sim_chance(&luck, times[t].percent))
            continue;
        for (uint32_t i = sim_between(&luck, 1, times[t].most); i > 0; i--) {
            bool starts = times[t].kind == SIM_FAULT_KINDS;
            sim_fault_after(self, sim_below(&luck, times[t].within_ms * 1000) * 1000ull,
                            starts ? at_start[sim_below(&luck, sizeof at_start / sizeof *at_start)]
                                   : times[t].kind);
        }
    }
}

/*  All processes are stopped while a host that is lost has to be back in time. */
static void plan_death(sim_t *self)
{
    sim_random_t luck = sim_random(self->plan.seed, DEATHS + self->plan.session);
    uint64_t at = sim_below(&luck, 300) * ms;
    if (!sim_chance(&luck, 8))
        return;
    sim_fault_after(self, at, SIM_LONG_DEATH);
    at += self->plan.dead_after_ns + sim_between(&luck, 100, 600) * ms;
    sim_fault_after(self, at, SIM_STARVE);
}

/*  The connections of one worker end again and again while it works, and it takes longer than they
 *  last: it is lost with most blocks that it begins, and never dies of one. */
static void plan_flaps(sim_t *self)
{
    bool goes_on = self->chain > 0 && self->flaps_left > 0;
    self->flaps_left = self->plan.flaps;
    if (self->flaps_left > 0 && !goes_on)
        sim_fault_after(self, sim_below(&self->moments, 300) * ms, SIM_FLAP);
}

/*  Faults while hosts open their data. */
static void plan_opening(sim_t *self)
{
    static const sim_fault_kind_t some[] = {SIM_CUT_CONTROL, SIM_CRASH_PROCESS, SIM_CRASH_PROCESS,
                                            SIM_PAUSE,       SIM_HALF_OPEN,     SIM_LONG_STOP,
                                            SIM_LONG_DEATH,  SIM_STARVE};
    sim_random_t luck = sim_random(self->plan.seed, OPENING + self->plan.session);
    if (!self->plan.opens || self->chain > 0)
        return;
    for (uint32_t i = sim_below(&luck, 5); i > 0; i--)
        sim_fault_after(self, sim_below(&luck, 2000) * 5 * ms,
                        some[sim_below(&luck, sizeof some / sizeof *some)]);
    if (sim_chance(&luck, 10))
        sim_after(self, sim_below(&luck, 2000) * 5 * ms, SIM_AT_DRAIN, 0, 0, 0);
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
    self->moments = sim_random(plan->seed, MOMENTS + plan->session);
    for (uint32_t i = 0; i < plan->faults; i++) {
        uint64_t part = i * 60 + sim_below(&self->bad_luck, 60);
        self->fault_at_blocks[i] = self->blocks + expected * part / (plan->faults * 90);
    }
    self->drain_at =
        plan->drain ? self->blocks + sim_below(&self->bad_luck, 1 + (uint32_t)expected) : TND_NEVER;
    if (sim_chance(&self->moments, 2))
        sim_after(self, sim_below(&self->moments, 10) * ms, SIM_AT_DRAIN, 0, 0, 0);
    plan_times(self);
    plan_opening(self);
    plan_death(self);
    plan_flaps(self);
}

/*  The leader does something important. */
void sim_fault_moment(sim_t *self)
{
    if (self->plan.hosts > 1 && sim_chance(&self->moments, 20))
        sim_fault_after(self, sim_below(&self->moments, 500 * 1000), SIM_CUT_CONTROL);
}

void sim_fault_last(sim_t *self)
{
    if (sim_chance(&self->moments, 20))
        sim_fault_after(self, sim_below(&self->moments, 400 * 1000), SIM_LAST_DEATH);
}
