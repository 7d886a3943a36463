/*  actors/file/failures.h - everything that keeps a source from being opened, in one pass.
 *
 *  The first failure is what `open` returns; the others are reported through `tell` of the scope,
 *  and the source goes on as far as that makes sense.
 *
 *  Threads: the one that opens. */
#ifndef TND_ACTORS_FILE_FAILURES_H
#define TND_ACTORS_FILE_FAILURES_H

#include "runtime/interface/source.h"
#include "runtime/base/status.h"

typedef struct {
    const tnd_source_scope_t *scope; /* NULL: they are dropped */
    tnd_error_t *error;              /* of `open` */
    tnd_status_t status;             /* TND_OK: there is none yet */
} tnd_failures_t;

void tnd_failures_add(tnd_failures_t *self, const tnd_error_t *why);

/*  The same if `status` is one. */
void tnd_failures_note(tnd_failures_t *self, tnd_status_t status, const tnd_error_t *why);

#endif
