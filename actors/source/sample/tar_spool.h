/*  actors/source/sample/tar_spool.h - compressed archives, kept decompressed in a folder.
 *
 *  NAME.KEY.tar.tar has the content of an archive, which can be read in any order; names and keys
 *  are as those of indexes (file/index_folder.h).  It is published when it is complete, and a later run
 *  uses it again.
 *
 *  Threads: several archives at once. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_TAR_SPOOL_H
#define TND_ACTORS_SOURCE_SAMPLE_TAR_SPOOL_H

#include <stdatomic.h>

#include "actors/stored/record_options.h"

/*  The folder for the archives of a source. */
typedef struct {
    const tnd_spool_options_t *options; /* NULL: archives are not spooled */
    const tnd_source_scope_t *scope;
    _Atomic uint64_t used;    /* bytes of the files in it, with those that are being written */
    _Atomic uint64_t written; /* of them, by this source */
} tnd_tar_spool_t;

/*  Looks at the folder.  `options` and `scope` are borrowed. */
void tnd_tar_spool_init(tnd_tar_spool_t *self, const tnd_spool_options_t *options,
                        const tnd_source_scope_t *scope);

/*  Sets *path_p to the decompressed archive, which is made if it is not there; the caller frees it.
 *  Errors: TND_FAILED if the archive is damaged, the folder would exceed its limit or cannot be written;
 *  nothing is left of the file then. */
tnd_status_t tnd_tar_spool(tnd_tar_spool_t *self, tnd_content_t *archive, uint64_t identity,
                           char **path_p, tnd_error_t *error) TND_CHECKED;

#endif
