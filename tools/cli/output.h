/*  tools/cli/output.h - writes a file completely or not at all.
 *
 *  A regular file is written under a temporary name, or without a name if the file system supports
 *  that, and renamed when it is complete.  Any other file at the path (a device such as /dev/null,
 *  a pipe, a link such as /dev/stdout) is opened and written directly.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_CLI_OUTPUT_H
#define TND_TOOLS_CLI_OUTPUT_H

#include <stdio.h>

#include "runtime/base/status.h"

typedef struct {
    const char *path; /* borrowed */
    char *temporary;  /* NULL: `path` itself is written */
    bool nameless;    /* it has no temporary name */
    FILE *out;        /* NULL: not open */
} tnd_output_t;

/*  Errors: TND_FAILED if the disk or quota of an open file has no room for this many bytes.  The
 *  file is unchanged.  Pipes and devices always have room. */
tnd_status_t tnd_output_probe(int file, const char *path, tnd_error_t *error) TND_CHECKED;

/*  Locks an open file for this process.  Errors: TND_FAILED if another one writes it. */
tnd_status_t tnd_output_lock(int file, const char *path, tnd_error_t *error) TND_CHECKED;

/*  Errors: TND_FAILED if it cannot be written, another process writes it, or the disk is full; no
 *  file is left. */
tnd_status_t tnd_output_open(tnd_output_t *self, const char *path, tnd_error_t *error) TND_CHECKED;
/*  Completes the file.  Errors: TND_FAILED if not all of it could be written or another process
 *  writes the old file by now, which stays; or if its name could not be made durable. */
tnd_status_t tnd_output_close(tnd_output_t *self, tnd_error_t *error) TND_CHECKED;
/*  Discards the file; no effect if it is not open. */
void tnd_output_abandon(tnd_output_t *self);

#endif
