/*  runtime/core/protocol/message_kind.h - the kinds of messages. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_MESSAGE_KIND_H
#define TND_RUNTIME_CORE_PROTOCOL_MESSAGE_KIND_H

/*  messages.def describes sender, receiver and fields of each kind. */
typedef enum {
#define TND_MESSAGE(name, ...) TND_MSG_##name,
#include "runtime/core/protocol/messages.def"
    TND_MSG_KINDS
} tnd_msg_kind_t;

#endif
