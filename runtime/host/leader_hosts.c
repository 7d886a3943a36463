/*  runtime/host/leader_hosts.c - hosts that join, leave, go away and are lost, and their records. */
#include "runtime/host/leader_internal.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/meeting/liveness.h"
#include "runtime/observe/inspection.h"

/*  How often the state of the process of an absent host is read. */
static const uint64_t fate_every_ns = 100000000;

void tnd_leader_begin_chain(tnd_leader_t *self, bool rests, uint64_t now)
{
    (rests ? tnd_run_rest : tnd_run_next_chain)(&self->run, self->chains[self->chain].session);
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        tnd_run_enter(&self->run, h, now);
        tnd_leader_follow_touches(self);
    }
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        if (self->run.presences[h].up)
            tnd_leader_enter_opening(self, h, now);
    tnd_run_go_without(&self->run, now);
}

/*  Of a process of this machine it is known which signal killed it. */
static void keep_restart(tnd_leader_t *self, const member_host_t *member, const char *name,
                         const char *why)
{
    char text[300];
    int death = tnd_process_fate(&member->process) != TND_FATE_UNKNOWN
                    ? tnd_pages_death(member->process.number)
                    : 0;
    if (death != 0)
        snprintf(text, sizeof text, "process %d was killed by signal %d (%s)",
                 member->process.number, death, strsignal(death));
    tnd_leader_note_restart(self, name, death != 0 ? text : why);
}

/*  Another process has taken the place of the one that was there. */
static void note_restart(tnd_leader_t *self, uint32_t host, const char *why)
{
    const char *name = self->plan->hosts[host].name;
    char text[400];
    snprintf(text, sizeof text, "host %s was lost (%s) and has been started again", name, why);
    if (tnd_leader_core_is_failing(tnd_leader_session(self)))
        return;
    keep_restart(self, &self->hosts[host], name, why);
    tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
}

/*  A new process of a host has to repeat all reports of the previous one. */
static void begin_life(tnd_leader_t *self, uint32_t host)
{
    member_host_t *member = &self->hosts[host];
    member->reports = 0;
    member->process = (tnd_process_t){0};
    member->has_ended = false;
    member->why[0] = '\0';
    tnd_buffer_drop(&member->endpoints);
}

void tnd_leader_host_up(tnd_leader_t *self, uint32_t host, tnd_life_t life, uint64_t now)
{
    bool seen = self->hosts[host].why[0] != '\0' && !self->run.presences[host].replaced;
    const char *why = seen ? self->hosts[host].why : "another process took its place";
    tnd_host_entry_t entry = tnd_run_up(&self->run, host, life, why, now);
    if (self->plan->liveness != NULL)
        tnd_liveness_arrived(self->plan->liveness, host);
    tnd_leader_inform(self, "host %s is connected", self->plan->hosts[host].name);
    if (entry == TND_HOST_JOINS && self->run.start.begun)
        tnd_leader_inform(self, "host %s joins the run", self->plan->hosts[host].name);
    if (entry == TND_HOST_REPLACES && self->run.start.begun && !self->run.ended)
        note_restart(self, host, why);
    if (entry != TND_HOST_RETURNS)
        begin_life(self, host);
    if (self->run.ended) {
        tnd_leader_tell_outcome(self, host);
        return;
    }
    tnd_leader_greet(self, host, now);
}

void tnd_leader_host_away(tnd_leader_t *self, uint32_t host, tnd_loss_t loss, const char *why,
                          uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    tnd_absence_limits_t limits = tnd_host_absence_limits(self->plan);
    if (!tnd_host_presence_away(&self->run.presences[host], &limits, loss, now))
        return;
    member->fate_ns = 0;
    snprintf(member->why, sizeof member->why, "%s", why);
    if (!self->run.ended) /* then each leaves when it knows */
        tnd_leader_inform(self, "host %s is away: %s", self->plan->hosts[host].name, why);
}

/*  Whether a host has been away for longer than a slow one could be. */
static bool is_lost(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    if (!tnd_run_misses(&self->run, host, TND_FATE_DEAD, now))
        return false;
    if (now >= member->fate_ns + fate_every_ns) {
        member->fate = member->has_ended ? TND_FATE_DEAD : tnd_process_fate(&member->process);
        member->fate_ns = now;
    }
    return tnd_run_misses(&self->run, host, member->fate, now);
}

static void lose_host(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    const tnd_plan_host_t *plan = &self->plan->hosts[host];
    char text[700];
    bool goes_on = tnd_run_lose(&self->run, host, member->why, now);
    tnd_leader_show_opening(self, host, NULL);
    if (!goes_on) {
        snprintf(text, sizeof text, "host %s is lost (%s); no step was committed", plan->name,
                 member->why);
        tnd_leader_end_without(self, TND_RESUMPTION_LOST, text);
        return;
    }
    if (tnd_leader_core_is_failing(tnd_leader_session(self)))
        return;
    bool starts = tnd_leader_core_state(tnd_leader_session(self)) < TND_LEADER_CORE_RUNNING;
    if (starts && self->plan->roster != 0) {
        /* Nothing that replaces it is on this roster. */
        snprintf(text, sizeof text, "host %s was lost before the start: %s", plan->name,
                 member->why);
        tnd_leader_end_without(self, TND_RESUMPTION_LOST, text);
        return;
    }
    if (starts)
        snprintf(text, sizeof text,
                 "host %s is lost (%s): the start waits for it, for at most %" PRIu64
                 " s (start_timeout); start it again by the same command with --host %s",
                 plan->name, member->why, self->plan->start_timeout_ns / 1000000000u, plan->name);
    else if (tnd_run_needs(&self->run, host))
        snprintf(text, sizeof text,
                 "host %s is lost (%s): the run waits %" PRIu64
                 " s for it; start it again by the same command with --host %s",
                 plan->name, member->why, self->plan->restart_timeout_ns / 1000000000u, plan->name);
    else
        snprintf(text, sizeof text,
                 "host %s is lost (%s): the run continues without it; start it again to rejoin",
                 plan->name, member->why);
    tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
}

void tnd_leader_excuse(tnd_leader_t *self, uint64_t away_ns, uint64_t now)
{
    tnd_run_excuse(&self->run, away_ns, now);
}

void tnd_leader_take_leave(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    tnd_leader_inform(self, "host %s leaves the run", self->plan->hosts[host].name);
    tnd_run_leave(&self->run, host, now);
}

/*  Why no process can join `pool`. */
static void explain_full(const tnd_leader_t *self, const char *pool, char *why, size_t room)
{
    char pools[160] = "";
    size_t used = 0;
    uint32_t places = 0;
    const char *last = NULL;
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        const char *name = self->run.pools[h];
        if (name == NULL)
            continue;
        places += strcmp(name, pool) == 0;
        if ((last == NULL || strcmp(last, name) != 0) && used < sizeof pools)
            used += (size_t)snprintf(pools + used, sizeof pools - used, "%s%s",
                                     used > 0 ? ", " : "", name);
        last = name;
    }
    if (places > 0)
        snprintf(why, room,
                 "all %" PRIu32 " hosts of the range `%s` are in use: add hosts with `more:`",
                 places, pool);
    else if (used > 0)
        snprintf(why, room, "no range of hosts named `%s` carries only workers; these do: %s", pool,
                 pools);
    else
        snprintf(why, room,
                 "no host can join: no range of hosts, such as `%s[0-3]`, carries only workers",
                 pool);
}

uint32_t tnd_leader_free_host(tnd_leader_t *self, const char *pool, uint64_t now, char *why,
                              size_t room)
{
    uint32_t host = tnd_run_reserve(&self->run, pool, self->plan->restart_timeout_ns, now);
    why[0] = '\0';
    if (host < self->plan->host_count)
        return host;
    explain_full(self, pool, why, room);
    return UINT32_MAX;
}

void tnd_leader_refused(tnd_leader_t *self, uint32_t host, const tnd_arrival_t *refused,
                        uint64_t now)
{
    char text[500];
    uint64_t more = 0;
    bool logs = tnd_refusal_log_takes(&self->refusals, refused->address, refused->why, now, &more);
    int used = snprintf(text, sizeof text, "host %.60s%s%.48s was refused: %.300s",
                        self->plan->hosts[host].name, refused->address[0] == '\0' ? "" : " from ",
                        refused->address, refused->why);
    if (more > 0)
        snprintf(text + used, sizeof text - (size_t)used, " (%" PRIu64 " more like it before)",
                 more);
    /* Before the start the run needs this host; later it has another process of it. */
    bool needed =
        self->run.presences[host].life == 0 && tnd_run_start_awaits(&self->run.start, host);
    if (needed && !refused->is_foreign)
        tnd_leader_end(self, TND_OUTCOME_LOST, text);
    else if (logs)
        tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
}

bool tnd_leader_is_coming(const tnd_leader_t *self, uint32_t host)
{
    return (self->plan->rest_count > 0 || self->config.launched) &&
           self->run.presences[host].life == 0 && self->run.presences[host].lost_ns == 0 &&
           tnd_run_start_awaits(&self->run.start, host);
}

bool tnd_leader_awaits(const tnd_leader_t *self, uint32_t host)
{
    bool good = self->outcome == TND_OUTCOME_DONE || self->outcome == TND_OUTCOME_DRAINED;
    bool failed = self->outcome == TND_OUTCOME_UNUSABLE || self->outcome == TND_OUTCOME_FAILED ||
                  self->config.declines != NULL;
    const tnd_host_presence_t *presence = &self->run.presences[host];
    if (presence->life != 0 && presence->life == self->hosts[host].said_life)
        return false;
    return presence->up || (good && tnd_host_presence_is_expected(presence)) ||
           ((good || failed) && tnd_leader_is_coming(self, host));
}

/*  Processes that have met, and ended before the run has connected them. */
static void note_ended(tnd_leader_t *self, uint64_t now)
{
    tnd_absence_limits_t limits = tnd_host_absence_limits(self->plan);
    uint32_t host;
    while (tnd_liveness_ended(self->plan->liveness, &host))
        if (tnd_run_ends_early(&self->run, host, &limits, now)) {
            member_host_t *member = &self->hosts[host];
            member->has_ended = true;
            member->fate_ns = 0;
            snprintf(member->why, sizeof member->why,
                     "its process has ended, or its machine does not answer");
        }
}

uint64_t tnd_leader_check_hosts(tnd_leader_t *self, uint64_t now)
{
    uint64_t wake = TND_NEVER;
    if (self->plan->liveness != NULL && now >= self->ended_look_ns) {
        note_ended(self, now);
        self->ended_look_ns = now + fate_every_ns;
    }
    for (uint32_t h = 0; h < self->plan->host_count && !self->run.ended; h++) {
        uint64_t due = tnd_host_presence_deadline(&self->run.presences[h], now);
        if (is_lost(self, h, now))
            lose_host(self, h, now);
        else if (due < wake)
            wake = due;
    }
    return wake;
}

/* --- records ---------------------------------------------------------------------------------- */

static void write_to(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static tnd_presence_t presence_of(const tnd_host_presence_t *self)
{
    if (self->left)
        return TND_PRESENCE_LEFT;
    if (self->up)
        return TND_PRESENCE_UP;
    if (self->lost_ns != 0)
        return TND_PRESENCE_LOST;
    return self->life == 0 ? TND_PRESENCE_EXPECTED : TND_PRESENCE_AWAY;
}

void tnd_leader_record_hosts(const tnd_leader_t *self, uint64_t now)
{
    const tnd_run_record_t *record = self->output.record;
    const tnd_leader_core_t *session = tnd_leader_session(self);
    uint32_t missing[64];
    uint32_t count = tnd_leader_core_missing(session, missing, 64);
    for (uint32_t h = 0; h < record->shape.hosts && h < self->plan->host_count; h++) {
        tnd_host_record_t *host = &record->hosts[h];
        bool waited_for = false;
        for (uint32_t i = 0; i < count && i < 64; i++)
            waited_for = waited_for || missing[i] == h;
        tnd_run_record_presence(host, presence_of(&self->run.presences[h]), now);
        /* The leader does not wait for itself. */
        write_to(&host->waited_for, waited_for && h != 0);
        if (h != 0 && self->hosts[h].process.number != 0)
            write_to(&host->process, (uint64_t)self->hosts[h].process.number);
        write_to(&host->restarts, self->run.presences[h].restarts);
    }
}
