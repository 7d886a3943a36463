/*  runtime/core/leader_touch.c - what the user asks of a run: drain, pause, resume, restart, slots; and the
 *  ends of the run and of epochs that programs want, and where it rests. */
#include "runtime/core/leader_internal.h"

#include <assert.h>
#include <inttypes.h>

#include "runtime/base/bug_injection.h"

void tnd_leader_core_ask_drain(tnd_leader_core_t *self)
{
    if (tnd_leader_core_ends(self) || self->want_drain)
        return;
    if (!self->started)
        self->drain_end = self->steps.cursor.step;
    else
        tnd_halt_ask(&self->halt, true);
    self->want_drain = true;
    self->tell = true;
    self->state = TND_LEADER_CORE_DRAINING;
}

void tnd_leader_core_take_halt(tnd_leader_core_t *self, const tnd_msg_t *msg)
{
    uint64_t started = msg->halt.step, least = self->steps.cursor.step;
    uint32_t member = tnd_members_find(&self->members, msg->from);
    if (!tnd_halt_is_asking(&self->halt) || tnd_leader_core_is_earlier(self, msg) ||
        (started > least && tnd_leader_core_beyond(self, started - 1)) ||
        !tnd_halt_take(&self->halt, member, msg, least))
        return;
    self->tell = true;
    if (!self->want_drain)
        return;
    self->drain_end = self->halt.step;
    tnd_leader_core_tell_end(self);
}

tnd_status_t tnd_leader_core_pause(tnd_leader_core_t *self, tnd_error_t *error)
{
    if (tnd_leader_core_ends(self) || self->want_drain)
        return tnd_fail(error, "it ends already");
    if (self->halt.wanted)
        return tnd_fail(error, "it is paused already");
    if (self->started)
        tnd_halt_ask(&self->halt, false);
    else
        tnd_halt_at(&self->halt, self->steps.cursor.step);
    self->tell = true;
    return TND_OK;
}

tnd_status_t tnd_leader_core_resume(tnd_leader_core_t *self, tnd_error_t *error)
{
    if (tnd_leader_core_ends(self) || self->want_drain)
        return tnd_fail(error, "it ends already");
    if (!self->halt.wanted)
        return tnd_fail(error, "it is not paused");
    tnd_halt_end(&self->halt);
    self->tell = true;
    return TND_OK;
}

bool tnd_leader_core_is_paused(const tnd_leader_core_t *self, uint64_t *step_p)
{
    *step_p = self->halt.step;
    return self->halt.wanted && !self->want_drain && !tnd_leader_core_ends(self);
}

bool tnd_leader_core_take_due(tnd_leader_core_t *self, tnd_actor_id_t *actor_p)
{
    for (uint32_t i = 0; i < self->config.member_count; i++) {
        tnd_actor_state_t *actor = &self->members.actors[i];
        if (!actor->restart_due || actor->asked)
            continue;
        actor->restart_due = false;
        self->members.restarts_due--;
        *actor_p = self->config.members[i].id;
        return true;
    }
    return false;
}

void tnd_leader_core_follow(tnd_leader_core_t *self, const tnd_leader_core_t *before)
{
    assert(before->config.members == self->config.members);
    for (uint32_t i = 0; i < self->config.member_count; i++)
        self->members.actors[i].owed =
            before->members.actors[i].asked || before->members.actors[i].owed;
}

void tnd_leader_core_rest_at(tnd_leader_core_t *self, uint64_t step, uint32_t epoch)
{
    tnd_halt_rest(&self->halt, step, epoch);
    self->tell = true;
}

static bool is_at_rest(const tnd_leader_core_t *self)
{
    return self->steps.cursor.step >= self->halt.rest_step ||
           tnd_assembly_next_epoch(&self->steps) >= self->halt.rest_epoch;
}

void tnd_leader_core_drain_at_rest(tnd_leader_core_t *self)
{
    uint64_t step = self->steps.cursor.step;
    if (self->drain_end == TND_UNKNOWN || step >= tnd_leader_core_end_of(self) || !is_at_rest(self))
        return;
    self->drain_end = step;
    tnd_leader_core_tell_end(self);
}

bool tnd_leader_core_rests(const tnd_leader_core_t *self, uint32_t *epoch_p)
{
    const tnd_cursor_t *at = &self->steps.cursor;
    *epoch_p = tnd_assembly_next_epoch(&self->steps);
    if (!self->started || tnd_leader_core_ends(self) || self->want_drain || self->halt.wanted ||
        at->step == self->over_at)
        return false;
    if (TND_BUG(VALIDATION_STARTS_EARLY) && at->step + 1 >= self->halt.rest_step)
        return true;
    return is_at_rest(self);
}

void tnd_leader_core_end_here(tnd_leader_core_t *self)
{
    assert(self->steps.cursor.step <= self->config.steps_max);
    self->config.steps_max = self->steps.cursor.step;
    tnd_leader_core_tell_end(self);
}

tnd_status_t tnd_leader_core_ask_depth(tnd_leader_core_t *self, uint32_t depth, tnd_error_t *error)
{
    if (tnd_leader_core_ends(self) || self->want_drain)
        return tnd_fail(error, "it ends already");
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (self->config.members[i].role == TND_ROLE_PARAMETERS)
            return tnd_fail(error, "with `deal: whole` its slots cannot be changed while it runs");
    self->depth = depth;
    /* Also those that know it: one that could not allocate so many slots tries again. */
    for (uint32_t i = 0; i < self->config.member_count; i++)
        self->feeders[i].depth_told = 0;
    self->tell = true;
    return TND_OK;
}

tnd_status_t tnd_leader_core_ask_restart(tnd_leader_core_t *self, tnd_actor_id_t id, uint64_t now,
                                         tnd_error_t *error)
{
    uint32_t index = tnd_members_find(&self->members, id);
    const tnd_member_t *member = &self->config.members[index];
    if (tnd_leader_core_ends(self))
        return tnd_fail(error, "its stream is over");
    if (!self->started)
        return tnd_fail(error, "its stream has not begun");
    if (tnd_members_commits(member->role))
        return tnd_fail(error,
                        "it has state of the run, which a restart would lose; drain the run, and "
                        "resume it from a checkpoint");
    if (!self->members.actors[index].up)
        return tnd_fail(error, "it is not there: it is being started, or its host is away");
    tnd_members_ask_restart(&self->members, index, now);
    self->want_rewind = self->want_rewind || tnd_members_is_ordered(member->role);
    return TND_OK;
}

void tnd_leader_core_finish(tnd_leader_core_t *self, uint32_t host, uint64_t steps)
{
    if (self->finish_end == TND_UNKNOWN) {
        self->finish_end = steps;
        self->finish_host = host;
    }
    if (tnd_leader_core_ends(self) || self->finish_end == steps || TND_BUG(FINISH_DIFFERS))
        return;
    (void)tnd_fail(&self->why,
                   "the programs of hosts %.64s and %.64s ended their loops after different steps: "
                   "after %" PRIu64 " and %" PRIu64 " of them",
                   self->config.hosts[self->finish_host], self->config.hosts[host],
                   self->finish_end, steps);
    tnd_leader_core_fail_plainly(self);
}

bool tnd_leader_core_is_finished(const tnd_leader_core_t *self)
{
    uint64_t booked = self->steps.cursor.step + TND_BUG(FINISH_UNBOOKED);
    return self->finish_end != TND_UNKNOWN && booked >= self->finish_end &&
           !tnd_leader_core_is_failing(self);
}

/*  The stream continues with the next epoch. */
static void begin_next_epoch(tnd_leader_core_t *self)
{
    tnd_assembly_cut(&self->steps);
    for (uint32_t i = 0; i < self->config.member_count; i++)
        self->feeders[i].held = self->steps.cursor.step;
    self->cuts++;
    self->cut_generation = self->generation + 1;
    self->want_rewind = true;
    self->rewind_ns = 0;
    self->progress = TND_UNKNOWN;
    tnd_leader_core_tell_end(self);
}

void tnd_leader_core_take_cut(tnd_leader_core_t *self)
{
    uint64_t step = self->steps.cursor.step;
    uint32_t with = TND_NOBODY, without = TND_NOBODY;
    for (uint32_t i = 0; i < self->config.member_count; i++)
        if (tnd_members_commits(self->config.members[i].role))
            *(self->feeders[i].cut == step ? &with : &without) = self->config.members[i].host;
    if (with == TND_NOBODY || self->steps.cursor.step_of_epoch == 0)
        return;
    if (without == TND_NOBODY) {
        begin_next_epoch(self);
        return;
    }
    (void)tnd_fail(&self->why,
                   "the program of host %.64s rewound its feed after step %" PRIu64
                   ", and that of host %.64s went on to step %" PRIu64
                   ": all call tnd_feed_rewind after the same step",
                   self->config.hosts[with], step - 1, self->config.hosts[without], step);
    tnd_leader_core_fail_plainly(self);
}
