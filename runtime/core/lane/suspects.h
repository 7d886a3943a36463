/*  runtime/core/lane/suspects.h - workers that died, their tickets, the row to blame.
 *
 *  A block may contain a row that ends the process that works on it.  Before a
 *  worker works on a ticket that was lost before, it reports BEGIN, for one ticket at a time.  A lost connection is not
 *  counted: connections end, and a silent worker may be stopped or slow.  Only when another life
 *  with another birth takes the worker's place has the worker died; then a failure is counted for
 *  the ticket that it began last, unless another worker has answered that ticket since.
 *
 *  A lost ticket that a worker had begun is cut into pieces until each row is alone.  A row that is
 *  alone, has ended a worker alone and has a failure count of TND_FAILURES_MAX is a poison row: it
 *  is reported as bad and skipped.  So a row that kills costs five workers and no other row is
 *  blamed: the first worker dies before its ticket was lost, so it has sent no BEGIN and is not
 *  counted.  Of the tickets with failures one at a time is under way, because workers of one process
 *  die together.
 *
 *  While a lost worker is absent, it is not known whether it died.  A row alone that would be poison
 *  if all its absent workers died is issued again when enough of them have come back, or after
 *  TND_ABSENT_MAX_NS; a death that is learnt later than that is not counted.
 *
 *  Threads: one.  The caller provides the memory of `workers`. */
#ifndef TND_RUNTIME_CORE_LANE_SUSPECTS_H
#define TND_RUNTIME_CORE_LANE_SUSPECTS_H

#include "runtime/core/lane/tickets.h"

/*  Deaths with a row alone before it is blamed; fewer could be chance. */
enum { TND_FAILURES_MAX = 4, TND_POISON_ROOM = 16 };

/*  How long a lost row waits for workers that were lost with it. */
#define TND_ABSENT_MAX_NS (5 * UINT64_C(1000000000))

/*  The last ticket that a worker began. */
typedef struct {
    tnd_actor_id_t id;
    tnd_life_t birth;
    uint64_t first;
    uint32_t epoch, count;
    bool works; /* on that ticket, as far as the lane knows */
} tnd_lane_worker_t;

typedef struct {
    tnd_lane_worker_t *workers;
    uint32_t workers_max, worker_count, working;
    bool any;                               /* some ticket may have a failure count */
    uint64_t due_ns;                        /* when the next ticket has waited for long enough */
    tnd_position_t poison[TND_POISON_ROOM]; /* poison rows that are not reported yet */
    uint32_t poison_count;
} tnd_suspects_t;

void tnd_suspects_rewind(tnd_suspects_t *self);
bool tnd_suspects_knows(const tnd_suspects_t *self, tnd_actor_id_t worker);
/*  The worker is about to work on the ticket at `at`; tail: on one that is not under way. */
void tnd_suspects_begin(tnd_suspects_t *self, const tnd_tickets_t *tickets, tnd_actor_id_t worker,
                        uint64_t at);
/*  A block came from that worker. */
void tnd_suspects_answered(tnd_suspects_t *self, tnd_actor_id_t worker);
/*  A connection of the worker begins.  Returns the place of a ticket whose only row is poison, or
 *  tail. */
uint64_t tnd_suspects_worker_up(tnd_suspects_t *self, const tnd_tickets_t *tickets,
                                tnd_actor_id_t worker, tnd_life_t birth);
/*  The answer of `self` to a worker's BEGIN or BLOCK; returns false if there is none. */
bool tnd_suspects_go(tnd_actor_id_t self, const tnd_msg_t *heard, tnd_msg_t *go);
/*  A worker that the lane does not know died with a ticket that it had begun; returns as above. */
uint64_t tnd_suspects_died(tnd_suspects_t *self, const tnd_tickets_t *tickets, uint32_t epoch,
                           uint64_t first, uint32_t count);
/*  Whether the lost `ticket` waits for workers that were lost with it.  Keeps `due_ns`, which the
 *  caller sets to TND_NEVER before it asks for all lost tickets. */
bool tnd_suspects_wait(tnd_suspects_t *self, tnd_ticket_t *ticket, uint64_t now);
/*  Whether a ticket with failures is under way, so that no other one may be issued. */
bool tnd_suspects_busy(tnd_suspects_t *self, const tnd_tickets_t *tickets);

#endif
