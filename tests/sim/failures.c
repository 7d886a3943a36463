/*  tests/sim/failures.c - runs that fail: the account has what was done before.
 *
 *  A feeder dies, or its host reports that it has failed, at any moment, often while the parts of the
 *  cursors of steps that all feeders have reported as done are on their way.  The run waits for them, but
 *  not for ever, and not for joins that are dead or away. */
#include <inttypes.h>

#include "tests/sim/cluster.h"

uint64_t sim_failure_settle_ns(const sim_t *self)
{
    return 2 * self->plan.link_timeout_ns;
}

void sim_failure_begin(sim_t *self)
{
    self->failing_at = TND_NEVER;
}

void sim_failure_told(sim_t *self, const tnd_msg_t *msg)
{
    sim_actor_t *feeder = &self->actors[msg->from];
    if (msg->commit.step == feeder->told)
        feeder->told++;
}

bool sim_failure_says(sim_t *self, uint32_t id)
{
    return self->actors[id].role == TND_ROLE_FEEDER &&
           sim_hash(self->plan.seed + self->now, id) % 2 == 0;
}

/*  Whether each lane can report what it has sent, as far as the leader knows: its join runs, is what it was when
 *  the run began to fail, and its host is there and has said that it is ready. */
static bool lanes_report(const sim_t *self)
{
    bool report = true;
    for (uint32_t lane = 0; lane < self->plan.lanes; lane++) {
        const sim_actor_t *join = &self->actors[self->joins[lane]];
        report = report && join->started && join->alive && join->born_at < self->failing_at &&
                 !join->replaces && !join->asked_life && self->presences[join->host].up &&
                 self->start_hosts[join->host].counted;
    }
    return report;
}

/*  The steps before this one were reported as done by all feeders. */
static uint64_t told_by_all(const sim_t *self)
{
    uint64_t told = TND_UNKNOWN;
    uint32_t end, first = sim_plan_committers(&self->plan, &end);
    for (uint32_t id = first; id < end; id++)
        if (self->actors[id].told < told)
            told = self->actors[id].told;
    return told;
}

void sim_failure_check(sim_t *self)
{
    if (!tnd_leader_core_is_failing(self->run.session))
        return;
    if (self->failing_at == TND_NEVER)
        self->failing_at = self->now;
    uint64_t waited = self->now - self->failing_at;
    bool failed = tnd_leader_core_state(self->run.session) == TND_LEADER_CORE_FAILED;
    if (!failed && waited > 2 * sim_failure_settle_ns(self) &&
        self->hosts[0].resumed_at < self->failing_at)
        sim_violate(self, "a run that fails has not ended after %" PRIu64 " ms", waited / 1000000);
    if (failed && self->feeder_dead && waited < sim_failure_settle_ns(self) && lanes_report(self) &&
        self->booked < told_by_all(self))
        sim_violate(self,
                    "step %" PRIu64 " was done before the run failed, and is not in its account",
                    self->booked);
}
