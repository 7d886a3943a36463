/*  tools/report/bottleneck.h - finds the actor that limits a run, or that all others wait for.
 *
 *  It compares two inspections of a run.  If rows were fed, it names the actor that limits the
 *  rate; if not, it follows the waits from a feeder to the actor that does not wait.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_BOTTLENECK_H
#define TND_TOOLS_REPORT_BOTTLENECK_H

#include "runtime/observe/inspection.h"

typedef struct {
    char run[64];
    bool flows; /* rows were fed between the two inspections */
    double rows_per_second;
    char sentence[1024];
    /*  The actor that limits the run or is waited for; "" and 0: unknown. */
    char actor[48], host[64], device[24];
    int process;
} tnd_verdict_t;

/*  Judges the run of a process of `after`. */
void tnd_bottleneck_judge(const tnd_inspection_t *before, const tnd_inspection_t *after,
                          const tnd_inspected_t *process, tnd_verdict_t *verdict);

#endif
