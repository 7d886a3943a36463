/*  tools/report/evidence.h - what the system knows of the threads that a verdict names.
 *
 *  Reads /proc; everything else in a verdict comes from pages.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_EVIDENCE_H
#define TND_TOOLS_REPORT_EVIDENCE_H

#include "tools/report/verdict.h"

/*  Appends to the evidence of faults where their threads are, if they are on this machine. */
void tnd_evidence_add(tnd_verdict_t *verdict);

#endif
