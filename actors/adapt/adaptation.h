/*  actors/adapt/adaptation.h - the values of `auto` options, computed of the rows that train, and the parts of rows that a
 *  column divides.
 *
 *  A pass reads the rows as they are stored, in one thread, so the values do not depend on hosts,
 *  workers or shuffles.  Lanes with files of their own have a pass each, whose results operations take
 *  together in the order of the lanes.  What is stored of an earlier pass over the same rows is used instead.
 *
 *  Threads: any; one at a time for each reader. */
#ifndef TND_ACTORS_ADAPT_ADAPTATION_H
#define TND_ACTORS_ADAPT_ADAPTATION_H

#include "runtime/interface/kind.h"

/*  The hook adapt of the reader. */
tnd_status_t tnd_adaptation_run(const tnd_plan_t *plan, const tnd_instance_t *reader,
                                tnd_guarded_call_t *call, const void *shared, tnd_stream_t *stream,
                                const tnd_instance_t **culprit_p, tnd_error_t *error) TND_CHECKED;

/*  Adds what the passes before a run need, and the parts of the rows after them. */
void tnd_adaptation_memory(const tnd_plan_t *plan, const tnd_instance_t *reader,
                           const tnd_stream_t *stream, tnd_memory_estimate_t *estimate);

/*  Writes the parts of a `part` by a column, and a line for each operation of a chain with `auto` options, after `indent`. */
void tnd_adaptation_show(const tnd_plan_t *plan, const tnd_stream_t *stream, const char *indent,
                         FILE *out);

#endif
