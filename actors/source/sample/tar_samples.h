/*  actors/source/sample/tar_samples.h - the samples of a tar archive: the members of one key.
 *
 *  A sample is the members of one key that follow each other.  Each column is the member with one of
 *  some extensions; members with other extensions are left out.  A sample is bad if a column has no
 *  member or two, or if its member cannot be read; a damaged part of the archive is a bad sample.
 *  A link is a bad member too, unless hard links are collected to be found later (tar_links.h).
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_TAR_SAMPLES_H
#define TND_ACTORS_SOURCE_SAMPLE_TAR_SAMPLES_H

#include "actors/source/sample/tar_links.h"
#include "actors/source/sample/tar_members.h"

/*  The columns: of column i the name, and the extensions that it may have: "jpg;jpeg". */
typedef struct {
    uint32_t count;
    char names[TND_COLUMNS_MAX][TND_COLUMN_NAME_MAX];
    char extensions[TND_COLUMNS_MAX][TND_COLUMN_NAME_MAX];
} tnd_tar_columns_t;

/*  Where the bytes of a column are; of a bad sample `size` of the column that is missing is
 *  TND_TAR_MISSING. */
typedef struct {
    uint64_t offset, size;
} tnd_tar_place_t;

#define TND_TAR_MISSING UINT64_MAX

typedef struct {
    uint64_t at;     /* byte of the first header, in the uncompressed archive */
    const char *why; /* until the next call; NULL: it is good */
    tnd_tar_place_t places[TND_COLUMNS_MAX];
} tnd_tar_sample_t;

/*  Called with each member of a sample that belongs to a column, to read it. */
typedef tnd_status_t tnd_tar_take_fn(void *taker, tnd_tar_members_t *members, uint32_t column,
                                     uint64_t size, tnd_error_t *error);

typedef struct {
    const tnd_tar_columns_t *columns;
    tnd_tar_members_t *members;
    tnd_tar_links_t *links; /* collects hard links; NULL: they are bad */
    tnd_tar_member_t next;  /* the first member of the next sample, if `ahead` */
    bool ahead, ended;
    uint64_t count; /* samples so far */
    size_t key_size;
    char *key; /* of the sample; NULL: damage */
    char why[320];
} tnd_tar_samples_t;

/*  Borrows all of them; `links` may be NULL. */
void tnd_tar_samples_init(tnd_tar_samples_t *self, const tnd_tar_columns_t *columns,
                          tnd_content_t *content, tnd_tar_links_t *links);
void tnd_tar_samples_free(tnd_tar_samples_t *self);

/*  TND_END: that was the last sample.  `take` may be NULL.  Errors: as tnd_tar_members_next, and as
 *  `take`, unless it returns TND_REFUSED: then the sample is bad. */
tnd_status_t tnd_tar_samples_next(tnd_tar_samples_t *self, tnd_tar_sample_t *sample,
                                  tnd_tar_take_fn *take, void *taker,
                                  tnd_error_t *error) TND_CHECKED;

/*  The columns of a file's first sample that can be read: one for each of its members.  TND_END: it
 *  has no files.  Errors: TND_FAILED if none of its files is one of a sample. */
tnd_status_t tnd_tar_columns_of(tnd_tar_columns_t *self, tnd_content_t *content,
                                tnd_error_t *error) TND_CHECKED;

#endif
