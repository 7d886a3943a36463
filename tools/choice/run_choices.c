/*  tools/choice/run_choices.c - which runs a user means who names several, or none for all. */
#include "tools/choice/run_choices.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"

void tnd_run_choices_read(tnd_run_choices_t *self, const char *const *words, size_t count)
{
    *self = (tnd_run_choices_t){.count = count};
    self->of = count > 0 ? tnd_allocate_zeroed(count, sizeof *self->of) : NULL;
    for (size_t i = 0; i < count; i++)
        tnd_run_choice_read(&self->of[i], words[i]);
}

bool tnd_run_choices_fit(const tnd_run_choices_t *self, const tnd_inspected_t *process)
{
    for (size_t i = 0; i < self->count; i++)
        if (tnd_run_choice_fits(&self->of[i], process))
            return true;
    return self->count == 0;
}

const char *tnd_run_choices_name(const tnd_run_choices_t *self)
{
    return self->count == 1 ? self->of[0].name : NULL;
}

bool tnd_run_choices_found(const tnd_run_choices_t *self, size_t index,
                           const tnd_inspection_t *look)
{
    for (uint32_t p = 0; p < look->count; p++)
        if (tnd_run_choice_fits(&self->of[index], &look->processes[p]))
            return true;
    return false;
}

void tnd_run_choices_free(tnd_run_choices_t *self)
{
    free(self->of);
    *self = (tnd_run_choices_t){.of = NULL};
}
