/*  tools/choice/run_choice.h - which run of this machine a user means, by its name or by the number of
 *  one of its processes.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_CHOICE_RUN_CHOICE_H
#define TND_TOOLS_CHOICE_RUN_CHOICE_H

#include "runtime/observe/inspection.h"

/*  `name` is NULL: of any name.  `session` is 0: any of that name. */
typedef struct {
    const char *name;
    uint64_t session;
    char memory[64];
} tnd_run_choice_t;

/*  Reads what a user wrote (NULL: nothing): a number means the run of that process, unless a run has
 *  it as its name.  The choice must not be moved. */
void tnd_run_choice_read(tnd_run_choice_t *self, const char *word);
/*  Whether a process is of a run that is meant. */
bool tnd_run_choice_fits(const tnd_run_choice_t *self, const tnd_inspected_t *process);
/*  Whether a run of this machine has that name. */
bool tnd_run_choice_exists(const char *name);

/*  Writes that several runs are meant, with the process, command and age of each.  Returns `text`. */
const char *tnd_run_choice_several(const tnd_run_choice_t *self, const tnd_inspection_t *look,
                                   char *text, size_t room);

#endif
