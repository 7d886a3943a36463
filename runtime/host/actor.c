/*  runtime/host/actor.c - the thread of an actor and its run loop.
 *
 *  The thread owns the hub and the state of the kind.  The host reads the phase under a mutex and
 *  is told of each change. */
#include "runtime/host/actor_internal.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/data/text_payload.h"
#include "runtime/host/own_work.h"
#include "runtime/observe/thread_state.h"

/*  Arrivals per round of the run loop: enough to drain a burst, few enough to stay responsive. */
enum { ARRIVALS_PER_ROUND = 64 };

/*  Invalid messages of one peer before the run ends. */
enum { VIOLATIONS_MAX = 16 };

/*  How often the processor time of an actor is read. */
static const uint64_t count_every_ns = 100000000;

tnd_actor_id_t tnd_actor_id(const tnd_actor_t *self)
{
    return self->id;
}

const char *tnd_actor_name(const tnd_actor_t *self)
{
    return self->config.instance->name;
}

const tnd_plan_t *tnd_actor_plan(const tnd_actor_t *self)
{
    return self->plan;
}

const tnd_instance_t *tnd_actor_instance(const tnd_actor_t *self)
{
    return self->config.instance;
}

const void *tnd_actor_options(const tnd_actor_t *self)
{
    return self->config.instance->options;
}

const tnd_stream_t *tnd_actor_stream(const tnd_actor_t *self)
{
    return self->config.stream;
}

tnd_statistics_t *tnd_actor_statistics(tnd_actor_t *self)
{
    return self->config.statistics;
}

tnd_recorder_t *tnd_actor_recorder(tnd_actor_t *self)
{
    return &self->recorder;
}

uint64_t tnd_actor_now(const tnd_actor_t *self)
{
    (void)self;
    return tnd_clock_now();
}

uint64_t tnd_actor_round(const tnd_actor_t *self)
{
    return self->round_ns;
}

void *tnd_actor_shared(tnd_actor_t *self)
{
    return self->config.shared;
}

const char *tnd_actor_save(const tnd_actor_t *self)
{
    return self->config.instance->chain == 0 ? tnd_host_config(self->config.host)->save : NULL;
}

void tnd_actor_unsaved(tnd_actor_t *self, const char *why)
{
    tnd_host_unsaved(self->config.host, why);
}

void tnd_actor_leaked(tnd_actor_t *self, const char *why)
{
    if (why != NULL)
        tnd_host_leaked(self->config.host, why);
}

const char *tnd_actor_keep(const tnd_actor_t *self)
{
    return self->config.instance->chain == 0 && self->plan->checkpoint != NULL &&
                   !self->plan->checkpoint->evaluate
               ? self->plan->checkpoint->dir
               : NULL;
}

const tnd_resume_t *tnd_actor_resume(const tnd_actor_t *self)
{
    return self->config.instance->chain == 0 ? tnd_host_resume(self->config.host) : NULL;
}

void *tnd_actor_sibling(const tnd_actor_t *self, const char *actor)
{
    return tnd_host_handle(self->config.host, actor);
}

uint32_t tnd_actor_awake(const tnd_actor_t *self)
{
    return tnd_host_awake(self->config.host, tnd_actor_id(self));
}

bool tnd_actor_stopping(const tnd_actor_t *self)
{
    return atomic_load_explicit(&self->stopping, memory_order_relaxed);
}

tnd_outcome_t tnd_actor_outcome(const tnd_actor_t *self)
{
    return tnd_host_wait(self->config.host, 0);
}

void tnd_actor_over(tnd_actor_t *self)
{
    atomic_store(&self->over, true);
}

bool tnd_actor_is_over(const tnd_actor_t *self)
{
    return atomic_load(&self->over);
}

void tnd_actor_flush(tnd_actor_t *self)
{
    tnd_hub_flush(self->hub);
}

void tnd_actor_wake(tnd_actor_t *self)
{
    tnd_hub_wake(self->hub);
}

tnd_status_t tnd_actor_send(tnd_actor_t *self, const tnd_msg_t *msg, tnd_carry_t carry)
{
    assert(msg->to < self->plan->instance_count && self->peers[msg->to].port != NO_PORT);
    tnd_validator_sent(self->validator, msg);
    tnd_actor_count_edge(self, msg->to, msg);
    tnd_recorder_sends(&self->recorder, msg);
    tnd_tap_pass(&self->tap, msg, carry, self->recorder.now_ns);
    tnd_status_t status = tnd_hub_send(self->hub, self->peers[msg->to].port, msg->to, msg, carry);
    bool lost = status == TND_FAILED && tnd_msg_intact(msg, carry, &self->lost) != TND_OK;
    assert(lost == (status == TND_FAILED));
    return status;
}

static void send_control(tnd_actor_t *self, tnd_msg_t *msg, tnd_carry_t carry)
{
    /* The host is in this process: sending fails only while the host ends. */
    if (tnd_hub_send(self->hub, PORT_CONTROL, tnd_host_id(self->config.instance->host), msg,
                     carry) != TND_OK)
        tnd_msg_drop(msg, carry);
}

static void flush_control(tnd_actor_t *self)
{
    for (uint32_t i = 0; i < self->control.count; i++)
        send_control(self, &self->control.items[i].msg, self->control.items[i].carry);
    tnd_control_batch_clear(&self->control);
}

void tnd_actor_control(tnd_actor_t *self, const tnd_msg_t *msg, tnd_carry_t carry)
{
    tnd_msg_t stamped = *msg;
    stamped.from = self->id;
    tnd_recorder_sends(&self->recorder, msg);
    if (!tnd_control_batch_bear(msg)) {
        flush_control(self);
        send_control(self, &stamped, carry);
    } else if (!tnd_control_batch_keep(&self->control, &stamped, carry, self->round_ns)) {
        flush_control(self);
        bool kept = tnd_control_batch_keep(&self->control, &stamped, carry, self->round_ns);
        assert(kept);
    }
}

void tnd_actor_rebirth(tnd_actor_t *self)
{
    tnd_hub_rebirth(self->hub, ++self->life);
}

static void set_phase(tnd_actor_t *self, tnd_actor_phase_t phase)
{
    pthread_mutex_lock(&self->lock);
    self->phase = phase;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    tnd_host_notice(self->config.host);
}

/* --- the run loop ----------------------------------------------------------------------------- */

static void write_log(tnd_actor_t *self, tnd_log_level_t level, const char *text)
{
    /* The leader may be on another host and always wants warnings. */
    if (level < TND_LOG_WARNING &&
        !tnd_observer_wants(tnd_host_config(self->config.host)->observer, level))
        return;
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = level;
    msg.note.payload = tnd_text_payload_of("%s %s", tnd_actor_name(self), text);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  A peer was refused and told why; the run continues without it.  Refused peers without a name are
 *  logged once. */
static void log_refusal(tnd_actor_t *self, const tnd_arrival_t *arrival)
{
    if (arrival->peer == TND_NOBODY && self->unnamed_refusal_logged)
        return;
    self->unnamed_refusal_logged = self->unnamed_refusal_logged || arrival->peer == TND_NOBODY;
    char text[400];
    uint64_t more;
    if (!tnd_refusal_log_takes(&self->refusals, arrival->address, arrival->why, self->round_ns,
                               &more))
        return;
    if (arrival->is_foreign && arrival->peer < self->plan->instance_count)
        snprintf(text, sizeof text, "%s of host %s was refused: %s",
                 self->plan->instances[arrival->peer].name,
                 self->plan->hosts[self->plan->instances[arrival->peer].host].name, arrival->why);
    else
        snprintf(text, sizeof text, "%s", arrival->why);
    write_log(self, TND_LOG_WARNING, text);
}

static void log_link(tnd_actor_t *self, const tnd_arrival_t *arrival)
{
    char text[400];
    const char *peer = self->plan->instances[arrival->peer].name;
    bool up = arrival->kind == TND_ARRIVAL_UP;
    if (up)
        snprintf(text, sizeof text, "is connected to %s", peer);
    else
        snprintf(text, sizeof text, "lost %s: %.300s", peer, arrival->why);
    write_log(self, up ? TND_LOG_DEBUG : TND_LOG_INFO, text);
}

/*  A peer sent an invalid message.  Its connection is closed and its work is repeated; a peer that
 *  does so again and again, or by control, ends the run. */
static tnd_status_t reject_message(tnd_actor_t *self, tnd_arrival_t *arrival, const char *why,
                                   tnd_error_t *error)
{
    bool by_link = arrival->port != PORT_CONTROL;
    tnd_actor_id_t peer = by_link ? arrival->peer : arrival->msg.from;
    bool known = peer < self->plan->instance_count;
    const char *name = known ? self->plan->instances[peer].name : "the leader";
    char text[512];
    snprintf(text, sizeof text, "%s sent an invalid message (kind %u): %s", name,
             (unsigned)arrival->msg.kind, why);
    tnd_msg_drop(&arrival->msg, arrival->carry);
    if (!by_link || !known || ++self->peers[peer].violations >= VIOLATIONS_MAX)
        return tnd_fail(error, "%s: %s", tnd_actor_name(self), text);
    write_log(self, TND_LOG_WARNING, text);
    tnd_hub_disconnect_peer(self->hub, arrival->port, arrival->peer, text);
    return TND_OK;
}

static const char *check(tnd_actor_t *self, tnd_arrival_t *arrival, uint64_t now)
{
    /* A message from this process carries its cursor beside it. */
    if (arrival->msg.kind == TND_MSG_REWIND)
        arrival->msg.rewind.cursor = arrival->cursor;
    if (!tnd_kind_accepts(&self->config.kind->spec, arrival->msg.kind))
        return "actors of its kind do not handle this message";
    return arrival->port == PORT_CONTROL
               ? tnd_validator_control(self->validator, &arrival->msg, now)
               : tnd_validator_link(self->validator, arrival->peer, &arrival->msg, now);
}

/*  Control messages that were sent while the host was away are lost, and the run does not rewind
 *  for a worker.  The host has learnt the generation when it returned; a process that was stopped
 *  needs some time for that. */
static tnd_status_t check_confirmed(tnd_actor_t *self, tnd_error_t *error)
{
    tnd_validator_reached(self->validator,
                          tnd_host_generation(self->config.host, self->config.instance->chain));
    tnd_actor_id_t peer =
        tnd_validator_unconfirmed(self->validator, tnd_clock_now(), 2 * self->plan->dead_after_ns);
    if (peer == TND_NOBODY)
        return TND_OK;
    return tnd_fail(error, "%s: %s announced a rewind that the leader has not begun",
                    tnd_actor_name(self), self->plan->instances[peer].name);
}

/*  Adds the sender to the error if the kind cannot use the rows. */
static tnd_status_t deliver(tnd_actor_t *self, tnd_arrival_t *arrival, bool first,
                            tnd_error_t *error)
{
    bool brings_rows = arrival->kind == TND_ARRIVAL_MESSAGE &&
                       (arrival->msg.kind == TND_MSG_BLOCK || arrival->msg.kind == TND_MSG_SLICE);
    tnd_actor_id_t peer = arrival->peer;
    if (arrival->kind == TND_ARRIVAL_MESSAGE)
        tnd_recorder_received(&self->recorder, &arrival->msg, first);
    tnd_status_t status = self->config.kind->arrive(self->state, self, arrival, error);
    if (status == TND_OK || !brings_rows || peer >= self->plan->instance_count)
        return status;
    size_t used = strlen(error->text);
    const tnd_instance_t *from = &self->plan->instances[peer];
    snprintf(error->text + used, sizeof error->text - used, " (sent by %s on host %s)", from->name,
             self->plan->hosts[from->host].name);
    return status;
}

static void note_up(tnd_actor_t *self, const tnd_arrival_t *arrival)
{
    if (arrival->peer >= self->plan->instance_count)
        return;
    self->peers[arrival->peer].up = arrival->kind == TND_ARRIVAL_UP;
    tnd_actor_record_link(self, arrival->peer, arrival->kind == TND_ARRIVAL_UP);
    tnd_recorder_link(&self->recorder, arrival->peer, arrival->kind == TND_ARRIVAL_UP);
    log_link(self, arrival);
}

static tnd_status_t take_arrivals(tnd_actor_t *self, tnd_error_t *error)
{
    uint64_t now = self->round_ns;
    for (int taken = 0; taken < ARRIVALS_PER_ROUND; taken++) {
        tnd_arrival_t arrival;
        if (tnd_hub_receive(self->hub, &arrival) != TND_OK)
            return TND_OK;
        bool dialled = arrival.port == PORT_CONTROL || (arrival.peer < self->plan->instance_count &&
                                                        self->peers[arrival.peer].is_dialled);
        if (arrival.kind == TND_ARRIVAL_UP || arrival.kind == TND_ARRIVAL_LOST)
            note_up(self, &arrival);
        if (arrival.kind == TND_ARRIVAL_REFUSED && dialled) {
            tnd_actor_say_refused(self, &arrival, error);
            return TND_REFUSED;
        }
        if (arrival.kind == TND_ARRIVAL_REFUSED)
            log_refusal(self, &arrival);
        if (arrival.kind == TND_ARRIVAL_LOST)
            tnd_count(&self->config.statistics->lost, 1);
        const char *wrong = NULL;
        if (arrival.kind == TND_ARRIVAL_MESSAGE)
            wrong = check(self, &arrival, now);
        else if (arrival.kind != TND_ARRIVAL_REFUSED) /* a stranger may have used its name */
            tnd_validator_reset(self->validator, arrival.peer);
        if (wrong != NULL) {
            TND_TRY(reject_message(self, &arrival, wrong, error));
            continue;
        }
        if (arrival.kind == TND_ARRIVAL_MESSAGE && arrival.port != PORT_CONTROL)
            tnd_actor_count_edge(self, arrival.peer, &arrival.msg);
        TND_TRY(deliver(self, &arrival, taken == 0, error));
    }
    return TND_OK;
}

static void show_depth(tnd_actor_t *self)
{
    uint64_t queue = 0, credit = TND_UNKNOWN;
    self->config.kind->depth(self->state, &queue, &credit);
    tnd_statistics_depth(self->config.statistics, queue, credit);
}

static void count_time(tnd_actor_t *self, uint64_t now)
{
    tnd_statistics_t *statistics = self->config.statistics;
    uint64_t used = tnd_clock_thread();
    uint64_t ready = tnd_thread_ready(self->processor.schedstat, self->processor.ready_ns);
    tnd_count(&statistics->cpu_ns, used - self->processor.used_ns);
    tnd_count(&statistics->ready_ns, ready - self->processor.ready_ns);
    tnd_word_write(&statistics->faults, tnd_thread_disk_faults());
    self->processor.used_ns = used;
    self->processor.ready_ns = ready;
    self->processor.read_ns = now;
}

static void begin_counting(tnd_actor_t *self)
{
    self->processor.schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    atomic_store_explicit(&self->config.statistics->thread, (uint64_t)gettid(),
                          memory_order_relaxed);
    self->round_ns = tnd_clock_now();
    tnd_statistics_state(self->config.statistics, TND_STATE_RUNNING, 0, self->round_ns);
}

/*  When the actor must run again. */
static uint64_t next_wake(const tnd_actor_t *self, uint64_t now)
{
    const tnd_kind_t *kind = self->config.kind;
    uint64_t wake = now + TND_ACTOR_SLEEP_NS;
    uint64_t due = kind->deadline != NULL ? kind->deadline(self->state) : TND_NEVER;
    if (tnd_control_batch_due(&self->control) < wake)
        wake = tnd_control_batch_due(&self->control);
    return due < wake ? due : wake;
}

static tnd_status_t run_loop(tnd_actor_t *self, tnd_error_t *error)
{
    tnd_statistics_t *statistics = self->config.statistics;
    while (!tnd_actor_stopping(self)) {
        bool more = false;
        self->round_ns = tnd_clock_now();
        tnd_statistics_state(statistics, TND_STATE_RUNNING, 0, self->round_ns);
        tnd_recorder_wakes(&self->recorder, self->round_ns);
        TND_TRY(take_arrivals(self, error));
        if (atomic_exchange(&self->moved, false))
            TND_TRY(tnd_actor_connect_peers(self, error));
        TND_TRY(check_confirmed(self, error));
        tnd_actor_record_round_trips(self);
        uint64_t events = tnd_recorder_count(&self->recorder), began = tnd_clock_now();
        tnd_statistics_state(statistics, TND_STATE_WORKING, 0, began);
        tnd_recorder_time(&self->recorder, began);
        TND_TRY(self->config.kind->work(self->state, self, &more, error));
        if (self->lost.text[0] != '\0')
            return tnd_fail(error, "%s: %s", tnd_actor_name(self), self->lost.text);
        tnd_count(&statistics->progress, 1);
        uint64_t now = tnd_clock_now();
        tnd_recorder_work(&self->recorder, began, now, events);
        if (now >= tnd_control_batch_due(&self->control))
            flush_control(self);
        if (now - self->processor.read_ns >= count_every_ns) {
            count_time(self, now);
            show_depth(self);
        }
        if (more) {
            tnd_hub_flush(self->hub); /* a wait does this too */
            continue;
        }
        uint64_t wake = next_wake(self, now);
        uint32_t waits = self->config.kind->blocked_on(self->state);
        tnd_recorder_waits(&self->recorder, waits, now);
        tnd_statistics_state(statistics, TND_STATE_WAITING, waits, now);
        show_depth(self);
        TND_TRY(tnd_hub_wait(self->hub, wake));
    }
    return TND_OK;
}

/*  Waits for tnd_actor_go; false: the actor must stop. */
static bool wait_for_go(tnd_actor_t *self)
{
    tnd_statistics_state(self->config.statistics, TND_STATE_WAITING, TND_WAIT_LEADER,
                         tnd_clock_now());
    pthread_mutex_lock(&self->lock);
    while (!self->go && !tnd_actor_stopping(self))
        pthread_cond_wait(&self->changed, &self->lock);
    bool go = self->go;
    pthread_mutex_unlock(&self->lock);
    return go && !tnd_actor_stopping(self);
}

/*  The kind's init opens files and plugins and may hang; the state says so. */
static tnd_status_t setup(tnd_actor_t *self, tnd_error_t *error)
{
    tnd_statistics_t *statistics = self->config.statistics;
    TND_TRY(tnd_actor_open_links(self, error));
    tnd_word_write(&statistics->opens, TND_OPENS_ITSELF);
    tnd_statistics_state(statistics, TND_STATE_WORKING, 0, tnd_clock_now());
    tnd_status_t status = self->config.kind->init(self->state, self, error);
    tnd_word_write(&statistics->opens, TND_OPENS_NOTHING);
    tnd_statistics_state(statistics, TND_STATE_RUNNING, 0, tnd_clock_now());
    return status;
}

static tnd_status_t run(tnd_actor_t *self, tnd_error_t *error)
{
    TND_TRY(setup(self, error));
    set_phase(self, TND_ACTOR_BOUND);
    if (!wait_for_go(self))
        return TND_OK;
    tnd_validator_reached(self->validator,
                          tnd_host_generation(self->config.host, self->config.instance->chain));
    TND_TRY(tnd_actor_connect_peers(self, error));
    set_phase(self, TND_ACTOR_RUNNING);
    return run_loop(self, error);
}

static void *actor_main(void *context)
{
    tnd_actor_t *self = context;
    (tnd_placement_reduces(self->plan) ? tnd_thread_begin : tnd_thread_name)(tnd_actor_name(self));
    tnd_own_work_of(self->config.statistics);
    tnd_error_t error = {.text = ""};
    begin_counting(self);
    tnd_status_t status = run(self, &error);
    bool failed = status != TND_OK && status != TND_STOPPED;
    self->config.kind->fini(self->state);
    if (self->hub != NULL) {
        flush_control(self);
        tnd_hub_counts_t counts;
        tnd_hub_counts(self->hub, &counts);
        tnd_count(&self->config.statistics->bytes_copied, counts.bytes_copied);
    }
    count_time(self, tnd_clock_now());
    if (self->processor.schedstat >= 0)
        close(self->processor.schedstat);
    pthread_mutex_lock(&self->lock);
    tnd_hub_t *hub = self->hub;
    self->hub = NULL;
    pthread_mutex_unlock(&self->lock);
    tnd_hub_close(&hub, 0);
    tnd_statistics_state(self->config.statistics, failed ? TND_STATE_FAILED : TND_STATE_ENDED, 0,
                         tnd_clock_now());
    if (failed) {
        pthread_mutex_lock(&self->lock);
        self->error = error;
        self->refused = status == TND_REFUSED;
        pthread_mutex_unlock(&self->lock);
    }
    set_phase(self, failed ? TND_ACTOR_FAILED : TND_ACTOR_ENDED);
    return NULL;
}

/* --- for the host ----------------------------------------------------------------------------- */

/*  Writes name and peers to the statistics page. */
static void fill_page(const tnd_actor_t *self)
{
    tnd_statistics_t *page = self->config.statistics;
    const tnd_instance_t *instance = self->config.instance;
    snprintf(page->actor, sizeof page->actor, "%s", instance->name);
    page->role = instance->kind->role;
    snprintf(page->kind, sizeof page->kind, "%s", instance->kind->table.name);
    page->instance = self->id;
    page->chain = instance->chain;
    page->lane = instance->lane;
    page->peer_count = 0; /* an actor that hung may have had this page */
    for (uint32_t e = 0; e < self->plan->edge_count && page->peer_count < TND_PAGE_PEERS; e++) {
        const tnd_edge_t *edge = &self->plan->edges[e];
        if (edge->from != self->id && edge->to != self->id)
            continue;
        page->upstream[page->peer_count] = edge->to == self->id;
        page->peers[page->peer_count++] = edge->to == self->id ? edge->from : edge->to;
    }
}

tnd_actor_t *tnd_actor_start(const tnd_actor_config_t *config)
{
    tnd_actor_t *self = tnd_allocate_zeroed(1, sizeof *self);
    const tnd_plan_t *plan = tnd_host_config(config->host)->plan;
    self->peers = tnd_allocate_zeroed(plan->instance_count, sizeof *self->peers);
    self->state = tnd_allocate_zeroed(1, config->kind->state_bytes + 1);
    for (uint32_t i = 0; i < plan->instance_count; i++)
        self->peers[i].port = NO_PORT;
    self->config = *config;
    self->unusable.code = TND_DIAGNOSTIC_CODES;
    self->plan = plan;
    self->id = (tnd_actor_id_t)(config->instance - plan->instances);
    const tnd_instance_record_t *own = &config->record->instances[self->id];
    self->recorder.ring = &config->record->rings[own->ring];
    self->recorder.timing = &config->record->timings[own->ring];
    self->tap = (tnd_tap_source_t){.tap = config->tap,
                                   .instance = config->instance->name,
                                   .actor = config->instance->actor,
                                   .id = self->id};
    tnd_validator_config_t validator = {.membership = *tnd_host_membership(config->host),
                                        .bounds = tnd_membership_bounds(plan, config->stream),
                                        .self = self->id};
    self->validator_memory = tnd_allocate_zeroed(1, tnd_validator_bytes(&validator));
    self->validator = tnd_validator_init(self->validator_memory, &validator);
    /* Later lives are greater unless the clock was set back; peers report that. */
    self->life = self->birth = tnd_clock_read(CLOCK_REALTIME);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    tnd_actor_record_options(self);
    fill_page(self);
    tnd_actor_find_ends(self);
    self->joined = tnd_thread_create(&self->thread, tnd_actor_name(self), actor_main, self,
                                     &self->error) != TND_OK;
    if (self->joined)
        set_phase(self, TND_ACTOR_FAILED);
    return self;
}

tnd_actor_phase_t tnd_actor_phase(const tnd_actor_t *self)
{
    tnd_actor_t *locked = (tnd_actor_t *)self;
    pthread_mutex_lock(&locked->lock);
    tnd_actor_phase_t phase = self->phase;
    pthread_mutex_unlock(&locked->lock);
    return phase;
}

tnd_life_t tnd_actor_birth(const tnd_actor_t *self)
{
    return self->birth;
}

uint32_t tnd_actor_endpoints(const tnd_actor_t *self, tnd_endpoint_t *endpoints)
{
    memcpy(endpoints, self->endpoints, self->endpoint_count * sizeof *endpoints);
    return self->endpoint_count;
}

void tnd_actor_go(tnd_actor_t *self)
{
    pthread_mutex_lock(&self->lock);
    self->go = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void tnd_actor_look(tnd_actor_t *self)
{
    pthread_mutex_lock(&self->lock);
    atomic_store(&self->moved, true);
    if (self->hub != NULL)
        tnd_hub_wake(self->hub);
    pthread_mutex_unlock(&self->lock);
}

void tnd_actor_stop(tnd_actor_t *self)
{
    pthread_mutex_lock(&self->lock);
    atomic_store(&self->stopping, true);
    pthread_cond_broadcast(&self->changed);
    if (self->hub != NULL)
        tnd_hub_wake(self->hub);
    pthread_mutex_unlock(&self->lock);
}

bool tnd_actor_refused(const tnd_actor_t *self)
{
    return self->refused;
}

void tnd_actor_unusable(tnd_actor_t *self, tnd_diagnostic_code_t code, tnd_mark_t mark,
                        const char *help)
{
    self->unusable.code = code;
    self->unusable.mark = mark;
    self->unusable.help = help;
}

bool tnd_actor_diagnose(const tnd_actor_t *self, tnd_diagnostics_t *diagnostics)
{
    if (self->unusable.code == TND_DIAGNOSTIC_CODES)
        return false;
    tnd_diagnostics_add(diagnostics, self->unusable.code, self->unusable.mark, "%s: %s",
                        self->config.instance->actor, self->error.text);
    if (self->unusable.help != NULL)
        tnd_diagnostics_help(diagnostics, "%s", self->unusable.help);
    return true;
}

bool tnd_actor_join(tnd_actor_t *self, uint64_t wait_ns)
{
    if (self->joined)
        return true;
    uint64_t until = tnd_clock_read(CLOCK_REALTIME) + wait_ns;
    struct timespec deadline = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    self->joined = pthread_timedjoin_np(self->thread, NULL, &deadline) == 0;
    return self->joined;
}

const char *tnd_actor_error(const tnd_actor_t *self)
{
    return self->error.text;
}

void *tnd_actor_handle(tnd_actor_t *self)
{
    if (self->config.kind->handle == NULL || tnd_actor_phase(self) == TND_ACTOR_STARTING)
        return NULL;
    return self->config.kind->handle(self->state);
}

void tnd_actor_destroy(tnd_actor_t **self_p)
{
    tnd_actor_t *self = *self_p;
    if (self == NULL)
        return;
    if (self->config.kind->release != NULL)
        self->config.kind->release(self->state);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self->peers);
    free(self->dials);
    free(self->validator_memory);
    free(self->state);
    free(self);
    *self_p = NULL;
}
