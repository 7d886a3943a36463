/*  actors/adapt/learning.h - lets the operations of a chain learn of rows what their `auto` options are.
 *
 *  Threads: one at a time for each reader. */
#ifndef TND_ACTORS_ADAPT_LEARNING_H
#define TND_ACTORS_ADAPT_LEARNING_H

#include "actors/adapt/chain_rows.h"

/*  Adds what they learn, or what was stored of an earlier pass, to self->stream->adapted.  Where nothing may
 *  be read (plan->unread), what is not stored remains unknown. */
tnd_status_t tnd_learning_run(tnd_chain_rows_t *self, tnd_error_t *error) TND_CHECKED;

#endif
