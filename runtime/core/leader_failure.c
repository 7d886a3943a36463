/*  runtime/core/leader_failure.c - how a run fails: at once, or once what was done before is booked. */
#include "runtime/core/leader_internal.h"

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

/*  Only the first reason counts. */
static void set_failed(tnd_leader_core_t *self, tnd_leader_core_cause_t cause)
{
    if (self->failure.pending)
        self->why = self->failure.why;
    else
        self->cause = cause;
    self->state = TND_LEADER_CORE_FAILED;
}

void tnd_leader_core_fail_by(tnd_leader_core_t *self, tnd_leader_core_cause_t cause)
{
    unsigned long long step = self->steps.cursor.step;
    set_failed(self, cause);
    tnd_error_t why = self->why;
    if (self->started || step > 0)
        (void)tnd_fail(&self->why, "%.420s; the last committed cursor is the one before step %llu",
                       why.text, step);
}

void tnd_leader_core_fail_plainly(tnd_leader_core_t *self)
{
    set_failed(self, TND_LEADER_CORE_BROKEN);
}

void tnd_leader_core_fail(tnd_leader_core_t *self, const char *why)
{
    if (tnd_leader_core_is_over(self))
        return;
    (void)tnd_fail(&self->why, "%s", why);
    set_failed(self, TND_LEADER_CORE_BROKEN);
}

void tnd_leader_core_fail_later(tnd_leader_core_t *self, uint32_t host,
                                tnd_leader_core_cause_t cause, uint64_t now)
{
    self->cause = cause;
    self->failure = (failure_t){
        .pending = true, .host = host, .until_ns = now + self->config.settle_ns, .why = self->why};
}

bool tnd_leader_core_host_failed(tnd_leader_core_t *self, uint32_t host, uint64_t now)
{
    if (tnd_leader_core_is_over(self))
        return false;
    if (self->failure.pending)
        return true;
    (void)tnd_fail(&self->why, "host %s has failed", self->config.hosts[host]);
    tnd_leader_core_fail_later(self, host, TND_LEADER_CORE_TOLD, now);
    return true;
}

bool tnd_leader_core_is_failing(const tnd_leader_core_t *self)
{
    return self->state == TND_LEADER_CORE_FAILED || self->failure.pending;
}

static bool commits(const tnd_leader_core_t *self, uint32_t i)
{
    return tnd_members_commits(self->config.members[i].role);
}

/*  The steps before this one were done: by the feeder that failed, or if it is another actor by all.  Feeders
 *  that are late do them too. */
static uint64_t done_before(const tnd_leader_core_t *self)
{
    bool failed = false;
    uint64_t done = tnd_leader_core_end_of(self);
    for (uint32_t i = 0; i < self->config.member_count; i++)
        failed = failed || (commits(self, i) && self->config.members[i].host == self->failure.host);
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (commits(self, i) && (!failed || self->config.members[i].host == self->failure.host))
            done = tnd_least(done, self->feeders[i].committed);
    return done;
}

/*  Whether the actors that have not reported all steps below `done` still can. */
static bool can_come(const tnd_leader_core_t *self, uint64_t done)
{
    bool can = true;
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        const tnd_member_t *member = &self->config.members[i];
        bool lacks = member->role == TND_ROLE_JOIN
                         ? self->steps.whole < done
                         : commits(self, i) && self->feeders[i].committed < done;
        bool up = self->members.actors[i].up && self->members.hosts[member->host].up;
        can = can && (up || !lacks);
    }
    return can;
}

void tnd_leader_core_check_failure(tnd_leader_core_t *self, uint64_t now)
{
    if (tnd_leader_core_is_over(self) || !self->failure.pending)
        return;
    uint64_t done = done_before(self);
    if (self->steps.cursor.step >= done || now >= self->failure.until_ns || !can_come(self, done) ||
        TND_BUG(FAILED_AT_ONCE))
        tnd_leader_core_fail_by(self, self->cause);
}
