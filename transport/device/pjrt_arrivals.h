/*  transport/device/pjrt_arrivals.h - when the copies of an upload are complete, as the plugin's callbacks say.
 *
 *  The thread that uploads begins an upload, adds an event for each of its copies, and asks whether all
 *  have arrived.  The plugin calls back on threads of its own, at once if an event is complete already.
 *
 *  Threads: one uploads and asks; tnd_pjrt_arrivals_take on any. */
#ifndef TND_TRANSPORT_DEVICE_PJRT_ARRIVALS_H
#define TND_TRANSPORT_DEVICE_PJRT_ARRIVALS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TND_PJRT_WHY = 384 };

typedef struct {
    uint64_t begun_ns;         /* monotonic: when the upload began */
    _Atomic uint64_t ended_ns; /* when the last callback so far was called; 0: none was */
    _Atomic uint32_t awaited;  /* callbacks that have not been called */
    _Atomic bool failed;       /* one of them had an error ... */
    char why[TND_PJRT_WHY];    /* ... the first one, to be read when none is awaited */
} tnd_pjrt_arrivals_t;

/*  Not while callbacks are awaited. */
void tnd_pjrt_arrivals_begin(tnd_pjrt_arrivals_t *self, uint64_t now);
/*  Before an event gets its callback; the second is for one that the plugin did not take. */
void tnd_pjrt_arrivals_add(tnd_pjrt_arrivals_t *self);
void tnd_pjrt_arrivals_remove(tnd_pjrt_arrivals_t *self);
/*  The callback, of type on_ready_t; `context` is the arrivals. */
void tnd_pjrt_arrivals_take(void *error, void *context);
/*  Whether no callback is awaited.  Then the caller may free what the copies used, and the arrivals. */
bool tnd_pjrt_arrivals_complete(const tnd_pjrt_arrivals_t *self);
/*  Waits until that is so. */
void tnd_pjrt_arrivals_await(const tnd_pjrt_arrivals_t *self);

#endif
