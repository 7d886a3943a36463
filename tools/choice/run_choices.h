/*  tools/choice/run_choices.h - which runs a user means who names several, or none for all.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_CHOICE_RUN_CHOICES_H
#define TND_TOOLS_CHOICE_RUN_CHOICES_H

#include <stddef.h>

#include "tools/choice/run_choice.h"

typedef struct {
    tnd_run_choice_t *of;
    size_t count;
} tnd_run_choices_t;

/*  Reads `count` words as tnd_run_choice_read does.  They must outlive the choices. */
void tnd_run_choices_read(tnd_run_choices_t *self, const char *const *words, size_t count);
/*  Whether a process is of a run that is meant. */
bool tnd_run_choices_fit(const tnd_run_choices_t *self, const tnd_inspected_t *process);
/*  The name of the only run; NULL: none or several are named. */
const char *tnd_run_choices_name(const tnd_run_choices_t *self);
/*  Whether a look has a process, killed ones too, of the run that word `index` means. */
bool tnd_run_choices_found(const tnd_run_choices_t *self, size_t index,
                           const tnd_inspection_t *look);
void tnd_run_choices_free(tnd_run_choices_t *self);

#endif
