/*  runtime/interface/link.c - what travels beside the struct of a message.  */
#include "runtime/interface/link.h"

#include <stddef.h>

#include "runtime/data/mapped.h"

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
