/*  runtime/host/actor_links.c - binds the ports of an actor, connects it to its peers, and records
 *  its edges. */
#include "runtime/host/actor_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/core/host/dial.h"
#include "runtime/option/option_print.h"

static bool peer_busy(void *context, tnd_actor_id_t peer)
{
    tnd_actor_t *self = context;
    return tnd_host_excuses(self->config.host, peer);
}

/*  A bound port accepts the peers at the other end of its edges. */
static bool peer_expected(void *context, uint32_t port, tnd_actor_id_t peer)
{
    const tnd_actor_t *self = context;
    return peer < self->plan->instance_count && self->peers[peer].port == port &&
           !self->peers[peer].is_dialled;
}

/*  A reader sends rows as read, a cache and the workers before it as cached; the other
 *  workers as they enter the batcher. */
static const tnd_schema_t *rows_between(const tnd_stream_t *stream, tnd_role_t from, tnd_role_t to)
{
    if (from == TND_ROLE_READER)
        return &stream->read.schema;
    return from == TND_ROLE_CACHE || to == TND_ROLE_CACHE ? &stream->cached.schema
                                                          : &stream->joined.schema;
}

static const tnd_schema_t *incoming_schema(void *context, uint32_t port, const tnd_msg_t *msg)
{
    tnd_actor_t *self = context;
    (void)port;
    if (msg->kind == TND_MSG_SLICE)
        return &self->config.stream->fed.schema;
    if (msg->kind != TND_MSG_BLOCK || msg->from >= self->plan->instance_count)
        return NULL;
    return rows_between(self->config.stream, self->plan->instances[msg->from].kind->role,
                        self->config.instance->kind->role);
}

/*  What both ends of an edge must agree on. */
static void edge_terms(const tnd_actor_t *self, const tnd_edge_t *edge, tnd_terms_t *terms)
{
    const tnd_stream_t *stream = self->config.stream;
    const tnd_kind_spec_t *from = self->plan->instances[edge->from].kind;
    *terms = (tnd_terms_t){
        .graph = {self->plan->fingerprint[0], self->plan->fingerprint[1]},
        .abi = TND_WIRE_ABI,
        .numeric = stream->joined.numeric,
        .tolerant = self->plan->tolerant,
    };
    switch (from->outlets[edge->outlet].flow) {
    case TND_FLOW_ROWS:
        terms->schema = tnd_schema_hash(
            rows_between(stream, from->role, self->plan->instances[edge->to].kind->role));
        break;
    case TND_FLOW_BATCH:
        terms->schema = tnd_schema_hash(&stream->fed.schema);
        break;
    case TND_FLOW_VALUES:
        break;
    }
}

static uint32_t edge_port(const tnd_edge_t *edge, bool outlet)
{
    return outlet ? edge->outlet : PORT_INLETS + edge->inlet;
}

static tnd_status_t bind_at(tnd_actor_t *self, const char *address, const tnd_terms_t *terms,
                            tnd_endpoint_t *made, tnd_error_t *error)
{
    return tnd_hub_bind(self->hub, made->port, address, terms, made->endpoint,
                        sizeof made->endpoint, error);
}

/*  Takes the first free port of the host's `ports:`, or one that the system chooses. */
static tnd_status_t bind_tcp(tnd_actor_t *self, const tnd_terms_t *terms, tnd_endpoint_t *made,
                             tnd_error_t *error)
{
    const tnd_plan_host_t *host = &self->plan->hosts[self->config.instance->host];
    char address[128];
    uint32_t number = host->ports_first;
    snprintf(address, sizeof address, "tcp://%s:*", host->listen);
    do {
        if (number != 0)
            snprintf(address, sizeof address, "tcp://%s:%u", host->listen, number);
        if (bind_at(self, address, terms, made, error) == TND_OK)
            break;
        if (number == host->ports_last)
            return TND_FAILED;
    } while (++number <= host->ports_last);
    /* Peers connect to the address, which may differ from the one where the host listens. */
    if (strcmp(host->listen, host->address) != 0) {
        snprintf(address, sizeof address, "tcp://%s%s", host->address,
                 strrchr(made->endpoint, ':'));
        snprintf(made->endpoint, sizeof made->endpoint, "%s", address);
    }
    return TND_OK;
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
    char address[128];
    if (edge->transport == TND_TRANSPORT_TCP) {
        TND_TRY(bind_tcp(self, &terms, made, error));
    } else {
        snprintf(address, sizeof address, "%s%s.%u.%u.%u",
                 edge->transport == TND_TRANSPORT_INPROC ? "inproc://" : "ipc://@tundish.",
                 tnd_host_nonce(self->config.host), self->id, port, self->config.birth);
        TND_TRY(bind_at(self, address, &terms, made, error));
    }
    self->endpoint_count++;
    return TND_OK;
}

static tnd_status_t bind_ports(tnd_actor_t *self, tnd_error_t *error)
{
    self->dials = tnd_allocate_zeroed(self->plan->edge_count, sizeof *self->dials);
    for (uint32_t e = 0; e < self->plan->edge_count; e++) {
        const tnd_edge_t *edge = &self->plan->edges[e];
        bool out = edge->from == self->id;
        if (!out && edge->to != self->id)
            continue;
        tnd_actor_id_t peer = out ? edge->to : edge->from;
        self->peers[peer].port = (uint8_t)edge_port(edge, out);
        self->peers[peer].is_dialled = edge->from_connects == out;
        if (self->peers[peer].is_dialled)
            self->dials[self->dial_count++].edge = edge;
        else
            TND_TRY(bind_one(self, edge_port(edge, out), edge, error));
    }
    return TND_OK;
}

/*  Closes a connection that this actor opened; the kind is told if it was up. */
static tnd_status_t disconnect(tnd_actor_t *self, dial_t *dial, tnd_actor_id_t peer, uint32_t port,
                               tnd_error_t *error)
{
    tnd_arrival_t arrival = {.kind = TND_ARRIVAL_LOST, .peer = peer, .port = port};
    if (dial->listener == 0)
        return TND_OK;
    dial->listener = 0;
    tnd_hub_disconnect(self->hub, port, peer);
    if (!self->peers[peer].up)
        return TND_OK;
    self->peers[peer].up = false;
    tnd_validator_reset(self->validator, peer);
    return self->config.kind->arrive(self->state, self, &arrival, error);
}

static tnd_status_t dial_peer(tnd_actor_t *self, dial_t *dial, tnd_error_t *error)
{
    const tnd_edge_t *edge = dial->edge;
    bool out = edge->from == self->id;
    tnd_actor_id_t peer = out ? edge->to : edge->from;
    uint32_t port = edge_port(edge, out);
    tnd_endpoint_t at = {
        .instance = peer, .port = edge_port(edge, !out), .transport = edge->transport};
    bool known = tnd_host_endpoint(self->config.host, &at);
    tnd_dial_t how = tnd_dial_of(dial->listener, known ? at.listener : 0);
    if (how == TND_DIAL_AGAIN)
        tnd_hub_connect_now(self->hub, port, peer);
    if (how != TND_DIAL_ANEW)
        return TND_OK;
    TND_TRY(disconnect(self, dial, peer, port, error));
    tnd_terms_t terms;
    edge_terms(self, edge, &terms);
    terms.listener = at.listener;
    TND_TRY(tnd_hub_connect(self->hub, port, peer, at.endpoint, &terms, error));
    dial->listener = at.listener;
    return TND_OK;
}

tnd_status_t tnd_actor_connect_peers(tnd_actor_t *self, tnd_error_t *error)
{
    for (uint32_t i = 0; i < self->dial_count; i++)
        TND_TRY(dial_peer(self, &self->dials[i], error));
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
            TND_TRY(tnd_hub_wait(self->hub, tnd_clock_now() + TND_ACTOR_SLEEP_NS));
    }
}

void tnd_actor_say_refused(const tnd_actor_t *self, const tnd_arrival_t *arrival,
                           tnd_error_t *error)
{
    char peer[160] = "its host";
    if (arrival->port != PORT_CONTROL) {
        const tnd_instance_t *other = &self->plan->instances[arrival->peer];
        snprintf(peer, sizeof peer, "%s of host %s", other->name,
                 self->plan->hosts[other->host].name);
    }
    tnd_fail(error, "%s was refused by %s: %s", tnd_actor_name(self), peer, arrival->why);
}

/*  How many messages of one peer may be unread.  The credit of the downstream actor limits messages
 *  in both directions; after a rewind those of the last generation may still be queued. */
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

tnd_status_t tnd_actor_open_links(tnd_actor_t *self, tnd_error_t *error)
{
    tnd_hub_config_t config = {
        .self = self->id,
        .name = tnd_actor_name(self),
        .life = self->life,
        .link_timeout_ns = tnd_host_link_timeout(self->config.host),
        /* By then a lost host is back and announced, or the run has ended. */
        .search_ns = self->plan->dead_after_ns + self->plan->restart_timeout_ns,
        .busy = peer_busy,
        .context = self,
        .schema = incoming_schema,
        .frame_max = TND_FRAME_MAX,
        .expects = peer_expected,
        .unread = unread_of,
        .callers = self->plan->instance_count,
        .admission = &self->plan->admission,
    };
    const tnd_host_config_t *host = tnd_host_config(self->config.host);
    tnd_hub_t *hub = NULL;
    TND_TRY(tnd_hub_open(host->transport, &hub, host->transport_context, &config, error));
    pthread_mutex_lock(&self->lock);
    self->hub = hub;
    pthread_mutex_unlock(&self->lock);
    /* Arrivals at bound ports are for the kind and must wait until it runs.  So the actor reaches
     * its host before a peer can connect. */
    TND_TRY(reach_host(self, error));
    return bind_ports(self, error);
}

/* --- records of edges, options and times ------------------------------------------------------ */

tnd_event_ring_t *tnd_actor_device_rings(tnd_actor_t *self, uint32_t *count_p)
{
    const tnd_instance_record_t *own = &self->config.record->instances[self->id];
    *count_p = own->ring_count - 1;
    return &self->config.record->rings[own->ring + 1];
}

tnd_timing_t *tnd_actor_device_timings(tnd_actor_t *self)
{
    return &self->config.record->timings[self->config.record->instances[self->id].ring + 1];
}

tnd_actor_detail_t *tnd_actor_detail(tnd_actor_t *self)
{
    const tnd_run_record_t *record = self->config.record;
    return &record->details[record->instances[self->id].history];
}

void tnd_actor_record_options(tnd_actor_t *self)
{
    tnd_actor_detail_t *detail = tnd_actor_detail(self);
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    tnd_options_show(&self->config.instance->kind->table, self->config.instance->options, out);
    fclose(out);
    snprintf(detail->options, sizeof detail->options, "%s", text);
    free(text);
}

void tnd_actor_find_ends(tnd_actor_t *self)
{
    const tnd_run_record_t *record = self->config.record;
    for (uint32_t e = 0; e < record->shape.edges; e++) {
        tnd_edge_record_t *edge = &record->edges[e];
        if (edge->from == self->id)
            self->peers[edge->to].end = &edge->ends[0];
        else if (edge->to == self->id)
            self->peers[edge->from].end = &edge->ends[1];
    }
}

static void write_to(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static void forget_credit(tnd_edge_end_t *end)
{
    write_to(&end->credit_used, 0);
    write_to(&end->credit_used_bytes, 0);
    write_to(&end->credit_given, 0);
    write_to(&end->credit_given_bytes, 0);
}

/*  A grant contains those before it on its connection.  A worker that begins anew closes all. */
static void record_credit(tnd_edge_end_t *end, const tnd_msg_t *msg)
{
    uint64_t blocks = msg->credit.blocks, bytes = msg->credit.bytes;
    write_to(&end->credit_given, blocks == UINT64_MAX ? 0 : blocks);
    write_to(&end->credit_given_bytes, bytes == UINT64_MAX ? 0 : bytes);
}

static void use_credit(tnd_edge_end_t *end, const tnd_msg_t *msg)
{
    if (atomic_load_explicit(&end->credit_given, memory_order_relaxed) == 0)
        return;
    tnd_count(&end->credit_used, 1);
    tnd_count(&end->credit_used_bytes, msg->block.bytes);
}

void tnd_actor_count_edge(const tnd_actor_t *self, tnd_actor_id_t peer, const tnd_msg_t *msg)
{
    tnd_edge_end_t *end = self->peers[peer].end;
    if (end == NULL)
        return;
    if (msg->kind == TND_MSG_BLOCK) {
        tnd_count(&end->rows, msg->block.rows);
        tnd_count(&end->bytes, msg->block.bytes);
        use_credit(end, msg);
    } else if (msg->kind == TND_MSG_SLICE) {
        tnd_count(&end->rows, msg->slice.rows);
        tnd_count(&end->bytes, tnd_slice_bytes(msg->slice.payload));
    } else if (msg->kind == TND_MSG_POST || msg->kind == TND_MSG_RESULT) {
        tnd_count(&end->bytes, msg->post.payload != NULL ? tnd_buffer_size(msg->post.payload) : 0);
    } else {
        if (msg->kind == TND_MSG_CREDIT)
            record_credit(end, msg);
        return;
    }
    tnd_count(&end->blocks, 1);
}

void tnd_actor_record_round_trips(tnd_actor_t *self)
{
    static const uint64_t second_ns = 1000000000;
    if (self->round_ns - self->round_trips_ns < second_ns)
        return;
    self->round_trips_ns = self->round_ns;
    for (uint32_t p = 0; p < self->plan->instance_count; p++)
        if (self->peers[p].end != NULL)
            write_to(&self->peers[p].end->round_trip_ns,
                     self->peers[p].up ? tnd_hub_round_trip(self->hub, self->peers[p].port, p) : 0);
}

void tnd_actor_record_link(const tnd_actor_t *self, tnd_actor_id_t peer, bool up)
{
    tnd_edge_end_t *end = self->peers[peer].end;
    if (end == NULL)
        return;
    atomic_store_explicit(&end->up_ns, up ? self->round_ns : 0, memory_order_relaxed);
    tnd_count(&end->lost, !up);
    forget_credit(end);
}
