/*  runtime/source.h - where rows come from: the interface of a source.
 *
 *  One file in actors/source/ and one line in sources.def make a source.  A source declares what it
 *  can do: RANDOM, any row by index (all of today's sources); later also REWINDS, from the start
 *  with the same rows.  What follows (shuffle, epochs, checkpoint, retention) is checked from it
 *  before the start.
 *
 *  One open source serves all readers of a host: after `open` its state is const.
 *
 *  Threads: open and close on one thread at a time; read on any number at once, and it may take
 *  long (a disk).
 */
#ifndef TND_RUNTIME_SOURCE_H
#define TND_RUNTIME_SOURCE_H

#include "runtime/data/block.h"
#include "runtime/graph/spec.h"

/*  What a source says of its data once it is open. */
typedef struct {
    tnd_schema_t schema;
    uint64_t count; /* rows; TND_UNKNOWN */
    uint64_t
        identity; /* of the data set: count, sizes, hash of first and last 64 KiB of each file */
} tnd_source_facts_t;

typedef struct tnd_source {
    const tnd_source_spec_t *spec; /* name, options, help, what it can do */
    size_t state_bytes;

    /*  Opens the data; `options` is the struct that spec->options fill, valid until close.  Fails
     *  with a text that names file and offset.  On failure close is not called.
     */
    tnd_status_t (*open)(void *state, const void *options, tnd_source_facts_t *facts,
                         tnd_error_t *error);
    /*  Makes `block` show rows index[0 ... count), in this order: sets columns, and may keep
     *  `index` itself, which is the content of `index_buffer` (hold it: block->index).  Touches the
     *  pages, so that page faults are waited for here.  Checks what it hands out: a file that
     *  shrank is an error with file and offset, never a signal.
     */
    tnd_status_t (*read)(void *state, tnd_buffer_t *index_buffer, uint32_t count,
                         tnd_block_t *block, tnd_error_t *error);
    void (*close)(void *state);
} tnd_source_t;

#endif
