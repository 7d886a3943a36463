/*  actors/reader/bad_reports.c - reports of bad records, and what the reader does about each. */
#include "actors/reader/bad_reports.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/plan/peers.h"
#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/data/text_payload.h"

/*  Reports handled at once. */
enum { AT_ONCE = 256 };

/*  Whether the chain of this reader writes bad records to the quarantine. */
static bool has_quarantine(const tnd_stream_t *stream)
{
    return stream->bad.read == TND_BAD_QUARANTINE || stream->bad.made == TND_BAD_QUARANTINE;
}

tnd_status_t tnd_bad_reports_init(tnd_bad_reports_t *self, const tnd_actor_t *reader,
                                  tnd_row_reader_t *rows, tnd_error_t *error)
{
    const tnd_reader_options_t *options = tnd_actor_options(reader);
    const tnd_stream_t *stream = tnd_actor_stream(reader);
    uint32_t lane = tnd_actor_instance(reader)->lane;
    *self = (tnd_bad_reports_t){.rows = rows};
    tnd_peers_t readers = tnd_peers_of(reader, TND_ROLE_READER, lane);
    bool is_first = readers.ids[0] == tnd_actor_id(reader);
    tnd_peers_free(&readers);
    if (!is_first || !has_quarantine(stream))
        return TND_OK;
    TND_TRY(tnd_quarantine_check(options->quarantine, error));
    self->quarantine = tnd_quarantine_new(options->quarantine, lane, &stream->read.schema);
    return TND_OK;
}

/*  Drops the first `count` reports. */
static void drop_first(tnd_bad_reports_t *self, size_t count)
{
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        tnd_buffer_drop(&self->items[i].text);
    self->count -= count;
    if (self->count > 0)
        memmove(self->items, self->items + count, self->count * sizeof *self->items);
}

void tnd_bad_reports_free(tnd_bad_reports_t *self)
{
    tnd_quarantine_destroy(&self->quarantine);
    drop_first(self, self->count);
    free(self->items);
}

static bool ends_run(const tnd_bad_report_t *report)
{
    return report->note.way == TND_BAD_STOP || report->note.way == TND_BAD_END;
}

void tnd_bad_reports_add(tnd_bad_reports_t *self, tnd_msg_t *msg)
{
    const tnd_bad_report_t report = {.note = msg->bad,
                                     .generation = msg->generation,
                                     .from = msg->from,
                                     .text = msg->bad.payload};
    if (msg->bad.payload == NULL || (!ends_run(&report) && msg->generation != self->generation))
        return;
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
    self->items[self->count++] = report;
    msg->bad.payload = NULL;
}

tnd_status_t tnd_bad_reports_rewind(tnd_bad_reports_t *self, uint32_t generation,
                                    tnd_position_t from, tnd_error_t *error)
{
    size_t left = 0;
    self->generation = generation;
    for (size_t i = 0; i < self->count; i++)
        if (ends_run(&self->items[i]))
            self->items[left++] = self->items[i];
        else
            tnd_buffer_drop(&self->items[i].text);
    self->count = left;
    if (self->quarantine == NULL)
        return TND_OK;
    return tnd_quarantine_cut(self->quarantine, from, error);
}

/*  Writes a record to the quarantine; one that cannot be read is listed without its row.  `refused`:
 *  the source has refused it, and would do so again. */
static tnd_status_t write_record(tnd_bad_reports_t *self, const tnd_quarantine_place_t *place,
                                 bool refused, const char *who, const char *what,
                                 tnd_error_t *error)
{
    /* A stream would have to begin again. */
    if (refused && !tnd_row_reader_is_random(self->rows))
        return tnd_quarantine_add(self->quarantine, place, NULL, who, what, error);
    tnd_block_t *row = tnd_row_reader_block(self->rows);
    tnd_status_t status = tnd_row_reader_read_samples(self->rows, place->position.epoch,
                                                      &place->sample, 1, row, error);
    row->note.count = row->note.rows = 1;
    tnd_block_seal(row);
    if (status == TND_OK || status == TND_REFUSED)
        status = tnd_quarantine_add(self->quarantine, place, status == TND_OK ? row : NULL, who,
                                    what, error);
    tnd_block_drop(&row);
    return status;
}

/*  Answers that the record is in the quarantine, or that its warning was sent: the batcher's cursor
 *  comes to the leader after both. */
static void confirm(const tnd_bad_report_t *report, tnd_actor_t *reader)
{
    tnd_msg_t msg = {.kind = TND_MSG_QUARANTINED,
                     .generation = report->generation,
                     .from = tnd_actor_id(reader),
                     .to = report->from,
                     .bad = report->note};
    msg.bad.payload = NULL;
    tnd_actor_control(reader, &msg, TND_CARRY_NOTHING);
}

/*  The leader logs the record and keeps it for inspection. */
static void tell_leader(tnd_bad_reports_t *self, tnd_actor_t *reader, const char *where,
                        const char *who, const char *what)
{
    tnd_report_way_t way = tnd_report_pace_take(&self->pace, who, tnd_clock_now());
    if (way == TND_REPORT_COUNTED)
        return;
    tnd_msg_t msg = {.kind = TND_MSG_BAD_RECORD, .to = TND_LEADER};
    msg.note.number = way == TND_REPORT_KEPT ? TND_LOG_DEBUG : TND_LOG_WARNING;
    msg.note.payload = tnd_text_payload_of(
        "%s\n%s\n%s\n%s\n%s", tnd_actor_name(reader), where, who, what,
        way == TND_REPORT_SHOWN_LAST ? "; more such records are only counted" : "");
    tnd_actor_control(reader, &msg, TND_CARRY_BUFFER);
}

static tnd_status_t handle_one(tnd_bad_reports_t *self, tnd_actor_t *reader,
                               const tnd_bad_report_t *report, tnd_error_t *error)
{
    tnd_text_payload_reader_t lines;
    char who[160], what[320], where[320];
    tnd_text_payload_read(&lines, report->text);
    const char *line = tnd_text_payload_line(&lines);
    snprintf(who, sizeof who, "%s", line != NULL ? line : "");
    line = tnd_text_payload_line(&lines);
    snprintf(what, sizeof what, "%s", line != NULL ? line : "");
    tnd_quarantine_place_t place = {
        .position = {.epoch = report->note.epoch, .index = report->note.position}};
    uint64_t sample;
    tnd_row_reader_samples(self->rows, report->note.epoch, report->note.position, 1, &sample);
    tnd_row_reader_place(self->rows, report->note.epoch, sample, &place, where, sizeof where);
    if (report->note.way == TND_BAD_END)
        return tnd_fail(error, "%s: %s: %.100s: %.240s", tnd_actor_name(reader), where, who, what);
    if (report->note.way == TND_BAD_STOP)
        return tnd_fail(error,
                        "%s: %s is bad: %.100s: %.240s; to continue without such records, set "
                        "`on_error: skip` or `quarantine`",
                        tnd_actor_name(reader), where, who, what);
    tell_leader(self, reader, where, who, what);
    if (report->note.way == TND_BAD_QUARANTINE && self->quarantine != NULL)
        return write_record(self, &place, strcmp(who, tnd_actor_instance(reader)->actor) == 0, who,
                            what, error);
    return TND_OK;
}

tnd_status_t tnd_bad_reports_handle(tnd_bad_reports_t *self, tnd_actor_t *reader,
                                    tnd_error_t *error)
{
    size_t count = self->count < AT_ONCE ? self->count : AT_ONCE;
    for (size_t i = 0; i < count; i++)
        TND_TRY(handle_one(self, reader, &self->items[i], error));
    if (self->quarantine != NULL)
        TND_TRY(tnd_quarantine_sync(self->quarantine, error));
    for (size_t i = 0; i < count; i++)
        confirm(&self->items[i], reader);
    drop_first(self, count);
    return TND_OK;
}
