/*  actors/source/sample/tar_spool.h - compressed archives, kept decompressed in a folder.
 *
 *  NAME.KEY.tar.tar has the content of an archive, which can be read in any order; names and keys
 *  are as those of indexes (file/index_folder.h).  NAME.KEY.tar.hashes.npy has hashes of it
 *  (stored/chunk_hashes.h).  They are published when they are complete, the archive last, and a later run
 *  uses them again.
 *
 *  Threads: several archives at once. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_TAR_SPOOL_H
#define TND_ACTORS_SOURCE_SAMPLE_TAR_SPOOL_H

#include <stdatomic.h>

#include "actors/stored/chunk_hashes.h"
#include "actors/stored/record_options.h"

/*  The folder for the archives of a source. */
typedef struct {
    const tnd_spool_options_t *options; /* NULL: archives are not spooled */
    const tnd_source_scope_t *scope;
    _Atomic uint64_t used;    /* bytes of the files in it, with those that are being written */
    _Atomic uint64_t written; /* of them, by this source */
} tnd_tar_spool_t;

/*  An archive in it. */
typedef struct {
    char *path, *hashes_path; /* NULL: there is none */
    tnd_chunk_list_t list;
    tnd_chunk_hashes_t hashes; /* of all of its bytes */
    bool again;                /* what was there did not fit, and was made again */
} tnd_tar_spooled_t;

/*  Looks at the folder.  `options` and `scope` are borrowed. */
void tnd_tar_spool_init(tnd_tar_spool_t *self, const tnd_spool_options_t *options,
                        const tnd_source_scope_t *scope);

/*  Finds the decompressed archive, which is made if it is not there; free it, also after a failure.  If
 *  no row will be read, it is not made: TND_END.
 *  Errors: TND_FAILED if the archive is damaged, the folder would exceed its limit or cannot be written;
 *  nothing is left of the file then.  *file_p: a descriptor of what was just made, for the caller to
 *  close; -1: it is to be opened. */
tnd_status_t tnd_tar_spool(tnd_tar_spool_t *self, tnd_content_t *archive, uint64_t identity,
                           tnd_tar_spooled_t *spooled, int *file_p, tnd_error_t *error) TND_CHECKED;
void tnd_tar_spooled_free(tnd_tar_spooled_t *self);

/*  Compares the hashes of bytes of the archive, whose content is open.  Errors: TND_FAILED if they are not
 *  those that were written. */
tnd_status_t tnd_tar_spooled_check(const tnd_tar_spooled_t *self, const tnd_content_t *content,
                                   size_t offset, size_t size, tnd_error_t *error) TND_CHECKED;

#endif
