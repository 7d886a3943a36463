/*  actors/file/decompress.h - reads the content of a compressed file from its start to its end.
 *
 *  Members of gzip, streams of zlib and frames of zstd that follow each other are one content;
 *  zeros after the last are padding.  The memory is that of the format (up to 128 MiB for a zstd
 *  file with the longest window), independent of the size of the content.
 *
 *  A stream that is cut or damaged gives its content up to there.
 *
 *  Ownership: borrows the open file.  Threads: one at a time. */
#ifndef TND_ACTORS_FILE_DECOMPRESS_H
#define TND_ACTORS_FILE_DECOMPRESS_H

#include "actors/file/content.h"

typedef enum {
    TND_COMPRESSION_NONE,
    TND_COMPRESSION_GZIP,
    TND_COMPRESSION_ZLIB,
    TND_COMPRESSION_ZSTD,
    TND_COMPRESSION_AUTO /* an option: as the file's first bytes and its name show */
} tnd_compression_t;

/*  "gzip". */
const char *tnd_compression_name(tnd_compression_t compression);

/*  The compression that a file's first bytes show.  The two bytes of zlib can also begin another
 *  file. */
tnd_compression_t tnd_compression_of(const uint8_t *data, size_t size);

/*  The compression that the ending of a file's name shows: .gz; .zlib, .zz and .z; .zst and .zstd. */
tnd_compression_t tnd_compression_named(const char *path);

/*  Refuses a file that is named as a compressed one and does not begin as one: its first bytes may be
 *  damaged. */
tnd_status_t tnd_compression_refuse_name(const char *path, tnd_error_t *error) TND_CHECKED;

/*  The version of libzstd. */
const char *tnd_decompress_zstd_version(void);
/*  The version of libdeflate that the program was built with; NULL: none. */
const char *tnd_decompress_deflate_version(void);

/*  Writes the whole content of a gzip file, `bytes` bytes, to `out` by the fastest method of this
 *  build.  Returns false if this build has none, if the content is damaged or if it has another
 *  size; tnd_decompress_read then reports why. */
bool tnd_decompress_whole(const uint8_t *data, size_t size, void *out, size_t bytes);

typedef struct tnd_decompress tnd_decompress_t;

/*  Begins at the start of the file. */
tnd_decompress_t *tnd_decompress_new(tnd_content_t *content, tnd_compression_t compression);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_decompress_destroy(tnd_decompress_t **self_p);
/*  Begins again. */
void tnd_decompress_restart(tnd_decompress_t *self);

/*  Writes the next bytes of the content, at most `room`; *got_p == 0: it has ended.  Errors:
 *  TND_REFUSED if the stream is damaged or cut after the content so far, with the offset in the
 *  compressed file; also for later calls.  TND_FAILED if the file cannot be read. */
tnd_status_t tnd_decompress_read(tnd_decompress_t *self, uint8_t *out, size_t room, size_t *got_p,
                                 tnd_error_t *error) TND_CHECKED;
/*  Whether the last TND_REFUSED was for a stream that is cut, so that all content before is right. */
bool tnd_decompress_is_cut(const tnd_decompress_t *self);

#endif
