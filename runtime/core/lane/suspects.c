/*  runtime/core/lane/suspects.c - workers that died, their tickets, the row to blame. */
#include "runtime/core/lane/suspects.h"

#include <assert.h>

#include "runtime/base/bug_injection.h"

static tnd_lane_worker_t *find(const tnd_suspects_t *self, tnd_actor_id_t id)
{
    for (uint32_t i = 0; i < self->worker_count; i++)
        if (self->workers[i].id == id)
            return &self->workers[i];
    return NULL;
}

static void set_working(tnd_suspects_t *self, tnd_lane_worker_t *worker, bool works)
{
    self->working += (uint32_t)works - (uint32_t)worker->works;
    worker->works = works;
}

void tnd_suspects_rewind(tnd_suspects_t *self)
{
    self->poison_count = 0;
    for (uint32_t i = 0; i < self->worker_count; i++)
        set_working(self, &self->workers[i], false);
}

bool tnd_suspects_knows(const tnd_suspects_t *self, tnd_actor_id_t worker)
{
    return find(self, worker) != NULL;
}

void tnd_suspects_begin(tnd_suspects_t *self, const tnd_tickets_t *tickets, tnd_actor_id_t id,
                        uint64_t at)
{
    tnd_lane_worker_t *worker = find(self, id);
    assert(worker != NULL);
    set_working(self, worker, at < tickets->tail);
    if (at == tickets->tail)
        return;
    tnd_ticket_t *ticket = tnd_ticket_at(tickets, at);
    ticket->begun = true;
    worker->epoch = ticket->epoch;
    worker->first = ticket->first;
    worker->count = ticket->asked;
}

void tnd_suspects_answered(tnd_suspects_t *self, tnd_actor_id_t id)
{
    tnd_lane_worker_t *worker = self->working > 0 ? find(self, id) : NULL;
    if (worker != NULL)
        set_working(self, worker, false);
}

/*  The worker died with the ticket that it began.  The ticket may be cut into pieces since; all of
 *  them were with the worker. */
static uint64_t count_failure(tnd_suspects_t *self, const tnd_tickets_t *tickets,
                              const tnd_lane_worker_t *worker)
{
    uint64_t poison = tickets->tail;
    uint64_t at = tnd_tickets_find(tickets, worker->epoch, worker->first);
    for (; at < tickets->tail; at++) {
        tnd_ticket_t *ticket = tnd_ticket_at(tickets, at);
        if (ticket->epoch != worker->epoch || ticket->first - worker->first >= worker->count)
            break;
        if (ticket->state != TND_TICKET_SENT && ticket->state != TND_TICKET_LOST)
            continue;
        ticket->failure_count++;
        ticket->died_alone = ticket->died_alone || worker->count == 1;
        self->any = true;
        if (poison == tickets->tail && ticket->died_alone &&
            ticket->failure_count >= TND_FAILURES_MAX)
            poison = at;
    }
    return poison;
}

uint64_t tnd_suspects_worker_up(tnd_suspects_t *self, const tnd_tickets_t *tickets,
                                tnd_actor_id_t id, tnd_life_t birth)
{
    tnd_lane_worker_t *worker = find(self, id);
    if (worker == NULL) {
        assert(self->worker_count < self->workers_max);
        worker = &self->workers[self->worker_count++];
        *worker = (tnd_lane_worker_t){.id = id, .birth = birth};
    }
    bool has_died = worker->birth != birth || TND_BUG(LOSS_BLAMES);
    uint64_t poison =
        worker->works && has_died ? count_failure(self, tickets, worker) : tickets->tail;
    set_working(self, worker, false);
    worker->birth = birth;
    return poison;
}

bool tnd_suspects_go(tnd_actor_id_t self, const tnd_msg_t *heard, tnd_msg_t *go)
{
    *go = (tnd_msg_t){
        .kind = TND_MSG_GO, .generation = heard->generation, .from = self, .to = heard->from};
    if (heard->kind == TND_MSG_BEGIN) {
        go->ticket = heard->ticket;
        return true;
    }
    go->ticket.first = heard->block.first;
    go->ticket.lane = heard->block.lane;
    go->ticket.epoch = heard->block.epoch;
    go->ticket.count = heard->block.asked;
    go->ticket.attempt = heard->block.attempt;
    return heard->block.attempt > 0;
}

uint64_t tnd_suspects_died(tnd_suspects_t *self, const tnd_tickets_t *tickets, uint32_t epoch,
                           uint64_t first, uint32_t count)
{
    const tnd_lane_worker_t worker = {.epoch = epoch, .first = first, .count = count};
    return count_failure(self, tickets, &worker);
}

static bool is_with(const tnd_lane_worker_t *worker, const tnd_ticket_t *ticket)
{
    return worker->works && worker->epoch == ticket->epoch &&
           ticket->first - worker->first < worker->count;
}

bool tnd_suspects_wait(tnd_suspects_t *self, tnd_ticket_t *ticket, uint64_t now)
{
    uint32_t absent = 0;
    if (self->working == 0 || ticket->asked > 1 || TND_BUG(DEATH_NOT_AWAITED))
        return false;
    for (uint32_t i = 0; i < self->worker_count; i++)
        absent += is_with(&self->workers[i], ticket);
    if (absent == 0 || ticket->failure_count + absent < TND_FAILURES_MAX)
        return false;
    if (ticket->absent_until_ns == 0)
        ticket->absent_until_ns = now + TND_ABSENT_MAX_NS;
    if (now < ticket->absent_until_ns) {
        if (ticket->absent_until_ns < self->due_ns)
            self->due_ns = ticket->absent_until_ns;
        return true;
    }
    for (uint32_t i = 0; i < self->worker_count; i++)
        if (is_with(&self->workers[i], ticket))
            set_working(self, &self->workers[i], false);
    return false;
}

bool tnd_suspects_busy(tnd_suspects_t *self, const tnd_tickets_t *tickets)
{
    bool any = false, sent = false;
    for (uint64_t at = tickets->head; self->any && at < tickets->tail; at++) {
        const tnd_ticket_t *ticket = tnd_ticket_at(tickets, at);
        any = any || (ticket->failure_count > 0 && ticket->state <= TND_TICKET_LOST);
        sent = sent || (ticket->failure_count > 0 && ticket->state == TND_TICKET_SENT);
    }
    self->any = any;
    return sent;
}
