/*  tools/watch/prometheus.h - an inspection in the text format of Prometheus, version 0.0.4.
 *
 *  Counters end in `_total`; units are seconds and bytes; the times of parts of the work are
 *  histograms.  Labels are run, host, actor, kind and lane, and those that a name needs; of several
 *  runs of one name all but the newest have a label process, the number of their leader.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_WATCH_PROMETHEUS_H
#define TND_TOOLS_WATCH_PROMETHEUS_H

#include <stdio.h>

#include "tools/report/verdict.h"
#include "tools/watch/time_totals.h"

typedef struct {
    const tnd_inspection_t *look;
    const tnd_time_totals_t *totals; /* of this look */
    const char *run;                 /* only runs of this name; NULL: all */
    const tnd_verdict_t *verdict;    /* of one of the runs; NULL: none */
    double look_seconds;             /* that the look took */
    uint32_t clients;
} tnd_prometheus_t;

void tnd_prometheus_write(const tnd_prometheus_t *self, FILE *out);

#endif
