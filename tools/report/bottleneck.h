/*  tools/report/bottleneck.h - judges a run by two inspections.
 *
 *  If rows are fed, the verdict names the actor that limits the rate; if not, it follows the waits
 *  from a feeder to the actor that does not wait.  It lists faults in both cases.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_BOTTLENECK_H
#define TND_TOOLS_REPORT_BOTTLENECK_H

#include "runtime/observe/inspection.h"
#include "tools/report/verdict.h"

/*  Judges the run of a process of `after`. */
void tnd_bottleneck_judge(const tnd_inspection_t *before, const tnd_inspection_t *after,
                          const tnd_inspected_t *process, tnd_verdict_t *verdict);

#endif
