/*  runtime/host/leader_start.c - facts, stream and endpoints, until all hosts can begin.
 *
 *  What comes when is decided by runtime/core/host/run_start.h. */
#include "runtime/host/leader_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"

void tnd_leader_tell(tnd_leader_t *self, uint32_t host, tnd_msg_kind_t kind, tnd_buffer_t *note)
{
    tnd_msg_t msg = {.kind = kind, .from = TND_LEADER, .to = tnd_host_id(host)};
    msg.note.payload = tnd_buffer_hold(note);
    self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
}

/*  Whether host `h` is of the audience; `host`: the one that it may be alone. */
static bool is_told(const tnd_leader_t *self, tnd_audience_t audience, uint32_t host, uint32_t h)
{
    return audience == TND_AUDIENCE_HOST
               ? h == host
               : audience == TND_AUDIENCE_ALL && self->run.presences[h].up;
}

/*  The facts of the streams, after what `auto` options are. */
static void tell_streams(tnd_leader_t *self, uint32_t host)
{
    tnd_msg_t msg = {.kind = TND_MSG_STREAM, .from = TND_LEADER, .to = tnd_host_id(host)};
    tnd_adapted_t *all = NULL;
    tnd_adapted_parts_t parts;
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        tnd_adapted_merge(&all, self->chains[c].facts.adapted);
    tnd_stream_begin_adapted(&parts, all);
    tnd_adapted_free(&all);
    for (; (msg.note.payload = tnd_stream_adapted_part(&parts)) != NULL; msg.note.number++)
        self->output.send(self->output.context, &msg, TND_CARRY_BUFFER);
    tnd_leader_tell(self, host, TND_MSG_STREAM, self->stream_note);
}

/*  Whether a host has readers, and so has facts to report. */
static bool has_readers(const tnd_plan_t *plan, uint32_t host)
{
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].host == host && plan->instances[i].kind->role == TND_ROLE_READER)
            return true;
    return false;
}

void tnd_leader_begin_start(tnd_leader_t *self)
{
    const tnd_plan_t *plan = self->plan;
    self->run.start.host_count = plan->host_count;
    self->run.start.hosts = tnd_allocate_zeroed(plan->host_count, sizeof *self->run.start.hosts);
    for (uint32_t h = 0; h < plan->host_count; h++)
        self->run.start.hosts[h] =
            (tnd_run_start_host_t){.reads = has_readers(plan, h),
                                   .spare = plan->hosts[h].spare,
                                   .final = plan->hosts[h].restart == TND_RESTART_NEVER};
}

/*  What hosts with feeders need to resume. */
static void write_resume(const tnd_leader_t *self, FILE *out)
{
    const tnd_resume_t *resume =
        self->writer != NULL ? tnd_checkpoint_writer_resume(self->writer) : NULL;
    if (resume == NULL)
        return;
    fprintf(out, "resume %" PRIu64 " %" PRIu32 " %s\n", resume->step, resume->replicas,
            resume->dir);
    for (uint32_t r = 0; r < resume->replicas; r++)
        fprintf(out, "resumed %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", r,
                resume->parts[r].bytes, resume->parts[r].hash[0], resume->parts[r].hash[1]);
}

/*  The data of the first chain is known: cursors name it. */
static bool data_fit(tnd_leader_t *self)
{
    tnd_error_t error;
    char text[sizeof error.text + 32];
    uint64_t data = self->chains[0].facts.data;
    if (self->writer != NULL) {
        tnd_data_table_settle(&self->data);
        data = tnd_data_table_hash(&self->data);
    }
    tnd_leader_core_data(self->chains[0].session, data);
    if (self->writer == NULL ||
        tnd_checkpoint_writer_data(self->writer, &self->data, &error) == TND_OK)
        return true;
    snprintf(text, sizeof text, "cannot resume: %s", error.text);
    tnd_leader_end(self, TND_OUTCOME_UNUSABLE, text);
    return false;
}

/*  Lines of the data table, which arrive before the facts of their host. */
static void take_files(tnd_leader_t *self, tnd_buffer_t *note)
{
    tnd_error_t error;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;)
        if (tnd_data_table_read(&self->data, line, &error) != TND_OK) {
            tnd_leader_end(self, TND_OUTCOME_UNUSABLE, error.text);
            return;
        }
}

/*  All data is known: writes what the streams are.  Returns false if the run ends. */
static bool settle_streams(tnd_leader_t *self)
{
    for (uint32_t c = 0; c < self->plan->chain_count; c++) {
        uint32_t lane;
        tnd_error_t error;
        if (tnd_stream_settle(&self->chains[c].facts, self->plan->lanes, &lane))
            continue;
        (void)tnd_fail(&error, "no host reported the files of lane %" PRIu32, lane);
        tnd_leader_end(self, TND_OUTCOME_UNUSABLE, error.text);
        return false;
    }
    tnd_text_payload_writer_t writer;
    if (!data_fit(self))
        return false;
    tnd_text_payload_begin(&writer);
    write_resume(self, writer.stream);
    for (uint32_t c = 0; c < self->plan->chain_count; c++)
        tnd_stream_write(&self->chains[c].facts, writer.stream);
    self->stream_note = tnd_text_payload_end(&writer);
    return true;
}

/*  A host reports only the lanes that it reads. */
static tnd_status_t check_lanes(const tnd_leader_t *self, uint32_t host, const tnd_stream_t *said,
                                tnd_error_t *error)
{
    bool reads[TND_LANES_MAX] = {false};
    for (uint32_t i = 0; i < self->plan->instance_count; i++) {
        const tnd_instance_t *instance = &self->plan->instances[i];
        if (instance->host == host && instance->chain == said->chain &&
            instance->kind->role == TND_ROLE_READER)
            reads[instance->lane] = true;
    }
    for (uint32_t lane = 0; lane < TND_LANES_MAX; lane++)
        if (said->lane[lane].known && !reads[lane])
            return tnd_fail(error, "host %s reported lane %" PRIu32 ", which it does not read",
                            self->plan->hosts[host].name, lane);
    return TND_OK;
}

void tnd_leader_enter_opening(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    const member_host_t *member = &self->hosts[host];
    tnd_run_opening(&self->run, host, member->reports,
                    member->reports > 0 ? member->opens : "its data", now);
}

void tnd_leader_show_opening(const tnd_leader_t *self, uint32_t host,
                             const tnd_open_progress_t *progress)
{
    const tnd_observer_t *observer = self->config.observer;
    if (observer != NULL && observer->opening != NULL)
        observer->opening(observer->context, host, progress);
}

/*  Lines of open_progress.h. */
void tnd_leader_take_opening(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    member_host_t *member = &self->hosts[host];
    if (self->run.ended || !tnd_run_start_is_opening(&self->run.start, host))
        return;
    member->reports = msg->note.number;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->note.payload);
    bool first = true;
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        tnd_open_progress_t progress;
        if (!tnd_open_progress_read(&progress, line))
            continue;
        if (first) {
            char name[250];
            tnd_open_progress_name(&progress, name, sizeof name);
            snprintf(member->opens, sizeof member->opens, "%s for %.60s", name, progress.actor);
        }
        first = false;
        tnd_leader_show_opening(self, host, &progress);
    }
    tnd_run_opening(&self->run, host, member->reports, first ? "its data" : member->opens, now);
}

void tnd_leader_take_facts(tnd_leader_t *self, uint32_t host, const tnd_msg_t *msg, uint64_t now)
{
    tnd_error_t error;
    tnd_stream_t said = {.chain = TND_ENDLESS};
    tnd_text_payload_reader_t reader;
    tnd_buffer_t *note = msg->note.payload;
    if (self->run.ended)
        return;
    if (tnd_stream_is_adapted_part(note)) {
        if (tnd_stream_take_adapted(&self->hosts[host].adapted, msg->note.number, note, &error) !=
            TND_OK)
            tnd_leader_end(self, TND_OUTCOME_UNUSABLE, error.text);
        return;
    }
    tnd_text_payload_read(&reader, note);
    const char *line = tnd_text_payload_line(&reader);
    if (line != NULL && tnd_data_table_is_line(line)) {
        /* A host that joins late does not change the data table of checkpoints. */
        if (!self->run.start.opened)
            take_files(self, note);
        return;
    }
    while (line != NULL) {
        tnd_status_t status = tnd_stream_read(&said, line, &error);
        line = tnd_text_payload_line(&reader);
        bool whole = line == NULL || strncmp(line, "stream ", 7) == 0;
        if (status == TND_OK && said.chain >= self->plan->chain_count)
            status = tnd_fail(&error, "facts of chain %" PRIu32 ", which is not there", said.chain);
        if (status == TND_OK && whole)
            status = check_lanes(self, host, &said, &error);
        if (status == TND_OK && whole) {
            said.adapted = self->hosts[host].adapted;
            self->hosts[host].adapted = NULL;
        }
        if (status == TND_OK && whole) {
            chain_t *chain = &self->chains[said.chain];
            if (chain->facts_known) {
                status = tnd_stream_agree(&chain->facts, self->plan->hosts[chain->facts_host].name,
                                          &said, self->plan->hosts[host].name, &error);
                tnd_stream_merge(&chain->facts, &said);
                tnd_adapted_free(&said.adapted);
            } else {
                chain->facts = said;
                said.adapted = NULL;
                chain->facts_host = host;
                chain->facts_known = true;
            }
        }
        if (status != TND_OK) {
            tnd_adapted_free(&said.adapted);
            tnd_leader_end(self, TND_OUTCOME_UNUSABLE, error.text);
            return;
        }
    }
    tnd_adapted_free(&said.adapted);
    tnd_leader_show_opening(self, host, NULL);
    tnd_audience_t audience = tnd_run_opened(&self->run, host, now);
    if (audience != TND_AUDIENCE_ALL || settle_streams(self))
        for (uint32_t h = 0; h < self->plan->host_count; h++)
            if (is_told(self, audience, host, h))
                tell_streams(self, h);
}

/*  A host reports endpoints only of its own actors. */
static void write_endpoints(const tnd_leader_t *self, uint32_t host, FILE *out)
{
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, self->hosts[host].endpoints);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        uint32_t instance;
        if (sscanf(line, "%" SCNu32 " ", &instance) == 1 && instance < self->plan->instance_count &&
            self->plan->instances[instance].host == host)
            fprintf(out, "%s\n", line);
    }
}

/*  The endpoints of all connected hosts and the generation of each chain. */
static tnd_buffer_t *table_of(const tnd_leader_t *self)
{
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    for (uint32_t c = 0; c < self->plan->chain_count && self->chains[c].session != NULL; c++)
        fprintf(writer.stream, "generation %" PRIu32 " %" PRIu32 "\n", c,
                tnd_leader_core_generation(self->chains[c].session));
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        write_endpoints(self, h, writer.stream);
    return tnd_text_payload_end(&writer);
}

static void tell_table(tnd_leader_t *self, tnd_audience_t audience, uint32_t host)
{
    tnd_buffer_t *note = table_of(self);
    for (uint32_t h = 0; h < self->plan->host_count; h++)
        if (is_told(self, audience, host, h))
            tnd_leader_tell(self, h, TND_MSG_TABLE, note);
    tnd_buffer_drop(&note);
}

void tnd_leader_greet(tnd_leader_t *self, uint32_t host, uint64_t now)
{
    tnd_greeting_t greeting = tnd_run_greet(&self->run, host, now);
    if (greeting.streams)
        tell_streams(self, host);
    if (greeting.table)
        tell_table(self, TND_AUDIENCE_HOST, host);
    tnd_leader_follow_touches(self);
    tnd_leader_enter_opening(self, host, now);
}

/*  Reads a line about an actor that carries replicas without state; false if it is another line. */
static bool take_birth(tnd_leader_t *self, uint32_t host, const char *line)
{
    uint32_t instance;
    tnd_life_t life;
    if (sscanf(line, "born %" SCNu32 " %" SCNu64, &instance, &life) != 2)
        return false;
    if (instance >= self->plan->instance_count || self->plan->instances[instance].host != host ||
        tnd_plan_role(self->plan, instance) != TND_ROLE_REPLICA)
        return true;
    tnd_leader_core_t *session = self->chains[self->plan->instances[instance].chain].session;
    if (session != NULL)
        tnd_leader_core_actor_born(session, instance, life, tnd_clock_now());
    return true;
}

void tnd_leader_take_endpoints(tnd_leader_t *self, uint32_t host, tnd_buffer_t *note)
{
    member_host_t *member = &self->hosts[host];
    if (note == NULL)
        return;
    bool moved = !tnd_text_payload_is_same(member->endpoints, note);
    tnd_buffer_drop(&member->endpoints);
    member->endpoints = tnd_buffer_hold(note);
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, note);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;)
        if (!take_birth(self, host, line))
            (void)tnd_process_read(&member->process, line);
    tnd_audience_t audience = tnd_run_start_listen(&self->run.start, host, moved);
    if (audience != TND_AUDIENCE_NONE)
        tell_table(self, audience, host);
}
