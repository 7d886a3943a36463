/*  actors/source/sample/tar_links.h - the hard links of a tar archive that is not compressed.
 *
 *  The search for samples collects the links that are members of a sample.  A second walk over the
 *  archive, only where there are links, finds the bytes of the files that they name: the last file of
 *  that name before the link.
 *
 *  Ownership: copies the names.  Threads: one at a time. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_TAR_LINKS_H
#define TND_ACTORS_SOURCE_SAMPLE_TAR_LINKS_H

#include "actors/source/sample/tar_members.h"

typedef struct {
    uint64_t sample; /* of the archive */
    uint32_t column;
    bool found;
    uint64_t at;           /* byte of its own header */
    uint64_t offset, size; /* of the bytes of the file that it names, if found */
    char *target;          /* the path of that file */
} tnd_tar_link_t;

/*  Zeroed: none. */
typedef struct {
    tnd_tar_link_t *items; /* in the order of the archive */
    size_t count, room;
} tnd_tar_links_t;

/*  Appends a member that is a link; it is after those before. */
void tnd_tar_links_add(tnd_tar_links_t *self, const tnd_tar_member_t *member, uint64_t sample,
                       uint32_t column);
/*  Finds the files.  Errors: TND_FAILED if the archive cannot be read. */
tnd_status_t tnd_tar_links_find(tnd_tar_links_t *self, tnd_content_t *content,
                                tnd_error_t *error) TND_CHECKED;
void tnd_tar_links_free(tnd_tar_links_t *self);

#endif
