/*  actors/reader/stream_reader.h - rows of a source that writes them, in packed blocks.
 *
 *  A RANDOM source is asked for what is wanted.  Any other is read from its start, one row after
 * the other.  Positions come up again when a worker went away, and the run may go back to an
 * earlier one: a source that REWINDS is then read from its start again as far as there; of one that
 * does not, the last rows are kept, `retain_bytes` of them, and what lies before is an error.
 *
 *  Threads: the reader's.
 */
#ifndef TND_ACTORS_READER_STREAM_READER_H
#define TND_ACTORS_READER_STREAM_READER_H

#include "runtime/interface/source.h"

typedef struct {
    const tnd_source_t *source;
    void *state; /* of the open source */
    const tnd_schema_t *schema;
    const char *name; /* of the reader, for texts */
    uint32_t caps;    /* TND_SOURCE_* */
    uint64_t first;   /* row that an epoch begins with: `skip` leaves those before out */
    uint64_t retain_bytes;
} tnd_stream_reader_config_t;

typedef struct tnd_stream_reader tnd_stream_reader_t;

/*  Strings, schema and source stay the caller's. */
tnd_stream_reader_t *tnd_stream_reader_new(const tnd_stream_reader_config_t *config);
/*  Sets *self_p to NULL; NULL is allowed.  Blocks may outlive it. */
void tnd_stream_reader_destroy(tnd_stream_reader_t **self_p);

/*  Makes `block` hold the rows at index[0 ... count) of the data, in `epoch`; of a source that is
 *  not RANDOM they follow one another.  *count_p becomes fewer, with *end_p, where the data ends.
 */
tnd_status_t tnd_stream_reader_read(tnd_stream_reader_t *self, uint32_t epoch,
                                    const uint64_t *index, uint32_t *count_p, tnd_block_t *block,
                                    bool *end_p, tnd_error_t *error) TND_CHECKED;

#endif
