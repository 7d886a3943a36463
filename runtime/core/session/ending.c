/*  runtime/core/session/ending.c - what a signal asks of a process of a run. */
#include "runtime/core/session/ending.h"

#include "runtime/base/bug_injection.h"

tnd_ending_step_t tnd_ending_ask(tnd_ending_t *self, bool pressed)
{
    if (self->asked > 0 && !pressed && !TND_BUG(SECOND_SIGNAL_ENDS))
        return TND_ENDING_NOTHING;
    self->asked++;
    if (self->asked == 1)
        return self->spare ? TND_ENDING_LEAVE : TND_ENDING_DRAIN;
    return self->asked == 2 ? TND_ENDING_STOP : TND_ENDING_EXIT;
}
