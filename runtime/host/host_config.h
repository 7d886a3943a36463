/*  runtime/host/host_config.h - how a host is started, and how a run can end.  Threads: any. */
#ifndef TND_RUNTIME_HOST_HOST_CONFIG_H
#define TND_RUNTIME_HOST_HOST_CONFIG_H

#include "runtime/core/protocol/absence.h"
#include "runtime/core/session/resumption.h"
#include "runtime/data/stream.h"
#include "runtime/interface/link.h"
#include "runtime/observe/observer.h"
#include "runtime/plan/placement.h"

typedef enum {
    TND_OUTCOME_NONE, /* still running */
    TND_OUTCOME_DONE,
    TND_OUTCOME_DRAINED, /* on request, at the end of a step */
    TND_OUTCOME_STOPPED, /* on request, at once */
    TND_OUTCOME_FAILED,
    TND_OUTCOME_LOST,     /* a peer was refused, did not arrive or was lost */
    TND_OUTCOME_UNUSABLE, /* failed before the start: data that the graph cannot use */
    TND_OUTCOME_AGAIN,    /* a host was lost, and the others are to start again (resumption.h) */
    TND_OUTCOME_MAX = TND_OUTCOME_AGAIN
} tnd_outcome_t;

/*  `number` of TND_MSG_ASK: the run is to be drained because a launcher has preempted that host; else 0. */
enum { TND_HOST_PREEMPTED = 1 };

typedef struct {
    const tnd_hub_ops_t *transport;
    void *transport_context;
    const tnd_plan_t *plan;
    uint32_t host;               /* index in the plan */
    uint64_t steps_max;          /* of the first chain; TND_UNKNOWN: all */
    const tnd_position_t *start; /* where each lane of the first chain begins; NULL: at its start */
    const char *save;            /* where to save the first chain's model, or NULL */
    const tnd_observer_t *observer; /* borrowed; may be NULL */
    tnd_resumption_t resumption;    /* of the leader: which start this is; `max` is the plan's */
    const char *declines; /* why it cannot take part, which it tells the others; NULL: it does */
    tnd_outcome_t declines_as;
    bool launched;     /* a launcher starts all hosts: each comes, and has to hear of a drain */
    bool may_be_empty; /* no row may be good; otherwise that is a failure */
    bool must_feed;    /* a chain that ends without a step, although rows were read, has failed */
} tnd_host_config_t;

/*  How long a host may be away from control.  A peer may end a connection and return within 1.5
 *  seconds. */
static inline tnd_absence_limits_t tnd_host_absence_limits(const tnd_plan_t *plan)
{
    return (tnd_absence_limits_t){.grace_ns = 1500000000,
                                  .dead_after_ns = plan->dead_after_ns,
                                  .silence_ns = plan->link_timeout_ns};
}

#endif
