/*  runtime/interface/link.c - what travels beside the struct of a message.  */
#include "runtime/interface/link.h"

#include <stddef.h>

#include "runtime/data/mapped.h"

void **tnd_msg_payload(tnd_msg_t *msg)
{
    switch (msg->kind) {
    case TND_MSG_BLOCK:
        return &msg->block.payload;
    case TND_MSG_SLICE:
        return &msg->slice.payload;
    case TND_MSG_POST:
    case TND_MSG_RESULT:
    case TND_MSG_GOT:
    case TND_MSG_CLOSED:
        return &msg->post.payload;
    case TND_MSG_COMMIT:
        return &msg->commit.payload;
    case TND_MSG_BAD:
    case TND_MSG_ASIDE:
    case TND_MSG_WHY:
        return &msg->bad.payload;
    case TND_MSG_FACTS:
    case TND_MSG_STREAM:
    case TND_MSG_ENDPOINTS:
    case TND_MSG_TABLE:
    case TND_MSG_READY:
    case TND_MSG_DOWN:
    case TND_MSG_WORDS:
    case TND_MSG_LOG:
    case TND_MSG_ASK:
    case TND_MSG_MODEL:
    case TND_MSG_STATISTICS:
    case TND_MSG_OUTCOME:
    case TND_MSG_SEAT:
    case TND_MSG_LEAVE:
    case TND_MSG_HUNG:
    case TND_MSG_RESTART:
    case TND_MSG_LIVES:
        return &msg->note.payload;
    case TND_MSG_HELLO:
    case TND_MSG_WELCOME:
    case TND_MSG_REFUSE:
    case TND_MSG_STALE:
    case TND_MSG_GOODBYE:
    case TND_MSG_PING:
    case TND_MSG_PONG:
    case TND_MSG_CREDIT:
    case TND_MSG_BEGIN:
    case TND_MSG_GO:
    case TND_MSG_WINDOW:
    case TND_MSG_PASSED:
    case TND_MSG_REWIND:
    case TND_MSG_TICKET:
    case TND_MSG_LOST:
    case TND_MSG_MARK:
    case TND_MSG_PART:
    case TND_MSG_LAST:
    case TND_MSG_BROKEN:
    case TND_MSG_HELD:
    case TND_MSG_BOOKED:
    case TND_MSG_DRAIN:
    case TND_MSG_KEEP:
    case TND_MSG_KINDS:
        break;
    }
    return NULL;
}

void tnd_msg_drop(tnd_msg_t *msg, tnd_carry_t carry)
{
    void **payload = tnd_msg_payload(msg);
    if (payload == NULL || *payload == NULL)
        return;
    switch (carry) {
    case TND_CARRY_BLOCK: {
        tnd_block_t *block = *payload;
        tnd_block_drop(&block);
        break;
    }
    case TND_CARRY_SLICE: {
        tnd_slice_t *slice = *payload;
        tnd_slice_drop(&slice);
        break;
    }
    case TND_CARRY_BUFFER: {
        tnd_buffer_t *buffer = *payload;
        tnd_buffer_drop(&buffer);
        break;
    }
    case TND_CARRY_NOTHING:
    case TND_CARRY_CURSOR:
        break;
    }
    *payload = NULL;
}

tnd_status_t tnd_msg_intact(const tnd_msg_t *msg, tnd_carry_t carry, tnd_error_t *error)
{
    tnd_msg_t copy = *msg;
    void **payload = tnd_msg_payload(&copy);
    if (!tnd_mapped_any_lost() || payload == NULL || *payload == NULL)
        return TND_OK;
    const tnd_block_t *block = *payload;
    switch (carry) {
    case TND_CARRY_BLOCK:
        return tnd_block_intact(block, 0, msg->block.rows, error);
    case TND_CARRY_SLICE:
        return tnd_slice_intact(*payload, error);
    case TND_CARRY_BUFFER:
    case TND_CARRY_NOTHING:
    case TND_CARRY_CURSOR:
        break;
    }
    return TND_OK;
}
