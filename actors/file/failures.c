/*  actors/file/failures.c - returns the first error and reports the others. */
#include "actors/file/failures.h"

void tnd_failures_add(tnd_failures_t *self, const tnd_error_t *why)
{
    if (self->status == TND_OK && self->error != NULL)
        *self->error = *why;
    else if (self->scope != NULL && self->scope->tell != NULL)
        self->scope->tell(self->scope->teller, why);
    self->status = TND_FAILED;
}

void tnd_failures_note(tnd_failures_t *self, tnd_status_t status, const tnd_error_t *why)
{
    if (status != TND_OK)
        tnd_failures_add(self, why);
}
