/*  tools/cli/output.h - a file that takes its place whole, or not at all.
 *
 *  A plain file is made beside its place, without a name where the file system can do that, and
 *  renamed when it is complete.  What already stands at
 *  the path and is none - a device such as /dev/null, a pipe, a link such as /dev/stdout - is
 *  never replaced: it is opened and written as it is.
 *
 *  Threads: one.
 */
#ifndef TUNDISH_TOOLS_OUTPUT_H
#define TUNDISH_TOOLS_OUTPUT_H

#include <stdio.h>

#include "runtime/base/status.h"

typedef struct {
    const char *path; /* borrowed */
    char *temporary;  /* NULL: `path` itself is written */
    bool nameless;    /* it has not even the temporary name */
    FILE *out;        /* NULL: not open */
} tnd_output_t;

/*  TND_FAILED: the disk of an open file has no room for some more bytes, or its quota.  The file is
 *  not changed; what is none, such as a pipe, has room.
 */
tnd_status_t tnd_output_probe(int file, const char *path, tnd_error_t *error) TND_CHECKED;

/*  TND_FAILED: it cannot be written, or its disk is full; nothing is left behind. */
tnd_status_t tnd_output_open(tnd_output_t *self, const char *path, tnd_error_t *error) TND_CHECKED;
/*  Puts it in its place.  TND_FAILED: not all of it could be written, and its place is as it was;
 *  or its name could not be made durable.
 */
tnd_status_t tnd_output_close(tnd_output_t *self, tnd_error_t *error) TND_CHECKED;
/*  Leaves nothing behind; without effect when it is not open. */
void tnd_output_abandon(tnd_output_t *self);

#endif
