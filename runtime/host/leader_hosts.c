/*  runtime/host/leader_hosts.c - hosts that join, leave, go away and are lost, and their records. */
#include "runtime/host/leader_internal.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/observe/inspection.h"

/*  How long a host is reserved for the process that asked for it. */
static const uint64_t reserved_ns = 10000000000;

/*  How often the state of the process of an absent host is read. */
static const uint64_t fate_every_ns = 100000000;

/*  Reports a host, and perhaps its actors, to the session of the running chain. */
static void count_host(tnd_leader_t *self, uint32_t host, tnd_count_t count, uint64_t now)
{
    const chain_t *chain = &self->chains[self->chain];
    if (count == TND_COUNT_NOT)
        return;
    tnd_leader_core_host_up(chain->session, host, now);
    for (uint32_t m = 0; m < chain->member_count && count == TND_COUNT_ACTORS; m++)
        if (chain->members[m].host == host)
            tnd_leader_core_actor_up(chain->session, chain->members[m].id, now);
    if (!self->start.hosts[host].ready)
        return;
    tnd_leader_core_go(chain->session);
    tnd_leader_tell_changes(self, host);
}

void tnd_leader_begin_chain(tnd_leader_t *self, uint64_t now)
{
    tnd_leader_core_t *session = tnd_leader_session(self);
    tnd_run_start_next_chain(&self->start);
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        if (self->hosts[h].presence.up)
            count_host(self, h, tnd_run_start_enter(&self->start, h), now);
    /* The next chain does not wait for hosts that were lost and are not needed. */
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        if (self->hosts[h].presence.up)
            tnd_leader_enter_opening(self, h, now);
        else if (!tnd_leader_core_needs(session, h))
            tnd_leader_core_host_left(session, h, now);
}

void tnd_leader_take_ready(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    count_host(self, host, tnd_run_start_ready(&self->start, host), now);
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
static void note_restart(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    const member_host_t *member = &self->hosts[host];
    const char *name = self->plan->hosts[host].name;
    char why[300], text[400];
    bool seen = member->why[0] != '\0' && !member->presence.replaced;
    snprintf(why, sizeof why, "%.250s", seen ? member->why : "another process took its place");
    tnd_leader_core_host_again(tnd_leader_session(self), host, why, now);
    snprintf(text, sizeof text, "host %s was lost (%s) and has been started again", name, why);
    if (tnd_leader_core_state(tnd_leader_session(self)) == TND_LEADER_CORE_FAILED)
        return;
    keep_restart(self, member, name, why);
    tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
}

/*  A new process of a host has to repeat all reports of the previous one. */
static void begin_life(tnd_leader_t *self, uint32_t host)
{
    member_host_t *member = &self->hosts[host];
    tnd_run_start_process(&self->start, host);
    member->reports = 0;
    member->process = (tnd_process_t){0};
    member->why[0] = '\0';
    tnd_buffer_drop(&member->endpoints);
}

void tnd_leader_host_up(tnd_leader_t *self, uint32_t host, tnd_life_t life, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    bool counts = self->start.begun && !self->ended;
    tnd_host_entry_t entry = tnd_host_presence_up(&member->presence, life, counts, now);
    tnd_leader_inform(self, "host %s is connected", self->plan->hosts[host].name);
    if (entry == TND_HOST_JOINS && self->start.begun)
        tnd_leader_inform(self, "host %s joins the run", self->plan->hosts[host].name);
    if (entry == TND_HOST_REPLACES && counts)
        note_restart(self, host, now);
    if (entry != TND_HOST_RETURNS)
        begin_life(self, host);
    if (self->ended) {
        tnd_leader_tell_outcome(self, host);
        return;
    }
    count_host(self, host, tnd_leader_greet(self, host), now);
    tnd_leader_enter_opening(self, host, now);
}

void tnd_leader_host_away(tnd_leader_t *self, uint32_t host, tnd_loss_t loss, const char *why,
                          uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    tnd_absence_limits_t limits = tnd_host_absence_limits(self->plan);
    if (!tnd_host_presence_away(&member->presence, &limits, loss, now))
        return;
    member->fate_ns = 0;
    snprintf(member->why, sizeof member->why, "%s", why);
    if (!self->ended) /* then each leaves when it knows */
        tnd_leader_inform(self, "host %s is away: %s", self->plan->hosts[host].name, why);
}

/*  Whether the run ends once that host is lost. */
static bool ends_with(const tnd_leader_t *self, uint32_t host)
{
    return tnd_run_start_ends_with(&self->start, host) ||
           tnd_leader_core_ends_with(tnd_leader_session(self), host);
}

/*  Whether a host has been away for longer than a slow one could be. */
static bool is_lost(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    if (!tnd_host_presence_is_over(&member->presence, TND_FATE_DEAD, true, now))
        return false;
    if (now >= member->fate_ns + fate_every_ns) {
        member->fate = tnd_process_fate(&member->process);
        member->fate_ns = now;
    }
    return tnd_host_presence_is_over(&member->presence, member->fate, ends_with(self, host), now);
}

static void lose_host(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    const tnd_plan_host_t *plan = &self->plan->hosts[host];
    char text[700];
    tnd_host_presence_lose(&member->presence, now);
    tnd_run_start_lose(&self->start, host);
    tnd_leader_show_opening(self, host, NULL);
    if (tnd_run_start_ends_with(&self->start, host)) {
        snprintf(text, sizeof text, "host %s is lost (%s); no step was committed", plan->name,
                 member->why);
        tnd_leader_end(self, TND_OUTCOME_LOST, text);
        return;
    }
    tnd_leader_core_host_lost(tnd_leader_session(self), host, member->why, now);
    if (tnd_leader_core_state(tnd_leader_session(self)) == TND_LEADER_CORE_FAILED)
        return;
    if (tnd_leader_core_state(tnd_leader_session(self)) < TND_LEADER_CORE_RUNNING)
        snprintf(text, sizeof text,
                 "host %s is lost (%s): the start waits for it, for at most %" PRIu64
                 " s (start_timeout); start it again by the same command with --host %s",
                 plan->name, member->why, self->plan->start_timeout_ns / 1000000000u, plan->name);
    else if (tnd_leader_core_needs(tnd_leader_session(self), host))
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
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        tnd_host_presence_excuse(&self->hosts[h].presence, away_ns, now);
    tnd_leader_core_excuse(tnd_leader_session(self), away_ns);
}

void tnd_leader_take_leave(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    tnd_leader_inform(self, "host %s leaves the run", self->plan->hosts[host].name);
    tnd_leader_core_host_left(tnd_leader_session(self), host, now);
    tnd_host_presence_leave(&self->hosts[host].presence);
    tnd_run_start_lose(&self->start, host);
}

uint32_t tnd_leader_free_host(tnd_leader_t *self, const char *pool, uint64_t now, char *why,
                              size_t room)
{
    char pools[160] = "";
    size_t used = 0;
    uint32_t places = 0;
    const char *last = NULL;
    why[0] = '\0';
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        const tnd_plan_host_t *host = &self->plan->hosts[h];
        if (host->pool == NULL)
            continue;
        if (strcmp(host->pool, pool) != 0) {
            if ((last == NULL || strcmp(last, host->pool) != 0) && used < sizeof pools)
                used += (size_t)snprintf(pools + used, sizeof pools - used, "%s%s",
                                         used > 0 ? ", " : "", host->pool);
            last = host->pool;
            continue;
        }
        places++;
        if (!tnd_host_presence_is_free(&self->hosts[h].presence, self->plan->restart_timeout_ns,
                                       now))
            continue;
        self->hosts[h].presence.reserved_until_ns = now + reserved_ns;
        return h;
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
    bool needed = self->hosts[host].presence.life == 0 && tnd_run_start_awaits(&self->start, host);
    if (needed && !refused->is_foreign)
        tnd_leader_end(self, TND_OUTCOME_LOST, text);
    else if (logs)
        tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[0].name, "control", text);
}

bool tnd_leader_awaits(const tnd_leader_t *self, uint32_t host)
{
    bool good = self->outcome == TND_OUTCOME_DONE || self->outcome == TND_OUTCOME_DRAINED;
    const tnd_host_presence_t *presence = &self->hosts[host].presence;
    return presence->up || (good && tnd_host_presence_is_expected(presence));
}

uint64_t tnd_leader_check_hosts(tnd_leader_t *self, uint64_t now)
{
    uint64_t wake = TND_NEVER;
    for (uint32_t h = 0; h < self->plan->host_count && !self->ended; h++) {
        uint64_t due = tnd_host_presence_deadline(&self->hosts[h].presence, now);
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
        tnd_run_record_presence(host, presence_of(&self->hosts[h].presence), now);
        /* The leader does not wait for itself. */
        write_to(&host->waited_for, waited_for && h != 0);
        if (h != 0 && self->hosts[h].process.number != 0)
            write_to(&host->process, (uint64_t)self->hosts[h].process.number);
        write_to(&host->restarts, self->hosts[h].presence.restarts);
    }
}
