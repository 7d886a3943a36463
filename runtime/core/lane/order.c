/*  runtime/core/lane/order.c - the order of one lane: issues tickets, accepts blocks, joins them.
 */
#include "runtime/core/lane/order.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"
#include "runtime/core/lane/block_check.h"
#include "runtime/core/lane/lane_room.h"
#include "runtime/core/lane/stragglers.h"
#include "runtime/core/lane/suspects.h"
#include "runtime/core/lane/ticket_size.h"

/*  A block that killed its worker is cut into so many pieces: two cuts find one row of 4,096 at the
 *  price of two workers, where halves would need twelve.  TND_ORDER_SPARE has room for four cuts.
 */
enum { PIECES = 64 };

struct tnd_order {
    tnd_order_config_t config;
    uint32_t generation;

    tnd_position_t plan; /* the next new ticket */
    uint32_t limit;      /* no ticket beyond this epoch */
    tnd_ticket_size_t size;
    uint32_t next_reader; /* index */
    tnd_lane_room_t room;
    bool filling;   /* tickets are issued until the window is full */
    uint64_t stale; /* answers that were dropped */

    tnd_reservations_t reservations;
    tnd_tickets_t tickets;
    tnd_joined_rows_t rows;
    tnd_suspects_t suspects;
    tnd_stragglers_t stragglers;
};

static uint32_t tickets_max(const tnd_order_config_t *config)
{
    return config->window_blocks + TND_ORDER_SPARE;
}

static uint64_t ticket_room(const tnd_order_config_t *config)
{
    return tnd_power_of_two(tickets_max(config));
}

/*  Each joined block has a row, see has_room(). */
static uint64_t joined_room(const tnd_order_config_t *config)
{
    return tnd_power_of_two(config->window_blocks + TND_ORDER_SPARE + config->rows_wanted);
}

/*  Everything held, which a rewind drops, and a few blocks more. */
static uint64_t drop_room(const tnd_order_config_t *config)
{
    return tnd_power_of_two(ticket_room(config) + joined_room(config) + 64);
}

size_t tnd_order_bytes(const tnd_order_config_t *config)
{
    assert(config->window_blocks > 0 && config->window_blocks <= 1u << 24);
    assert(config->rows_wanted <= 1u << 30);
    return sizeof(tnd_order_t) + ticket_room(config) * sizeof(tnd_ticket_t) +
           joined_room(config) * sizeof(tnd_joined_block_t) + drop_room(config) * sizeof(void *) +
           config->workers_max * sizeof(tnd_lane_worker_t);
}

tnd_order_t *tnd_order_init(void *memory, const tnd_order_config_t *config)
{
    assert(config->reader_count > 0 && config->block_rows > 0 && config->epochs > 0);
    tnd_order_t *self = memory;
    self->config = *config;
    assert(config->first_rows <= config->block_rows);
    self->size =
        (tnd_ticket_size_t){.rows_max = config->block_rows,
                            .rows_now = config->first_rows,
                            .block_ns = config->block_ns,
                            .budget = config->bytes.ragged_max > 0 ? config->bytes.budget : 0};
    self->tickets.ring = (tnd_ticket_t *)(self + 1);
    self->tickets.mask = ticket_room(config) - 1;
    self->rows.ring = (tnd_joined_block_t *)(self->tickets.ring + self->tickets.mask + 1);
    self->rows.mask = joined_room(config) - 1;
    self->rows.span_epochs = config->span_epochs;
    self->rows.reservations = &self->reservations;
    self->reservations.drops = (void **)(self->rows.ring + self->rows.mask + 1);
    self->reservations.drop_mask = drop_room(config) - 1;
    self->suspects.workers =
        (tnd_lane_worker_t *)(self->reservations.drops + self->reservations.drop_mask + 1);
    self->suspects.workers_max = config->workers_max;
    self->stragglers.overdue_ns = config->overdue_ns;
    self->stragglers.due_ns = TND_NEVER;
    uint64_t wanted = tnd_lane_room_wanted(config->rows_wanted, config->made_max);
    self->room = tnd_lane_room_of(&config->bytes, config->block_rows,
                                  config->wanted_bytes > 0 ? config->wanted_bytes : wanted,
                                  config->window_bytes);
    self->plan.epoch = config->epochs;
    return self;
}

/* --- planning --------------------------------------------------------------------------------- */

static bool may_plan(const tnd_order_t *self)
{
    return self->plan.epoch < self->config.epochs &&
           (self->config.span_epochs || self->plan.epoch <= self->limit);
}

/*  Moves the plan past the ends of epochs whose length is known. */
static void skip_ends(tnd_order_t *self)
{
    if (self->config.count == 0 && self->config.span_epochs) {
        self->plan = (tnd_position_t){.epoch = self->config.epochs};
        return;
    }
    while (may_plan(self) && self->config.count != TND_UNKNOWN &&
           self->plan.index >= self->config.count)
        self->plan = (tnd_position_t){.epoch = self->plan.epoch + 1};
}

void tnd_order_rewind(tnd_order_t *self, uint32_t generation, tnd_position_t from)
{
    tnd_tickets_t *tickets = &self->tickets;
    for (; tickets->head < tickets->tail; tickets->head++) {
        const tnd_ticket_t *ticket = tnd_ticket_at(tickets, tickets->head);
        if (ticket->state == TND_TICKET_RECEIVED)
            tnd_reservations_drop(&self->reservations, ticket->answer.payload);
    }
    tickets->lost_count = 0;
    tnd_joined_rows_rewind(&self->rows, from);
    self->reservations.bytes = 0;
    self->reservations.blocks = 0;
    tnd_suspects_rewind(&self->suspects);
    tnd_stragglers_rewind(&self->stragglers, tickets->head);
    self->generation = generation;
    self->plan = (tnd_position_t){.epoch = from.epoch, .index = from.index};
    self->limit = tnd_joined_rows_epoch(&self->rows, from.epoch) + 1;
    skip_ends(self);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void reserve(tnd_order_t *self, tnd_ticket_t *ticket, uint64_t bytes)
{
    tnd_reservations_take(&self->reservations, bytes);
    ticket->unreserved = false;
    ticket->reserved = bytes;
}

/*  Ends the reservation of a ticket, if it has one. */
static void unreserve(tnd_order_t *self, tnd_ticket_t *ticket, void *payload)
{
    if (!ticket->unreserved)
        tnd_reservations_release(&self->reservations, payload, ticket->reserved);
    ticket->unreserved = true;
    ticket->reserved = 0;
}

/*  The epoch has no position from the end of the block on: tickets there are void. */
static tnd_status_t end_epoch(tnd_order_t *self, const tnd_block_note_t *block, tnd_error_t *error)
{
    tnd_tickets_t *tickets = &self->tickets;
    uint64_t end = block->first + block->count;
    if (self->plan.epoch == block->epoch)
        self->plan = (tnd_position_t){.epoch = block->epoch + 1};
    skip_ends(self);
    for (uint64_t at = tnd_tickets_find(tickets, block->epoch, end); at < tickets->tail; at++) {
        tnd_ticket_t *ticket = tnd_ticket_at(tickets, at);
        if (ticket->epoch != block->epoch)
            break;
        if (ticket->state == TND_TICKET_VOID || ticket->first == block->first)
            continue;
        bool received = ticket->state == TND_TICKET_RECEIVED;
        if (received && ticket->answer.covered > 0)
            return tnd_block_refuse(block, error,
                                    "the source ended before rows that it had returned already");
        unreserve(self, ticket, received ? ticket->answer.payload : NULL);
        tnd_tickets_set(tickets, ticket, TND_TICKET_VOID);
    }
    return TND_OK;
}

/*  Joins the blocks at the head that have arrived. */
static void advance(tnd_order_t *self)
{
    tnd_tickets_t *tickets = &self->tickets;
    for (; tickets->head < tickets->tail; tickets->head++) {
        const tnd_ticket_t *ticket = tnd_ticket_at(tickets, tickets->head);
        if (ticket->state == TND_TICKET_RECEIVED)
            tnd_joined_rows_add(&self->rows, ticket);
        else if (ticket->state != TND_TICKET_VOID)
            break;
    }
}

/*  Whether the ticket at `at` may become two.  One place is kept for the floor. */
static bool may_split(const tnd_order_t *self, uint64_t at)
{
    uint64_t open = self->tickets.tail - self->tickets.head;
    return open + (at != self->tickets.head) < tickets_max(&self->config);
}

static bool split(tnd_order_t *self, uint64_t at, uint32_t count)
{
    if (!may_split(self, at))
        return false;
    tnd_tickets_split(&self->tickets, at, count, self->config.bytes.budget);
    tnd_stragglers_cut(&self->stragglers, at, 2);
    return true;
}

/*  The answer cannot be used: the ticket is asked for again, with `budget`. */
static void ask_again(tnd_order_t *self, uint64_t at, uint64_t budget, void *payload)
{
    tnd_ticket_t *ticket = tnd_ticket_at(&self->tickets, at);
    unreserve(self, ticket, payload);
    ticket->budget = budget;
    ticket->begun = false;
    tnd_tickets_lose(&self->tickets, at);
}

static tnd_status_t receive(tnd_order_t *self, uint64_t at, const tnd_block_note_t *block,
                            tnd_error_t *error)
{
    tnd_ticket_t *ticket = tnd_ticket_at(&self->tickets, at);
    TND_TRY(tnd_block_check(block, ticket, self->config.count, &self->config.bytes, error));
    TND_TRY(tnd_block_check_lengths(block, self->config.measured, error));
    bool too_small = tnd_block_is_too_small(block);
    if (!too_small && tnd_joined_rows_splits(&self->rows, block->epoch, block->first))
        TND_TRY(tnd_block_check_used(block, self->rows.skip, error));
    tnd_ticket_size_learn(&self->size, block);
    uint32_t part = too_small ? 1 : block->count;
    bool parted = part == block->asked || block->end || TND_BUG(SHORT_REST_FORGOTTEN) ||
                  split(self, at, part);
    if (too_small || !parted) {
        /* Without a place for the rest the whole ticket waits until there is one.  Its budget is
         * another one, or a reader would believe that its first answer is still on the way. */
        uint64_t another = ticket->budget > 1 ? ticket->budget - 1 : ticket->budget * 2;
        ask_again(self, at, too_small && parted ? block->ragged : another, block->payload);
        return TND_OK;
    }
    if (block->end)
        TND_TRY(end_epoch(self, block, error));
    tnd_tickets_set(&self->tickets, ticket, TND_TICKET_RECEIVED);
    ticket->answer = tnd_answer_of(block);
    self->reservations.bytes = self->reservations.bytes - ticket->reserved + block->bytes;
    ticket->reserved = block->bytes;
    tnd_stragglers_answered(&self->stragglers, &self->tickets, at, block->attempt);
    advance(self);
    return TND_OK;
}

/*  The planted bug: the block just below the floor is joined once more. */
static bool joins_again(tnd_order_t *self, const tnd_block_note_t *block)
{
    const tnd_ticket_t *next = tnd_ticket_at(&self->tickets, self->tickets.head);
    if (!TND_BUG(DUPLICATE_OFF_BY_ONE) || self->tickets.head == self->tickets.tail ||
        next->epoch != block->epoch || next->first != block->first + block->count)
        return false;
    tnd_reservations_take(&self->reservations, 0);
    tnd_joined_rows_add(&self->rows, &(tnd_ticket_t){.first = block->first,
                                                     .epoch = block->epoch,
                                                     .answer = tnd_answer_of(block)});
    return true;
}

/*  An answer to a ticket that is joined. */
static tnd_status_t duplicate(tnd_order_t *self, const tnd_block_note_t *block, tnd_error_t *error)
{
    if (joins_again(self, block))
        return TND_OK;
    const tnd_joined_block_t *first = tnd_joined_rows_find(&self->rows, block->epoch, block->first);
    tnd_status_t status = TND_OK;
    if (first != NULL)
        status = tnd_block_compare(block, &first->answer, error);
    tnd_reservations_drop(&self->reservations, block->payload);
    return status;
}

tnd_status_t tnd_order_block(tnd_order_t *self, const tnd_msg_t *msg, tnd_error_t *error)
{
    const tnd_block_note_t *block = &msg->block;
    const tnd_tickets_t *tickets = &self->tickets;
    tnd_suspects_answered(&self->suspects, msg->from);
    if (msg->generation != self->generation) {
        tnd_reservations_drop(&self->reservations, block->payload);
        self->stale++;
        return TND_OK;
    }
    if (TND_BUG(MARK_AHEAD))
        self->rows.epochs[tnd_joined_rows_epoch(&self->rows, block->epoch) & 1].rows += block->rows;
    uint64_t at = tnd_tickets_find(tickets, block->epoch, block->first);
    const tnd_ticket_t *ticket = at < tickets->tail ? tnd_ticket_at(tickets, at) : NULL;
    bool found = ticket != NULL && ticket->epoch == block->epoch && ticket->first == block->first;
    tnd_status_t status = TND_OK;
    if (block->lane != self->config.lane) {
        status = tnd_block_refuse(block, error, "a block of another lane");
    } else if (!found) {
        tnd_position_t start = {.epoch = block->epoch, .index = block->first};
        if (at == tickets->head && tnd_position_compare(start, self->plan) < 0) {
            self->stale++;
            return duplicate(self, block, error);
        }
        status = tnd_block_refuse(block, error, "a block that was not asked for");
    } else if (ticket->unreserved ||
               (block->attempt < ticket->attempt &&
                (block->asked != ticket->asked || block->budget != ticket->budget))) {
        /* Late: its ticket is another one now. */
    } else if (ticket->state == TND_TICKET_RECEIVED && ticket->answer.payload == NULL) {
        /* Late: its row is poison. */
    } else if (ticket->state == TND_TICKET_RECEIVED) {
        status = tnd_block_compare(block, &ticket->answer, error);
    } else if (ticket->state != TND_TICKET_VOID) {
        status = receive(self, at, block, error);
        if (status == TND_OK)
            return TND_OK;
    }
    tnd_reservations_drop(&self->reservations, block->payload);
    self->stale++;
    return status;
}

/* --- workers and lost tickets ----------------------------------------------------------------- */

/*  The place of the ticket that `msg` names if that attempt is under way; else tail. */
static uint64_t find_sent(const tnd_order_t *self, const tnd_msg_t *msg)
{
    if (msg->generation != self->generation || msg->ticket.lane != self->config.lane)
        return self->tickets.tail;
    return tnd_tickets_find_sent(&self->tickets, msg);
}

void tnd_order_begin(tnd_order_t *self, const tnd_msg_t *msg)
{
    tnd_suspects_begin(&self->suspects, &self->tickets, msg->from, find_sent(self, msg));
}

bool tnd_order_go(const tnd_order_t *self, const tnd_msg_t *heard, tnd_msg_t *go)
{
    return tnd_suspects_knows(&self->suspects, heard->from) &&
           tnd_suspects_go(self->config.self, heard, go);
}

/*  Cuts a lost ticket if there is room for the pieces. */
static void cut(tnd_order_t *self, uint64_t at)
{
    tnd_tickets_t *tickets = &self->tickets;
    uint32_t asked = tnd_ticket_at(tickets, at)->asked, pieces = asked < PIECES ? asked : PIECES;
    uint64_t room = tickets_max(&self->config) - (tickets->tail - tickets->head);
    if (room < pieces || self->reservations.blocks + pieces >= tickets_max(&self->config))
        return;
    /* Of the bytes of ragged columns each piece may need all. */
    if (self->config.bytes.ragged_max > 0)
        unreserve(self, tnd_ticket_at(tickets, at), NULL);
    else
        self->reservations.blocks += pieces - 1;
    tnd_tickets_cut(tickets, at, pieces);
    tnd_stragglers_cut(&self->stragglers, at, pieces);
}

/*  A poison row is bad: it is answered as a block without rows. */
static void skip_poison(tnd_order_t *self, uint64_t at)
{
    static const uint32_t alone = 0;
    tnd_ticket_t *ticket = tnd_ticket_at(&self->tickets, at);
    tnd_suspects_t *suspects = &self->suspects;
    if (suspects->poison_count == TND_POISON_ROOM ||
        tnd_joined_rows_splits(&self->rows, ticket->epoch, ticket->first))
        return;
    suspects->poison[suspects->poison_count++] =
        (tnd_position_t){.epoch = ticket->epoch, .index = ticket->first};
    unreserve(self, ticket, NULL);
    reserve(self, ticket, 0);
    tnd_tickets_set(&self->tickets, ticket, TND_TICKET_RECEIVED);
    ticket->answer = (tnd_answer_t){.origin = &alone, .bad = &alone, .covered = 1, .bad_count = 1};
    advance(self);
}

void tnd_order_lost(tnd_order_t *self, const tnd_msg_t *msg)
{
    uint64_t at = find_sent(self, msg);
    if (at == self->tickets.tail)
        return;
    tnd_ticket_t *ticket = tnd_ticket_at(&self->tickets, at);
    if (TND_BUG(END_NOT_RETAINED) && ticket->first + ticket->asked == self->config.count)
        return;
    tnd_tickets_lose(&self->tickets, at);
    if (!ticket->begun && !msg->ticket.begun)
        return;
    ticket->begun = false;
    if (ticket->asked > 1)
        cut(self, at);
}

void tnd_order_worker_up(tnd_order_t *self, tnd_actor_id_t worker, tnd_life_t birth)
{
    uint64_t poison = tnd_suspects_worker_up(&self->suspects, &self->tickets, worker, birth);
    if (poison < self->tickets.tail)
        skip_poison(self, poison);
}

void tnd_order_died(tnd_order_t *self, const tnd_msg_t *msg)
{
    if (msg->generation != self->generation || msg->ticket.lane != self->config.lane)
        return;
    uint64_t poison = tnd_suspects_died(&self->suspects, &self->tickets, msg->ticket.epoch,
                                        msg->ticket.first, msg->ticket.count);
    if (poison < self->tickets.tail)
        skip_poison(self, poison);
}

/* --- rows ------------------------------------------------------------------------------------- */

tnd_joined_rows_t *tnd_order_rows(tnd_order_t *self)
{
    return &self->rows;
}

uint64_t tnd_order_joined(const tnd_order_t *self, uint32_t epoch, bool *ended_p)
{
    const tnd_joined_epoch_t *found = &self->rows.epochs[epoch & 1];
    assert(found->number == epoch);
    tnd_position_t floor = tnd_tickets_floor(&self->tickets, self->plan);
    *ended_p = self->config.span_epochs ? floor.epoch >= self->config.epochs : floor.epoch > epoch;
    return found->rows;
}

/*  The cursor after an epoch. */
static tnd_position_t after_epoch(const tnd_order_t *self, uint32_t epoch)
{
    return (tnd_position_t){.epoch = self->config.span_epochs ? self->config.epochs : epoch + 1};
}

void tnd_order_close(tnd_order_t *self, uint32_t epoch, tnd_ledger_t *ledger)
{
    tnd_joined_rows_close(&self->rows, epoch, after_epoch(self, epoch), ledger);
    self->limit = epoch + 2;
    skip_ends(self);
}

/*  Blocks that still arrive find no ticket and are before the plan, as duplicates are. */
void tnd_order_abandon(tnd_order_t *self, uint32_t epoch)
{
    tnd_tickets_t *tickets = &self->tickets;
    tnd_position_t next = after_epoch(self, epoch);
    tnd_joined_rows_abandon(&self->rows, epoch, next);
    for (; tickets->head < tickets->tail; tickets->head++) {
        tnd_ticket_t *ticket = tnd_ticket_at(tickets, tickets->head);
        if (tnd_joined_rows_epoch(&self->rows, ticket->epoch) != epoch)
            break;
        if (ticket->state == TND_TICKET_VOID)
            continue;
        bool received = ticket->state == TND_TICKET_RECEIVED;
        unreserve(self, ticket, received ? ticket->answer.payload : NULL);
        tnd_tickets_set(tickets, ticket, TND_TICKET_VOID);
    }
    if (self->config.span_epochs || self->plan.epoch == epoch)
        self->plan = next;
    self->limit = epoch + 2;
    skip_ends(self);
    advance(self);
}

/* --- effects ---------------------------------------------------------------------------------- */

static uint64_t kept_bytes(const tnd_order_t *self)
{
    return tnd_lane_room_kept(&self->room, self->rows.bytes);
}

/*  The most that the block of a ticket may take. */
static uint64_t largest_block(const tnd_order_t *self, uint32_t positions, uint64_t budget)
{
    if (TND_BUG(LEARNED_SIZE_UNCHECKED))
        return positions * (self->config.bytes.fixed + self->size.row_ragged);
    return tnd_row_bytes_most(&self->config.bytes, positions, budget);
}

/*  Whether `bytes` may be reserved for the ticket at `at`. */
static bool may_reserve(const tnd_order_t *self, uint64_t at, uint64_t bytes)
{
    bool wanted = self->rows.ready < self->config.rows_wanted, floor = at == self->tickets.head;
    if ((floor && wanted) || TND_BUG(RESERVATION_MISSING))
        return true;
    return (self->reservations.blocks < self->config.window_blocks || wanted) &&
           self->reservations.bytes + bytes + (floor ? 0 : kept_bytes(self)) <= self->room.all;
}

static uint32_t next_count(const tnd_order_t *self)
{
    uint64_t left = self->config.count - self->plan.index;
    uint32_t rows = tnd_ticket_size_rows(&self->size, self->plan.index);
    return left < rows ? (uint32_t)left : rows;
}

/*  Whether there is room for one more ticket. */
static bool has_room(const tnd_order_t *self)
{
    return self->tickets.tail - self->tickets.head < self->config.window_blocks &&
           may_reserve(self, self->tickets.tail,
                       largest_block(self, next_count(self), self->config.bytes.budget));
}

/*  Whether a run of tickets may start or continue: a quarter of the window is free, or rows are
 *  wanted and nothing is under way. */
static bool is_filling(tnd_order_t *self)
{
    bool idle =
        self->tickets.head == self->tickets.tail && self->rows.ready < self->config.rows_wanted;
    uint64_t quarter = (self->room.all - tnd_lane_room_kept(&self->room, 0)) / 4;
    if (!self->filling)
        self->filling =
            idle || (self->reservations.blocks <= self->config.window_blocks / 4 * 3 &&
                     self->reservations.bytes + kept_bytes(self) + quarter <= self->room.all);
    return self->filling;
}

static void start_control(const tnd_order_t *self, tnd_msg_kind_t kind, tnd_actor_id_t to,
                          tnd_effect_t *effect)
{
    memset(effect, 0, sizeof *effect);
    effect->kind = TND_EFFECT_CONTROL;
    effect->msg.kind = kind;
    effect->msg.generation = self->generation;
    effect->msg.from = self->config.self;
    effect->msg.to = to;
}

static void send_ticket(const tnd_order_t *self, const tnd_ticket_t *ticket, tnd_effect_t *effect)
{
    start_control(self, TND_MSG_TICKET, ticket->reader, effect);
    effect->msg.ticket.first = ticket->first;
    effect->msg.ticket.lane = self->config.lane;
    effect->msg.ticket.epoch = ticket->epoch;
    effect->msg.ticket.count = ticket->asked;
    effect->msg.ticket.attempt = ticket->attempt;
    effect->msg.ticket.budget = ticket->budget;
    effect->msg.ticket.floor = TND_BUG(ACK_ON_RECEIPT)
                                   ? tnd_tickets_received(&self->tickets, self->plan)
                                   : tnd_tickets_floor(&self->tickets, self->plan);
}

static void report_poison(tnd_order_t *self, tnd_effect_t *effect)
{
    tnd_position_t row = self->suspects.poison[--self->suspects.poison_count];
    start_control(self, TND_MSG_BAD, self->config.readers[0], effect);
    effect->msg.bad.position = row.index;
    effect->msg.bad.epoch = row.epoch;
    effect->msg.bad.lane = self->config.lane;
}

/*  Whether the ticket at `at` is lost and may be issued again.  Tickets with failures are issued one
 *  at a time: several that are under way in one process end with it, and only one is to blame.  A
 *  ticket with a larger budget waits until it is the floor. */
static bool may_reissue(tnd_order_t *self, uint64_t at, bool busy, uint64_t now)
{
    tnd_ticket_t *ticket = tnd_ticket_at(&self->tickets, at);
    if (ticket->state != TND_TICKET_LOST || (busy && ticket->failure_count > 0) ||
        tnd_suspects_wait(&self->suspects, ticket, now))
        return false;
    if (!ticket->unreserved)
        return true;
    if (ticket->asked > 1 && !may_split(self, at)) /* it may be answered in part again */
        return false;
    if (ticket->budget > self->config.bytes.budget && at != self->tickets.head)
        return TND_BUG(TWO_OVERSIZE);
    return may_reserve(self, at, largest_block(self, ticket->asked, ticket->budget));
}

/*  Issues the first lost ticket again that may be. */
static bool reissue(tnd_order_t *self, uint64_t now, tnd_effect_t *effect)
{
    tnd_tickets_t *tickets = &self->tickets;
    if (tickets->lost_from < tickets->head)
        tickets->lost_from = tickets->head;
    while (tnd_ticket_at(tickets, tickets->lost_from)->state != TND_TICKET_LOST)
        tickets->lost_from++;
    uint64_t at = tickets->lost_from;
    bool busy = tnd_suspects_busy(&self->suspects, tickets);
    self->suspects.due_ns = TND_NEVER;
    while (at < tickets->tail && !may_reissue(self, at, busy, now))
        at++;
    if (at == tickets->tail)
        return false;
    tnd_stragglers_issued(&self->stragglers, tickets, at, now);
    tnd_ticket_t *ticket = tnd_ticket_at(tickets, at);
    ticket->absent_until_ns = 0;
    tickets->lost_from += at == tickets->lost_from;
    tnd_tickets_set(tickets, ticket, TND_TICKET_SENT);
    if (ticket->unreserved || TND_BUG(CREDIT_NOT_RESTORED))
        reserve(self, ticket, largest_block(self, ticket->asked, ticket->budget));
    send_ticket(self, ticket, effect);
    return true;
}

static void issue(tnd_order_t *self, uint64_t now, tnd_effect_t *effect)
{
    uint64_t at = self->tickets.tail++;
    tnd_ticket_t *ticket = tnd_ticket_at(&self->tickets, at);
    *ticket = (tnd_ticket_t){.first = self->plan.index,
                             .epoch = self->plan.epoch,
                             .asked = next_count(self),
                             .budget = self->config.bytes.budget,
                             .reader = self->config.readers[self->next_reader]};
    tnd_stragglers_issued(&self->stragglers, &self->tickets, at, now);
    self->next_reader = (self->next_reader + 1) % self->config.reader_count;
    reserve(self, ticket,
            TND_BUG(RESERVATION_MISSING) ? 0 : largest_block(self, ticket->asked, ticket->budget));
    self->plan.index += ticket->asked;
    skip_ends(self);
    send_ticket(self, ticket, effect);
}

bool tnd_order_next(tnd_order_t *self, uint64_t now, tnd_effect_t *effect)
{
    tnd_reservations_t *reservations = &self->reservations;
    tnd_stragglers_learn(&self->stragglers, &self->tickets, now);
    if (reservations->drop_head < reservations->drop_tail) {
        memset(effect, 0, sizeof *effect);
        effect->kind = TND_EFFECT_DROP;
        effect->payload = reservations->drops[reservations->drop_head++ & reservations->drop_mask];
        return true;
    }
    if (self->suspects.poison_count > 0) {
        report_poison(self, effect);
        return true;
    }
    if (self->tickets.lost_count > 0 && reissue(self, now, effect))
        return true;
    const tnd_ticket_t *overdue = tnd_stragglers_next(&self->stragglers, &self->tickets, now);
    if (overdue != NULL) {
        send_ticket(self, overdue, effect);
        return true;
    }
    if (!may_plan(self) || !is_filling(self))
        return false;
    self->filling = has_room(self);
    if (self->filling)
        issue(self, now, effect);
    return self->filling;
}

uint64_t tnd_order_deadline(const tnd_order_t *self)
{
    uint64_t due = self->tickets.head < self->tickets.tail ? self->stragglers.due_ns : TND_NEVER;
    bool waits = self->tickets.lost_count > 0 && self->suspects.due_ns < due;
    return waits ? self->suspects.due_ns : due;
}

uint32_t tnd_order_blocked_on(const tnd_order_t *self)
{
    uint32_t waits = 0;
    if (self->tickets.head < self->tickets.tail) {
        waits |= TND_WAIT_INPUT;
        for (uint64_t at = self->tickets.head; at < self->tickets.tail; at++)
            if (tnd_ticket_at(&self->tickets, at)->state == TND_TICKET_RECEIVED)
                return waits | TND_WAIT_ORDER;
    }
    if (may_plan(self) && !has_room(self))
        waits |= TND_WAIT_MEMORY;
    if (self->plan.epoch >= self->config.epochs && waits == 0 && self->rows.ready == 0)
        waits |= TND_WAIT_ENDED;
    return waits;
}

uint64_t tnd_order_doubled(const tnd_order_t *self)
{
    return self->stragglers.doubled;
}

uint64_t tnd_order_stale(const tnd_order_t *self)
{
    return self->stale;
}

bool tnd_order_overflows(const tnd_order_t *self)
{
    return self->rows.bytes > self->room.wanted;
}

uint64_t tnd_order_used_bytes(const tnd_order_t *self)
{
    return self->reservations.bytes;
}

uint64_t tnd_order_window_bytes(const tnd_order_t *self)
{
    return self->room.all;
}

uint32_t tnd_order_used_blocks(const tnd_order_t *self)
{
    return self->reservations.blocks;
}
