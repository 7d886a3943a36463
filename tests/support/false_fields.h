/*  tests/support/false_fields.h - messages with false fields.
 *
 *  They are fields that another process can send, each changed on its own.  Payloads, and lists
 *  that the decoder checks, are left as they are.
 *
 *  Threads: the random generator's. */
#ifndef TND_TESTS_SUPPORT_FALSE_FIELDS_H
#define TND_TESTS_SUPPORT_FALSE_FIELDS_H

#include "runtime/core/numeric/random.h"
#include "runtime/core/protocol/message.h"

/*  Another value: near the truth, at the edges, or anything. */
uint64_t false_value(tnd_random_t *random, uint64_t value);
/*  Changes one to three fields of a message, its generation among them. */
void false_fields_of_message(tnd_random_t *random, tnd_msg_t *msg);
/*  Changes one field of a cursor, whose `lanes` are true so far. */
void false_fields_of_cursor(tnd_random_t *random, tnd_cursor_t *cursor);

#endif
