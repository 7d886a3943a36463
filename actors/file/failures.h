/*  actors/file/failures.h - reports all errors of opening a source in one pass.
 *
 *  The first failure is what `open` returns; the others are reported through `tell` of the scope,
 *  and the source continues as far as possible.
 *
 *  Threads: the one that opens the source. */
#ifndef TND_ACTORS_FILE_FAILURES_H
#define TND_ACTORS_FILE_FAILURES_H

#include "runtime/base/status.h"
#include "runtime/interface/source.h"

typedef struct {
    const tnd_source_scope_t *scope; /* NULL: they are dropped */
    tnd_error_t *error;              /* of `open`; the first error */
    tnd_status_t status;             /* TND_OK: there is none yet */
} tnd_failures_t;

void tnd_failures_add(tnd_failures_t *self, const tnd_error_t *why);

/*  Counts `why` if `status` is a failure. */
void tnd_failures_note(tnd_failures_t *self, tnd_status_t status, const tnd_error_t *why);

#endif
