/*  tools/report/run_json.h - an inspection as JSON, for `tundish ps --json` and `tundish top --json`.
 *
 *  The members and their units are described by tests/tools/ps.schema.json.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_REPORT_RUN_JSON_H
#define TND_TOOLS_REPORT_RUN_JSON_H

#include <stdio.h>

#include "runtime/observe/inspection.h"

/*  The version of the members; it grows when one changes its meaning. */
enum { TND_RUN_JSON_SCHEMA = 2 };

/*  The state of an actor for users: "waiting", "asleep", ... */
const char *tnd_run_json_state(const tnd_statistics_t *page);
/*  Prints the names of some wait reasons, the most important first, each between `before` and
 *  `after`. */
void tnd_run_json_waits(FILE *out, const tnd_statistics_t *page, const char *before,
                        const char *between, const char *after);
/*  Seconds that an actor has been in its state; waking up without work does not end a wait. */
double tnd_run_json_since(const tnd_statistics_t *page, uint64_t now);

/*  The run that `process` belongs to: its session, hosts, edges and log. */
void tnd_run_json_run(FILE *out, const tnd_inspection_t *look, const tnd_inspected_t *process);
/*  Rows per second of an actor of `process` between two inspections; 0 if it was killed. */
double tnd_run_json_rate(const tnd_inspection_t *before, const tnd_inspection_t *after,
                         const tnd_inspected_t *process, const tnd_statistics_t *page);
/*  An actor of `process`.  `rate`: rows per second. */
void tnd_run_json_actor(FILE *out, const tnd_inspected_t *process, const tnd_statistics_t *page,
                        uint64_t now, double rate);
/*  A process of `after` and its actors. */
void tnd_run_json_process(FILE *out, const tnd_inspection_t *before, const tnd_inspection_t *after,
                          const tnd_inspected_t *process);

#endif
