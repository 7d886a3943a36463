/*  runtime/core/lane/tickets.h - the tickets of a lane that are not joined yet, sorted by position.
 *
 *  A ring.  The head is the floor of the lane.  A ticket is named by its place `at` in the ring;
 *  places count up and change only when a ticket before them is cut.
 *
 *  Threads: one.  The caller provides the memory of the ring. */
#ifndef TND_RUNTIME_CORE_LANE_TICKETS_H
#define TND_RUNTIME_CORE_LANE_TICKETS_H

#include "runtime/core/protocol/message.h"

typedef enum {
    TND_TICKET_SENT,
    TND_TICKET_LOST,
    TND_TICKET_RECEIVED,
    TND_TICKET_VOID /* beyond the end of its epoch */
} tnd_ticket_state_t;

/*  The block that answered a ticket. */
typedef struct {
    void *payload;
    const uint32_t *origin, *bad; /* see tnd_block_note_t */
    const uint64_t *lengths;      /* likewise */
    uint32_t covered, rows, bad_count;
} tnd_answer_t;

typedef struct {
    uint64_t first;
    uint64_t budget;          /* bytes of ragged columns that its block may have */
    uint64_t reserved;        /* bytes; the size of the block once it has arrived */
    uint64_t issued_ns;       /* the latest attempt that was not a duplicate */
    uint64_t doubled_ns;      /* when it was issued to a second worker; 0: it was not */
    uint64_t passed_ns;       /* when a later ticket was answered first; 0: none was */
    uint64_t absent_until_ns; /* lost, and how long it waits for its workers; 0: not yet */
    tnd_answer_t answer;
    uint32_t epoch, asked, attempt;
    uint32_t failure_count; /* workers that died with it, or with the ticket it was cut from */
    tnd_actor_id_t reader;
    tnd_ticket_state_t state;
    bool died_alone; /* one of those workers had nothing but this row */
    bool begun;      /* a worker has reported BEGIN of this attempt */
    bool unreserved; /* lost; it is issued again when its bytes are reserved */
} tnd_ticket_t;

typedef struct {
    tnd_ticket_t *ring;
    uint64_t mask, head, tail;
    uint64_t lost_from; /* no lost ticket before this place */
    uint32_t lost_count;
} tnd_tickets_t;

static inline tnd_ticket_t *tnd_ticket_at(const tnd_tickets_t *self, uint64_t at)
{
    return &self->ring[at & self->mask];
}

static inline tnd_answer_t tnd_answer_of(const tnd_block_note_t *block)
{
    return (tnd_answer_t){.payload = block->payload,
                          .origin = block->origin,
                          .bad = block->bad,
                          .lengths = block->lengths,
                          .covered = block->count,
                          .rows = block->rows,
                          .bad_count = block->bad_count};
}

/*  The place of the first ticket at or after (epoch, first). */
uint64_t tnd_tickets_find(const tnd_tickets_t *self, uint32_t epoch, uint64_t first);
/*  The place of the ticket that `msg` (LOST, BEGIN) names if that attempt is under way; else tail.
 */
uint64_t tnd_tickets_find_sent(const tnd_tickets_t *self, const tnd_msg_t *msg);
/*  The position below which nothing is needed; `plan` without tickets. */
tnd_position_t tnd_tickets_floor(const tnd_tickets_t *self, tnd_position_t plan);
/*  After everything that has arrived, joined or not.  For a planted bug only: as the floor it would
 *  lose the tickets before it. */
tnd_position_t tnd_tickets_received(const tnd_tickets_t *self, tnd_position_t plan);

/*  Changes the state and the count of lost tickets. */
void tnd_tickets_set(tnd_tickets_t *self, tnd_ticket_t *ticket, tnd_ticket_state_t state);
/*  The attempt at `at` is lost. */
void tnd_tickets_lose(tnd_tickets_t *self, uint64_t at);
/*  Cuts the lost ticket at `at` into pieces that share its reservation. */
void tnd_tickets_cut(tnd_tickets_t *self, uint64_t at, uint32_t pieces);
/*  Ends the ticket at `at` after `count` positions.  The rest becomes a lost ticket after it, with
 *  `budget` and without a reservation. */
void tnd_tickets_split(tnd_tickets_t *self, uint64_t at, uint32_t count, uint64_t budget);

#endif
