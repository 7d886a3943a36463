/*  tests/sim/signals.c - a launcher sends signals, to one process or to all, and repeats them.
 *
 *  Each process that gets one asks the leader for a drain until that knows, and ends with the run, not
 *  before.  One that has not reached its leader ends at once, and its run does not begin; such ones get
 *  none here. */
#include <inttypes.h>

#include "tests/sim/cluster.h"

static const uint64_t ms = 1000 * 1000;

/*  The leader knows of a wish so long after the last fault. */
static const uint64_t quiet_ns = 2ull * 1000 * 1000 * 1000;

enum { SIGNALS = 1800 };

void sim_signals_plan(sim_t *self)
{
    sim_random_t luck = sim_random(self->plan.seed, SIGNALS + self->plan.session);
    if (!sim_chance(&luck, 8))
        return;
    uint64_t at = sim_below(&luck, sim_chance(&luck, 30) ? 5 : 700) * ms;
    uint32_t one = sim_chance(&luck, 50) ? sim_below(&luck, self->plan.hosts) : SIM_NONE;
    for (uint32_t times = sim_between(&luck, 1, 3); times > 0; times--) {
        for (uint32_t h = 0; h < self->plan.hosts; h++)
            if ((one == SIM_NONE || one == h) && h != self->plan.spare)
                sim_after(self, at + sim_below(&luck, 1000) * 1000, SIM_AT_SIGNAL, h, 0, 0);
        at += sim_below(&luck, 300) * ms;
    }
}

void sim_signal(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    if (!host->alive || (!host->leader.leads && !host->leader.came))
        return;
    if (host->paused) { /* it is pending */
        sim_agenda_put(&self->agenda, host->resume_at + ms, SIM_AT_SIGNAL, h, 0, 0);
        return;
    }
    sim_say(self, "a signal to the process of host %s", self->host_names[h]);
    self->counts.signals++;
    tnd_ending_step_t step = tnd_ending_ask(&host->ending, false);
    if (step == TND_ENDING_DRAIN)
        host->signalled_at = self->now;
    else if (step != TND_ENDING_NOTHING)
        sim_violate(self, "the process of host %s ends by a repeated signal, before the run does",
                    self->host_names[h]);
    sim_signals_follow(self, h);
}

void sim_signals_follow(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    if (tnd_wish_is_due(&host->drain, host->ending.asked > 0,
                        tnd_leader_presence_reaches(&host->leader)))
        sim_tell_leader(self, h, TND_MSG_ASK, TND_UNKNOWN, NULL);
}

void sim_signals_greet(sim_t *self, uint32_t h)
{
    tnd_wish_repeat(&self->hosts[h].drain);
    sim_signals_follow(self, h);
}

void sim_signals_check(sim_t *self)
{
    for (uint32_t h = 0; h < self->plan.hosts; h++) {
        const sim_host_t *host = &self->hosts[h];
        uint64_t since =
            host->signalled_at > self->faults_end ? host->signalled_at : self->faults_end;
        if (host->alive && host->ending.asked > 0 && self->now > since + quiet_ns &&
            !self->closing && !self->run.touches.drains)
            sim_violate(self, "host %s was told to drain, of which the leader has not heard",
                        self->host_names[h]);
    }
}
