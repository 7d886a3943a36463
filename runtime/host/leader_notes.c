/*  runtime/host/leader_notes.c - bad records and restarts, which the run's pages keep. */
#include "runtime/host/leader_internal.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/base/clock.h"

static tnd_run_notes_t *notes_of(const tnd_leader_t *self, tnd_run_notes_kind_t kind)
{
    bool kept = self->output.record != NULL && self->output.record->notes != NULL;
    return kept ? &self->output.record->notes[kind] : NULL;
}

/* --- bad records ------------------------------------------------------------------------------ */

static const tnd_reason_t *place_of(const chain_t *chain, const char *who)
{
    for (uint32_t p = 0; p < chain->place_count; p++)
        if (strcmp(chain->places[p].who, who) == 0)
            return &chain->places[p];
    return NULL;
}

static void add_place(chain_t *chain, const char *who, const char *where, const char *what)
{
    if (chain->place_count == PLACES || place_of(chain, who) != NULL)
        return;
    tnd_reason_t *place = &chain->places[chain->place_count++];
    snprintf(place->who, sizeof place->who, "%s", who);
    snprintf(place->where, sizeof place->where, "%s", where);
    snprintf(place->first, sizeof place->first, "%s", what);
}

/*  Lines: the reader; the place; who found it; why; what its log line ends with. */
void tnd_leader_take_bad_record(tnd_leader_t *self, const tnd_msg_t *msg)
{
    enum { READER, WHERE, WHO, WHAT, ENDING, LINES };
    char lines[LINES][320] = {""}, text[800];
    const tnd_instance_t *reader = &self->plan->instances[msg->from];
    tnd_text_payload_reader_t payload;
    tnd_text_payload_read(&payload, msg->note.payload);
    for (unsigned l = 0; l < LINES; l++) {
        const char *line = tnd_text_payload_line(&payload);
        snprintf(lines[l], sizeof lines[l], "%s", line != NULL ? line : "");
    }
    if (reader->chain < self->plan->chain_count)
        add_place(&self->chains[reader->chain], lines[WHO], lines[WHERE], lines[WHAT]);
    if (notes_of(self, TND_RUN_NOTES_BAD) != NULL)
        tnd_run_notes_add(notes_of(self, TND_RUN_NOTES_BAD), lines[WHO], lines[WHERE], lines[WHAT],
                          tnd_clock_now());
    if (msg->note.number < TND_LOG_WARNING)
        return;
    snprintf(text, sizeof text, "%s is bad: %.100s: %.200s%.60s", lines[WHERE], lines[WHO],
             lines[WHAT], lines[ENDING]);
    tnd_leader_log(self, TND_LOG_WARNING, self->plan->hosts[reader->host].name, lines[READER],
                   text);
}

void tnd_leader_note_reasons(const tnd_leader_t *self, chain_t *chain)
{
    tnd_run_notes_t *notes = notes_of(self, TND_RUN_NOTES_BAD);
    for (size_t i = 0; i < chain->reason_count; i++) {
        tnd_reason_t *reason = &chain->reasons[i].reason;
        const tnd_reason_t *place = place_of(chain, reason->who);
        if (chain->reasons[i].step != COUNTED)
            continue;
        if (place != NULL && reason->where[0] == '\0') {
            memcpy(reason->where, place->where, sizeof reason->where);
            memcpy(reason->first, place->first, sizeof reason->first);
        }
        if (notes != NULL)
            tnd_run_notes_count(notes, reason->who, reason->count);
    }
}

void tnd_leader_report_reasons(const tnd_leader_t *self, chain_t *chain)
{
    const tnd_observer_t *observer = self->config.observer;
    tnd_leader_note_reasons(self, chain);
    for (size_t i = 0; i < chain->reason_count; i++)
        if (observer != NULL && observer->bad != NULL && chain->reasons[i].step == COUNTED)
            observer->bad(observer->context, self->chain, &chain->reasons[i].reason);
}

/* --- restarts --------------------------------------------------------------------------------- */

void tnd_leader_note_restart(tnd_leader_t *self, const char *who, const char *why)
{
    tnd_run_notes_t *notes = notes_of(self, TND_RUN_NOTES_RESTARTS);
    char where[64];
    if (notes == NULL)
        return;
    uint64_t step = tnd_leader_core_cursor(tnd_leader_session(self))->step;
    snprintf(where, sizeof where, "step %" PRIu64, step);
    tnd_run_notes_add(notes, who, where, why, tnd_clock_now());
}
