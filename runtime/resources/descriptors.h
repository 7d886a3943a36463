/*  runtime/resources/descriptors.h - how many file descriptors a host of a plan needs.
 *
 *  An upper bound, computed from the plan alone.  It does not include the files of bad records,
 *  which are reserved once the data is open, nor those of sources, which stay open only as far as
 *  descriptors are left (runtime/data/open_files.h).
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_RESOURCES_DESCRIPTORS_H
#define TND_RUNTIME_RESOURCES_DESCRIPTORS_H

#include "runtime/interface/link.h"
#include "runtime/plan/placement.h"

typedef struct {
    uint64_t process;     /* standard streams, logs, statistics, the transport's own */
    uint64_t actors;      /* of each actor here */
    uint64_t listeners;   /* that other processes connect to */
    uint64_t connections; /* to and from other processes */
    uint64_t children;    /* processes that this one starts for isolated actors, and interpreters */
    uint64_t reserve;     /* for connections that replace others, and files that are open briefly */
    uint64_t total;
} tnd_descriptors_t;

/*  Counts the descriptors of host `host` of a whole plan (tnd_placement_whole). */
void tnd_descriptors_count(tnd_descriptors_t *self, const tnd_plan_t *plan, uint32_t host,
                           const tnd_link_cost_t *cost);

/*  Checks the limit of this process against the needs of the host and the processes that it starts;
 *  raises the soft limit.  Errors: TND_FAILED with the number, the limit and what to do. */
tnd_status_t tnd_descriptors_check(const tnd_plan_t *plan, uint32_t host,
                                   const tnd_link_cost_t *cost, tnd_error_t *error) TND_CHECKED;

#endif
