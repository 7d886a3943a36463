/*  transport/nccl/nccl_watch.h - notices calls of NCCL that do not return.
 *
 *  A communicator that makes no caller wait may do so all the same, and then no thread that uses it can
 *  tell.  A thread of the watch looks at them now and then.
 *
 *  Threads: begin and end on the watched one; new and free on any, free while none is watched. */
#ifndef TND_TRANSPORT_NCCL_NCCL_WATCH_H
#define TND_TRANSPORT_NCCL_NCCL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"

typedef struct tnd_nccl_watch tnd_nccl_watch_t;

/*  Calls `late` once, on its own thread, if one of `count` threads is longer than that between begin and
 *  end: with all threads that are there then, by number.  Errors: TND_FAILED if no thread can be started. */
tnd_status_t tnd_nccl_watch_new(tnd_nccl_watch_t **self_p, uint32_t count, uint64_t patience_ns,
                                void (*late)(void *context, const bool *threads), void *context,
                                tnd_error_t *error) TND_CHECKED;
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_nccl_watch_free(tnd_nccl_watch_t **self_p);

/*  Also begins anew. */
void tnd_nccl_watch_begin(tnd_nccl_watch_t *self, uint32_t thread);
void tnd_nccl_watch_end(tnd_nccl_watch_t *self, uint32_t thread);

#endif
