/*  runtime/life/host.c - this process's part of a run: its actors, and control. */
#include "runtime/life/host.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/feed/feed.h"
#include "runtime/life/clock.h"
#include "runtime/life/leader.h"
#include "runtime/life/note.h"
#include "runtime/life/thread.h"

enum { PORT_ACTORS = 0, PORT_HOSTS = 1 };

/*  What another host may say that cannot be, before it ends the run. */
enum { VIOLATIONS_MAX = 16 };

/*  How often the words of actors inside work hooks are told to other hosts. */
static const uint64_t words_every_ns = 250000000;

/*  How long the leader waits for what other hosts counted, once the run has ended. */
static const uint64_t last_words_ns = 2000000000;

/*  How long a host may be away after its connection was closed rather than silent: its process has
 *  most likely ended, and a live one is back within the largest back-off.
 */
static const uint64_t closed_grace_ns = 1500000000;

/*  How long an actor may take to leave its hook once it was asked to stop. */
static const uint64_t stop_wait_ns = 10000000000;

/*  Data that an actor's instances on this host share. */
typedef struct {
    const tnd_instance_t *instance; /* the first of them */
    tnd_stream_t stream;
    void *opened;
} shared_t;

struct tnd_host {
    tnd_host_config_t config;
    const tnd_plan_t *plan;
    char nonce[48], control[128], text[640];
    tnd_life_t life; /* of this process in the run */
    tnd_hub_t *hub;
    pthread_t thread, facts_thread;
    bool facts_joined;
    tnd_pages_t *pages;
    tnd_leader_t *leader;  /* of the first host */
    tnd_actor_t **actors;  /* by instance; NULL: not here */
    tnd_stream_t *streams; /* by chain */
    shared_t *shared;
    uint32_t shared_count;
    tnd_endpoint_t *table; /* where everybody listens */
    uint32_t table_count;
    uint8_t *words; /* by instance: inside a work hook elsewhere */
    tnd_census_t census;
    uint32_t *violations; /* by host */
    uint64_t words_due_ns, leader_away_ns;
    bool leader_up, leader_came, facts_said, endpoints_said, ready_said, made, gone, failure_said;
    bool stranger_said, stuck;
    uint64_t failed_ns;   /* when it failed here; 0: it has not */
    tnd_outcome_t failed; /* how */
    char failure[512];
    char leader_why[256];     /* it went away */
    uint64_t booked;          /* steps that the leader told feeders here to be committed */
    tnd_buffer_t **last_word; /* by chain: the MODEL that feeders here said; NULL: none */

    _Atomic bool drain, stop, noticed, facts_done;
    bool drain_asked;
    tnd_status_t facts_status;
    tnd_error_t facts_error;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    tnd_outcome_t outcome;
    bool running;
    char why[512];
};

const tnd_host_config_t *tnd_host_config(const tnd_host_t *self)
{
    return &self->config;
}

const char *tnd_host_control(const tnd_host_t *self)
{
    return self->control;
}

const char *tnd_host_nonce(const tnd_host_t *self)
{
    return self->nonce;
}

const char *tnd_host_endpoint(const tnd_host_t *self, uint32_t instance, uint32_t port,
                              tnd_transport_t transport)
{
    for (uint32_t i = 0; i < self->table_count; i++)
        if (self->table[i].instance == instance && self->table[i].port == port &&
            self->table[i].transport == transport)
            return self->table[i].endpoint;
    return NULL;
}

bool tnd_host_busy(const tnd_host_t *self, tnd_actor_id_t actor)
{
    if (actor >= self->plan->instance_count)
        return false;
    if (self->plan->instances[actor].host != self->config.host)
        return __atomic_load_n(&self->words[actor], __ATOMIC_RELAXED) != 0;
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
    atomic_store(&self->noticed, true);
    tnd_hub_wake(self->hub);
}

const tnd_census_t *tnd_host_census(const tnd_host_t *self)
{
    return &self->census;
}

static bool leads(const tnd_host_t *self)
{
    return self->config.host == 0;
}

static void settle(tnd_host_t *self, tnd_outcome_t outcome, const char *why)
{
    pthread_mutex_lock(&self->lock);
    if (self->outcome == TND_OUTCOME_NONE) {
        self->outcome = outcome;
        snprintf(self->why, sizeof self->why, "%s", why);
    }
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static bool settled(tnd_host_t *self)
{
    pthread_mutex_lock(&self->lock);
    bool is = self->outcome != TND_OUTCOME_NONE;
    pthread_mutex_unlock(&self->lock);
    return is;
}

/* --- routing -----------------------------------------------------------------------------------
 */

static void own_message(tnd_host_t *self, const tnd_msg_t *msg);

static void send_to(tnd_host_t *self, uint32_t port, tnd_actor_id_t peer, tnd_msg_t *msg,
                    tnd_carry_t carry)
{
    /* A peer that is not up loses the message; a rewind, or its return, heals that. */
    if (tnd_hub_send(self->hub, port, peer, msg, carry) != TND_OK)
        tnd_msg_drop(msg, carry);
}

/*  What must not be lost with a control connection, and is said once. */
static void remember(tnd_host_t *self, const tnd_msg_t *msg)
{
    if (msg->kind != TND_MSG_MODEL || msg->note.number >= self->plan->chain_count)
        return;
    tnd_buffer_drop(&self->last_word[msg->note.number]);
    self->last_word[msg->note.number] = tnd_buffer_hold(msg->note.payload);
}

/*  Sends a control message on towards msg->to; takes the payload. */
static void route(tnd_host_t *self, tnd_msg_t *msg, tnd_carry_t carry)
{
    if (msg->to == TND_LEADER) {
        if (leads(self))
            tnd_leader_message(self->leader, msg, tnd_clock_now());
        else {
            remember(self, msg);
            send_to(self, PORT_HOSTS, tnd_host_id(0), msg, carry);
        }
        return;
    }
    uint32_t host;
    if (msg->to >= tnd_host_id(0) && msg->to < tnd_host_id(self->plan->host_count)) {
        host = msg->to - tnd_host_id(0);
        if (host == self->config.host) {
            own_message(self, msg);
            tnd_msg_drop(msg, carry);
            return;
        }
    } else if (msg->to < self->plan->instance_count) {
        host = self->plan->instances[msg->to].host;
        if (host == self->config.host) {
            if (msg->kind == TND_MSG_BOOKED && self->plan->instances[msg->to].chain == 0)
                self->booked = msg->until.step;
            send_to(self, PORT_ACTORS, msg->to, msg, carry);
            return;
        }
    } else {
        tnd_msg_drop(msg, carry);
        return;
    }
    send_to(self, PORT_HOSTS, tnd_host_id(leads(self) ? host : 0), msg, carry);
}

static void leader_send(void *context, const tnd_msg_t *msg, tnd_carry_t carry)
{
    tnd_msg_t copy = *msg;
    route(context, &copy, carry);
}

static void leader_end(void *context, tnd_outcome_t outcome, const char *why)
{
    settle(context, outcome, why);
}

/*  A watermark concerns every other join of its chain. */
static void spread(tnd_host_t *self, const tnd_msg_t *msg)
{
    const tnd_instance_t *from = &self->plan->instances[msg->from];
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *to = &self->plan->instances[i];
        if (i == msg->from || to->kind != from->kind || to->chain != from->chain)
            continue;
        tnd_msg_t copy = *msg;
        copy.to = i;
        route(self, &copy, TND_CARRY_NOTHING);
    }
}

static void tell_leader(tnd_host_t *self, tnd_msg_kind_t kind, uint64_t number, tnd_buffer_t *note)
{
    tnd_msg_t msg = {.kind = kind, .from = tnd_host_id(self->config.host), .to = TND_LEADER};
    msg.note.number = number;
    msg.note.payload = note;
    route(self, &msg, note != NULL ? TND_CARRY_BUFFER : TND_CARRY_NOTHING);
}

/* --- the start ---------------------------------------------------------------------------------
 */

static void *facts_main(void *context)
{
    tnd_host_t *self = context;
    tnd_thread_begin("facts");
    for (uint32_t s = 0; s < self->shared_count && self->facts_status == TND_OK; s++) {
        shared_t *shared = &self->shared[s];
        const tnd_kind_t *kind = tnd_kind_of(shared->instance->kind);
        shared->stream.chain = shared->instance->chain;
        self->facts_status =
            kind->facts(shared->instance, &shared->stream, &shared->opened, &self->facts_error);
    }
    atomic_store(&self->facts_done, true);
    tnd_hub_wake(self->hub);
    return NULL;
}

/*  The actors of this host that have data, each once however many instances it has here. */
static void list_shared(tnd_host_t *self)
{
    self->shared = calloc(self->plan->instance_count, sizeof *self->shared);
    if (self->shared == NULL)
        abort();
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *instance = &self->plan->instances[i];
        if (instance->host != self->config.host || tnd_kind_of(instance->kind)->facts == NULL)
            continue;
        bool known = false;
        for (uint32_t s = 0; s < self->shared_count; s++)
            known = known || strcmp(self->shared[s].instance->actor, instance->actor) == 0;
        if (!known)
            self->shared[self->shared_count++].instance = instance;
    }
}

static void fail_here(tnd_host_t *self, tnd_outcome_t outcome, const char *why)
{
    if (self->failed_ns != 0)
        return;
    self->failed_ns = tnd_clock_now();
    self->failed = outcome;
    snprintf(self->failure, sizeof self->failure, "%s", why);
}

/*  The others should know why this host ends; but it does not wait long for a leader that is away.
 */
static void say_failure(tnd_host_t *self, uint64_t now)
{
    if (self->failed_ns == 0 || self->failure_said)
        return;
    bool heard = leads(self) || self->leader_up;
    if (!heard && now < self->failed_ns + closed_grace_ns)
        return;
    self->failure_said = true;
    tell_leader(self, TND_MSG_DOWN, self->failed, tnd_note_of("%s", self->failure));
    if (!leads(self))
        settle(self, self->failed, self->failure);
}

static void say_facts(tnd_host_t *self)
{
    if (!atomic_load(&self->facts_done))
        return;
    if (!self->facts_joined) {
        pthread_join(self->facts_thread, NULL);
        self->facts_joined = true;
    }
    if (self->facts_status != TND_OK) {
        fail_here(self, TND_OUTCOME_UNUSABLE, self->facts_error.text);
        return;
    }
    if (self->shared_count == 0 || self->facts_said || (!leads(self) && !self->leader_up))
        return;
    self->facts_said = true;
    tnd_note_writer_t writer;
    tnd_note_begin(&writer);
    for (uint32_t s = 0; s < self->shared_count; s++)
        tnd_stream_write(&self->shared[s].stream, writer.stream);
    tell_leader(self, TND_MSG_FACTS, 0, tnd_note_end(&writer));
}

tnd_status_t tnd_host_derive(const tnd_plan_t *plan, tnd_stream_t *stream, tnd_error_t *error)
{
    stream->lanes = plan->lanes;
    stream->seed = plan->seed;
    stream->graph[0] = plan->fingerprint[0];
    stream->graph[1] = plan->fingerprint[1];
    stream->rows_max = 1;
    stream->epochs = 1;
    stream->fed = stream->read;
    const char *done = NULL;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        const tnd_kind_t *kind = tnd_kind_of(instance->kind);
        if (instance->chain != stream->chain || kind->derive == NULL ||
            (done != NULL && strcmp(done, instance->actor) == 0))
            continue;
        done = instance->actor;
        TND_TRY(kind->derive(instance, stream, error));
    }
    return TND_OK;
}

static tnd_status_t take_stream(tnd_host_t *self, tnd_buffer_t *note, tnd_error_t *error)
{
    tnd_stream_t *stream = NULL;
    tnd_note_reader_t reader;
    tnd_note_read(&reader, note);
    for (const char *line; (line = tnd_note_line(&reader)) != NULL;) {
        tnd_stream_t said = {0};
        if (strncmp(line, "stream ", 7) == 0) {
            TND_TRY(tnd_stream_read(&said, line, error));
            if (said.chain >= self->plan->chain_count)
                return tnd_fail(error, "the leader speaks of a chain that is not in the plan");
            stream = &self->streams[said.chain];
        }
        if (stream == NULL)
            return tnd_fail(error, "the leader's facts of the streams are not understood");
        TND_TRY(tnd_stream_read(stream, line, error));
    }
    /* What this host reads, it has seen itself. */
    for (uint32_t s = 0; s < self->shared_count; s++)
        TND_TRY(tnd_stream_agree(&self->shared[s].stream, self->plan->hosts[self->config.host].name,
                                 &self->streams[self->shared[s].stream.chain],
                                 self->plan->hosts[0].name, error));
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        TND_TRY(tnd_host_derive(self->plan, &self->streams[c], error));
    return TND_OK;
}

static void make_actors(tnd_host_t *self)
{
    const tnd_observer_t *observer = self->config.observer;
    for (uint32_t c = 0; leads(self) && c < self->plan->chain_count; c++)
        if (observer != NULL && observer->stream != NULL)
            observer->stream(observer->context, &self->streams[c]);
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *instance = &self->plan->instances[i];
        if (instance->host != self->config.host)
            continue;
        tnd_actor_config_t config = {
            .host = self,
            .kind = tnd_kind_of(instance->kind),
            .instance = instance,
            .stream = &self->streams[instance->chain],
            .statistics = tnd_pages_at(self->pages, i),
        };
        for (uint32_t s = 0; s < self->shared_count; s++)
            if (strcmp(self->shared[s].instance->actor, instance->actor) == 0)
                config.shared = self->shared[s].opened;
        self->actors[i] = tnd_actor_start(&config);
    }
}

/*  Whether all actors here have reached `phase`; one that has failed ends the run. */
static bool all_in(tnd_host_t *self, tnd_actor_phase_t phase)
{
    bool all = true;
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        if (self->actors[i] == NULL)
            continue;
        tnd_actor_phase_t is = tnd_actor_phase(self->actors[i]);
        if (is == TND_ACTOR_FAILED) {
            snprintf(self->text, sizeof self->text, "%s", tnd_actor_error(self->actors[i]));
            fail_here(self,
                      tnd_actor_refused(self->actors[i]) ? TND_OUTCOME_LOST : TND_OUTCOME_FAILED,
                      self->text);
        }
        all = all && is == phase;
    }
    return all;
}

static void say_endpoints(tnd_host_t *self)
{
    if (!self->made || self->endpoints_said || !all_in(self, TND_ACTOR_BOUND) ||
        (!leads(self) && !self->leader_up))
        return;
    self->endpoints_said = true;
    tnd_note_writer_t writer;
    tnd_note_begin(&writer);
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        tnd_endpoint_t endpoints[TND_ACTOR_ENDPOINTS_MAX];
        uint32_t count =
            self->actors[i] != NULL ? tnd_actor_endpoints(self->actors[i], endpoints) : 0;
        for (uint32_t e = 0; e < count; e++)
            fprintf(writer.stream, "%" PRIu32 " %" PRIu32 " %d %s\n", endpoints[e].instance,
                    endpoints[e].port, (int)endpoints[e].transport, endpoints[e].endpoint);
    }
    tell_leader(self, TND_MSG_ENDPOINTS, 0, tnd_note_end(&writer));
}

static void take_table(tnd_host_t *self, tnd_buffer_t *note)
{
    if (self->gone || !self->made)
        return;
    size_t room = 0;
    tnd_note_reader_t reader;
    tnd_note_read(&reader, note);
    for (const char *line; (line = tnd_note_line(&reader)) != NULL;) {
        if (self->table_count == room) {
            room = room > 0 ? 2 * room : 64;
            self->table = realloc(self->table, room * sizeof *self->table);
            if (self->table == NULL)
                abort();
        }
        tnd_endpoint_t *entry = &self->table[self->table_count];
        int transport;
        if (sscanf(line, "%" SCNu32 " %" SCNu32 " %d %127s", &entry->instance, &entry->port,
                   &transport, entry->endpoint) != 4)
            continue;
        entry->transport = (tnd_transport_t)transport;
        self->table_count++;
    }
    self->gone = true;
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (self->actors[i] != NULL)
            tnd_actor_go(self->actors[i]);
}

static void say_ready(tnd_host_t *self)
{
    if (!self->gone || self->ready_said || !all_in(self, TND_ACTOR_RUNNING) ||
        (!leads(self) && !self->leader_up))
        return;
    self->ready_said = true;
    tell_leader(self, TND_MSG_READY, 0, NULL);
    pthread_mutex_lock(&self->lock);
    self->running = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void make_progress(tnd_host_t *self)
{
    say_facts(self);
    say_endpoints(self);
    say_ready(self);
    if (self->ready_said && atomic_exchange(&self->noticed, false))
        (void)all_in(self, TND_ACTOR_RUNNING);
    if (atomic_load(&self->drain) && !self->drain_asked && (leads(self) || self->leader_up)) {
        self->drain_asked = true;
        tell_leader(self, TND_MSG_ASK, 0, NULL);
    }
    if (atomic_load(&self->drain) && !leads(self) && !self->leader_came)
        settle(self, TND_OUTCOME_DRAINED, "");
}

/* --- messages ----------------------------------------------------------------------------------
 */

static void take_words(tnd_host_t *self, tnd_buffer_t *note)
{
    tnd_note_reader_t reader;
    tnd_note_read(&reader, note);
    for (const char *line; (line = tnd_note_line(&reader)) != NULL;) {
        uint32_t instance, busy;
        if (sscanf(line, "%" SCNu32 " %" SCNu32, &instance, &busy) == 2 &&
            instance < self->plan->instance_count)
            __atomic_store_n(&self->words[instance], (uint8_t)(busy != 0), __ATOMIC_RELAXED);
    }
}

static void own_message(tnd_host_t *self, const tnd_msg_t *msg)
{
    tnd_error_t error;
    tnd_note_reader_t reader;
    if (settled(self))
        return;
    switch (msg->kind) {
    case TND_MSG_STREAM:
        if (self->made || self->failed_ns != 0)
            break;
        if (take_stream(self, msg->note.payload, &error) != TND_OK) {
            fail_here(self, TND_OUTCOME_UNUSABLE, error.text);
            break;
        }
        self->made = true;
        make_actors(self);
        break;
    case TND_MSG_TABLE:
        take_table(self, msg->note.payload);
        break;
    case TND_MSG_WORDS:
        take_words(self, msg->note.payload);
        break;
    case TND_MSG_OUTCOME:
        tnd_note_read(&reader, msg->note.payload);
        const char *why = tnd_note_line(&reader);
        bool known = msg->note.number > TND_OUTCOME_NONE && msg->note.number <= TND_OUTCOME_MAX;
        settle(self, known ? (tnd_outcome_t)msg->note.number : TND_OUTCOME_FAILED,
               why != NULL ? why : "");
        break;
    default:
        break;
    }
}

/*  Tells the others which actors here are inside a work hook; the leader passes on what it heard.
 */
static void tell_words(tnd_host_t *self, uint64_t now)
{
    if (self->plan->host_count == 1 || now < self->words_due_ns)
        return;
    self->words_due_ns = now + words_every_ns;
    tnd_note_writer_t writer;
    tnd_note_begin(&writer);
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (leads(self) || self->plan->instances[i].host == self->config.host)
            fprintf(writer.stream, "%" PRIu32 " %d\n", i, tnd_host_busy(self, i) ? 1 : 0);
    tnd_buffer_t *note = tnd_note_end(&writer);
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        if (h == self->config.host || (!leads(self) && h != 0))
            continue;
        tnd_msg_t msg = {
            .kind = TND_MSG_WORDS, .from = tnd_host_id(self->config.host), .to = tnd_host_id(h)};
        msg.note.payload = tnd_buffer_hold(note);
        route(self, &msg, TND_CARRY_BUFFER);
    }
    tnd_buffer_drop(&note);
}

/*  Nobody knows any more what the actors of a host that is away are at, or of all others if the
 *  leader is.
 */
static void forget_words(tnd_host_t *self, uint32_t host)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (!leads(self) || self->plan->instances[i].host == host)
            __atomic_store_n(&self->words[i], 0, __ATOMIC_RELAXED);
}

static void greet_leader(tnd_host_t *self)
{
    self->leader_up = self->leader_came = true;
    self->leader_away_ns = 0;
    /* What was said on the connection before may be lost. */
    self->facts_said = self->endpoints_said = self->ready_said = self->drain_asked = false;
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        if (self->last_word[c] != NULL) {
            tnd_msg_t msg = {.kind = TND_MSG_MODEL, .to = TND_LEADER};
            msg.from = self->plan->chains[c].carriers[0].instance;
            msg.note.number = c;
            msg.note.payload = tnd_buffer_hold(self->last_word[c]);
            send_to(self, PORT_HOSTS, tnd_host_id(0), &msg, TND_CARRY_BUFFER);
        }
}

/*  Somebody did not fit and was told why: the run goes on without it, but says so. */
static void note_refused(tnd_host_t *self, const tnd_arrival_t *arrival)
{
    uint32_t host = arrival->peer - tnd_host_id(0);
    if (host < self->plan->host_count) {
        tnd_leader_refused(self->leader, host, arrival->why);
        return;
    }
    if (self->stranger_said)
        return;
    self->stranger_said = true;
    tell_leader(self, TND_MSG_LOG, TND_LOG_WARNING, tnd_note_of("control %s", arrival->why));
}

static void refused(tnd_host_t *self, const char *reason)
{
    char why[512];
    snprintf(why, sizeof why, "host %s was refused by host %s, which leads: %.300s",
             self->plan->hosts[self->config.host].name, self->plan->hosts[0].name, reason);
    settle(self, TND_OUTCOME_LOST, why);
}

static void log_here(tnd_host_t *self, const char *text)
{
    tell_leader(self, TND_MSG_LOG, TND_LOG_WARNING, tnd_note_of("control %s", text));
}

/*  Another host said what it may not: its connection ends; it may come again, but not for ever. */
static void expel(tnd_host_t *self, const tnd_arrival_t *arrival, const char *why)
{
    uint32_t host = arrival->peer - tnd_host_id(0);
    char text[512];
    snprintf(text, sizeof text,
             "host %s sent a message of kind %u from actor %u to actor %u, which cannot be: %s",
             self->plan->hosts[host].name, (unsigned)arrival->msg.kind, arrival->msg.from,
             arrival->msg.to, why);
    log_here(self, text);
    tnd_hub_expel(self->hub, PORT_HOSTS, arrival->peer, text);
    if (++self->violations[host] < VIOLATIONS_MAX)
        return;
    if (leads(self))
        tnd_leader_fail(self->leader, TND_OUTCOME_LOST, text);
    else
        settle(self, TND_OUTCOME_LOST, text);
}

static void host_arrival(tnd_host_t *self, const tnd_arrival_t *arrival, uint64_t now)
{
    uint32_t host = arrival->peer - tnd_host_id(0);
    bool known = host < self->plan->host_count && host != self->config.host;
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        if (!leads(self))
            greet_leader(self);
        else if (known)
            tnd_leader_host_up(self->leader, host, arrival->life, now);
        break;
    case TND_ARRIVAL_LOST:
        if (leads(self) && known) {
            tnd_leader_host_away(self->leader, host, arrival->why, now);
            forget_words(self, host);
        } else if (!leads(self)) {
            self->leader_up = false;
            self->leader_away_ns = now + tnd_host_patience(self->plan, arrival->why);
            snprintf(self->leader_why, sizeof self->leader_why, "%s", arrival->why);
            forget_words(self, 0);
        }
        break;
    case TND_ARRIVAL_REFUSED:
        if (leads(self))
            note_refused(self, arrival);
        else
            refused(self, arrival->why);
        break;
    case TND_ARRIVAL_MESSAGE:
        break;
    }
}

/*  Whether a host may speak for who is named in the message: itself, or an actor of its. */
static bool is_of(const tnd_host_t *self, const tnd_msg_t *msg, tnd_actor_id_t host)
{
    if (!leads(self) || msg->from == host)
        return true;
    return msg->from < self->plan->instance_count &&
           tnd_host_id(self->plan->instances[msg->from].host) == host;
}

static void take_arrival(tnd_host_t *self, tnd_arrival_t *arrival, uint64_t now)
{
    if (arrival->kind != TND_ARRIVAL_MESSAGE) {
        if (arrival->port == PORT_HOSTS)
            host_arrival(self, arrival, now);
        return;
    }
    tnd_msg_t *msg = &arrival->msg;
    if (arrival->port == PORT_HOSTS) {
        const char *wrong =
            tnd_accept_relay(&self->census, self->config.host, arrival->peer - tnd_host_id(0), msg);
        if (wrong != NULL) {
            expel(self, arrival, wrong);
            tnd_msg_drop(msg, arrival->carry);
            return;
        }
    }
    if (msg->kind == TND_MSG_WORDS && leads(self)) {
        take_words(self, msg->note.payload);
        tnd_msg_drop(msg, arrival->carry);
    } else if (arrival->port == PORT_HOSTS && !is_of(self, msg, arrival->peer)) {
        tnd_msg_drop(msg, arrival->carry);
    } else if (msg->kind == TND_MSG_MARK && msg->to == TND_NOBODY &&
               msg->from < self->plan->instance_count) {
        spread(self, msg);
    } else {
        route(self, msg, arrival->carry);
    }
}

/* --- life --------------------------------------------------------------------------------------
 */

static bool is_working(void *context, tnd_actor_id_t peer)
{
    return tnd_host_excuses(context, peer);
}

/*  The leader did not come, or went and did not come back. */
static void miss_leader(tnd_host_t *self)
{
    const tnd_plan_host_t *leader = &self->plan->hosts[0];
    char why[512], kept[64] = "";
    if (self->booked > 0)
        snprintf(kept, sizeof kept, "; the last committed step known here is %" PRIu64,
                 self->booked - 1);
    if (self->leader_came)
        snprintf(why, sizeof why, "host %s, which leads the run, is lost (%s)%s", leader->name,
                 self->leader_why, kept);
    else
        snprintf(why, sizeof why,
                 "host %s, which leads the run, did not come within %" PRIu64
                 " s: start it, or see whether tcp://%s:%" PRIu32 " can be reached from here",
                 leader->name, self->plan->start_timeout_ns / 1000000000u, leader->address,
                 leader->port);
    settle(self, TND_OUTCOME_LOST, why);
}

static void take_leave(tnd_host_t *self)
{
    if (leads(self))
        tnd_leader_fail(self->leader, TND_OUTCOME_STOPPED, "stopped as asked");
    else if (self->leader_up)
        fail_here(self, TND_OUTCOME_STOPPED, "it was told to leave at once");
    else
        settle(self, TND_OUTCOME_STOPPED, "stopped as asked");
}

/*  To the leader come the other hosts, to every host its own actors. */
static bool expects(void *context, uint32_t port, tnd_actor_id_t peer)
{
    const tnd_host_t *self = context;
    if (port == PORT_HOSTS)
        return peer > tnd_host_id(0) && peer < tnd_host_id(self->plan->host_count);
    return peer < self->plan->instance_count &&
           self->plan->instances[peer].host == self->config.host;
}

static void live(tnd_host_t *self)
{
    if (!leads(self))
        self->leader_away_ns = tnd_clock_now() + self->plan->start_timeout_ns;
    while (!settled(self)) {
        uint64_t now = tnd_clock_now(), wake = now + words_every_ns;
        tnd_arrival_t arrival;
        while (tnd_hub_receive(self->hub, &arrival) == TND_OK)
            take_arrival(self, &arrival, now);
        make_progress(self);
        tell_words(self, now);
        if (leads(self)) {
            uint64_t due = tnd_leader_work(self->leader, now);
            wake = due < wake ? due : wake;
        } else if (self->leader_away_ns != 0 && now >= self->leader_away_ns) {
            miss_leader(self);
        } else if (self->leader_away_ns != 0 && self->leader_away_ns < wake) {
            wake = self->leader_away_ns;
        }
        if (atomic_load(&self->stop))
            take_leave(self);
        say_failure(self, now);
        if (!settled(self) && tnd_hub_wait(self->hub, wake) != TND_OK)
            settle(self, TND_OUTCOME_FAILED, "the host's own connections failed");
    }
}

static void stop_actors(tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (self->actors[i] != NULL)
            tnd_actor_stop(self->actors[i]);
    uint64_t until = tnd_clock_now() + stop_wait_ns;
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        if (self->actors[i] == NULL)
            continue;
        uint64_t now = tnd_clock_now();
        /* A hook that does not return holds memory that cannot be freed: leave it to the exit. */
        if (!tnd_actor_join(self->actors[i], now < until ? until - now : 0))
            self->stuck = true;
    }
}

/*  What the actors counted, as a last word to the leader. */
static void say_statistics(tnd_host_t *self)
{
    tnd_note_writer_t writer;
    tnd_note_begin(&writer);
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
        fputc('\n', writer.stream);
    }
    tell_leader(self, TND_MSG_STATISTICS, 0, tnd_note_end(&writer));
}

/*  The leader waits for the last words of the other hosts, but not long. */
static void hear_statistics(tnd_host_t *self)
{
    if (!leads(self))
        return;
    uint64_t until = tnd_clock_now() + last_words_ns;
    uint32_t awaited = 0;
    bool *heard = calloc(self->plan->host_count, sizeof *heard);
    if (heard == NULL)
        abort();
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        heard[h] = h == self->config.host || !tnd_leader_awaits(self->leader, h);
        awaited += !heard[h];
    }
    while (awaited > 0 && tnd_clock_now() < until) {
        tnd_arrival_t arrival;
        if (tnd_hub_receive(self->hub, &arrival) != TND_OK) {
            if (tnd_hub_wait(self->hub, until) != TND_OK)
                break;
            continue;
        }
        bool message = arrival.kind == TND_ARRIVAL_MESSAGE;
        tnd_actor_id_t from = message ? arrival.msg.from : arrival.peer;
        uint32_t host = from - tnd_host_id(0);
        bool last = message && arrival.msg.kind == TND_MSG_STATISTICS;
        if (last && host < self->plan->host_count && !heard[host]) {
            heard[host] = true;
            awaited--;
        }
        take_arrival(self, &arrival, tnd_clock_now());
        if (!message && host < self->plan->host_count && !heard[host] &&
            !tnd_leader_awaits(self->leader, host)) {
            heard[host] = true;
            awaited--;
        }
    }
    free(heard);
}

static void *host_main(void *context)
{
    tnd_host_t *self = context;
    tnd_thread_begin("control");
    live(self);
    stop_actors(self);
    say_statistics(self);
    hear_statistics(self);
    pthread_mutex_lock(&self->lock);
    self->running = true; /* whoever waits for that waits no more */
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* --- for programs ------------------------------------------------------------------------------
 */

static tnd_status_t open_control(tnd_host_t *self, tnd_error_t *error)
{
    tnd_hub_config_t config = {
        .self = tnd_host_id(self->config.host),
        .name = self->plan->hosts[self->config.host].name,
        .life = self->life,
        .link_timeout_ns = self->plan->link_timeout_ns,
        .busy = is_working,
        .context = self,
        .frame_max = 64 << 10,
        .expects = expects,
    };
    TND_TRY(tnd_hub_open(self->config.transport, &self->hub, self->config.transport_context,
                         &config, error));
    tnd_terms_t inside = {.abi = TND_WIRE_ABI};
    tnd_terms_t between = {
        .graph = {self->plan->fingerprint[0], self->plan->fingerprint[1]},
        .abi = TND_WIRE_ABI,
    };
    char wish[128], actual[128];
    snprintf(wish, sizeof wish, "inproc://%s.control", self->nonce);
    TND_TRY(tnd_hub_bind(self->hub, PORT_ACTORS, wish, &inside, self->control, sizeof self->control,
                         error));
    if (self->plan->host_count == 1)
        return TND_OK;
    const tnd_plan_host_t *leader = &self->plan->hosts[0];
    snprintf(wish, sizeof wish, "tcp://%s:%" PRIu32, leader->address, leader->port);
    if (leads(self))
        return tnd_hub_bind(self->hub, PORT_HOSTS, wish, &between, actual, sizeof actual, error);
    return tnd_hub_connect(self->hub, PORT_HOSTS, tnd_host_id(0), wish, &between, error);
}

tnd_status_t tnd_host_new(tnd_host_t **self_p, const tnd_host_config_t *config, tnd_error_t *error)
{
    static _Atomic unsigned made; /* only makes names differ */
    tnd_host_t *self = calloc(1, sizeof *self);
    if (self == NULL)
        abort();
    self->config = *config;
    self->plan = config->plan;
    self->actors = calloc(self->plan->instance_count, sizeof *self->actors);
    self->streams = calloc(self->plan->chain_count, sizeof *self->streams);
    self->words = calloc(self->plan->instance_count, 1);
    self->last_word = calloc(self->plan->chain_count, sizeof(tnd_buffer_t *));
    self->violations = calloc(self->plan->host_count, sizeof *self->violations);
    if (self->actors == NULL || self->streams == NULL || self->words == NULL ||
        self->last_word == NULL || self->violations == NULL)
        abort();
    self->census = tnd_census_take(self->plan, tnd_host_id(0));
    snprintf(self->nonce, sizeof self->nonce, "%d.%u.%" PRIx64, (int)getpid(),
             atomic_fetch_add(&made, 1), tnd_clock_read(CLOCK_REALTIME));
    self->life = tnd_clock_read(CLOCK_REALTIME);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    list_shared(self);
    self->facts_joined = true; /* until its thread is made */
    tnd_status_t status =
        tnd_pages_new(&self->pages, self->plan->name, self->plan->hosts[config->host].name,
                      self->plan->instance_count, error);
    if (status == TND_OK)
        status = open_control(self, error);
    if (status != TND_OK) {
        (void)tnd_host_destroy(&self);
        return status;
    }
    if (leads(self)) {
        tnd_leader_voice_t voice = {.context = self, .send = leader_send, .end = leader_end};
        self->leader = tnd_leader_new(config, &voice, tnd_clock_now());
        tnd_leader_host_up(self->leader, 0, self->life, tnd_clock_now());
    }
    self->facts_joined = false;
    if (pthread_create(&self->facts_thread, NULL, facts_main, self) != 0 ||
        pthread_create(&self->thread, NULL, host_main, self) != 0)
        abort();
    *self_p = self;
    return TND_OK;
}

tnd_outcome_t tnd_host_wait(tnd_host_t *self, uint64_t wait_ns)
{
    uint64_t until = tnd_clock_read(CLOCK_REALTIME) + wait_ns;
    struct timespec deadline = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_mutex_lock(&self->lock);
    while (self->outcome == TND_OUTCOME_NONE &&
           (wait_ns == TND_NEVER
                ? pthread_cond_wait(&self->changed, &self->lock)
                : pthread_cond_timedwait(&self->changed, &self->lock, &deadline)) == 0)
        continue;
    tnd_outcome_t outcome = self->outcome;
    pthread_mutex_unlock(&self->lock);
    return outcome;
}

tnd_outcome_t tnd_host_wait_running(tnd_host_t *self)
{
    pthread_mutex_lock(&self->lock);
    while (!self->running && self->outcome == TND_OUTCOME_NONE)
        pthread_cond_wait(&self->changed, &self->lock);
    tnd_outcome_t outcome = self->outcome;
    pthread_mutex_unlock(&self->lock);
    return outcome;
}

void tnd_host_drain(tnd_host_t *self)
{
    atomic_store(&self->drain, true);
    tnd_hub_wake(self->hub);
}

void tnd_host_stop(tnd_host_t *self)
{
    atomic_store(&self->stop, true);
    tnd_hub_wake(self->hub);
}

const char *tnd_host_why(const tnd_host_t *self)
{
    return self->why;
}

bool tnd_host_over(const tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *instance = &self->plan->instances[i];
        if (instance->host != self->config.host || instance->kind->instances != TND_INSTANCE_HOST)
            continue;
        if (self->actors[i] == NULL || !tnd_actor_is_over(self->actors[i]))
            return false;
    }
    return true;
}

void *tnd_host_handle(tnd_host_t *self, const char *actor)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (self->actors[i] != NULL && strcmp(self->plan->instances[i].actor, actor) == 0)
            return tnd_actor_handle(self->actors[i]);
    return NULL;
}

void tnd_host_discard(tnd_host_t *self)
{
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        bool feeds = self->plan->instances[i].kind->instances == TND_INSTANCE_HOST;
        tnd_feed_t *feed =
            feeds && self->actors[i] != NULL ? tnd_actor_handle(self->actors[i]) : NULL;
        if (feed != NULL)
            tnd_feed_discard(feed);
    }
}

const tnd_statistics_t *tnd_host_page(const tnd_host_t *self, uint32_t instance)
{
    return tnd_pages_at(self->pages, instance);
}

uint64_t tnd_host_patience(const tnd_plan_t *plan, const char *why)
{
    bool closed = strstr(why, "ended") != NULL;
    return closed && closed_grace_ns < plan->dead_after_ns ? closed_grace_ns : plan->dead_after_ns;
}

bool tnd_host_destroy(tnd_host_t **self_p)
{
    tnd_host_t *self = *self_p;
    if (self == NULL)
        return true;
    if (self->thread != 0) {
        if (!settled(self))
            tnd_host_stop(self);
        pthread_join(self->thread, NULL);
    }
    if (!self->facts_joined)
        pthread_join(self->facts_thread, NULL);
    *self_p = NULL;
    if (self->stuck)
        return false;
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        tnd_buffer_drop(&self->last_word[c]);
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        tnd_actor_destroy(&self->actors[i]);
    for (uint32_t s = 0; s < self->shared_count; s++)
        if (self->shared[s].opened != NULL)
            tnd_kind_of(self->shared[s].instance->kind)
                ->unshare(self->shared[s].instance, self->shared[s].opened);
    tnd_leader_destroy(&self->leader);
    tnd_hub_close(&self->hub, 200000000);
    tnd_pages_destroy(&self->pages);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self->actors);
    free(self->streams);
    free(self->shared);
    free(self->table);
    free(self->words);
    free(self->last_word);
    free(self->violations);
    free((void *)(uintptr_t)self->census.parties);
    free(self);
    return true;
}
