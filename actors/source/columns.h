/*  actors/source/columns.h - columns whose rows lie one after the other, in memory or in a mapped
 *  file: what most sources come down to.
 *
 *  Lifecycle: zeroed; tnd_columns_add for each; tnd_columns_facts, then any number of reads;
 *  tnd_columns_close, also after a failed add.
 *
 *  Threads: one at a time.
 */
#ifndef TND_ACTORS_SOURCE_COLUMNS_H
#define TND_ACTORS_SOURCE_COLUMNS_H

#include "runtime/data/mapping.h"
#include "runtime/graph/options.h"
#include "runtime/source.h"

/*  One column: row i is at byte offset + i * bytes of a row in `buffer`. */
typedef struct {
    const char *path; /* for errors; borrowed */
    tnd_dtype_t dtype;
    uint32_t rank; /* of a row */
    uint64_t shape[TND_RANK_MAX];
    uint64_t rows;
    size_t offset;
    tnd_buffer_t *buffer;   /* sealed; held */
    tnd_mapping_t *mapping; /* owned; NULL unless the buffer is the pages of a file */
    uint64_t identity;      /* tnd_columns_identity of the file as it lies on the disk */
} tnd_stored_t;

typedef struct {
    tnd_schema_t schema;
    tnd_stored_t stored[TND_COLUMNS_MAX];
    size_t row_bytes[TND_COLUMNS_MAX];
} tnd_columns_t;

/*  Opens a file as a column.  On failure nothing in *stored has to be released. */
typedef tnd_status_t tnd_stored_open_fn(tnd_stored_t *stored, const char *path, tnd_error_t *error);

/*  A hash of size and first and last 64 KiB. */
uint64_t tnd_columns_identity(const void *data, size_t size);

/*  Releases what a column holds. */
void tnd_stored_close(tnd_stored_t *self);

/*  Adds a column and takes *stored, also on failure.  TND_FAILED: the name or shape does not fit,
 * or the number of rows differs from that of the columns before.
 */
tnd_status_t tnd_columns_add(tnd_columns_t *self, const char *name, tnd_stored_t *stored,
                             tnd_error_t *error) TND_CHECKED;

/*  Opens each file of a map from column to path.  On failure all is closed again. */
tnd_status_t tnd_columns_open(tnd_columns_t *self, const tnd_pairs_t *files,
                              tnd_stored_open_fn *open, tnd_source_facts_t *facts,
                              tnd_error_t *error) TND_CHECKED;

void tnd_columns_facts(const tnd_columns_t *self, tnd_source_facts_t *facts);

/*  As `read` of runtime/source.h: nothing is copied.  Rows in a run become a packed block, others
 *  one gathered by the index list.
 */
tnd_status_t tnd_columns_read(tnd_columns_t *self, tnd_buffer_t *index_buffer, uint32_t count,
                              tnd_block_t *block, tnd_error_t *error) TND_CHECKED;

void tnd_columns_close(tnd_columns_t *self);

#endif
