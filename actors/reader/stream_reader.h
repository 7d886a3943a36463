/*  actors/reader/stream_reader.h - reads a source that writes its rows (`fill`) into packed blocks.
 *
 *  A RANDOM source gets the requested indices.  Any other is read in order from its start.  When a
 *  worker is lost or the run rewinds, earlier positions are needed again.  A source that REWINDS is
 *  then read again from its start.  For a source that does not, the last `retain_bytes` bytes of
 *  rows are kept, and a request for older rows is an error.  One that SEEKS begins where it is asked
 *  to.
 *
 *  Ownership: strings, schema and source remain the caller's.  Blocks may outlive the reader.
 *  Threads: the reader's actor. */
#ifndef TND_ACTORS_READER_STREAM_READER_H
#define TND_ACTORS_READER_STREAM_READER_H

#include "runtime/interface/source.h"

typedef struct {
    const tnd_source_t *source;
    void *state; /* of the open source */
    const tnd_schema_t *schema;
    const char *name; /* of the reader, for errors */
    uint32_t caps;    /* TND_SOURCE_* */
    uint64_t first;   /* the first row of an epoch, after `skip` */
    uint64_t retain_bytes;
} tnd_stream_reader_config_t;

typedef struct tnd_stream_reader tnd_stream_reader_t;

tnd_stream_reader_t *tnd_stream_reader_new(const tnd_stream_reader_config_t *config);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_stream_reader_destroy(tnd_stream_reader_t **self_p);

/*  A row that the source refuses: which of those that were asked for, and why. */
typedef struct {
    uint32_t offset;
    char why[256];
} tnd_stream_refusal_t;

/*  Fills `block` with the rows at index[0 ... *count_p) of the data in `epoch`; they are
 *  consecutive if the source is not RANDOM, and then those that it refuses are left out.  Where the
 *  data ends, *end_p is set and *count_p becomes less.  Errors: TND_REFUSED if a RANDOM source
 *  refuses one of them. */
tnd_status_t tnd_stream_reader_read(tnd_stream_reader_t *self, uint32_t epoch,
                                    const uint64_t *index, uint32_t *count_p, tnd_block_t *block,
                                    bool *end_p, tnd_error_t *error) TND_CHECKED;
/*  The rows that the last read has left out, in ascending order; valid until the next read. */
const tnd_stream_refusal_t *tnd_stream_reader_refused(const tnd_stream_reader_t *self,
                                                      uint32_t *count_p);

#endif
