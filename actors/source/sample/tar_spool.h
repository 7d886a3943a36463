/*  actors/source/sample/tar_spool.h - compressed archives, kept decompressed in a folder.
 *
 *  NAME.KEY.tar.tar has the content of an archive, which can be read in any order; names and keys
 *  are as those of indexes (file/index_folder.h).  It is published when it is complete, and a later run
 *  uses it again.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_TAR_SPOOL_H
#define TND_ACTORS_SOURCE_SAMPLE_TAR_SPOOL_H

#include "actors/stored/record_options.h"

/*  Sets *path_p to the decompressed archive, which is made if it is not there; the caller frees it.
 *  Errors: TND_FAILED if the archive is damaged, the folder would exceed its limit or cannot be written;
 *  nothing is left of the file then. */
tnd_status_t tnd_tar_spool(const tnd_spool_options_t *spool, tnd_content_t *archive,
                           uint64_t identity, const tnd_source_scope_t *scope, char **path_p,
                           tnd_error_t *error) TND_CHECKED;

#endif
