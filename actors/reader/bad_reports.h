/*  actors/reader/bad_reports.h - reports of bad records, and what the reader does about each.
 *
 *  Batchers and preprocessors report bad records to the first reader of a lane, because it knows
 *  where they are stored.  As the report asks, the reader fails the run, reports the record and its
 *  place to the leader, or also writes the record to the quarantine.
 *
 *  Ownership: takes the texts of the reports.
 *  Threads: the reader's actor. */
#ifndef TND_ACTORS_READER_BAD_REPORTS_H
#define TND_ACTORS_READER_BAD_REPORTS_H

#include "actors/quarantine/report_pace.h"
#include "actors/reader/row_reader.h"

typedef struct {
    tnd_bad_note_t note;
    uint32_t generation;
    tnd_actor_id_t from;
    tnd_buffer_t *text;
} tnd_bad_report_t;

typedef struct {
    tnd_row_reader_t *rows;
    tnd_quarantine_t *quarantine; /* NULL: this reader writes none */
    uint32_t generation;
    tnd_report_pace_t pace;
    tnd_bad_report_t *items;
    size_t count, room;
} tnd_bad_reports_t;

/*  Opens the quarantine if the chain has one and this is the first reader of its lane. */
tnd_status_t tnd_bad_reports_init(tnd_bad_reports_t *self, const tnd_actor_t *reader,
                                  tnd_row_reader_t *rows, tnd_error_t *error) TND_CHECKED;
void tnd_bad_reports_free(tnd_bad_reports_t *self);

/*  Adds the report of a message BAD, unless it is of an earlier generation; takes its payload. */
void tnd_bad_reports_add(tnd_bad_reports_t *self, tnd_msg_t *msg);
/*  Drops the reports of earlier generations that do not stop the run, and cuts the quarantine off
 *  at `from`. */
tnd_status_t tnd_bad_reports_rewind(tnd_bad_reports_t *self, uint32_t generation,
                                    tnd_position_t from, tnd_error_t *error) TND_CHECKED;
/*  Handles some reports, which one sync makes durable.
 *
 *  Errors: TND_FAILED if a report asks to stop the run, or the quarantine cannot be written. */
tnd_status_t tnd_bad_reports_handle(tnd_bad_reports_t *self, tnd_actor_t *reader,
                                    tnd_error_t *error) TND_CHECKED;

#endif
