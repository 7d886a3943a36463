/*  tools/report/run_notes_report.h - the bad records and restarts that a run keeps, as text and JSON.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_RUN_NOTES_REPORT_H
#define TND_TOOLS_REPORT_RUN_NOTES_REPORT_H

#include <stdio.h>

#include "runtime/observe/inspection.h"

/*  Prints what the leader `process` keeps of one kind: a line for the run, one for each subject, and
 *  the newest notes with their age. */
void tnd_run_notes_print(FILE *out, const tnd_inspected_t *process, tnd_run_notes_kind_t kind,
                         uint64_t now);
/*  Writes a member named after the kind: an object, or null if the leader's pages are not here. */
void tnd_run_notes_json(FILE *out, const tnd_inspected_t *process, tnd_run_notes_kind_t kind,
                        uint64_t now);
/*  Writes "COUNT by WHO, such as WHERE: WHAT" of a subject; false: there is none. */
bool tnd_run_notes_reason(const tnd_run_notes_t *notes, unsigned subject, char *text, size_t room);

#endif
