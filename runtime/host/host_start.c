/*  runtime/host/host_start.c - the start of a host: facts, stream, endpoints, ready.
 *
 *  What comes when is decided by runtime/core/host/barriers.h. */
#include "runtime/host/host_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/core/host/barriers.h"
#include "runtime/core/host/relay.h"
#include "runtime/data/text_payload.h"
#include "runtime/meeting/part_request.h"
#include "runtime/observe/process.h"
#include "runtime/resources/memory_sum.h"

/*  How often the leader is told how far the opening of data is. */
static const uint64_t report_every_ns = 200000000;

/*  How long a source may take to end what it opens, which nothing interrupts and may take hours. */
static const uint64_t open_wait_ns = 1000000000;

struct tnd_host_start {
    tnd_arena_t *arena;
    tnd_diagnostics_t *diagnostics; /* problems with data, plugins, devices, operations */
    tnd_barriers_t barriers;
    bool call_hangs, opening_said;
    tnd_guarded_call_t *call; /* of user code before the start; NULL: none is active */
    /*  What the guarded call found: all resources are available; the streams fit.  It writes them
     *  while this thread reads other flags, which compilers may read as one word with these. */
    bool resources_ready, fits;
    tnd_error_t lacks;      /* why a part of the checkpoint cannot be had; "": it is here */
    char together[512];     /* a warning about all hosts of this machine; "": none */
    tnd_buffer_t *streams;  /* the leader's facts of the streams, not handled yet */
    tnd_adapted_t *adapted; /* likewise, of all chains */
    /*  As told to the leader: how often opening the data has made progress, and what is opened. */
    uint64_t opening_reports, opening_due_ns;
    tnd_buffer_t *opening_note;
};

static void wake(void *context)
{
    tnd_hub_wake(((tnd_host_t *)context)->hub);
}

/*  If this host has the data, operations are checked at once: all errors appear in one pass. */
static void try_data(void *context, tnd_guarded_call_t *call, tnd_diagnostics_t *found)
{
    tnd_host_t *self = context;
    bool resources_ready = tnd_resources_open(&self->resources, call, found);
    for (uint32_t s = 0; s < self->resources.count; s++) {
        tnd_stream_t stream = self->resources.data[s].stream;
        if (self->resources.data[s].open)
            resources_ready =
                tnd_resources_derive(self->plan, call, &stream, found) && resources_ready;
    }
    if (resources_ready && self->plan->checkpoint != NULL)
        resources_ready = tnd_resources_table(&self->resources, 0, call, &self->data, found);
    self->start->resources_ready = resources_ready;
}

/*  Gets the parts of the checkpoint that the replicas of this host load, if another one has saved them. */
static tnd_status_t get_parts(const tnd_host_t *self, tnd_error_t *error)
{
    const tnd_resume_t *resume = tnd_host_resume(self);
    const tnd_chain_plan_t *first = &self->plan->chains[0];
    if (resume == NULL || !resume->is_others || self->plan->restarts.run == 0)
        return TND_OK;
    for (uint32_t r = 0; r < resume->replicas; r++) {
        char path[TND_STORE_PATH];
        bool here = self->plan->instances[first->carriers[r].instance].host == self->config.host;
        if (here && tnd_saved_is(&resume->parts[r]) && !tnd_store_has_part(resume, r) &&
            !tnd_store_find_equal(resume, r, path))
            TND_TRY(tnd_part_request(self->config.transport, self->config.transport_context,
                                     self->plan, resume, r, error));
    }
    return TND_OK;
}

static void try_streams(void *context, tnd_guarded_call_t *call, tnd_diagnostics_t *found)
{
    tnd_host_t *self = context;
    bool fits = get_parts(self, &self->start->lacks) == TND_OK;
    for (uint32_t c = 0; c < self->plan->chain_count && fits; c++)
        fits = tnd_resources_derive(self->plan, call, &self->streams[c], found);
    self->start->fits = fits && tnd_memory_fits(self->plan, self->config.host, tnd_host_stream,
                                                self, &self->tuning_most, found);
    if (self->start->fits && self->config.host == 0)
        (void)tnd_memory_fits_together(self->plan, tnd_host_stream, self, self->start->together,
                                       sizeof self->start->together);
}

void tnd_host_begin_start(tnd_host_t *self)
{
    self->start = tnd_allocate_zeroed(1, sizeof *self->start);
    self->start->arena = tnd_arena_new();
    self->start->diagnostics = tnd_diagnostics_new(self->start->arena);
    self->start->barriers.reads = self->resources.count > 0;
}

tnd_status_t tnd_host_try_data(tnd_host_t *self, tnd_error_t *error)
{
    return tnd_guarded_call_begin(&self->start->call, try_data, wake, self, error);
}

uint64_t tnd_host_show_trial(tnd_host_t *self, uint64_t now, char *text, size_t room)
{
    tnd_guarded_call_t *call = self->start->call;
    return call != NULL ? tnd_guarded_call_show(call, now, text, room) : 0;
}

bool tnd_host_end_trial(tnd_host_t *self)
{
    return tnd_guarded_call_end(&self->start->call, self->start->call_hangs ? 0 : open_wait_ns,
                                self->start->diagnostics);
}

void tnd_host_end_start(tnd_host_t *self)
{
    tnd_buffer_drop(&self->start->streams);
    tnd_adapted_free(&self->start->adapted);
    tnd_buffer_drop(&self->start->opening_note);
    tnd_arena_destroy(&self->start->arena);
    free(self->start);
}

const tnd_diagnostics_t *tnd_host_diagnostics(const tnd_host_t *self)
{
    return self->start->diagnostics;
}

bool tnd_host_knows_streams(const tnd_host_t *self)
{
    return self->start->barriers.fits;
}

bool tnd_host_has_actors(const tnd_host_t *self)
{
    return self->start->barriers.made;
}

void tnd_host_repeat_start(tnd_host_t *self)
{
    self->start->opening_said = false;
    tnd_barriers_greet(&self->start->barriers);
}

void tnd_host_move_actor(tnd_host_t *self)
{
    tnd_barriers_move(&self->start->barriers);
}

/*  The guarded call has ended. */
static void end_trial(tnd_host_t *self, struct tnd_host_start *start)
{
    (void)tnd_guarded_call_end(&start->call, TND_NEVER, self->start->diagnostics);
    bool good = start->barriers.checking ? start->fits : start->resources_ready;
    if (!good && start->lacks.text[0] != '\0')
        tnd_host_fail_here(self, TND_OUTCOME_FAILED, start->lacks.text);
    else if (!good)
        tnd_host_fail_here(self, TND_OUTCOME_UNUSABLE,
                           tnd_diagnostics_sentence(self->start->diagnostics));
    else if (start->barriers.checking)
        tnd_barriers_fit(&start->barriers);
    else
        tnd_barriers_open(&start->barriers);
}

/*  Checks whether the guarded call has ended or hangs. */
static void watch_trial(tnd_host_t *self)
{
    struct tnd_host_start *start = self->start;
    if (start->call == NULL || start->call_hangs)
        return;
    if (tnd_guarded_call_done(start->call)) {
        end_trial(self, start);
    } else if (tnd_guarded_call_hangs(start->call, self->plan->hung_after_ns, tnd_clock_now(),
                                      self->start->diagnostics)) {
        start->call_hangs = true;
        tnd_host_fail_here(self, TND_OUTCOME_UNUSABLE,
                           tnd_diagnostics_sentence(self->start->diagnostics));
    }
}

/*  Reports progress of opening the data to the leader, at intervals. */
static void say_opening(tnd_host_t *self, struct tnd_host_start *start)
{
    uint64_t now = tnd_clock_now();
    if (!start->barriers.reads || start->barriers.opened || start->call == NULL ||
        start->call_hangs || (start->opening_said && now < start->opening_due_ns) ||
        !tnd_host_reaches_leader(self))
        return;
    uint64_t reports = tnd_guarded_call_reports(start->call);
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    tnd_guarded_call_write(start->call, writer.stream);
    tnd_buffer_t *note = tnd_text_payload_end(&writer);
    start->opening_due_ns = now + report_every_ns;
    if (!start->opening_said || reports != start->opening_reports ||
        !tnd_text_payload_is_same(note, start->opening_note))
        tnd_host_tell_leader(self, TND_MSG_OPENING, reports, tnd_buffer_hold(note));
    start->opening_said = true;
    start->opening_reports = reports;
    tnd_buffer_drop(&start->opening_note);
    start->opening_note = note;
}

/*  The size of a message between hosts is limited. */
enum { FILES_BYTES = 32 << 10 };

static void say_files(tnd_host_t *self)
{
    for (size_t i = 0; i < self->data.count;) {
        tnd_text_payload_writer_t writer;
        tnd_text_payload_begin(&writer);
        for (long used = 0; i < self->data.count && used < FILES_BYTES; i++) {
            tnd_data_table_write(&self->data, i, writer.stream);
            used = ftell(writer.stream);
        }
        tnd_host_tell_leader(self, TND_MSG_FACTS, 0, tnd_text_payload_end(&writer));
    }
}

/*  Only the chain that trains has values of operations; the parts of rows have the name of a reader. */
static void say_adapted(tnd_host_t *self)
{
    tnd_adapted_t *all = NULL;
    tnd_adapted_parts_t parts;
    tnd_buffer_t *part;
    for (uint32_t s = 0; s < self->resources.count; s++)
        tnd_adapted_merge(&all, self->resources.data[s].stream.adapted);
    tnd_stream_begin_adapted(&parts, all);
    for (uint64_t number = 0; (part = tnd_stream_adapted_part(&parts)) != NULL; number++)
        tnd_host_tell_leader(self, TND_MSG_FACTS, number, part);
    tnd_adapted_free(&all);
}

static void say_facts(tnd_host_t *self)
{
    say_files(self);
    say_adapted(self);
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    for (uint32_t s = 0; s < self->resources.count; s++)
        tnd_stream_write(&self->resources.data[s].stream, writer.stream);
    tnd_host_tell_leader(self, TND_MSG_FACTS, 0, tnd_text_payload_end(&writer));
}

/*  Reads a line of the leader about the checkpoint to resume from; false if it is another line. */
static bool take_resume(tnd_host_t *self, const char *line)
{
    tnd_resume_t *resume = &self->resume;
    uint32_t replica, replicas;
    uint64_t step;
    tnd_saved_t part;
    int used = 0;
    if (sscanf(line, "resume %" SCNu64 " %" SCNu32 " %n", &step, &replicas, &used) == 2 &&
        used > 0) {
        if (replicas != self->plan->chains[0].replicas)
            return false;
        free(resume->parts);
        *resume =
            (tnd_resume_t){.step = step, .replicas = replicas, .is_others = !tnd_host_leads(self)};
        snprintf(resume->dir, sizeof resume->dir, "%s", line + used);
        resume->parts = tnd_allocate_zeroed((size_t)replicas + 1, sizeof *resume->parts);
        return true;
    }
    if (sscanf(line, "resumed %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64, &replica, &part.bytes,
               &part.hash[0], &part.hash[1]) != 4)
        return false;
    if (replica < resume->replicas)
        resume->parts[replica] = part;
    return true;
}

static tnd_status_t take_stream(tnd_host_t *self, tnd_buffer_t *note, tnd_error_t *error)
{
    tnd_stream_t *stream = NULL;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        tnd_stream_t said = {0};
        if (take_resume(self, line))
            continue;
        if (strncmp(line, "stream ", 7) == 0) {
            TND_TRY(tnd_stream_read(&said, line, error));
            if (said.chain >= self->plan->chain_count)
                return tnd_fail(error, "the leader sent facts of a chain that is not in the plan");
            stream = &self->streams[said.chain];
        }
        if (stream == NULL)
            return tnd_fail(error, "cannot read the leader's facts of the streams");
        TND_TRY(tnd_stream_read(stream, line, error));
    }
    /* This host knows the facts of the data that it reads. */
    for (uint32_t s = 0; s < self->resources.count; s++) {
        const tnd_stream_t *own = &self->resources.data[s].stream;
        TND_TRY(tnd_stream_agree(own, self->plan->hosts[self->config.host].name,
                                 &self->streams[own->chain], self->plan->hosts[0].name, error));
        tnd_stream_take_own(&self->streams[own->chain], own);
    }
    /* A chain that evaluates models reads its rows as the chain that trains them. */
    for (uint32_t c = 1; c < self->plan->chain_count; c++)
        tnd_adapted_merge(&self->streams[c].adapted, self->streams[0].adapted);
    return TND_OK;
}

void tnd_host_make_actor(tnd_host_t *self, uint32_t i)
{
    const tnd_instance_t *instance = &self->plan->instances[i];
    tnd_actor_config_t config = {
        .host = self,
        .kind = tnd_kind_of(instance->kind),
        .instance = instance,
        .stream = &self->streams[instance->chain],
        .statistics = tnd_pages_at(self->pages, i),
        .record = tnd_pages_record(self->pages),
        .tap = tnd_pages_tap(self->pages),
        .birth = tnd_host_births(self, i),
        .shared = tnd_resources_opened(&self->resources, instance),
    };
    self->actors[i] = tnd_actor_start(&config);
}

static void make_actors(tnd_host_t *self)
{
    const tnd_observer_t *observer = self->config.observer;
    if (tnd_host_leads(self))
        tnd_leader_streams(self->leader, self->streams);
    for (uint32_t c = 0; tnd_host_leads(self) && c < self->plan->chain_count; c++)
        if (observer != NULL && observer->stream != NULL)
            observer->stream(observer->context, &self->streams[c]);
    tnd_host_record_memory(self);
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *instance = &self->plan->instances[i];
        if (instance->host != self->config.host)
            continue;
        tnd_host_make_actor(self, i);
    }
}

static void fail_by(tnd_host_t *self, const tnd_actor_t *actor)
{
    if (tnd_actor_diagnose(actor, self->start->diagnostics)) {
        tnd_host_fail_here(self, TND_OUTCOME_UNUSABLE,
                           tnd_diagnostics_sentence(self->start->diagnostics));
        return;
    }
    tnd_host_fail_here(self, tnd_actor_refused(actor) ? TND_OUTCOME_LOST : TND_OUTCOME_FAILED,
                       tnd_actor_error(actor));
}

/*  What all actors here have reached.  A failed actor ends the run. */
static tnd_actor_phase_t least_phase(tnd_host_t *self)
{
    tnd_actor_phase_t least = TND_ACTOR_RUNNING;
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        if (self->actors[i] == NULL)
            continue;
        tnd_actor_phase_t is = tnd_actor_phase(self->actors[i]);
        if (is == TND_ACTOR_FAILED)
            fail_by(self, self->actors[i]);
        least = is < least ? is : least;
    }
    return least;
}

static void check_streams(tnd_host_t *self)
{
    tnd_error_t error;
    tnd_status_t status = take_stream(self, self->start->streams, &error);
    tnd_buffer_drop(&self->start->streams);
    if (status != TND_OK)
        tnd_host_fail_here(self, TND_OUTCOME_UNUSABLE, error.text);
    else if (tnd_guarded_call_begin(&self->start->call, try_streams, wake, self, &error) != TND_OK)
        tnd_host_fail_here(self, TND_OUTCOME_FAILED, error.text);
}

void tnd_host_take_stream(tnd_host_t *self, uint64_t number, tnd_buffer_t *note)
{
    tnd_error_t error;
    if (tnd_stream_is_adapted_part(note)) {
        if (tnd_stream_take_adapted(&self->start->adapted, number, note, &error) != TND_OK)
            tnd_host_fail_here(self, TND_OUTCOME_UNUSABLE, error.text);
        return;
    }
    if (!tnd_barriers_stream(&self->start->barriers))
        return;
    tnd_buffer_drop(&self->start->streams);
    self->start->streams = tnd_buffer_hold(note);
    tnd_adapted_free(&self->streams[0].adapted);
    self->streams[0].adapted = self->start->adapted;
    self->start->adapted = NULL;
}

static void say_endpoints(tnd_host_t *self)
{
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        tnd_endpoint_t endpoints[TND_ACTOR_ENDPOINTS_MAX];
        uint32_t count =
            self->actors[i] != NULL ? tnd_actor_endpoints(self->actors[i], endpoints) : 0;
        for (uint32_t e = 0; e < count; e++)
            fprintf(writer.stream, "%" PRIu32 " %" PRIu32 " %d %" PRIu64 " %s\n",
                    endpoints[e].instance, endpoints[e].port, (int)endpoints[e].transport,
                    endpoints[e].listener, endpoints[e].endpoint);
        if (self->actors[i] != NULL && tnd_plan_role(self->plan, i) == TND_ROLE_REPLICA)
            fprintf(writer.stream, "born %" PRIu32 " %" PRIu64 "\n", i,
                    tnd_actor_birth(self->actors[i]));
    }
    tnd_process_t process = tnd_process_own();
    tnd_process_write(&process, writer.stream);
    tnd_host_tell_leader(self, TND_MSG_ENDPOINTS, 0, tnd_text_payload_end(&writer));
}

void tnd_host_learn_generation(tnd_host_t *self, uint32_t chain, tnd_msg_kind_t kind, uint32_t said)
{
    uint32_t known = atomic_load(&self->chains[chain].generation);
    atomic_store(&self->chains[chain].generation, tnd_relay_generation(known, kind, said));
}

/*  Lines "generation CHAIN NUMBER" and "INSTANCE PORT TRANSPORT LISTENER ENDPOINT". */
static void read_table(tnd_host_t *self, tnd_buffer_t *note)
{
    tnd_endpoint_t *table = NULL;
    uint32_t count = 0;
    size_t room = 0;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        uint32_t chain, generation;
        if (sscanf(line, "generation %" SCNu32 " %" SCNu32, &chain, &generation) == 2) {
            if (chain < self->plan->chain_count)
                tnd_host_learn_generation(self, chain, TND_MSG_TABLE, generation);
            continue;
        }
        table = tnd_grow(table, count, &room, sizeof *table);
        tnd_endpoint_t *entry = &table[count];
        int transport;
        if (sscanf(line, "%" SCNu32 " %" SCNu32 " %d %" SCNu64 " %127s", &entry->instance,
                   &entry->port, &transport, &entry->listener, entry->endpoint) != 5)
            continue;
        entry->transport = (tnd_transport_t)transport;
        count++;
    }
    pthread_mutex_lock(&self->lock);
    free(self->table.endpoints);
    self->table.endpoints = table;
    self->table.count = count;
    pthread_mutex_unlock(&self->lock);
}

void tnd_host_take_table(tnd_host_t *self, tnd_buffer_t *note)
{
    tnd_table_use_t use = tnd_barriers_table(&self->start->barriers);
    if (use == TND_TABLE_IGNORED)
        return;
    read_table(self, note);
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        if (self->actors[i] != NULL)
            (use == TND_TABLE_GO ? tnd_actor_go : tnd_actor_look)(self->actors[i]);
}

static void say_ready(tnd_host_t *self)
{
    tnd_host_tell_leader(self, TND_MSG_READY, 0, NULL);
    if (self->unseen[0] != '\0')
        tnd_host_tell_leader(self, TND_MSG_LOG, TND_LOG_WARNING,
                             tnd_text_payload_of("control ps and why cannot look at host %s, "
                                                 "which runs all the same: %s",
                                                 self->plan->hosts[self->config.host].name,
                                                 self->unseen));
    self->unseen[0] = '\0';
    if (self->start->together[0] != '\0')
        tnd_host_tell_leader(self, TND_MSG_LOG, TND_LOG_WARNING,
                             tnd_text_payload_of("control %s", self->start->together));
    self->start->together[0] = '\0';
    pthread_mutex_lock(&self->lock);
    self->end.running = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

/*  A line per chain whose steps programs of this host pull: its number, and the steps they have run. */
static tnd_buffer_t *finish_note(const tnd_host_t *self)
{
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        if (self->wishes.last_steps[c] != TND_UNKNOWN)
            fprintf(writer.stream, "%" PRIu32 " %" PRIu64 "\n", c, self->wishes.last_steps[c]);
    return tnd_text_payload_end(&writer);
}

/*  Says why: a line that does not begin with the number of a chain. */
static void ask_drain(tnd_host_t *self)
{
    char cause[sizeof self->end.cause];
    pthread_mutex_lock(&self->lock);
    memcpy(cause, self->end.cause, sizeof cause);
    bool preempted = self->end.preempted;
    pthread_mutex_unlock(&self->lock);
    tnd_host_tell_leader(self, TND_MSG_ASK, preempted ? TND_HOST_PREEMPTED : 0,
                         cause[0] != '\0' ? tnd_text_payload_of("because%s", cause) : NULL);
}

/*  Asks the leader for the end that the user or a program wants. */
static void ask_end(tnd_host_t *self)
{
    bool reaches = tnd_host_reaches_leader(self);
    if (tnd_wish_is_due(&self->wishes.drain_wish, atomic_load(&self->wishes.drain), reaches))
        ask_drain(self);
    if (tnd_wish_is_due(&self->wishes.finish_wish, atomic_load(&self->wishes.finish), reaches))
        tnd_host_tell_leader(self, TND_MSG_ASK, 0, finish_note(self));
}

/*  Passes the barriers that it can pass now. */
static void pass_barriers(tnd_host_t *self, tnd_barriers_t *barriers)
{
    static void (*const perform[])(tnd_host_t *) = {[TND_BARRIERS_FACTS] = say_facts,
                                                    [TND_BARRIERS_CHECK] = check_streams,
                                                    [TND_BARRIERS_MAKE] = make_actors,
                                                    [TND_BARRIERS_ENDPOINTS] = say_endpoints,
                                                    [TND_BARRIERS_READY] = say_ready};
    tnd_barriers_step_t step = TND_BARRIERS_MAKE;
    while (self->failure.at_ns == 0 && step != TND_BARRIERS_WAIT) {
        /* A phase that changes after the start may be that of an actor that failed. */
        bool looks =
            tnd_barriers_await_actors(barriers) || atomic_exchange(&self->wishes.notice, false);
        tnd_actor_phase_t phase = looks ? least_phase(self) : TND_ACTOR_STARTING;
        tnd_barriers_facts_t facts = {.bound = phase >= TND_ACTOR_BOUND,
                                      .run = phase >= TND_ACTOR_RUNNING,
                                      .reaches = tnd_host_reaches_leader(self)};
        step = tnd_barriers_next(barriers, &facts);
        if (step != TND_BARRIERS_WAIT)
            perform[step](self);
    }
}

bool tnd_host_is_expected(const tnd_host_t *self)
{
    return self->plan->rest_count > 0 || self->config.launched;
}

void tnd_host_make_progress(tnd_host_t *self)
{
    watch_trial(self);
    say_opening(self, self->start);
    tnd_host_raise(self);
    pass_barriers(self, &self->start->barriers);
    ask_end(self);
    if (atomic_load(&self->wishes.drain) && !tnd_host_leads(self) && !self->leader_presence.came &&
        !tnd_host_is_expected(self))
        tnd_host_settle(self, TND_OUTCOME_DRAINED, "");
}
