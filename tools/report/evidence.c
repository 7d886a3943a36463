/*  tools/report/evidence.c - what the system knows of the threads that a verdict names. */
#include "tools/report/evidence.h"

#include <string.h>

#include "runtime/observe/thread_state.h"

void tnd_evidence_add(tnd_verdict_t *verdict)
{
    for (uint32_t i = 0; i < verdict->fault_count; i++) {
        tnd_fault_t *fault = &verdict->faults[i];
        char where[300];
        bool tells = (tnd_cause(fault->cause)->traits & TND_CAUSE_OF_THREAD) != 0;
        size_t used = strlen(fault->evidence);
        if (tells && fault->machine[0] == '\0' && fault->thread != 0 && fault->process > 0 &&
            tnd_thread_state_describe_other(fault->process, (pid_t)fault->thread, where,
                                            sizeof where))
            snprintf(fault->evidence + used, sizeof fault->evidence - used, "%s%s",
                     used > 0 ? "; " : "", where);
    }
}
