/*  actors/file/inflate.h - decompresses a gzip file in memory, in pieces of known size.
 *
 *  Several members, as pigz and cat write them, are one content; zeros after the last are padding.
 *
 *  Lifecycle: init; reads; optionally finish; fini.  Threads: one at a time. */
#ifndef TND_ACTORS_FILE_INFLATE_H
#define TND_ACTORS_FILE_INFLATE_H

#include <zlib.h>

#include "runtime/base/status.h"

typedef struct {
    z_stream stream;
    const char *path;
    const uint8_t *data;
    size_t size;
    size_t at;         /* next compressed byte */
    uint64_t produced; /* bytes of content so far */
    bool ended;        /* the member is complete */
} tnd_inflate_t;

/*  Whether bytes begin with the gzip magic number. */
bool tnd_inflate_fits(const uint8_t *data, size_t size);

/*  Writes the whole content of `bytes` bytes to `out`, by the fastest method of this build.  Needs
 *  no init.  Returns false if this build has none or the content is invalid; reading in pieces then
 *  reports why. */
bool tnd_inflate_whole(const uint8_t *data, size_t size, void *out, size_t bytes);

/*  The version of libdeflate that the program was built with; NULL: none. */
const char *tnd_inflate_library(void);

/*  Borrows path and data until fini. */
void tnd_inflate_init(tnd_inflate_t *self, const char *path, const uint8_t *data, size_t size);

/*  Reads the next `size` bytes of content.  Errors: TND_FAILED if there are fewer or they are
 *  damaged; the text names the offset in the compressed file. */
tnd_status_t tnd_inflate_read(tnd_inflate_t *self, void *out, size_t size,
                              tnd_error_t *error) TND_CHECKED;

/*  Returns TND_OK if all content was read, its checksum is right and nothing follows it. */
tnd_status_t tnd_inflate_finish(tnd_inflate_t *self, tnd_error_t *error) TND_CHECKED;

void tnd_inflate_fini(tnd_inflate_t *self);

#endif
