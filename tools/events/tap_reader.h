/*  tools/events/tap_reader.h - asks a process of this machine for rows that pass its actors.
 *
 *  Reads and writes the tap (tap.h) of an inspected process.  The process must be of the same user.
 *  What is read is not trusted: it is bounded, and its schema is valid.
 *
 *  Ownership: the caller destroys a reader, which takes back its request.  Threads: one. */
#ifndef TND_TOOLS_EVENTS_TAP_READER_H
#define TND_TOOLS_EVENTS_TAP_READER_H

#include "runtime/observe/inspection.h"
#include "runtime/observe/tap.h"

typedef struct tnd_tap_reader tnd_tap_reader_t;

/*  Errors: TND_FAILED if the file is gone, is another user's, or another inspector uses the tap. */
tnd_status_t tnd_tap_reader_new(tnd_tap_reader_t **self_p, const tnd_inspected_t *process,
                                const char *name, uint64_t every, tnd_error_t *error) TND_CHECKED;
void tnd_tap_reader_destroy(tnd_tap_reader_t **self_p);

/*  Extends the request; to be called at least every second. */
void tnd_tap_reader_renew(tnd_tap_reader_t *self);
/*  Returns the next copy, valid until the next call, or NULL.  Only then is another one made. */
const tnd_tap_t *tnd_tap_reader_take(tnd_tap_reader_t *self);

/*  Makes a copy of a tap safe to use: its schema is valid and its rows are there.  False: it is
 *  not a copy of rows. */
bool tnd_tap_bound(tnd_tap_t *copy);

#endif
