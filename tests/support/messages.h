/*  tests/support/messages.h - one message of each kind, with a different number in every field.
 *
 *  Threads: any. */
#ifndef TND_TESTS_SUPPORT_MESSAGES_H
#define TND_TESTS_SUPPORT_MESSAGES_H

#include "runtime/core/protocol/message.h"

/*  Its texts are constants; it carries nothing. */
tnd_msg_t tnd_message_of(tnd_msg_kind_t kind);

#endif
