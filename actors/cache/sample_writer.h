/*  actors/cache/sample_writer.h - writes the rows of samples to a folder that sample_files.h opens.
 *
 *  The files are written to a folder beside it, FOLDER.writing-PID-NUMBER, which is renamed when it is
 *  complete.  So the folder is complete or not there.  The folder that is written is locked; one that
 *  no process has locked was left by a process that ended early, and is removed.  If several
 *  processes write the same folder, one of them remains.
 *
 *  Ownership: the schema remains the caller's.
 *  Threads: one.  Errors: TND_FAILED if a file cannot be written, and the text says what to do; then
 *  the writer can only be closed. */
#ifndef TND_ACTORS_CACHE_SAMPLE_WRITER_H
#define TND_ACTORS_CACHE_SAMPLE_WRITER_H

#include "runtime/data/block.h"

typedef struct tnd_sample_writer tnd_sample_writer_t;

typedef struct {
    const char *folder; /* copied */
    const tnd_schema_t *schema;
    uint64_t samples;   /* numbered from 0 */
    uint64_t needed;    /* how many different ones are used; UINT64_MAX: unknown */
    uint64_t positions; /* of an epoch */
    uint64_t limit;     /* bytes of the columns */
} tnd_sample_writer_config_t;

/*  *left_p: how many folders of processes that ended early were removed. */
tnd_status_t tnd_sample_writer_open(tnd_sample_writer_t **self_p,
                                    const tnd_sample_writer_config_t *config, uint32_t *left_p,
                                    tnd_error_t *error) TND_CHECKED;
/*  Removes what was not published.  Sets *self_p to NULL; NULL is allowed. */
void tnd_sample_writer_close(tnd_sample_writer_t **self_p);
/*  Bytes of its lists and of the rows that it collects; `limit` is that of the columns. */
uint64_t tnd_sample_writer_bytes(const tnd_schema_t *schema, uint64_t samples, uint64_t positions,
                                 uint64_t limit);

/*  Appends rows [first, first + rows) of a block, unless the sample was written or skipped before.
 *  *fits_p: false if they do not fit; the sample is then skipped. */
tnd_status_t tnd_sample_writer_put(tnd_sample_writer_t *self, uint64_t sample,
                                   const tnd_block_t *block, uint32_t first, uint32_t rows,
                                   bool *fits_p, tnd_error_t *error) TND_CHECKED;
/*  The sample will not be in the folder: it has a bad row. */
void tnd_sample_writer_skip(tnd_sample_writer_t *self, uint64_t sample);
/*  The samples at these positions were put or skipped. */
void tnd_sample_writer_cover(tnd_sample_writer_t *self, uint32_t epoch, uint64_t first,
                             uint32_t count);

/*  Whether all samples that are needed, or those at all positions of an epoch, were put or
 *  skipped. */
bool tnd_sample_writer_complete(const tnd_sample_writer_t *self);
/*  Whether those at `positions` positions of an epoch were. */
bool tnd_sample_writer_covers(const tnd_sample_writer_t *self, uint64_t positions);

/*  Gives the folder its name, or does nothing if there is one of that name already. */
tnd_status_t tnd_sample_writer_publish(tnd_sample_writer_t *self, tnd_error_t *error) TND_CHECKED;

/*  Removes a published folder, which is damaged. */
void tnd_sample_writer_discard(const char *folder);

#endif
