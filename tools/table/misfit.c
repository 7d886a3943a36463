/*  tools/table/misfit.c - records of one kind that do not fit: how many, and where the first is. */
#include "tools/table/misfit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/text/printable.h"

void tnd_misfit_add(tnd_misfit_t *self, const tnd_record_place_t *place, const char *why)
{
    if (self->count++ > 0)
        return;
    self->place = tnd_format_string("%s:%" PRIu64, place->file, place->line);
    snprintf(self->why, sizeof self->why, "%s", why);
    tnd_printable(self->why, sizeof self->why);
}

void tnd_misfit_print(const tnd_misfit_t *self, FILE *out)
{
    if (self->count == 0)
        return;
    fprintf(out, "%s: %s", self->place, self->why);
    if (self->count > 1)
        fprintf(out, "; %" PRIu64 " such records", self->count);
    fputc('\n', out);
}

void tnd_misfit_free(tnd_misfit_t *self)
{
    free(self->place);
    self->place = NULL;
}
