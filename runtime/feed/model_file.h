/*  runtime/feed/model_file.h - the file of a model at the end of a run.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_FEED_MODEL_FILE_H
#define TND_RUNTIME_FEED_MODEL_FILE_H

#include "runtime/base/status.h"

/*  Writes a model to `file`, which exists. */
typedef tnd_status_t tnd_model_write_fn(void *context, const char *file, tnd_error_t *error);

/*  Lets `write` save a model and sets `text` to XXH3-128 of the file, 32 hex digits.  `place`: the file,
 *  written whole or not at all; NULL: only hash, in /dev/shm or, if that fails, $TMPDIR.  Errors:
 *  TND_FAILED if it cannot be written or read. */
tnd_status_t tnd_model_file_save(tnd_model_write_fn *write, void *context, const char *place,
                                 char text[33], tnd_error_t *error) TND_CHECKED;

#endif
