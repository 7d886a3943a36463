/*  runtime/core/lane/stragglers.c - which tickets are overdue and are issued to a second worker. */
#include "runtime/core/lane/stragglers.h"

#include "runtime/core/protocol/effect.h"

/*  A ticket is overdue after so many times the PERCENT quantile, known from so many answers. */
enum { OVERDUE_TIMES = 3, OVERDUE_PERCENT = 99, OVERDUE_ANSWERS = 8 };

void tnd_stragglers_rewind(tnd_stragglers_t *self, uint64_t head)
{
    self->answered_count = 0;
    self->answered_to = self->passed_to = head;
    self->due_ns = TND_NEVER;
}

/*  Some ticket may be overdue after that time. */
static void be_due(tnd_stragglers_t *self, const tnd_patience_t *patience, uint64_t now)
{
    if (patience->limit_ns != 0 && now + patience->limit_ns < self->due_ns)
        self->due_ns = now + patience->limit_ns;
}

void tnd_stragglers_issued(tnd_stragglers_t *self, const tnd_tickets_t *tickets, uint64_t at,
                           uint64_t now)
{
    tnd_ticket_t *ticket = tnd_ticket_at(tickets, at);
    ticket->issued_ns = now;
    if (ticket->doubled_ns != 0)
        ticket->doubled_ns = now;
    ticket->passed_ns = at < self->passed_to ? now : 0;
    be_due(self, ticket->passed_ns != 0 ? &self->passed : &self->issued, now);
}

/*  If a second attempt won, its own time counts: one slow worker does not make the limit longer,
 *  while workers that are all slow do. */
void tnd_stragglers_answered(tnd_stragglers_t *self, const tnd_tickets_t *tickets, uint64_t at,
                             uint32_t attempt)
{
    const tnd_ticket_t *ticket = tnd_ticket_at(tickets, at);
    if (self->overdue_ns == 0)
        return;
    if (at >= self->answered_to)
        self->answered_to = at + 1;
    if (self->answered_count == TND_STRAGGLER_ANSWERS)
        return;
    bool second = ticket->doubled_ns != 0 && attempt >= ticket->attempt;
    uint32_t i = self->answered_count++;
    self->answered[i].issued_ns = second ? ticket->doubled_ns : ticket->issued_ns;
    self->answered[i].passed_ns = second ? ticket->doubled_ns : ticket->passed_ns;
}

void tnd_stragglers_cut(tnd_stragglers_t *self, uint64_t at, uint32_t pieces)
{
    self->answered_to += self->answered_to > at ? pieces - 1 : 0;
    self->passed_to += self->passed_to > at ? pieces - 1 : 0;
}

void tnd_stragglers_learn(tnd_stragglers_t *self, const tnd_tickets_t *tickets, uint64_t now)
{
    if (self->answered_count == 0)
        return;
    for (uint32_t i = 0; i < self->answered_count; i++) {
        uint64_t issued = self->answered[i].issued_ns, passed = self->answered[i].passed_ns;
        tnd_latency_add(&self->issued.usual, now > issued ? now - issued : 0);
        tnd_latency_add(&self->passed.usual, passed != 0 && now > passed ? now - passed : 0);
    }
    self->answered_count = 0;
    if (self->issued.limit_ns == 0 && self->issued.usual.all >= OVERDUE_ANSWERS)
        self->due_ns = now;
    uint64_t at = self->passed_to > tickets->head ? self->passed_to : tickets->head;
    for (; at < self->answered_to; at++) {
        tnd_ticket_t *ticket = tnd_ticket_at(tickets, at);
        if (ticket->state != TND_TICKET_SENT)
            continue;
        ticket->passed_ns = now;
        be_due(self, &self->passed, now);
    }
    self->passed_to = self->answered_to;
}

static void learn_patience(const tnd_stragglers_t *self, tnd_patience_t *patience)
{
    patience->limit_ns = OVERDUE_TIMES * tnd_latency_quantile(&patience->usual, OVERDUE_PERCENT);
    if (patience->limit_ns < self->overdue_ns)
        patience->limit_ns = self->overdue_ns;
}

static uint64_t overdue_at(const tnd_stragglers_t *self, const tnd_ticket_t *ticket)
{
    uint64_t issued = ticket->issued_ns + self->issued.limit_ns;
    uint64_t passed = ticket->passed_ns + self->passed.limit_ns;
    return ticket->passed_ns != 0 && passed < issued ? passed : issued;
}

tnd_ticket_t *tnd_stragglers_next(tnd_stragglers_t *self, const tnd_tickets_t *tickets,
                                  uint64_t now)
{
    if (now < self->due_ns)
        return NULL;
    learn_patience(self, &self->issued);
    learn_patience(self, &self->passed);
    self->due_ns = TND_NEVER;
    for (uint64_t at = tickets->head; at < tickets->tail; at++) {
        tnd_ticket_t *ticket = tnd_ticket_at(tickets, at);
        if (ticket->state != TND_TICKET_SENT || ticket->doubled_ns != 0 ||
            ticket->failure_count > 0)
            continue;
        uint64_t due_ns = overdue_at(self, ticket);
        if (due_ns > now) {
            self->due_ns = due_ns < self->due_ns ? due_ns : self->due_ns;
            continue;
        }
        ticket->doubled_ns = now;
        ticket->attempt++;
        ticket->begun = false;
        self->doubled++;
        self->due_ns = now;
        return ticket;
    }
    return NULL;
}
