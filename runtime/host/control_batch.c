/*  runtime/host/control_batch.c - what an actor says that can wait a moment, said by the dozen. */
#include "runtime/host/control_batch.h"

/*  None waits longer than this. */
static const uint64_t wait_ns = 20000000;

bool tnd_words_bear(const tnd_msg_t *msg)
{
    return msg->kind == TND_MSG_PART || msg->kind == TND_MSG_HELD || msg->kind == TND_MSG_COMMIT;
}

/*  A later HELD says all that an earlier one did. */
static bool replaces(tnd_words_t *self, const tnd_msg_t *msg)
{
    if (msg->kind != TND_MSG_HELD || self->held == 0)
        return false;
    self->items[self->held - 1].msg = *msg;
    return true;
}

bool tnd_words_keep(tnd_words_t *self, const tnd_msg_t *msg, tnd_carry_t carry, uint64_t now)
{
    if (replaces(self, msg))
        return true;
    if (self->count == TND_WORDS_MAX)
        return false;
    if (self->count == 0)
        self->due_ns = now + wait_ns;
    self->items[self->count++] = (tnd_word_t){*msg, carry};
    if (msg->kind == TND_MSG_HELD)
        self->held = self->count;
    return true;
}

uint64_t tnd_words_due(const tnd_words_t *self)
{
    return self->count > 0 ? self->due_ns : TND_NEVER;
}

void tnd_words_clear(tnd_words_t *self)
{
    self->count = self->held = 0;
}
