/*  actors/batcher/declared_batches.h - what a batcher tells others of its batches.
 *
 *  Threads: any; pure. */
#ifndef TND_ACTORS_BATCHER_DECLARED_BATCHES_H
#define TND_ACTORS_BATCHER_DECLARED_BATCHES_H

#include "actors/plan/kind_options.h"
#include "runtime/data/stream.h"

/*  Sets stream->batch, the rows that are joined, and those that are fed to `replicas` replicas.
 *
 *  Errors: TND_FAILED if a column cannot be bucketed, packed or padded as the options say. */
tnd_status_t tnd_batches_declare(const tnd_batcher_options_t *options, uint32_t replicas,
                                 tnd_stream_t *stream, tnd_error_t *error) TND_CHECKED;

#endif
