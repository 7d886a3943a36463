/*  runtime/core/lane/tickets.c - the tickets of a lane that are not joined yet. */
#include "runtime/core/lane/tickets.h"

#include "runtime/base/bounds.h"

static bool is_before(const tnd_ticket_t *ticket, uint32_t epoch, uint64_t first)
{
    return ticket->epoch < epoch || (ticket->epoch == epoch && ticket->first < first);
}

uint64_t tnd_tickets_find(const tnd_tickets_t *self, uint32_t epoch, uint64_t first)
{
    uint64_t at;
    TND_LOWER_BOUND(at, self->head, self->tail, is_before(tnd_ticket_at(self, at), epoch, first));
    return at;
}

uint64_t tnd_tickets_find_sent(const tnd_tickets_t *self, const tnd_msg_t *msg)
{
    uint64_t at = tnd_tickets_find(self, msg->ticket.epoch, msg->ticket.first);
    if (at == self->tail)
        return at;
    const tnd_ticket_t *ticket = tnd_ticket_at(self, at);
    bool same = ticket->epoch == msg->ticket.epoch && ticket->first == msg->ticket.first &&
                ticket->state == TND_TICKET_SENT && ticket->attempt == msg->ticket.attempt;
    return same ? at : self->tail;
}

tnd_position_t tnd_tickets_floor(const tnd_tickets_t *self, tnd_position_t plan)
{
    if (self->head == self->tail)
        return plan;
    const tnd_ticket_t *ticket = tnd_ticket_at(self, self->head);
    return (tnd_position_t){.epoch = ticket->epoch, .index = ticket->first};
}

tnd_position_t tnd_tickets_received(const tnd_tickets_t *self, tnd_position_t plan)
{
    for (uint64_t at = self->tail; at-- > self->head;) {
        const tnd_ticket_t *ticket = tnd_ticket_at(self, at);
        if (ticket->state == TND_TICKET_RECEIVED)
            return (tnd_position_t){.epoch = ticket->epoch,
                                    .index = ticket->first + ticket->answer.covered};
    }
    return tnd_tickets_floor(self, plan);
}

void tnd_tickets_set(tnd_tickets_t *self, tnd_ticket_t *ticket, tnd_ticket_state_t state)
{
    self->lost_count += (uint32_t)(state == TND_TICKET_LOST);
    self->lost_count -= (uint32_t)(ticket->state == TND_TICKET_LOST);
    ticket->state = state;
}

void tnd_tickets_lose(tnd_tickets_t *self, uint64_t at)
{
    tnd_ticket_t *ticket = tnd_ticket_at(self, at);
    if (self->lost_count == 0 || at < self->lost_from)
        self->lost_from = at;
    tnd_tickets_set(self, ticket, TND_TICKET_LOST);
    ticket->attempt++;
}

/*  Makes room for `more` lost tickets after the one at `at`. */
static void insert(tnd_tickets_t *self, uint64_t at, uint32_t more)
{
    for (uint64_t to = self->tail; to-- > at + 1;)
        *tnd_ticket_at(self, to + more) = *tnd_ticket_at(self, to);
    self->tail += more;
    self->lost_count += more;
}

void tnd_tickets_split(tnd_tickets_t *self, uint64_t at, uint32_t count, uint64_t budget)
{
    if (self->lost_count == 0 || self->lost_from > at)
        self->lost_from = at + 1;
    insert(self, at, 1);
    tnd_ticket_t *whole = tnd_ticket_at(self, at);
    *tnd_ticket_at(self, at + 1) = (tnd_ticket_t){.first = whole->first + count,
                                                  .epoch = whole->epoch,
                                                  .asked = whole->asked - count,
                                                  .budget = budget,
                                                  .attempt = whole->attempt,
                                                  .failure_count = whole->failure_count,
                                                  .reader = whole->reader,
                                                  .state = TND_TICKET_LOST,
                                                  .unreserved = true};
    whole->asked = count;
}

void tnd_tickets_cut(tnd_tickets_t *self, uint64_t at, uint32_t pieces)
{
    tnd_ticket_t whole = *tnd_ticket_at(self, at);
    insert(self, at, pieces - 1);
    uint64_t first = whole.first, reserved = whole.reserved;
    for (uint32_t i = 0; i < pieces; i++) {
        tnd_ticket_t *piece = tnd_ticket_at(self, at + i);
        *piece = (tnd_ticket_t){.epoch = whole.epoch,
                                .first = first,
                                .asked = whole.asked / pieces + (i < whole.asked % pieces),
                                .budget = whole.budget,
                                .attempt = whole.attempt,
                                .failure_count = whole.failure_count,
                                .reader = whole.reader,
                                .state = TND_TICKET_LOST,
                                .unreserved = whole.unreserved};
        piece->reserved = i + 1 < pieces ? whole.reserved / whole.asked * piece->asked : reserved;
        reserved -= piece->reserved;
        first += piece->asked;
    }
}
