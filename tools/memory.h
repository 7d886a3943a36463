/*  tools/memory.h - the most memory that a host's part of a run takes, term by term.
 *
 *  Counted are pools, reservations, receive windows and slots at their bounds; pages of mapped
 *  files are the system's cache and not counted, nor what a user's step allocates.
 *
 *  Ownership: tnd_memory_free ends what tnd_memory_sum made.  Threads: any.
 */
#ifndef TUNDISH_TOOLS_MEMORY_H
#define TUNDISH_TOOLS_MEMORY_H

#include "runtime/graph/placement.h"
#include "tools/survey.h"

typedef struct {
    const char *actor; /* of the plan; "process" */
    char what[96];
    uint64_t bytes;
} tnd_memory_term_t;

typedef struct {
    uint64_t bytes;
    bool known; /* false: terms are missing whose rows another host has to describe */
    tnd_memory_term_t *terms;
    uint32_t term_count;
} tnd_memory_t;

void tnd_memory_sum(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host,
                    const tnd_survey_t *survey);
/*  Reports it if the host's part may take more than its `memory:` allows: how much, and by what
 *  most.
 */
void tnd_memory_check(const tnd_plan_t *plan, uint32_t host, const tnd_survey_t *survey,
                      tnd_diagnostics_t *diagnostics);
void tnd_memory_free(tnd_memory_t *self);

#endif
