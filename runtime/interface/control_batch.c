/*  runtime/interface/control_batch.c - control messages to the leader, sent in batches. */
#include "runtime/interface/control_batch.h"

/*  The longest delay of a message. */
static const uint64_t wait_ns = 20000000;

bool tnd_control_batch_bear(const tnd_msg_t *msg)
{
    /* A program that ends an epoch waits for the first step of the next one. */
    return msg->kind == TND_MSG_PART || msg->kind == TND_MSG_HELD ||
           (msg->kind == TND_MSG_COMMIT && !msg->commit.cut);
}

/*  A later HELD includes the earlier one. */
static bool replaces(tnd_control_batch_t *self, const tnd_msg_t *msg)
{
    if (msg->kind != TND_MSG_HELD || self->held == 0)
        return false;
    self->items[self->held - 1].msg = *msg;
    return true;
}

bool tnd_control_batch_keep(tnd_control_batch_t *self, const tnd_msg_t *msg, tnd_carry_t carry,
                            uint64_t now)
{
    if (replaces(self, msg))
        return true;
    if (self->count == TND_CONTROL_BATCH_MAX)
        return false;
    if (self->count == 0)
        self->due_ns = now + wait_ns;
    self->items[self->count++] = (tnd_control_entry_t){*msg, carry};
    if (msg->kind == TND_MSG_HELD)
        self->held = self->count;
    return true;
}

uint64_t tnd_control_batch_due(const tnd_control_batch_t *self)
{
    return self->count > 0 ? self->due_ns : TND_NEVER;
}

void tnd_control_batch_clear(tnd_control_batch_t *self)
{
    self->count = self->held = 0;
}
