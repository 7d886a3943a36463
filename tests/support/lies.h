/*  tests/support/lies.h - messages with false fields.
 *
 *  What another process can say: the fields of a message of the wire, each on its own.  Payloads,
 *  and lists that the decoder checks, are left as they are.
 *
 *  Threads: the random generator's.
 */
#ifndef TND_TESTS_SUPPORT_LIES_H
#define TND_TESTS_SUPPORT_LIES_H

#include "runtime/core/protocol/message.h"
#include "runtime/core/numeric/random.h"

/*  Another value: near the truth, at the edges, or anything. */
uint64_t lies_another(tnd_random_t *random, uint64_t value);
/*  Changes one to three fields of a message, its generation among them. */
void lies_of_message(tnd_random_t *random, tnd_msg_t *msg);
/*  Changes one field of a cursor, whose `lanes` are true so far. */
void lies_of_cursor(tnd_random_t *random, tnd_cursor_t *cursor);

#endif
