/*  actors/file/inflate.h - the content of a gzip file in memory, in pieces of known size.
 *
 *  Several members in a row, as pigz and cat make them, are one content; zeros after the last one
 *  are padding.
 *
 *  Lifecycle: init; reads; finish or not; fini.  Threads: one at a time. */
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

/*  Whether bytes begin as gzip files do. */
bool tnd_inflate_fits(const uint8_t *data, size_t size);

/*  Writes the whole content of `bytes` bytes to `out`, as fast as this build can.  False: it
 *  cannot, or the content is not so; reading it in pieces will tell why.  Needs no init. */
bool tnd_inflate_whole(const uint8_t *data, size_t size, void *out, size_t bytes);

/*  The version of libdeflate that the program was built with; NULL: it was built without. */
const char *tnd_inflate_library(void);

/*  Borrows path and data until fini. */
void tnd_inflate_init(tnd_inflate_t *self, const char *path, const uint8_t *data, size_t size);

/*  The next `size` bytes of content.  TND_FAILED: there are not as many, or they are damaged; the
 *  text names the offset in the compressed file. */
tnd_status_t tnd_inflate_read(tnd_inflate_t *self, void *out, size_t size,
                              tnd_error_t *error) TND_CHECKED;

/*  TND_OK if all content was read, its checksum is right and nothing follows it. */
tnd_status_t tnd_inflate_finish(tnd_inflate_t *self, tnd_error_t *error) TND_CHECKED;

void tnd_inflate_fini(tnd_inflate_t *self);

#endif
