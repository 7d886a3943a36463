/*  actors/source/sample/tar_members.h - the files in a tar archive, one after the other.
 *
 *  Reads ustar, GNU and PAX archives, plain or compressed with gzip or zstd, by libarchive.  A
 *  member is named `key.extension`, as in WebDataset: the key is the path up to the first dot of the
 *  file's name.  Other members (folders, links, names without a dot) are left out.
 *
 *  After a header that is damaged the next valid one is found; all between is one damaged member.
 *
 *  Ownership: borrows the open content.  Threads: one at a time. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_TAR_MEMBERS_H
#define TND_ACTORS_SOURCE_SAMPLE_TAR_MEMBERS_H

#include "actors/file/content.h"

typedef struct {
    const char *key; /* until the next call */
    size_t key_size;
    const char *extension; /* after the dot; ended by a zero */
    uint64_t at;           /* byte of its header; in the uncompressed archive */
    uint64_t offset, size; /* of its bytes, likewise */
    bool sparse;           /* its bytes are not stored as they are */
    const char *damage;    /* why it cannot be read: it has no name; NULL: it can */
} tnd_tar_member_t;

typedef struct tnd_tar_members tnd_tar_members_t;

/*  Whether the first bytes of a file are those of gzip or zstd. */
bool tnd_tar_is_compressed(const uint8_t *data, size_t size);

tnd_tar_members_t *tnd_tar_members_new(tnd_content_t *content);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_tar_members_destroy(tnd_tar_members_t **self_p);

/*  TND_END: that was the last member.  Errors: TND_FAILED if the file cannot be read or is not an
 *  archive. */
tnd_status_t tnd_tar_members_next(tnd_tar_members_t *self, tnd_tar_member_t *member,
                                  tnd_error_t *error) TND_CHECKED;
/*  Copies all bytes of the last member.  Errors: TND_REFUSED if the archive ends before, or is
 *  damaged; TND_FAILED as above. */
tnd_status_t tnd_tar_members_read(tnd_tar_members_t *self, uint8_t *out, size_t size,
                                  tnd_error_t *error) TND_CHECKED;

#endif
