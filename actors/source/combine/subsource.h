/*  actors/source/combine/subsource.h - one of the sources that a combination reads.
 *
 *  Its rows are shown as a block, whichever of `read` and `fill` it has.  The blocks here are plain
 *  structs without a pool: tnd_subsource_release drops what one holds.
 *
 *  Threads: open, close, and all of sequential reading on one; tnd_subsource_read and
 *  tnd_subsource_sizes of a RANDOM source on any number at once.
 *  Errors: as those of the source; `about` is the value in the file that names it. */
#ifndef TND_ACTORS_SOURCE_COMBINE_SUBSOURCE_H
#define TND_ACTORS_SOURCE_COMBINE_SUBSOURCE_H

#include "actors/reader/stream_reader.h"
#include "runtime/interface/source.h"

typedef struct {
    const tnd_source_t *source;
    const tnd_part_t *part; /* as chosen in the file */
    void *state;
    tnd_source_facts_t facts;
    /*  Sequential reading: the rows that were read last, and the next of them. */
    tnd_stream_reader_t *reader; /* of a source that writes its rows; else NULL */
    tnd_block_t *block;
    uint32_t row, asked; /* the next row of those that were asked for */
    uint32_t shown;      /* the next row of the block */
    uint32_t refused;    /* the next of those that the reader has left out */
    uint32_t passes;
    uint64_t next; /* the row of the source that is read next */
    bool ended;
} tnd_subsource_t;

tnd_status_t tnd_subsource_open(tnd_subsource_t *self, const tnd_part_t *part,
                                const tnd_source_scope_t *scope, tnd_error_t *error) TND_CHECKED;
void tnd_subsource_close(tnd_subsource_t *self);

/*  Rows index[0 ... count) of a RANDOM source, in a zeroed block. */
tnd_status_t tnd_subsource_read(const tnd_subsource_t *self, const uint64_t *index, uint32_t count,
                                tnd_block_t *block, tnd_error_t *error) TND_CHECKED;
void tnd_subsource_release(tnd_block_t *block);
/*  Bytes of the ragged columns of rows of a RANDOM source; if it cannot tell, they are read. */
tnd_status_t tnd_subsource_sizes(const tnd_subsource_t *self, const uint64_t *index, uint32_t count,
                                 uint64_t *bytes, tnd_error_t *error) TND_CHECKED;
/*  Where a row is stored. */
void tnd_subsource_where(const tnd_subsource_t *self, uint64_t row, tnd_source_place_t *place);

/*  Sequential reading begins again from the first row. */
void tnd_subsource_rewind(tnd_subsource_t *self);
/*  The next row: row *row_p of *block_p, until the next call.  TND_END: there is none.  TND_REFUSED:
 *  it is bad; the next call gives the one after it. */
tnd_status_t tnd_subsource_next(tnd_subsource_t *self, const tnd_block_t **block_p, uint32_t *row_p,
                                tnd_error_t *error) TND_CHECKED;
/*  Copies a row to row `to` of `rows`, whose columns from `column` on are those of the block. */
void tnd_subsource_copy(const tnd_block_t *block, uint32_t row, tnd_rows_t *rows, uint32_t column,
                        size_t to);

#endif
