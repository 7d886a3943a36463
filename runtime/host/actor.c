/*  runtime/host/actor.c - one actor: its thread, its hub, its place in the plan.
 *
 *  The thread owns the hub and the kind's state from birth to death; the host sees phases, behind
 *  one mutex, and is told of each change.
 */
#include "runtime/host/actor.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/host/host.h"
#include "runtime/host/text_payload.h"
#include "runtime/base/thread.h"
#include "runtime/host/control_batch.h"

/*  Outlets are ports 0 ... 3, inlets 4 ... 7, control is 8. */
enum { PORT_INLETS = TND_PORT_MAX, PORT_CONTROL = 2 * TND_PORT_MAX, NO_PORT = 255 };

/*  Arrivals taken before the kind may work again: enough to drain a burst, few enough to answer. */
enum { ARRIVALS_A_ROUND = 64 };

/*  What one peer may say that cannot be, before it ends the run. */
enum { VIOLATIONS_MAX = 16 };

/*  How often an actor's time is counted: for those who look at it, and never in a short hook. */
static const uint64_t count_every_ns = 100000000;

/*  The longest sleep: statistics stay fresh, a missed wake costs no more than this. */
static const uint64_t nap_ns = 200000000;

/*  A peer that this actor connects to. */
typedef struct {
    const tnd_edge_t *edge;
    uint64_t listener; /* that it was dialled at, see tnd_terms_t; 0: it is not known where */
} dial_t;

struct tnd_actor {
    tnd_actor_config_t config;
    const tnd_plan_t *plan;
    tnd_actor_id_t id;
    tnd_life_t life;
    tnd_hub_t *hub;
    void *state;
    uint8_t *ports; /* by instance: the port that leads there, or NO_PORT */
    bool *dials;    /* by instance: this actor connects to it */
    bool *up;       /* by instance: connected */
    dial_t *calls;  /* whom it connects to */
    uint32_t call_count;
    uint32_t *violations; /* by instance */
    void *accept_memory;
    tnd_validator_t *accept;
    pthread_t thread;
    _Atomic bool stopping, over, moved; /* moved: somebody may listen elsewhere */
    bool stranger_said;
    uint64_t cpu_read_ns, ready_read_ns;
    uint64_t counted_ns; /* when its time was */
    uint64_t round_ns;   /* when it last began to look at what has arrived */
    int schedule;        /* what the system says of this thread; -1: nothing */
    tnd_control_batch_t words;
    tnd_error_t lost; /* rows that could not be sent; "": there are none */

    pthread_mutex_t lock; /* guards what follows, and that the hub is there to be woken */
    pthread_cond_t changed;
    tnd_actor_phase_t phase;
    bool go, joined, refused;
    tnd_error_t error;
    tnd_endpoint_t endpoints[TND_ACTOR_ENDPOINTS_MAX];
    uint32_t endpoint_count;
};

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

const char *tnd_actor_keep(const tnd_actor_t *self)
{
    return self->config.instance->chain == 0 && self->plan->checkpoint != NULL
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

bool tnd_actor_stopping(const tnd_actor_t *self)
{
    return atomic_load_explicit(&self->stopping, memory_order_relaxed);
}

bool tnd_actor_was_asked_to_end(const tnd_actor_t *self)
{
    tnd_outcome_t outcome = tnd_host_wait(self->config.host, 0);
    return outcome == TND_OUTCOME_DRAINED || outcome == TND_OUTCOME_STOPPED;
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
    assert(msg->to < self->plan->instance_count && self->ports[msg->to] != NO_PORT);
    tnd_validator_sent(self->accept, msg);
    tnd_status_t status = tnd_hub_send(self->hub, self->ports[msg->to], msg->to, msg, carry);
    bool lost = status == TND_FAILED && tnd_msg_intact(msg, carry, &self->lost) != TND_OK;
    assert(lost == (status == TND_FAILED));
    return status;
}

static void send_control(tnd_actor_t *self, tnd_msg_t *msg, tnd_carry_t carry)
{
    /* The host's end is in this process: it is away only while the host is ending. */
    if (tnd_hub_send(self->hub, PORT_CONTROL, tnd_host_id(self->config.instance->host), msg,
                     carry) != TND_OK)
        tnd_msg_drop(msg, carry);
}

static void say_words(tnd_actor_t *self)
{
    for (uint32_t i = 0; i < self->words.count; i++)
        send_control(self, &self->words.items[i].msg, self->words.items[i].carry);
    tnd_control_batch_clear(&self->words);
}

void tnd_actor_control(tnd_actor_t *self, const tnd_msg_t *msg, tnd_carry_t carry)
{
    tnd_msg_t stamped = *msg;
    stamped.from = self->id;
    if (!tnd_control_batch_bear(msg)) {
        say_words(self);
        send_control(self, &stamped, carry);
    } else if (!tnd_control_batch_keep(&self->words, &stamped, carry, self->round_ns)) {
        say_words(self);
        bool kept = tnd_control_batch_keep(&self->words, &stamped, carry, self->round_ns);
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

/* --- birth -------------------------------------------------------------------------------------
 */

static bool peer_busy(void *context, tnd_actor_id_t peer)
{
    tnd_actor_t *self = context;
    return tnd_host_excuses(self->config.host, peer);
}

/*  To a bound port comes who stands at the other end of one of its edges. */
static bool peer_expected(void *context, uint32_t port, tnd_actor_id_t peer)
{
    const tnd_actor_t *self = context;
    return peer < self->plan->instance_count && self->ports[peer] == port && !self->dials[peer];
}

/*  Rows that come in from a batcher are those that are fed; so are those that a worker sends. */
static const tnd_schema_t *incoming_schema(void *context, uint32_t port, const tnd_msg_t *msg)
{
    tnd_actor_t *self = context;
    (void)port;
    if (msg->kind == TND_MSG_SLICE)
        return &self->config.stream->fed;
    if (msg->kind != TND_MSG_BLOCK || msg->from >= self->plan->instance_count)
        return NULL;
    bool read = self->plan->instances[msg->from].kind->instances == TND_INSTANCE_LANE;
    return read ? &self->config.stream->read : &self->config.stream->fed;
}

/*  What both ends of an edge must agree on. */
static void edge_terms(const tnd_actor_t *self, const tnd_edge_t *edge, tnd_terms_t *terms)
{
    const tnd_stream_t *stream = self->config.stream;
    const tnd_kind_spec_t *from = self->plan->instances[edge->from].kind;
    *terms = (tnd_terms_t){
        .graph = {self->plan->fingerprint[0], self->plan->fingerprint[1]},
        .abi = TND_WIRE_ABI,
        .numeric = stream->numeric,
        .tolerant = self->plan->tolerant,
    };
    switch (from->outlets[edge->outlet].flow) {
    case TND_FLOW_ROWS:
        terms->schema =
            tnd_schema_hash(from->instances == TND_INSTANCE_LANE ? &stream->read : &stream->fed);
        break;
    case TND_FLOW_BATCH:
        terms->schema = tnd_schema_hash(&stream->fed);
        break;
    case TND_FLOW_VALUES:
        break;
    }
}

static uint32_t edge_port(const tnd_edge_t *edge, bool outlet)
{
    return outlet ? edge->outlet : PORT_INLETS + edge->inlet;
}

static tnd_status_t bind_one(tnd_actor_t *self, uint32_t port, const tnd_edge_t *edge,
                             tnd_error_t *error)
{
    for (uint32_t i = 0; i < self->endpoint_count; i++)
        if (self->endpoints[i].port == port && self->endpoints[i].transport == edge->transport)
            return TND_OK;
    assert(self->endpoint_count < TND_ACTOR_ENDPOINTS_MAX);
    tnd_terms_t terms;
    edge_terms(self, edge, &terms);
    terms.listener = self->life << 4 | port;
    tnd_endpoint_t *made = &self->endpoints[self->endpoint_count];
    *made = (tnd_endpoint_t){.instance = self->id,
                             .port = port,
                             .transport = edge->transport,
                             .listener = terms.listener};
    const tnd_plan_host_t *host = &self->plan->hosts[self->config.instance->host];
    char wish[128];
    tnd_status_t status = TND_FAILED;
    switch (edge->transport) {
    case TND_TRANSPORT_INPROC:
        snprintf(wish, sizeof wish, "inproc://%s.%u.%u.%u", tnd_host_nonce(self->config.host),
                 self->id, port, self->config.birth);
        break;
    case TND_TRANSPORT_IPC:
        snprintf(wish, sizeof wish, "ipc://@tundish.%s.%u.%u.%u", tnd_host_nonce(self->config.host),
                 self->id, port, self->config.birth);
        break;
    case TND_TRANSPORT_TCP:
        snprintf(wish, sizeof wish, "tcp://%s:*", host->listen);
        for (uint32_t number = host->ports_first; number != 0 && number <= host->ports_last;
             number++) {
            snprintf(wish, sizeof wish, "tcp://%s:%u", host->listen, number);
            status = tnd_hub_bind(self->hub, port, wish, &terms, made->endpoint,
                                  sizeof made->endpoint, error);
            if (status == TND_OK || number == host->ports_last)
                goto bound;
        }
        break;
    }
    status =
        tnd_hub_bind(self->hub, port, wish, &terms, made->endpoint, sizeof made->endpoint, error);
bound:
    if (status != TND_OK)
        return status;
    self->endpoint_count++;
    /* Others are told where they find it, which need not be where it listens. */
    if (edge->transport == TND_TRANSPORT_TCP && strcmp(host->listen, host->address) != 0) {
        snprintf(wish, sizeof wish, "tcp://%s%s", host->address, strrchr(made->endpoint, ':'));
        snprintf(made->endpoint, sizeof made->endpoint, "%s", wish);
    }
    return TND_OK;
}

static tnd_status_t bind_ports(tnd_actor_t *self, tnd_error_t *error)
{
    for (uint32_t e = 0; e < self->plan->edge_count; e++) {
        const tnd_edge_t *edge = &self->plan->edges[e];
        if (edge->from == self->id) {
            self->ports[edge->to] = (uint8_t)edge_port(edge, true);
            self->dials[edge->to] = edge->from_connects;
            if (!edge->from_connects)
                TND_TRY(bind_one(self, edge_port(edge, true), edge, error));
        } else if (edge->to == self->id) {
            self->ports[edge->from] = (uint8_t)edge_port(edge, false);
            self->dials[edge->from] = !edge->from_connects;
            if (edge->from_connects)
                TND_TRY(bind_one(self, edge_port(edge, false), edge, error));
        }
    }
    return TND_OK;
}

static void list_calls(tnd_actor_t *self)
{
    self->calls = tnd_allocate_zeroed(self->plan->edge_count + 1u, sizeof *self->calls);
    for (uint32_t e = 0; e < self->plan->edge_count; e++) {
        const tnd_edge_t *edge = &self->plan->edges[e];
        bool out = edge->from == self->id;
        if ((out || edge->to == self->id) && edge->from_connects == out)
            self->calls[self->call_count++].edge = edge;
    }
}

static bool goes_out(const tnd_actor_t *self, const dial_t *call)
{
    return call->edge->from == self->id;
}

static tnd_actor_id_t called(const tnd_actor_t *self, const dial_t *call)
{
    return goes_out(self, call) ? call->edge->to : call->edge->from;
}

/*  Ends a connection that this actor opened; the kind hears of it if it was up. */
static tnd_status_t hang_up(tnd_actor_t *self, dial_t *call, tnd_error_t *error)
{
    tnd_actor_id_t peer = called(self, call);
    tnd_arrival_t arrival = {.kind = TND_ARRIVAL_LOST, .peer = peer};
    if (call->listener == 0)
        return TND_OK;
    call->listener = 0;
    arrival.port = edge_port(call->edge, goes_out(self, call));
    tnd_hub_disconnect(self->hub, arrival.port, peer);
    if (!self->up[peer])
        return TND_OK;
    self->up[peer] = false;
    tnd_validator_reset(self->accept, peer);
    return self->config.kind->arrive(self->state, self, &arrival, error);
}

/*  Connects to every peer at its last announced endpoint.  A connection to an earlier listener is
 *  void; a listener that is announced again may have been away.
 */
static tnd_status_t connect_peers(tnd_actor_t *self, tnd_error_t *error)
{
    for (uint32_t i = 0; i < self->call_count; i++) {
        dial_t *call = &self->calls[i];
        const tnd_edge_t *edge = call->edge;
        bool out = goes_out(self, call);
        tnd_actor_id_t peer = called(self, call);
        tnd_endpoint_t at = {
            .instance = peer, .port = edge_port(edge, !out), .transport = edge->transport};
        if (!tnd_host_endpoint(self->config.host, &at))
            continue; /* it comes with a later table */
        if (at.listener == call->listener) {
            tnd_hub_hurry(self->hub, edge_port(edge, out), peer);
            continue;
        }
        TND_TRY(hang_up(self, call, error));
        tnd_terms_t terms;
        edge_terms(self, edge, &terms);
        terms.listener = at.listener;
        TND_TRY(tnd_hub_connect(self->hub, edge_port(edge, out), peer, at.endpoint, &terms, error));
        call->listener = at.listener;
    }
    return TND_OK;
}

static tnd_status_t reach_host(tnd_actor_t *self, tnd_error_t *error)
{
    tnd_terms_t terms = {.abi = TND_WIRE_ABI};
    TND_TRY(tnd_hub_connect(self->hub, PORT_CONTROL, tnd_host_id(self->config.instance->host),
                            tnd_host_control(self->config.host), &terms, error));
    for (;;) {
        tnd_arrival_t arrival;
        tnd_status_t status = tnd_hub_receive(self->hub, &arrival);
        if (status == TND_OK && arrival.port == PORT_CONTROL && arrival.kind == TND_ARRIVAL_UP)
            return TND_OK;
        if (tnd_actor_stopping(self))
            return TND_STOPPED;
        if (status == TND_AGAIN)
            TND_TRY(tnd_hub_wait(self->hub, tnd_clock_now() + nap_ns));
    }
}

/*  What one peer of a port may leave unread: the credit of who is downstream says it, also of the
 *  answers, and after a rewind what belongs to the generation before may still lie there.
 */
static uint32_t unread_of(void *context, uint32_t port)
{
    const tnd_actor_t *self = context;
    uint32_t most = 0;
    for (uint32_t e = 0; e < self->plan->edge_count; e++) {
        const tnd_edge_t *edge = &self->plan->edges[e];
        bool out = edge->from == self->id;
        if ((!out && edge->to != self->id) || edge_port(edge, out) != port)
            continue;
        const tnd_instance_t *below = &self->plan->instances[edge->to];
        const tnd_kind_t *kind = tnd_kind_of(below->kind);
        uint32_t credit = kind->credit != NULL
                              ? kind->credit(self->plan, below, self->config.stream)
                              : TND_UNREAD;
        most = credit > most ? credit : most;
    }
    return most > 0 ? 2 * most : TND_UNREAD;
}

static tnd_status_t be_born(tnd_actor_t *self, tnd_error_t *error)
{
    tnd_hub_config_t config = {
        .self = self->id,
        .name = tnd_actor_name(self),
        .life = self->life,
        .link_timeout_ns = tnd_host_link_timeout(self->config.host),
        /* A lost host is back and announced by then, or the run has ended. */
        .search_ns = self->plan->dead_after_ns + self->plan->restart_timeout_ns,
        .busy = peer_busy,
        .context = self,
        .schema = incoming_schema,
        .frame_max = TND_FRAME_MAX,
        .expects = peer_expected,
        .unread = unread_of,
        .callers = self->plan->instance_count,
    };
    const tnd_host_config_t *host = tnd_host_config(self->config.host);
    tnd_hub_t *hub = NULL;
    TND_TRY(tnd_hub_open(host->transport, &hub, host->transport_context, &config, error));
    pthread_mutex_lock(&self->lock);
    self->hub = hub;
    pthread_mutex_unlock(&self->lock);
    /* What arrives by a bound port is for the kind, and waits until that runs: so the host is
     * reached before anybody else can come.
     */
    TND_TRY(reach_host(self, error));
    TND_TRY(bind_ports(self, error));
    /* It opens what is other people's, and may not come back. */
    tnd_statistics_t *statistics = self->config.statistics;
    tnd_statistics_state(statistics, TND_STATE_WORKING, 0, tnd_clock_now());
    tnd_status_t status = self->config.kind->init(self->state, self, error);
    tnd_statistics_state(statistics, TND_STATE_RUNNING, 0, tnd_clock_now());
    return status;
}

/* --- life --------------------------------------------------------------------------------------
 */

static void say(tnd_actor_t *self, tnd_log_level_t level, const char *text)
{
    /* Warnings are for the leader, on whatever host that is. */
    if (level < TND_LOG_WARNING &&
        !tnd_observer_wants(tnd_host_config(self->config.host)->observer, level))
        return;
    tnd_msg_t msg = {.kind = TND_MSG_LOG, .to = TND_LEADER};
    msg.note.number = level;
    msg.note.payload = tnd_text_payload_of("%s %s", tnd_actor_name(self), text);
    tnd_actor_control(self, &msg, TND_CARRY_BUFFER);
}

/*  Whoever came and did not fit was told why; the run goes on without it.  Those without a name are
 *  spoken of once, however many try.
 */
static void note_refused(tnd_actor_t *self, const tnd_arrival_t *arrival)
{
    if (arrival->peer == TND_NOBODY && self->stranger_said)
        return;
    self->stranger_said = self->stranger_said || arrival->peer == TND_NOBODY;
    say(self, TND_LOG_WARNING, arrival->why);
}

/*  Somebody came or went. */
static void note_link(tnd_actor_t *self, const tnd_arrival_t *arrival)
{
    char text[400];
    if (arrival->peer >= self->plan->instance_count)
        return;
    const char *peer = self->plan->instances[arrival->peer].name;
    bool up = arrival->kind == TND_ARRIVAL_UP;
    if (up)
        snprintf(text, sizeof text, "is connected with %s", peer);
    else
        snprintf(text, sizeof text, "lost %s: %.300s", peer, arrival->why);
    say(self, up ? TND_LOG_DEBUG : TND_LOG_INFO, text);
}

/*  Somebody said what cannot be.  Over a link its connection ends, and what it did is redone; who
 *  goes on so, or speaks by control, ends the run.
 */
static tnd_status_t expel(tnd_actor_t *self, tnd_arrival_t *arrival, const char *why,
                          tnd_error_t *error)
{
    bool by_link = arrival->port != PORT_CONTROL;
    tnd_actor_id_t peer = by_link ? arrival->peer : arrival->msg.from;
    bool known = peer < self->plan->instance_count;
    const char *name = known ? self->plan->instances[peer].name : "the leader";
    char text[512];
    snprintf(text, sizeof text, "%s sent a message of kind %u, which cannot be: %s", name,
             (unsigned)arrival->msg.kind, why);
    tnd_msg_drop(&arrival->msg, arrival->carry);
    if (!by_link || !known || ++self->violations[peer] >= VIOLATIONS_MAX)
        return tnd_fail(error, "%s: %s", tnd_actor_name(self), text);
    say(self, TND_LOG_WARNING, text);
    tnd_hub_expel(self->hub, arrival->port, arrival->peer, text);
    return TND_OK;
}

static const char *check(tnd_actor_t *self, tnd_arrival_t *arrival, uint64_t now)
{
    /* The cursor stands beside a message that passed through this process. */
    if (arrival->msg.kind == TND_MSG_REWIND)
        arrival->msg.rewind.cursor = arrival->cursor;
    return arrival->port == PORT_CONTROL
               ? tnd_validator_control(self->accept, &arrival->msg, now)
               : tnd_validator_link(self->accept, arrival->peer, &arrival->msg, now);
}

/*  What the leader told this actor while its host was away is lost, and for a worker alone nobody
 *  rewinds; its host has heard the generation when it came back.  A process that was stopped needs
 *  some time to hear it.
 */
static tnd_status_t check_confirmed(tnd_actor_t *self, tnd_error_t *error)
{
    tnd_validator_reached(self->accept,
                          tnd_host_generation(self->config.host, self->config.instance->chain));
    tnd_actor_id_t peer =
        tnd_validator_unconfirmed(self->accept, tnd_clock_now(), 2 * self->plan->dead_after_ns);
    if (peer == TND_NOBODY)
        return TND_OK;
    return tnd_fail(error, "%s: %s spoke of a rewind that the leader has not begun",
                    tnd_actor_name(self), self->plan->instances[peer].name);
}

/*  Rows that the kind cannot use: it says why, here is added who sent them. */
static tnd_status_t hand_over(tnd_actor_t *self, tnd_arrival_t *arrival, tnd_error_t *error)
{
    bool brings_rows = arrival->kind == TND_ARRIVAL_MESSAGE &&
                       (arrival->msg.kind == TND_MSG_BLOCK || arrival->msg.kind == TND_MSG_SLICE);
    tnd_actor_id_t peer = arrival->peer;
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
    if (arrival->peer < self->plan->instance_count)
        self->up[arrival->peer] = arrival->kind == TND_ARRIVAL_UP;
}

static tnd_status_t take_arrivals(tnd_actor_t *self, tnd_error_t *error)
{
    uint64_t now = self->round_ns;
    for (int taken = 0; taken < ARRIVALS_A_ROUND; taken++) {
        tnd_arrival_t arrival;
        if (tnd_hub_receive(self->hub, &arrival) != TND_OK)
            return TND_OK;
        bool dialled = arrival.port == PORT_CONTROL ||
                       (arrival.peer < self->plan->instance_count && self->dials[arrival.peer]);
        if (arrival.kind == TND_ARRIVAL_UP || arrival.kind == TND_ARRIVAL_LOST)
            note_up(self, &arrival);
        if (arrival.kind == TND_ARRIVAL_REFUSED && dialled) {
            bool known = arrival.peer < self->plan->instance_count;
            (void)tnd_fail(error, "%s was refused by %s: %s", tnd_actor_name(self),
                           known ? self->plan->instances[arrival.peer].name : "its host",
                           arrival.why);
            return TND_REFUSED;
        }
        if (arrival.kind == TND_ARRIVAL_REFUSED)
            note_refused(self, &arrival);
        if (arrival.kind == TND_ARRIVAL_UP || arrival.kind == TND_ARRIVAL_LOST)
            note_link(self, &arrival);
        if (arrival.kind == TND_ARRIVAL_LOST)
            tnd_count(&self->config.statistics->lost, 1);
        const char *wrong = NULL;
        if (arrival.kind == TND_ARRIVAL_MESSAGE)
            wrong = check(self, &arrival, now);
        else
            tnd_validator_reset(self->accept, arrival.peer);
        if (wrong != NULL) {
            TND_TRY(expel(self, &arrival, wrong, error));
            continue;
        }
        TND_TRY(hand_over(self, &arrival, error));
    }
    return TND_OK;
}

/*  The second number is the time that it was ready to run and another did. */
static uint64_t read_ready(const tnd_actor_t *self)
{
    char text[96];
    unsigned long long ready = 0;
    ssize_t got = self->schedule >= 0 ? pread(self->schedule, text, sizeof text - 1, 0) : 0;
    text[got > 0 ? got : 0] = '\0';
    return sscanf(text, "%*s %llu", &ready) == 1 ? ready : self->ready_read_ns;
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
    uint64_t used = tnd_clock_thread(), ready = read_ready(self);
    tnd_count(&statistics->cpu_ns, used - self->cpu_read_ns);
    tnd_count(&statistics->ready_ns, ready - self->ready_read_ns);
    self->cpu_read_ns = used;
    self->ready_read_ns = ready;
    self->counted_ns = now;
}

static void begin_counting(tnd_actor_t *self)
{
    self->schedule = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    atomic_store_explicit(&self->config.statistics->thread, (uint64_t)gettid(),
                          memory_order_relaxed);
    self->round_ns = tnd_clock_now();
    tnd_statistics_state(self->config.statistics, TND_STATE_RUNNING, 0, self->round_ns);
}

/*  How long the actor may sleep. */
static uint64_t next_wake(const tnd_actor_t *self, uint64_t now)
{
    const tnd_kind_t *kind = self->config.kind;
    uint64_t wake = now + nap_ns;
    uint64_t due = kind->deadline != NULL ? kind->deadline(self->state) : TND_NEVER;
    if (tnd_control_batch_due(&self->words) < wake)
        wake = tnd_control_batch_due(&self->words);
    return due < wake ? due : wake;
}

static tnd_status_t live(tnd_actor_t *self, tnd_error_t *error)
{
    tnd_statistics_t *statistics = self->config.statistics;
    while (!tnd_actor_stopping(self)) {
        bool more = false;
        self->round_ns = tnd_clock_now();
        tnd_statistics_state(statistics, TND_STATE_RUNNING, 0, self->round_ns);
        TND_TRY(take_arrivals(self, error));
        if (atomic_exchange(&self->moved, false))
            TND_TRY(connect_peers(self, error));
        TND_TRY(check_confirmed(self, error));
        tnd_statistics_state(statistics, TND_STATE_WORKING, 0, tnd_clock_now());
        TND_TRY(self->config.kind->work(self->state, self, &more, error));
        if (self->lost.text[0] != '\0')
            return tnd_fail(error, "%s: %s", tnd_actor_name(self), self->lost.text);
        tnd_count(&statistics->progress, 1);
        uint64_t now = tnd_clock_now();
        if (now >= tnd_control_batch_due(&self->words))
            say_words(self);
        if (now - self->counted_ns >= count_every_ns) {
            count_time(self, now);
            show_depth(self);
        }
        if (more)
            continue;
        uint64_t wake = next_wake(self, now);
        tnd_statistics_state(statistics, TND_STATE_WAITING,
                             self->config.kind->blocked_on(self->state), now);
        show_depth(self);
        TND_TRY(tnd_hub_wait(self->hub, wake));
    }
    return TND_OK;
}

/*  Waits until the host lets the actor go; false: it is to stop instead. */
static bool wait_for_go(tnd_actor_t *self)
{
    pthread_mutex_lock(&self->lock);
    while (!self->go && !tnd_actor_stopping(self))
        pthread_cond_wait(&self->changed, &self->lock);
    bool go = self->go;
    pthread_mutex_unlock(&self->lock);
    return go && !tnd_actor_stopping(self);
}

static tnd_status_t run(tnd_actor_t *self, tnd_error_t *error)
{
    TND_TRY(be_born(self, error));
    set_phase(self, TND_ACTOR_BOUND);
    if (!wait_for_go(self))
        return TND_OK;
    tnd_validator_reached(self->accept,
                          tnd_host_generation(self->config.host, self->config.instance->chain));
    list_calls(self);
    TND_TRY(connect_peers(self, error));
    set_phase(self, TND_ACTOR_RUNNING);
    return live(self, error);
}

static void *actor_main(void *context)
{
    tnd_actor_t *self = context;
    (tnd_placement_reduces(self->plan) ? tnd_thread_begin : tnd_thread_name)(tnd_actor_name(self));

    tnd_error_t error = {.text = ""};
    begin_counting(self);
    tnd_status_t status = run(self, &error);
    bool failed = status != TND_OK && status != TND_STOPPED;
    self->config.kind->fini(self->state);
    if (self->hub != NULL) {
        say_words(self);
        tnd_hub_counts_t counts;
        tnd_hub_counts(self->hub, &counts);
        tnd_count(&self->config.statistics->bytes_copied, counts.bytes_copied);
    }
    count_time(self, tnd_clock_now());
    if (self->schedule >= 0)
        close(self->schedule);
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

/* --- for the host ------------------------------------------------------------------------------
 */

/*  Who this is and whom it deals with, for those who read its page. */
static void introduce(const tnd_actor_t *self)
{
    tnd_statistics_t *page = self->config.statistics;
    const tnd_instance_t *instance = self->config.instance;
    snprintf(page->actor, sizeof page->actor, "%s", instance->name);
    snprintf(page->kind, sizeof page->kind, "%s", instance->kind->table.name);
    page->instance = self->id;
    page->chain = instance->chain;
    page->lane = instance->lane;
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
    self->ports = tnd_allocate(1, plan->instance_count);
    self->state = tnd_allocate_zeroed(1, config->kind->state_bytes + 1);
    memset(self->ports, NO_PORT, plan->instance_count);
    self->config = *config;
    self->plan = plan;
    self->id = (tnd_actor_id_t)(config->instance - plan->instances);
    tnd_validator_config_t accept = {
        .census = *tnd_host_census(config->host),
        .bounds = tnd_membership_bounds(plan, config->stream),
        .self = self->id,
    };
    self->dials = tnd_allocate_zeroed(plan->instance_count, sizeof *self->dials);
    self->up = tnd_allocate_zeroed(plan->instance_count, sizeof *self->up);
    self->violations = tnd_allocate_zeroed(plan->instance_count, sizeof *self->violations);
    self->accept_memory = tnd_allocate_zeroed(1, tnd_validator_bytes(&accept));
    self->accept = tnd_validator_init(self->accept_memory, &accept);
    /* Later lives are greater, unless the clock has gone back: then a peer says so. */
    self->life = tnd_clock_read(CLOCK_REALTIME);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    introduce(self);
    tnd_thread_create(&self->thread, actor_main, self);
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
    free(self->ports);
    free(self->dials);
    free(self->up);
    free(self->calls);
    free(self->violations);
    free(self->accept_memory);
    free(self->state);
    free(self);
    *self_p = NULL;
}
