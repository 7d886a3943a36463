/*  runtime/host/host.c - the part of a run in this process: start, loop and end. */
#include "runtime/core/session/members.h"
#include "runtime/core/session/roster.h"
#include "runtime/host/host_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/data/text_payload.h"
#include "runtime/meeting/join_request.h"
#include "runtime/plan/pace.h"

/*  Unread messages between two hosts. */
enum { CONTROL_UNREAD = 16384, ARRIVALS_PER_ROUND = 4096 };

/*  The longest sleep of the host's thread. */
static const uint64_t nap_ns = 250000000;

/*  How often other hosts are told which actors are inside work hooks. */
static const uint64_t busy_every_ns = 250000000;

/*  How long the leader waits for the statistics of other hosts after the run. */
static const uint64_t last_words_ns = 2000000000;

/*  How long processes that have met have until each listens, or knows what another one has to say. */
static const uint64_t met_ns = 5000000000;

const tnd_host_config_t *tnd_host_config(const tnd_host_t *self)
{
    return &self->config;
}

void tnd_host_unsaved(tnd_host_t *self, const char *why)
{
    pthread_mutex_lock(&self->lock);
    snprintf(self->end.unsaved, sizeof self->end.unsaved, "%s", why);
    pthread_mutex_unlock(&self->lock);
}

void tnd_host_resumption_end(const tnd_host_t *self, tnd_resumption_end_t *end)
{
    *end = (tnd_resumption_end_t){.cause = TND_RESUMPTION_LOST};
    if (self->leader != NULL)
        *end = tnd_leader_resumption_end(self->leader);
}

bool tnd_host_is_preempted(const tnd_host_t *self)
{
    return self->leader != NULL && tnd_leader_is_preempted(self->leader);
}

void tnd_host_unsaved_why(tnd_host_t *self, char *text, size_t room)
{
    pthread_mutex_lock(&self->lock);
    snprintf(text, room, "%s", self->end.unsaved);
    pthread_mutex_unlock(&self->lock);
}

void tnd_host_leaked(tnd_host_t *self, const char *why)
{
    pthread_mutex_lock(&self->lock);
    snprintf(self->end.leaked, sizeof self->end.leaked, "%s", why);
    pthread_mutex_unlock(&self->lock);
}

void tnd_host_leaked_why(tnd_host_t *self, char *text, size_t room)
{
    pthread_mutex_lock(&self->lock);
    snprintf(text, room, "%s", self->end.leaked);
    pthread_mutex_unlock(&self->lock);
}

/*  The outcome of the run is known, but a device that hangs must not be ignored. */
void tnd_host_say_leak(tnd_host_t *self)
{
    pthread_mutex_lock(&self->lock);
    tnd_buffer_t *note =
        self->end.leaked[0] != '\0' ? tnd_text_payload_of("control %s", self->end.leaked) : NULL;
    pthread_mutex_unlock(&self->lock);
    if (note != NULL)
        tnd_host_tell_leader(self, TND_MSG_LOG, TND_LOG_ERROR, note);
}

uint64_t tnd_host_link_timeout(const tnd_host_t *self)
{
    return self->link_timeout_ns;
}

const char *tnd_host_control(const tnd_host_t *self)
{
    return self->control;
}

const char *tnd_host_nonce(const tnd_host_t *self)
{
    return self->nonce;
}

bool tnd_host_endpoint(tnd_host_t *self, tnd_endpoint_t *endpoint)
{
    bool found = false;
    pthread_mutex_lock(&self->lock);
    for (uint32_t i = 0; i < self->table.count && !found; i++) {
        const tnd_endpoint_t *entry = &self->table.endpoints[i];
        found = entry->instance == endpoint->instance && entry->port == endpoint->port &&
                entry->transport == endpoint->transport;
        if (found)
            *endpoint = *entry;
    }
    pthread_mutex_unlock(&self->lock);
    return found;
}

uint32_t tnd_host_generation(const tnd_host_t *self, uint32_t chain)
{
    return atomic_load(&self->chains[chain].generation);
}

bool tnd_host_busy(const tnd_host_t *self, tnd_actor_id_t actor)
{
    if (actor >= self->plan->instance_count)
        return false;
    if (self->plan->instances[actor].host != self->config.host)
        return __atomic_load_n(&self->busy.elsewhere[actor], __ATOMIC_RELAXED) != 0;
    uint64_t state =
        atomic_load_explicit(&tnd_pages_at(self->pages, actor)->state, memory_order_relaxed);
    return (state & 0xff) == TND_STATE_WORKING;
}

bool tnd_host_excuses(const tnd_host_t *self, tnd_actor_id_t peer)
{
    if (peer == tnd_host_id(self->config.host))
        return true;
    if (peer < self->plan->instance_count && self->plan->instances[peer].host == self->config.host)
        return true;
    return tnd_host_busy(self, peer);
}

void tnd_host_notice(tnd_host_t *self)
{
    atomic_store(&self->wishes.notice, true);
    tnd_hub_wake(self->hub);
}

const tnd_resume_t *tnd_host_resume(const tnd_host_t *self)
{
    return self->resume.step > 0 ? &self->resume : NULL;
}

const tnd_membership_t *tnd_host_membership(const tnd_host_t *self)
{
    return &self->membership;
}

void tnd_host_settle(tnd_host_t *self, tnd_outcome_t outcome, const char *why)
{
    pthread_mutex_lock(&self->lock);
    if (self->end.outcome == TND_OUTCOME_NONE) {
        self->end.outcome = outcome;
        snprintf(self->end.why, sizeof self->end.why, "%s", why);
    }
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

bool tnd_host_settled(tnd_host_t *self)
{
    pthread_mutex_lock(&self->lock);
    bool is = self->end.outcome != TND_OUTCOME_NONE;
    pthread_mutex_unlock(&self->lock);
    return is;
}

void tnd_host_fail_here(tnd_host_t *self, tnd_outcome_t outcome, const char *why)
{
    if (self->failure.at_ns != 0)
        return;
    self->failure.at_ns = tnd_clock_now();
    self->failure.outcome = outcome;
    snprintf(self->failure.why, sizeof self->failure.why, "%s", why);
}

/*  Whether actors here report what is done: they may have to, after another one has failed. */
static bool reports_steps(const tnd_host_t *self)
{
    bool reports = false;
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        tnd_role_t role = self->plan->instances[i].kind->role;
        reports = reports ||
                  (self->actors[i] != NULL && (role == TND_ROLE_JOIN || tnd_members_commits(role)));
    }
    return reports;
}

/*  The leader should learn why this host ends, but the host does not wait long for an absent
 *  leader. */
void tnd_host_say_failure(tnd_host_t *self, uint64_t now)
{
    tnd_host_failure_t *failure = &self->failure;
    const tnd_leader_presence_t *leader = &self->leader_presence;
    tnd_absence_limits_t limits = tnd_host_absence_limits(self->plan);
    if (tnd_host_is_expected(self))
        limits.grace_ns = tnd_pace_stretch(self->plan, met_ns);
    if (failure->at_ns == 0)
        return;
    if (failure->said_ns == 0 && tnd_leader_presence_hears(leader, &limits, failure->at_ns, now)) {
        failure->said_ns = now;
        tnd_host_tell_leader(self, TND_MSG_DOWN, failure->outcome,
                             tnd_text_payload_of("%s", failure->why));
    }
    bool leaves = failure->outcome == TND_OUTCOME_STOPPED || atomic_load(&self->wishes.stop) ||
                  !reports_steps(self);
    if (failure->said_ns != 0 && !tnd_host_leads(self) &&
        (leaves || !tnd_leader_presence_answers(leader, failure->said_ns, now)))
        tnd_host_settle(self, failure->outcome, failure->why);
}

/* --- life ------------------------------------------------------------------------------------- */

static bool is_working(void *context, tnd_actor_id_t peer)
{
    return tnd_host_excuses(context, peer);
}

/*  The leader did not answer, or was lost. */
static void miss_leader(tnd_host_t *self)
{
    const tnd_plan_host_t *leader = &self->plan->hosts[0];
    char why[512], kept[64] = "", other[128] = "";
    if (self->booked > 0)
        snprintf(kept, sizeof kept, "; the last committed step known here is %" PRIu64,
                 self->booked - 1);
    /* The leader is connected to a later process of this host. */
    if (!self->plan->hosts[self->config.host].isolated)
        snprintf(other, sizeof other,
                 "; if it still runs, another process has taken the place of host %.40s",
                 self->plan->hosts[self->config.host].name);
    if (self->leader_presence.came)
        snprintf(why, sizeof why, "host %s, which leads the run, is lost (%.200s)%s%s",
                 leader->name, self->leader_why, kept, other);
    else if (tnd_leader_presence_has_ended(&self->leader_presence, tnd_clock_now()))
        snprintf(why, sizeof why,
                 "host %s, which leads the run, has ended before the start: nothing listens at "
                 "tcp://%s:%" PRIu32 " any more",
                 leader->name, leader->address, leader->port);
    else
        snprintf(why, sizeof why,
                 "host %s, which leads the run, did not answer within %" PRIu64
                 " s: start it, or check whether tcp://%s:%" PRIu32 " can be reached from here",
                 leader->name, self->plan->start_timeout_ns / 1000000000u, leader->address,
                 leader->port);
    tnd_host_settle(self, TND_OUTCOME_LOST, why);
}

static void take_leave(tnd_host_t *self)
{
    switch (tnd_leader_presence_leave(&self->leader_presence)) {
    case TND_LEAVE_END_RUN:
        tnd_leader_end(self->leader, TND_OUTCOME_STOPPED, "stopped as asked");
        break;
    case TND_LEAVE_TELL:
        tnd_host_fail_here(self, TND_OUTCOME_STOPPED, "it was told to leave at once");
        break;
    case TND_LEAVE_AS_LOST:
        miss_leader(self);
        break;
    case TND_LEAVE_UNNOTICED:
        tnd_host_settle(self, TND_OUTCOME_STOPPED, "stopped as asked");
        break;
    }
}

/*  The leader accepts other hosts and processes that ask to join; each host accepts its actors. */
static bool expects(void *context, uint32_t port, tnd_actor_id_t peer)
{
    const tnd_host_t *self = context;
    if (port == PORT_HOSTS)
        return (peer > tnd_host_id(0) && peer < tnd_host_id(self->plan->host_count)) ||
               tnd_is_newcomer(peer) || tnd_is_inspector(peer) ||
               (tnd_is_attendee(peer) && (self->plan->restarts.run > 0 || self->plan->met != NULL));
    return peer < self->plan->instance_count &&
           self->plan->instances[peer].host == self->config.host;
}

static bool is_guest(void *context, uint32_t port, tnd_actor_id_t peer)
{
    (void)context;
    return port == PORT_HOSTS && (tnd_is_inspector(peer) || tnd_is_attendee(peer));
}

/*  A loop that is much too late was stopped or had no processor.  Messages of that time are unread,
 *  so the deadlines of other hosts are extended by it. */
static void excuse(tnd_host_t *self, uint64_t expected, uint64_t now)
{
    if (now < expected + nap_ns)
        return;
    tnd_leader_presence_excuse(&self->leader_presence, now - expected, now);
    if (tnd_host_leads(self))
        tnd_leader_excuse(self->leader, now - expected, now);
}

static void live(tnd_host_t *self)
{
    uint64_t expected = tnd_clock_now();
    tnd_leader_presence_t *leader = &self->leader_presence;
    while (!tnd_host_settled(self)) {
        uint64_t now = tnd_clock_now(), wake = now + nap_ns;
        self->round_ns = now;
        tnd_host_record_control(self, TND_CONTROL_WORKS, now);
        excuse(self, expected, now);
        tnd_arrival_t arrival;
        for (int n = 0; n < ARRIVALS_PER_ROUND && tnd_hub_receive(self->hub, &arrival) == TND_OK;
             n++)
            tnd_host_take_arrival(self, &arrival, now);
        tnd_host_make_progress(self);
        tnd_host_tell_busy(self, now);
        uint64_t touch_ns = tnd_host_touch(self, now);
        wake = touch_ns < wake ? touch_ns : wake;
        uint64_t watch_ns = tnd_host_watch(self, now);
        wake = watch_ns < wake ? watch_ns : wake;
        tnd_host_tune(self, now);
        if (tnd_host_leads(self)) {
            uint64_t due = tnd_leader_work(self->leader, now);
            wake = due < wake ? due : wake;
        } else if (tnd_leader_presence_is_over(
                       leader, tnd_hub_refused(self->hub, PORT_HOSTS, tnd_host_id(0)), now)) {
            miss_leader(self);
        } else {
            uint64_t due = tnd_leader_presence_deadline(leader, now);
            wake = due < wake ? due : wake;
        }
        if (atomic_load(&self->wishes.leave) && !tnd_host_leads(self)) {
            tnd_host_tell_leader(self, TND_MSG_LEAVE, 0, NULL);
            tnd_host_settle(self, TND_OUTCOME_STOPPED, "");
        }
        if (atomic_load(&self->wishes.stop))
            take_leave(self);
        if (atomic_load(&self->wishes.fail))
            tnd_host_fail_here(self, TND_OUTCOME_FAILED, self->end.broken);
        tnd_host_say_failure(self, now);
        uint64_t due = tnd_host_record(self, now), looked = tnd_look_service_work(self->looks, now);
        due = looked < due ? looked : due;
        wake = due < wake ? due : wake;
        expected = wake > now ? wake : now;
        tnd_host_record_control(self, TND_CONTROL_WAITS, tnd_clock_now());
        if (!tnd_host_settled(self) && tnd_hub_wait(self->hub, wake) != TND_OK)
            tnd_host_settle(self, TND_OUTCOME_FAILED, "the host's own connections failed");
    }
}

static void stop_actors(tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (self->actors[i] != NULL)
            tnd_actor_stop(self->actors[i]);
    /* Actors that hang are not waited for again. */
    uint64_t until = tnd_clock_now() + (tnd_host_hangs(self) ? 0 : TND_ACTOR_STOP_NS);
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        if (self->actors[i] == NULL)
            continue;
        uint64_t now = tnd_clock_now();
        /* Memory that a hook may still access is leaked. */
        if (!tnd_actor_join(self->actors[i], now < until ? until - now : 0))
            self->failure.stuck = true;
    }
    if (!tnd_host_join_abandoned(self))
        self->failure.stuck = true;
}

/*  Sends the statistics of the actors to the leader. */
static void say_statistics(tnd_host_t *self)
{
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        if (self->actors[i] == NULL)
            continue;
        tnd_statistics_t *page = tnd_pages_at(self->pages, i);
        fprintf(writer.stream, "%s %s", page->actor, page->kind);
#define WRITE_COUNTER(name, unit, text) fprintf(writer.stream, " " #name " %" PRIu64, page->name);
        TND_COUNTERS(WRITE_COUNTER)
#undef WRITE_COUNTER
        for (unsigned w = 0; w < TND_WAIT_REASONS; w++)
            if (page->wait_ns[w] != 0)
                fprintf(writer.stream, " wait_%u_ns %" PRIu64, w, page->wait_ns[w]);
        tnd_times_t times;
        tnd_statistics_times(page, tnd_clock_now(), &times);
#define WRITE_TIME(name, text) fprintf(writer.stream, " time_" #name " %" PRIu64, times.name);
        TND_TIMES(WRITE_TIME)
#undef WRITE_TIME
        if (page->tuning != 0)
            fprintf(writer.stream, " tuning %" PRIu64 " asleep %" PRIu64, page->tuning,
                    page->asleep);
        fputc('\n', writer.stream);
    }
    tnd_host_tell_leader(self, TND_MSG_STATISTICS, 0, tnd_text_payload_end(&writer));
}

/*  What the actors sent before they ended, such as warnings, is on its way to this host. */
static void hear_actors(tnd_host_t *self)
{
    tnd_arrival_t arrival;
    for (uint32_t n = 0; n < CONTROL_UNREAD && tnd_hub_receive(self->hub, &arrival) == TND_OK; n++)
        tnd_host_take_arrival(self, &arrival, tnd_clock_now());
}

static bool awaits_statistics(const tnd_host_t *self)
{
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        if (h != self->config.host && tnd_leader_awaits(self->leader, h))
            return true;
    return false;
}

/*  Whether hosts are on their way that have to hear how the run has ended. */
static bool awaits_comers(const tnd_host_t *self)
{
    for (uint32_t h = 0; tnd_host_leads(self) && h < self->plan->host_count; h++)
        if (h != self->config.host && tnd_leader_awaits(self->leader, h) &&
            tnd_leader_is_coming(self->leader, h))
            return true;
    return false;
}

/*  Waits for the statistics of the other hosts, but not long.  Some may have come before. */
static void hear_statistics(tnd_host_t *self)
{
    uint64_t wait_ns = awaits_comers(self) ? tnd_pace_stretch(self->plan, met_ns) : last_words_ns;
    uint64_t until = tnd_clock_now() + wait_ns;
    while (tnd_host_leads(self) && awaits_statistics(self) && tnd_clock_now() < until) {
        tnd_arrival_t arrival;
        if (tnd_hub_receive(self->hub, &arrival) == TND_OK)
            tnd_host_take_arrival(self, &arrival, tnd_clock_now());
        else if (tnd_hub_wait(self->hub, until) != TND_OK)
            break;
    }
}

static void *host_main(void *context)
{
    tnd_host_t *self = context;
    (tnd_placement_reduces(self->plan) ? tnd_thread_begin : tnd_thread_name)("control");
    live(self);
    tnd_host_record_control(self, TND_CONTROL_ENDS, tnd_clock_now());
    tnd_host_record_end(self, tnd_clock_now());
    tnd_host_close_touches(self);
    stop_actors(self);
    hear_actors(self);
    tnd_host_say_leak(self);
    say_statistics(self);
    hear_statistics(self);
    return NULL;
}

/* --- for programs ----------------------------------------------------------------------------- */

static void leader_send(void *context, const tnd_msg_t *msg, tnd_carry_t carry)
{
    tnd_msg_t copy = *msg;
    tnd_host_route(context, &copy, carry);
}

static void leader_end(void *context, tnd_outcome_t outcome, const char *why)
{
    tnd_host_settle(context, outcome, why);
}

static void leader_over(void *context, uint32_t chain)
{
    tnd_host_t *self = context;
    pthread_mutex_lock(&self->lock);
    self->end.ends[chain]++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void leader_wake(void *context)
{
    tnd_hub_wake(((tnd_host_t *)context)->hub);
}

/*  Control needs no credit: the number of open steps limits its messages. */
static uint32_t control_unread(void *context, uint32_t port)
{
    (void)context, (void)port;
    return CONTROL_UNREAD;
}

static uint64_t listener_of(const tnd_plan_t *plan)
{
    bool has_places = false; /* for processes that ask for one (pool+) */
    for (uint32_t h = 0; h < plan->host_count; h++)
        has_places = has_places || plan->hosts[h].spare;
    return tnd_roster_listener(plan->roster, has_places);
}

static tnd_status_t open_control(tnd_host_t *self, tnd_error_t *error)
{
    tnd_hub_config_t config = {
        .self = tnd_host_id(self->config.host),
        .name = self->plan->hosts[self->config.host].name,
        .life = self->life,
        .link_timeout_ns = self->link_timeout_ns,
        .busy = is_working,
        .context = self,
        .frame_max = 64 << 10,
        .expects = expects,
        .unread = control_unread,
        .callers = self->plan->host_count,
        .is_guest = is_guest,
        .search_ns = self->plan->rest_count > 0 ? self->plan->start_timeout_ns : 0,
        .admission = &self->plan->admission,
    };
    TND_TRY(tnd_hub_open(self->config.transport, &self->hub, self->config.transport_context,
                         &config, error));
    tnd_terms_t inside = {.abi = TND_WIRE_ABI};
    tnd_terms_t between = {.graph = {self->plan->fingerprint[0], self->plan->fingerprint[1]},
                           .abi = TND_WIRE_ABI,
                           .listener = listener_of(self->plan)};
    char wish[128], actual[128];
    snprintf(wish, sizeof wish, "inproc://%s.control", self->nonce);
    TND_TRY(tnd_hub_bind(self->hub, PORT_ACTORS, wish, &inside, self->control, sizeof self->control,
                         error));
    if (self->plan->host_count == 1)
        return TND_OK;
    const tnd_plan_host_t *leader = &self->plan->hosts[0];
    const char *at = tnd_host_leads(self) ? leader->listen : leader->address;
    snprintf(wish, sizeof wish, "tcp://%s:%" PRIu32, at, leader->port);
    if (tnd_host_leads(self)) {
        if (leader->port == 0)
            snprintf(wish, sizeof wish, "tcp://%s:*", at);
        TND_TRY(tnd_hub_bind(self->hub, PORT_HOSTS, wish, &between, actual, sizeof actual, error));
        self->port = (uint32_t)strtoul(strrchr(actual, ':') + 1, NULL, 10);
        return TND_OK;
    }
    return tnd_hub_connect(self->hub, PORT_HOSTS, tnd_host_id(0), wish, &between, error);
}

static tnd_status_t start_thread(tnd_host_t *self, tnd_error_t *error)
{
    char what[96];
    snprintf(what, sizeof what, "host %.80s", self->plan->hosts[self->config.host].name);
    tnd_status_t status = tnd_thread_create(&self->thread, what, host_main, self, error);
    self->thread = status == TND_OK ? self->thread : 0;
    return status;
}

tnd_status_t tnd_host_new(tnd_host_t **self_p, const tnd_host_config_t *config, tnd_error_t *error)
{
    static _Atomic unsigned made; /* makes names unique */
    tnd_host_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->config = *config;
    self->plan = config->plan;
    self->link_timeout_ns = tnd_pace_stretch(self->plan, self->plan->link_timeout_ns);
    self->busy.every_ns = tnd_pace_stretch(self->plan, busy_every_ns);
    self->actors = tnd_allocate_zeroed(self->plan->instance_count, sizeof *self->actors);
    self->streams = tnd_allocate_zeroed(self->plan->chain_count, sizeof *self->streams);
    self->busy.elsewhere = tnd_allocate_zeroed(self->plan->instance_count, 1);
    self->chains = tnd_allocate_zeroed(self->plan->chain_count, sizeof *self->chains);
    self->wishes.last_steps =
        tnd_allocate_zeroed(self->plan->chain_count, sizeof *self->wishes.last_steps);
    self->end.ends = tnd_allocate_zeroed(self->plan->chain_count, sizeof *self->end.ends);
    tnd_host_begin_watch(self);
    self->refused.violations =
        tnd_allocate_zeroed(self->plan->host_count, sizeof *self->refused.violations);
    self->refused.left_out =
        tnd_allocate_zeroed(self->plan->host_count, sizeof *self->refused.left_out);
    self->membership = tnd_membership_of_plan(self->plan, tnd_host_id(0));
    snprintf(self->nonce, sizeof self->nonce, "%d.%u.%" PRIx64, (int)getpid(),
             atomic_fetch_add(&made, 1), tnd_clock_read(CLOCK_REALTIME));
    self->life = tnd_clock_read(CLOCK_REALTIME);
    tnd_leader_presence_begin(&self->leader_presence, tnd_host_leads(self),
                              self->plan->start_timeout_ns, tnd_clock_now());
    if (self->plan->roster != 0)
        tnd_leader_presence_met(&self->leader_presence, tnd_pace_stretch(self->plan, met_ns));
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    tnd_resources_list(&self->resources, self->plan, config->host);
    tnd_host_begin_start(self);
    tnd_host_open_pages(self);
    tnd_host_open_touches(self);
    tnd_host_begin_looks(self);
    tnd_host_begin_tuning(self);
    tnd_status_t status = open_control(self, error);
    if (status != TND_OK) {
        (void)tnd_host_destroy(&self);
        return status;
    }
    if (tnd_host_leads(self)) {
        tnd_leader_output_t output = {
            .context = self,
            .send = leader_send,
            .end = leader_end,
            .over = leader_over,
            .wake = leader_wake,
            .fits = tnd_host_fits,
            .record = tnd_pages_record(self->pages),
        };
        self->leader = tnd_leader_new(config, &output, tnd_clock_now());
        tnd_leader_host_up(self->leader, 0, self->life, tnd_clock_now());
    }
    if (config->declines != NULL)
        tnd_host_fail_here(self, config->declines_as, config->declines);
    else
        status = tnd_host_try_data(self, error);
    if (status == TND_OK)
        status = start_thread(self, error);
    if (status != TND_OK)
        (void)tnd_host_destroy(&self);
    *self_p = self;
    return status;
}

void tnd_host_join(tnd_host_t *self)
{
    if (self->thread == 0)
        return;
    if (!tnd_host_settled(self))
        tnd_host_stop(self);
    pthread_join(self->thread, NULL);
    self->thread = 0;
}

bool tnd_host_destroy(tnd_host_t **self_p)
{
    tnd_host_t *self = *self_p;
    if (self == NULL)
        return true;
    tnd_host_join(self);
    if (!tnd_host_end_trial(self))
        self->failure.stuck = true;
    *self_p = NULL;
    if (self->failure.stuck)
        return false;
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        tnd_msg_drop(&self->chains[c].model, TND_CARRY_BUFFER);
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        tnd_actor_destroy(&self->actors[i]);
    tnd_resources_close(&self->resources);
    tnd_data_table_free(&self->data);
    tnd_leader_destroy(&self->leader);
    tnd_look_service_destroy(&self->looks);
    tnd_hub_close(&self->hub, 200000000);
    tnd_host_close_touches(self);
    tnd_host_close_pages(self);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self->actors);
    for (uint32_t c = 0; self->streams != NULL && c < self->plan->chain_count; c++)
        tnd_adapted_free(&self->streams[c].adapted);
    free(self->streams);
    free(self->table.endpoints);
    free(self->busy.elsewhere);
    free(self->chains);
    free(self->wishes.last_steps);
    free(self->end.ends);
    tnd_host_end_start(self);
    tnd_host_end_watch(self);
    tnd_host_end_tuning(self);
    free(self->refused.violations);
    free(self->refused.left_out);
    free(self->resume.parts);
    free((void *)(uintptr_t)self->membership.parties);
    free(self);
    return true;
}
