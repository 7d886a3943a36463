/*  actors/adapt/partition.h - divides the rows of a reader by the values of a column, for its `part`.
 *
 *  A pass reads the column of all rows as they are stored: as the source has it, else as the first operation
 *  that makes it does.  The parts of all rows (part_words.h) are stored beside the checkpoints or in the folder
 *  of the indexes, so that the readers of other parts need no pass of their own.
 *
 *  Threads: one at a time for each reader. */
#ifndef TND_ACTORS_ADAPT_PARTITION_H
#define TND_ACTORS_ADAPT_PARTITION_H

#include "actors/adapt/chain_rows.h"

/*  Adds the parts to self->stream->adapted, if the reader needs them.  Where nothing may be read
 *  (plan->unread), what is not stored remains unknown. */
tnd_status_t tnd_partition_run(tnd_chain_rows_t *self, tnd_error_t *error) TND_CHECKED;

/*  Whether a reader needs them; the bytes that they take, also while they are made, of a source whose rows are
 *  counted. */
bool tnd_partition_divides(const tnd_instance_t *reader);
size_t tnd_partition_bytes(const tnd_instance_t *reader, const tnd_stream_t *stream);

/*  Writes how many rows of each value are in each part, after `indent`. */
void tnd_partition_show(const tnd_plan_t *plan, const tnd_stream_t *stream, const char *indent,
                        FILE *out);

#endif
