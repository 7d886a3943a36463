/*  runtime/core/lane/stragglers.h - which tickets are overdue and are issued to a second worker.
 *
 *  A ticket is overdue when either time is up: since it was issued, or since a later ticket was
 *  answered.  Each limit is three times what 99 of a hundred answered tickets took, and at least
 *  `overdue_ns`.  The second one exists because tickets are processed in order, so only a slow
 *  worker is passed for long.  Both are learnt from the answers that win.  A ticket whose workers
 *  died is never issued to a second one, which might die as well.
 *
 *  Threads: one.  Units: nanoseconds of the caller's clock.  A plain value. */
#ifndef TND_RUNTIME_CORE_LANE_STRAGGLERS_H
#define TND_RUNTIME_CORE_LANE_STRAGGLERS_H

#include "runtime/core/lane/latency.h"
#include "runtime/core/lane/tickets.h"

/*  Answers that are remembered between two looks at the clock. */
enum { TND_STRAGGLER_ANSWERS = 64 };

/*  How long something usually takes, and after which time it is overdue. */
typedef struct {
    tnd_latency_t usual;
    uint64_t limit_ns; /* 0: not known yet */
} tnd_patience_t;

typedef struct {
    uint64_t overdue_ns;           /* no ticket is overdue earlier; 0: none ever is */
    tnd_patience_t issued, passed; /* since a ticket was issued; since it was passed */
    uint64_t due_ns;               /* no ticket is overdue before this time */
    struct {
        uint64_t issued_ns, passed_ns;
    } answered[TND_STRAGGLER_ANSWERS];
    uint32_t answered_count;
    uint64_t answered_to; /* the place after the last ticket that is answered */
    uint64_t passed_to;   /* tickets before this place know that they were passed */
    uint64_t doubled;     /* how many tickets were issued twice */
} tnd_stragglers_t;

void tnd_stragglers_rewind(tnd_stragglers_t *self, uint64_t head);
/*  The ticket at `at` is issued now. */
void tnd_stragglers_issued(tnd_stragglers_t *self, const tnd_tickets_t *tickets, uint64_t at,
                           uint64_t now);
/*  `attempt` of the ticket at `at` is answered. */
void tnd_stragglers_answered(tnd_stragglers_t *self, const tnd_tickets_t *tickets, uint64_t at,
                             uint32_t attempt);
/*  The ticket at `at` was cut into pieces. */
void tnd_stragglers_cut(tnd_stragglers_t *self, uint64_t at, uint32_t pieces);
/*  Learns from the answers since the last call.  Call it before tnd_stragglers_next. */
void tnd_stragglers_learn(tnd_stragglers_t *self, const tnd_tickets_t *tickets, uint64_t now);
/*  The first overdue ticket, marked as its next attempt; NULL: none. */
tnd_ticket_t *tnd_stragglers_next(tnd_stragglers_t *self, const tnd_tickets_t *tickets,
                                  uint64_t now);

#endif
