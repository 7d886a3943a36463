/*  tools/survey.h - what can be known of a plan's data on this machine, before any start.
 *
 *  Opens the sources of the hosts that are this machine, as a run would, and derives the schemas
 *  along each chain.  What other hosts have awaits them.
 *
 *  Ownership: the caller's, to tnd_survey_destroy; the plan must outlive it.  Threads: one.
 */
#ifndef TUNDISH_TOOLS_SURVEY_H
#define TUNDISH_TOOLS_SURVEY_H

#include "runtime/graph/placement.h"
#include "runtime/life/stream.h"

typedef struct {
    bool known; /* all of `stream` is */
    tnd_stream_t stream;
} tnd_survey_chain_t;

/*  One thing that another host has to check. */
typedef struct {
    const char *host, *actor;
} tnd_survey_await_t;

typedef struct {
    tnd_survey_chain_t *chains; /* as in the plan */
    tnd_survey_await_t *awaits;
    uint32_t await_count;
    tnd_error_t *errors; /* data that cannot be used, operations that do not fit it; room for one
                          * more a host */
    uint32_t error_count;
} tnd_survey_t;

void tnd_survey_make(tnd_survey_t *self, const tnd_plan_t *plan);
void tnd_survey_destroy(tnd_survey_t *self);

#endif
