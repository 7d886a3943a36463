/*  actors/source/sample/tar_members.h - the files in a tar archive, one after the other.
 *
 *  Reads ustar, GNU and PAX archives by libarchive, compressed ones through file/decompress.h, which
 *  compares the checks of their streams.  A member is named `key.extension`, as in WebDataset: the
 *  key is the path up to the first dot of the file's name, and the extension is in lower case.
 *  Other members (folders, names without a dot) are left out.
 *
 *  After a header that is damaged the next valid one is found; all between is one damaged member.
 *  What follows an end-of-archive mark is read on, so archives that were joined are one.  A
 *  compressed stream that is damaged or cut ends with one damaged member, unless the last member
 *  that was read has reported it.
 *
 *  Ownership: borrows the open content.  Threads: one at a time. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_TAR_MEMBERS_H
#define TND_ACTORS_SOURCE_SAMPLE_TAR_MEMBERS_H

#include "actors/file/decompress.h"

/*  Texts are valid until the next call. */
typedef struct {
    const char *path; /* as stored */
    const char *key;  /* the first bytes of it */
    size_t key_size;
    const char *extension; /* after the dot, in lower case; its first TND_COLUMN_NAME_MAX bytes */
    uint64_t at;           /* byte of its header; in the uncompressed archive */
    uint64_t offset, size; /* of its bytes, likewise */
    bool sparse;           /* its bytes are not stored as they are */
    const char *link;      /* the path of the file that it is a link to; NULL: it has bytes */
    bool symbolic;         /* that path is relative to its own */
    const char *damage;    /* why it cannot be read: it has no name; NULL: it can */
} tnd_tar_member_t;

typedef struct tnd_tar_members tnd_tar_members_t;

/*  How an archive with these first bytes is compressed: gzip, zstd or not. */
tnd_compression_t tnd_tar_compression(const uint8_t *data, size_t size);

/*  Changes the letters of ASCII to lower case, as extensions are compared. */
void tnd_tar_lower_case(char *text);

tnd_tar_members_t *tnd_tar_members_new(tnd_content_t *content);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_tar_members_destroy(tnd_tar_members_t **self_p);

/*  TND_END: that was the last member.  Errors: TND_FAILED if the file cannot be read or is not an
 *  archive. */
tnd_status_t tnd_tar_members_next(tnd_tar_members_t *self, tnd_tar_member_t *member,
                                  tnd_error_t *error) TND_CHECKED;
/*  As tnd_tar_members_next, also for files without a key or an extension: both are then NULL. */
tnd_status_t tnd_tar_members_any(tnd_tar_members_t *self, tnd_tar_member_t *member,
                                 tnd_error_t *error) TND_CHECKED;
/*  After TND_END: whether the archive has the mark of its end. */
bool tnd_tar_members_marked(const tnd_tar_members_t *self);
/*  Copies all bytes of the last member.  Errors: TND_REFUSED if the archive ends before, or is
 *  damaged; TND_FAILED as above. */
tnd_status_t tnd_tar_members_read(tnd_tar_members_t *self, uint8_t *out, size_t size,
                                  tnd_error_t *error) TND_CHECKED;

#endif
