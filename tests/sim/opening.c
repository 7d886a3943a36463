/*  tests/sim/opening.c - hosts with readers open their data before any actor starts.
 *
 *  A host reports progress while it opens, and then what it has found.  Once the leader knows that
 *  of all, it tells every host, and the actors start.  A process that is started again opens its
 *  data again while the run continues.  In some runs a host stops reporting and never opens its
 *  data: the run ends and names it. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

bool sim_opening_has_data(const sim_t *self, uint32_t h)
{
    bool reads = false;
    for (uint32_t id = 0; id < self->plan.first_join; id++)
        reads = reads || self->plan.members[id].host == h;
    return self->plan.opens && reads;
}

bool sim_opening_ready(const sim_t *self, uint32_t h)
{
    return !self->plan.opens || (self->hosts[h].opened && self->hosts[h].told);
}

static void report(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    if (!sim_opening_has_data(self, h))
        return;
    tnd_msg_t msg = {.from = SIM_HOST_ID + h, .to = TND_LEADER};
    msg.kind = (tnd_msg_kind_t)(host->opened ? SIM_MSG_OPENED : SIM_MSG_OPENING);
    msg.note.number = host->reports;
    sim_control(self, h, &msg);
}

void sim_opening_boot(sim_t *self, uint32_t h)
{
    const sim_plan_t *plan = &self->plan;
    sim_host_t *host = &self->hosts[h];
    host->opened = !sim_opening_has_data(self, h);
    host->told = host->stalls = false;
    host->reports = 0;
    host->open_until = self->now + (host->boot == 0 ? plan->open_ns[h] : plan->reopen_ns[h]);
    for (uint32_t id = 0; id < plan->member_count; id++)
        if (self->actors[id].host == h)
            self->actors[id].started = false;
    if (host->opened)
        return;
    if (h == 0)
        report(self, h);
    sim_agenda_put(&self->agenda, self->now + plan->report_ns, SIM_AT_OPEN, h, host->boot, 0);
}

static void start_actors(sim_t *self, uint32_t h)
{
    if (!sim_opening_ready(self, h))
        return;
    sim_say(self, "host %s starts its actors", self->host_names[h]);
    sim_process_actors(self, h);
    for (uint32_t id = 0; id < self->plan.member_count && h > 0 && !self->plan.ports; id++)
        if (self->actors[id].host == h)
            sim_tell_actor(self, id);
    if (self->plan.ports && h > 0)
        sim_endpoints_say(self, h);
}

/*  Some time of opening has passed. */
void sim_opening_step(sim_t *self, uint32_t h, uint32_t boot)
{
    const sim_plan_t *plan = &self->plan;
    sim_host_t *host = &self->hosts[h];
    if (host->boot != boot || host->opened)
        return;
    if (plan->stalls == h && boot == 0 && host->reports == plan->stalls_after) {
        sim_say(self, "host %s stops reporting", self->host_names[h]);
        host->stalls = true;
        self->counts.stalls++;
        return;
    }
    self->progress_at = self->now;
    self->events_begin = self->events; /* meanwhile the others only ping */
    host->reports++;
    host->opened = self->now >= host->open_until;
    if (host->opened)
        self->counts.openings++;
    if (host->opened)
        sim_say(self, "host %s has opened its data", self->host_names[h]);
    else
        sim_agenda_put(&self->agenda, self->now + plan->report_ns, SIM_AT_OPEN, h, boot, 0);
    report(self, h);
    start_actors(self, h);
}

/*  The leader has told the host what all hosts found. */
void sim_opening_told(sim_t *self, uint32_t h)
{
    if (self->hosts[h].told)
        return;
    self->hosts[h].told = true;
    start_actors(self, h);
}

static void tell(sim_t *self, uint32_t h)
{
    tnd_msg_t msg = {.from = TND_LEADER, .to = SIM_HOST_ID + h};
    msg.kind = (tnd_msg_kind_t)SIM_MSG_STREAM;
    if (h == 0)
        sim_opening_told(self, h);
    else
        sim_link_send(self, self->hosts[h].control, 1, &msg);
}

static bool all_opened(const sim_t *self)
{
    for (uint32_t h = 0; h < self->plan.hosts; h++)
        if (sim_opening_has_data(self, h) && !self->hosts[h].found)
            return false;
    return true;
}

static void name_data(const sim_t *self, uint32_t h, char text[32])
{
    (void)snprintf(text, 32, "the data of %s", self->host_names[h]);
}

/*  The leader has a report. */
void sim_opening_heard(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    sim_host_t *host = &self->hosts[h];
    uint64_t now = sim_clock(self, 0);
    char what[32];
    name_data(self, h, what);
    if (host->found)
        return;
    if ((int)msg->kind == SIM_MSG_OPENING) {
        host->reported = msg->note.number;
        tnd_leader_core_host_opening(self->session, h, host->reported, what, now);
        return;
    }
    host->found = true;
    tnd_leader_core_host_opened(self->session, h, now);
    if (h > 0)
        tnd_leader_core_host_up(self->session, h, now);
    if (self->stream_known)
        tell(self, h);
    else if (all_opened(self)) {
        self->stream_known = true;
        for (uint32_t other = 0; other < self->plan.hosts; other++)
            tell(self, other);
    }
}

/*  Whether the leader may enter a host that is connected: before the start it always does. */
bool sim_opening_entered(sim_t *self, uint32_t h, bool begins)
{
    sim_host_t *host = &self->hosts[h];
    char what[32];
    name_data(self, h, what);
    if (begins) {
        host->found = false;
        host->reported = 0;
    }
    if (self->stream_known)
        tell(self, h);
    if (!sim_opening_has_data(self, h) || host->found)
        return true;
    tnd_leader_core_host_opening(self->session, h, host->reported, what, sim_clock(self, 0));
    return self->chain == 0 && tnd_leader_core_generation(self->session) == 0;
}

/*  A second chain begins: whether a host that is connected can be entered. */
bool sim_opening_enters(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    char what[32];
    name_data(self, h, what);
    bool opens = sim_opening_has_data(self, h) && !host->found;
    if (opens)
        tnd_leader_core_host_opening(self->session, h, host->reported, what, sim_clock(self, 0));
    return !opens;
}

/*  A host is connected: what it said before may be lost. */
void sim_opening_repeat(sim_t *self, uint32_t h)
{
    report(self, h);
}

bool sim_opening_failed(const sim_t *self, const char *why)
{
    for (uint32_t h = 0; h < self->plan.hosts; h++) {
        char what[32];
        name_data(self, h, what);
        if (self->hosts[h].stalls && strstr(why, "no progress") && strstr(why, what))
            return true;
    }
    return false;
}
