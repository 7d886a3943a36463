/*  tests/sim/finish.c - programs that end their loops after some step, as tnd_session_finish does.
 *
 *  The run ends with exactly the steps that they have run.  In some runs the program of one host is
 *  ahead of all others and ends its loop after a later step: if the leader hears of both, the run
 *  fails. */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/cluster.h"

void sim_finish_plan(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    sim_random_t luck = sim_random(plan->seed, 1700 + plan->session + 10 * self->chain);
    self->finish_at = self->finish_odd = self->finish_heard = TND_UNKNOWN;
    self->finished = false;
    if (!plan->finishes || plan->rogue != SIM_NONE)
        return;
    self->finish_at = self->finish_odd = self->from.step + sim_between(&luck, 1, 60);
    self->odd_host = self->actors[plan->first_feeder + sim_below(&luck, plan->feeders)].host;
    if (plan->reductions == 0 && sim_chance(&luck, 80))
        self->finish_odd += sim_between(&luck, 1, 3);
}

uint64_t sim_finish_slows(const sim_t *self, uint32_t host)
{
    return self->finish_odd != self->finish_at && host != self->odd_host ? 30 : 1;
}

uint64_t sim_finish_of(const sim_t *self, uint32_t host)
{
    return host == self->odd_host ? self->finish_odd : self->finish_at;
}

void sim_finish_say(sim_t *self, uint32_t id, uint64_t steps)
{
    uint32_t host = self->actors[id].host;
    if (self->finish_at != TND_UNKNOWN && steps == sim_finish_of(self, host))
        sim_tell_leader(self, host, TND_MSG_ASK, steps, NULL);
}

void sim_finish_heard(sim_t *self, uint32_t host, uint64_t steps)
{
    sim_say(self, "the program of host %s has ended its loop after %" PRIu64 " steps",
            self->host_names[host], steps);
    tnd_run_finish(&self->run, self->run.session, host, steps);
    bool failed = tnd_leader_core_is_failing(self->run.session);
    bool done = tnd_leader_core_state(self->run.session) == TND_LEADER_CORE_DONE;
    if (self->finish_heard != TND_UNKNOWN && self->finish_heard != steps && !failed && !done)
        sim_violate(self,
                    "a program ended its loop after %" PRIu64 " steps, another one after %" PRIu64,
                    self->finish_heard, steps);
    self->finish_heard = steps;
}

void sim_finish_end(sim_t *self)
{
    if (self->over || self->closing || !tnd_leader_core_is_finished(self->run.session) ||
        (self->checkpoint != NULL && sim_checkpoint_busy(self)))
        return;
    self->over = self->finished = true;
    if (self->booked != self->finish_heard)
        sim_violate(
            self, "the run ended with %" PRIu64 " steps, after %" PRIu64 " of which programs ended",
            self->booked, self->finish_heard);
}

bool sim_finish_failed(const sim_t *self)
{
    return self->finish_odd != self->finish_at && strstr(tnd_leader_core_why(self->run.session),
                                                         "ended their loops after different steps");
}
