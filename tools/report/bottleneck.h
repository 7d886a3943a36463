/*  tools/report/bottleneck.h - who waits for whom, and who is to blame.
 *
 *  From two looks at the pages of a run: where rows are fed, which actor limits; where none are,
 *  the way from a feeder that lacks something to the one that everybody waits for.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_WAITS_H
#define TUNDISH_TOOLS_WAITS_H

#include "runtime/observe/inspection.h"

typedef struct {
    char run[64];
    bool flows; /* rows were fed between the two looks */
    double rows_per_second;
    char sentence[1024];
    /*  Who limits, or is waited for; "" and 0: nobody in sight. */
    char actor[48], host[64], device[24];
    int process;
} tnd_verdict_t;

/*  Judges the run that a process of `after` is of. */
void tnd_bottleneck_judge(const tnd_inspection_t *before, const tnd_inspection_t *after,
                          const tnd_inspected_t *process, tnd_verdict_t *verdict);

#endif
