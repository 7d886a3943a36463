/*  tools/new/file_head.h - recognises the format of a file by its first bytes, and of text by its name.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_NEW_FILE_HEAD_H
#define TND_TOOLS_NEW_FILE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/status.h"

enum { TND_FILE_HEAD = 512 };

/*  The first bytes of a file, decompressed if needed. */
typedef struct {
    unsigned char bytes[TND_FILE_HEAD + 1];
    size_t size;
    const char *packed; /* "gzip", "zlib", "zstd" or NULL */
    bool damaged;       /* it is packed, and cannot be unpacked from its start */
} tnd_file_head_t;

/*  Errors: TND_FAILED if the file does not exist or cannot be read. */
tnd_status_t tnd_file_head_read(tnd_file_head_t *self, const char *path,
                                tnd_error_t *error) TND_CHECKED;

/*  Whether text may have this byte: no control character but white space, and what terminals know. */
static inline bool tnd_is_text_byte(unsigned char byte)
{
    return byte >= ' ' || (byte >= '\a' && byte <= '\r') || byte == 0x1b;
}

/*  Whether it begins as a JPEG or PNG file. */
bool tnd_file_head_is_picture(const tnd_file_head_t *self);

/*  The source that reads such a file, as written for --as; NULL: none does. */
const char *tnd_file_head_source(const tnd_file_head_t *self, const char *path);

/*  Describes a file that is not read, and what the user can do: "a GIF picture: convert it to PNG". */
const char *tnd_file_head_describe(const tnd_file_head_t *self);

#endif
