/*  runtime/notes/fed_streams.h - the streams that sessions of this process have fed, by digest.
 *
 *  Programs that open a session for each epoch get the same order in each, because each begins with
 *  epoch 0.  They are told of the first repetition.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_NOTES_FED_STREAMS_H
#define TND_RUNTIME_NOTES_FED_STREAMS_H

#include "runtime/core/numeric/digest.h"

enum { TND_FED_STREAMS_KEPT = 64 }; /* the last ones */

/*  Notes a stream; true if this is the second time, and not the third. */
bool tnd_fed_streams_repeat(const tnd_digest_t *digest);

#endif
