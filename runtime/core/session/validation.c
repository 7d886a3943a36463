/*  runtime/core/session/validation.c - after which steps of the first chain another one is fed. */
#include "runtime/core/session/validation.h"

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

/*  Whether the last step has ended an epoch, and with it so many as are between two validations.  The
 *  cursor is then at the start of the next epoch. */
static bool ends_epochs(const tnd_validation_t *self, const tnd_validation_place_t *place)
{
    const tnd_cursor_t *cursor = place->cursor;
    return self->epochs > 0 && cursor->step_of_epoch == 0 && cursor->epoch > 0 &&
           place->epoch / self->epochs > (cursor->epoch - 1) / self->epochs;
}

bool tnd_validation_is_due(const tnd_validation_t *self, const tnd_validation_place_t *place)
{
    uint64_t step = place->cursor->step + (TND_BUG(VALIDATION_STARTS_EARLY) ? 1 : 0);
    if (self->made == step && !TND_BUG(VALIDATED_TWICE))
        return false;
    if (place->over)
        return true;
    return step > 0 && ((self->steps > 0 && step % self->steps == 0) || ends_epochs(self, place));
}

void tnd_validation_rest(const tnd_validation_t *self, const tnd_validation_place_t *place,
                         uint64_t *step_p, uint32_t *epoch_p)
{
    uint64_t step = place->cursor->step;
    if (tnd_validation_is_due(self, place))
        *step_p = step;
    if (self->steps > 0)
        *step_p = tnd_least(*step_p, (step / self->steps + 1) * self->steps);
    if (self->epochs > 0)
        *epoch_p = (uint32_t)tnd_least(*epoch_p, (place->epoch / self->epochs + 1) * self->epochs);
}
