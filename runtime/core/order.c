/*  runtime/core/order.c - the order of one lane: tickets out, blocks in, rows released in order.
 *
 *  Two rings.  `tickets` holds what was asked for and is not joined yet, sorted by position, its
 *  head the floor.  `joined` holds blocks with rows that nobody took; a block without rows leaves
 *  only its counts, the gap before the next one.
 */
#include "runtime/core/order.h"

#include <assert.h>
#include <string.h>

#include "runtime/core/order/latency.h"
#include "runtime/base/bug_injection.h"

/*  A block that ended its worker is cut into PIECES: two cuts find one row of 4,096 at the price of
 *  two workers, where halves would need twelve.  TND_ORDER_SPARE has room for those of four blocks.
 */
enum { PIECES = 64, CONDEMNED_ROOM = 16 };

/*  A row alone is bad when it, and the blocks that it was cut out of, ended a worker so often: once
 *  or twice could be chance.
 */
enum { CONDEMNED_AFTER = 4 };

/*  A ticket is overdue after so many times the PERCENT quantile, known from so many answers. */
enum { OVERDUE_TIMES = 3, OVERDUE_PERCENT = 99, OVERDUE_ANSWERS = 8 };

/*  Answers between two looks at the clock that are learnt from. */
enum { ANSWERED_ROOM = 64 };

/*  What is usual of a time, and what is too much. */
typedef struct {
    tnd_latency_t usual;
    uint64_t limit_ns; /* 0: not known yet */
} patience_t;

typedef enum { SENT, LOST, RECEIVED, VOID } ticket_state_t;

typedef struct {
    uint64_t first;
    uint64_t reserved;              /* bytes; what the block takes once it is there */
    uint64_t issued_ns, doubled_ns; /* doubled_ns 0: it is not */
    uint64_t passed_ns;             /* since when a later one is answered; 0: none was */
    void *payload;
    const uint32_t *origin, *bad;
    uint32_t epoch, asked, attempt;
    uint32_t covered, rows, bad_count; /* of the block */
    tnd_actor_id_t reader;
    ticket_state_t state;
    bool begun;       /* this attempt is what its worker works on */
    uint32_t charged; /* workers that ended so, here and with what it is a piece of */
} ticket_t;

typedef struct {
    uint64_t first;
    uint64_t bytes;
    void *payload;
    const uint32_t *origin, *bad;
    uint64_t gap, gap_bad; /* positions without rows since the block before */
    uint32_t epoch, attempt;
    uint32_t covered, rows, bad_count;
    uint32_t taken, bad_taken;
} joined_t;

/*  What a worker said last that it begins. */
typedef struct {
    tnd_actor_id_t id;
    tnd_life_t birth;
    uint64_t first;
    uint32_t epoch, count;
    bool works; /* on that, as far as is known */
} worker_t;

/*  An epoch under way. */
typedef struct {
    uint32_t number;
    uint64_t rows;         /* joined since the rewind */
    uint64_t gap, gap_bad; /* positions without rows behind the last joined block with rows */
} epoch_t;

struct tnd_order {
    tnd_order_config_t config;
    uint32_t generation;

    tnd_position_t plan;  /* of the next new ticket */
    uint32_t limit;       /* no ticket beyond this epoch */
    uint32_t block_rows;  /* as adapted */
    uint64_t row_ns;      /* smoothed cost of a position */
    uint32_t next_reader; /* index */
    uint64_t lost_from;   /* no lost ticket before this one */
    uint32_t lost_count;
    bool suspects; /* a ticket is charged, maybe */

    tnd_position_t position; /* after the last row taken: the cursor */
    tnd_position_t booked;   /* after the last position booked */
    tnd_ledger_t pending;    /* booked behind `position` */
    uint32_t skip;           /* rows of the first position that were taken before the rewind */
    epoch_t epochs[2];
    uint64_t ready; /* rows joined, not taken */

    uint64_t window_bytes, used_bytes;
    uint32_t used_blocks;
    bool filling; /* tickets go out until the window is full */

    patience_t issued, passed; /* since a ticket was issued, and since it was passed */
    uint64_t due_ns;           /* none is overdue before */
    struct {
        uint64_t issued_ns, passed_ns;
    } answered[ANSWERED_ROOM];
    uint32_t answered_count;
    uint64_t answered_to, passed_to; /* behind the last that is answered; what is known of before */
    uint64_t doubled, stale;         /* counts */

    ticket_t *tickets;
    uint64_t ticket_mask, ticket_head, ticket_tail;
    joined_t *joined;
    uint64_t joined_mask, joined_head, joined_tail;
    void **drops;
    uint64_t drop_mask, drop_head, drop_tail;
    worker_t *workers;
    uint32_t worker_count, working;
    tnd_position_t condemned[CONDEMNED_ROOM]; /* not said yet */
    uint32_t condemned_count;
};

static uint64_t power_of_two(uint64_t at_least)
{
    uint64_t power = 1;
    while (power < at_least)
        power *= 2;
    return power;
}

static uint64_t ticket_room(const tnd_order_config_t *config)
{
    return power_of_two(config->window_blocks + TND_ORDER_SPARE);
}

/*  Each joined block has a row, see has_room(). */
static uint64_t joined_room(const tnd_order_config_t *config)
{
    return power_of_two(config->window_blocks + TND_ORDER_SPARE + config->rows_wanted);
}

/*  All that is held, dropped by a rewind, and a few blocks besides. */
static uint64_t drop_room(const tnd_order_config_t *config)
{
    return power_of_two(ticket_room(config) + joined_room(config) + 64);
}

size_t tnd_order_bytes(const tnd_order_config_t *config)
{
    assert(config->window_blocks > 0 && config->window_blocks <= 1u << 24);
    assert(config->rows_wanted <= 1u << 30);
    return sizeof(tnd_order_t) + ticket_room(config) * sizeof(ticket_t) +
           joined_room(config) * sizeof(joined_t) + drop_room(config) * sizeof(void *) +
           config->workers_max * sizeof(worker_t);
}

static uint64_t window_bytes(const tnd_order_config_t *config)
{
    /*  Besides the rows wanted: a head partly taken, which is held whole, and the floor's block. */
    uint64_t positions = config->rows_wanted + 2 * (uint64_t)config->block_rows;
    assert(config->row_bytes_max <= INT64_MAX / positions);
    uint64_t least = positions * config->row_bytes_max;
    assert(config->window_bytes <= INT64_MAX);
    return config->window_bytes > least ? config->window_bytes : least;
}

tnd_order_t *tnd_order_init(void *memory, const tnd_order_config_t *config)
{
    assert(config->reader_count > 0 && config->block_rows > 0 && config->epochs > 0);
    tnd_order_t *self = memory;
    self->config = *config;
    self->block_rows = config->block_rows;
    self->tickets = (ticket_t *)(self + 1);
    self->ticket_mask = ticket_room(config) - 1;
    self->joined = (joined_t *)(self->tickets + self->ticket_mask + 1);
    self->joined_mask = joined_room(config) - 1;
    self->drops = (void **)(self->joined + self->joined_mask + 1);
    self->drop_mask = drop_room(config) - 1;
    self->workers = (worker_t *)(self->drops + self->drop_mask + 1);
    self->window_bytes = window_bytes(config);
    self->plan.epoch = config->epochs;
    self->due_ns = TND_NEVER;
    return self;
}

static ticket_t *ticket_at(const tnd_order_t *self, uint64_t at)
{
    return &self->tickets[at & self->ticket_mask];
}

static joined_t *joined_at(const tnd_order_t *self, uint64_t at)
{
    return &self->joined[at & self->joined_mask];
}

static uint32_t stream_epoch(const tnd_order_t *self, uint32_t epoch)
{
    return self->config.span_epochs ? 0 : epoch;
}

static epoch_t *epoch_of(tnd_order_t *self, uint32_t epoch)
{
    uint32_t number = stream_epoch(self, epoch);
    epoch_t *found = &self->epochs[number & 1];
    assert(found->number == number);
    return found;
}

static void drop(tnd_order_t *self, void *payload)
{
    if (payload == NULL)
        return;
    assert(self->drop_tail - self->drop_head <= self->drop_mask);
    self->drops[self->drop_tail++ & self->drop_mask] = payload;
}

/*  A block is gone: its memory, and its place in the window. */
static void release(tnd_order_t *self, void *payload, uint64_t bytes)
{
    drop(self, payload);
    assert(bytes <= self->used_bytes && self->used_blocks > 0);
    self->used_bytes -= bytes;
    self->used_blocks--;
}

static bool may_plan(const tnd_order_t *self)
{
    return self->plan.epoch < self->config.epochs &&
           (self->config.span_epochs || self->plan.epoch <= self->limit);
}

/*  Moves the plan over the ends of epochs whose length is known. */
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

static worker_t *find_worker(const tnd_order_t *self, tnd_actor_id_t id)
{
    for (uint32_t i = 0; i < self->worker_count; i++)
        if (self->workers[i].id == id)
            return &self->workers[i];
    return NULL;
}

static void set_working(tnd_order_t *self, worker_t *worker, bool works)
{
    self->working += (uint32_t)works - (uint32_t)worker->works;
    worker->works = works;
}

void tnd_order_rewind(tnd_order_t *self, uint32_t generation, tnd_position_t from)
{
    for (; self->ticket_head < self->ticket_tail; self->ticket_head++)
        if (ticket_at(self, self->ticket_head)->state == RECEIVED)
            drop(self, ticket_at(self, self->ticket_head)->payload);
    for (; self->joined_head < self->joined_tail; self->joined_head++)
        drop(self, joined_at(self, self->joined_head)->payload);
    self->used_bytes = 0;
    self->used_blocks = 0;
    self->lost_count = 0;
    self->condemned_count = 0;
    for (uint32_t i = 0; i < self->worker_count; i++)
        set_working(self, &self->workers[i], false);
    self->answered_count = 0;
    self->answered_to = self->passed_to = self->ticket_head;
    self->due_ns = TND_NEVER;
    self->ready = 0;
    self->generation = generation;
    self->position = self->booked = from;
    self->skip = from.used;
    memset(&self->pending, 0, sizeof self->pending);
    uint32_t epoch = stream_epoch(self, from.epoch);
    self->epochs[epoch & 1] = (epoch_t){.number = epoch};
    self->epochs[(epoch + 1) & 1] = (epoch_t){.number = epoch + 1};
    self->plan = (tnd_position_t){.epoch = from.epoch, .index = from.index};
    self->limit = epoch + 1;
    skip_ends(self);
}

/*  The least ticket at or behind (epoch, first). */
static uint64_t find_ticket(const tnd_order_t *self, uint32_t epoch, uint64_t first)
{
    uint64_t low = self->ticket_head, high = self->ticket_tail;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const ticket_t *ticket = ticket_at(self, middle);
        if (ticket->epoch < epoch || (ticket->epoch == epoch && ticket->first < first))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*  The joined block at (epoch, first), or NULL when it has no rows left. */
static const joined_t *find_joined(const tnd_order_t *self, uint32_t epoch, uint64_t first)
{
    uint64_t low = self->joined_head, high = self->joined_tail;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const joined_t *joined = joined_at(self, middle);
        if (joined->epoch == epoch && joined->first == first)
            return joined;
        if (joined->epoch < epoch || (joined->epoch == epoch && joined->first < first))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/*  First row of a block that is left when `used` rows of its first position were taken before. */
static uint32_t rows_used(const tnd_block_note_t *block, uint32_t used)
{
    uint32_t row = 0;
    while (row < used && row < block->rows && block->origin != NULL && block->origin[row] == 0)
        row++;
    return row;
}

static bool ascends(const uint32_t *offsets, uint32_t count, uint32_t below, bool strictly)
{
    for (uint32_t i = 0; i < count; i++)
        if (offsets[i] >= below || (i > 0 && offsets[i] < offsets[i - 1] + strictly))
            return false;
    return true;
}

static tnd_status_t refuse(const tnd_order_t *self, const tnd_block_note_t *block,
                           tnd_error_t *error, const char *why)
{
    return tnd_fail(error,
                    "lane %u, epoch %u, positions %llu to %llu: %s "
                    "(%u positions asked, %u covered, %u rows, %u bad, %llu bytes%s)",
                    self->config.lane, block->epoch, (unsigned long long)block->first,
                    (unsigned long long)(block->first + block->asked), why, block->asked,
                    block->count, block->rows, block->bad_count, (unsigned long long)block->bytes,
                    block->end ? ", end" : "");
}

/*  Bytes from a wire: what is written here is relied on from then on. */
static tnd_status_t check(const tnd_order_t *self, const ticket_t *ticket,
                          const tnd_block_note_t *block, tnd_error_t *error)
{
    uint64_t count = self->config.count;
    if (ticket->first != block->first || ticket->epoch != block->epoch ||
        ticket->asked != block->asked)
        return refuse(self, block, error, "a block that nobody asked for");
    if (block->count > block->asked || (block->count < block->asked && !block->end))
        return refuse(self, block, error, "the block does not cover its ticket");
    if (block->end && count != TND_UNKNOWN && block->first + block->count != count)
        return refuse(self, block, error, "the source is shorter than it was at the start");
    if (block->bytes > ticket->reserved && !TND_BUG(RESERVATION_MISSING))
        return refuse(self, block, error, "the block is larger than its reservation");
    if (block->origin == NULL ? block->rows != block->count || block->bad_count > 0
                              : !ascends(block->origin, block->rows, block->count, false))
        return refuse(self, block, error, "the rows do not fit their positions");
    if (!ascends(block->bad, block->bad_count, block->count, true))
        return refuse(self, block, error, "the bad positions are not in order");
    return TND_OK;
}

/*  A second answer to the same ticket must be the first one over again. */
static tnd_status_t compare(const tnd_order_t *self, const tnd_block_note_t *block,
                            uint32_t covered, uint32_t rows, uint32_t bad_count,
                            const uint32_t *origin, const uint32_t *bad, tnd_error_t *error)
{
    bool same = block->count == covered && block->rows == rows && block->bad_count == bad_count &&
                (origin == NULL) == (block->origin == NULL);
    if (same && origin != NULL)
        same = memcmp(origin, block->origin, rows * sizeof *origin) == 0;
    if (same && bad_count > 0)
        same = memcmp(bad, block->bad, bad_count * sizeof *bad) == 0;
    if (!same)
        return refuse(self, block, error,
                      "a second attempt gave other rows: an operation is not deterministic");
    return TND_OK;
}

/*  The epoch has no position from `end` on: tickets there are void. */
static tnd_status_t end_epoch(tnd_order_t *self, const tnd_block_note_t *block, tnd_error_t *error)
{
    uint64_t end = block->first + block->count;
    if (self->plan.epoch == block->epoch)
        self->plan = (tnd_position_t){.epoch = block->epoch + 1};
    skip_ends(self);
    for (uint64_t at = find_ticket(self, block->epoch, end); at < self->ticket_tail; at++) {
        ticket_t *ticket = ticket_at(self, at);
        if (ticket->epoch != block->epoch)
            break;
        if (ticket->state == VOID || ticket->first == block->first)
            continue;
        if (ticket->state == RECEIVED && ticket->covered > 0)
            return refuse(self, block, error, "the source ended before rows that it gave already");
        if (ticket->state == LOST)
            self->lost_count--;
        release(self, ticket->state == RECEIVED ? ticket->payload : NULL, ticket->reserved);
        ticket->state = VOID;
    }
    return TND_OK;
}

/*  Puts a block behind the joined ones. */
static void join(tnd_order_t *self, const ticket_t *ticket)
{
    epoch_t *epoch = epoch_of(self, ticket->epoch);
    if (ticket->rows == 0) {
        epoch->gap += ticket->covered;
        epoch->gap_bad += ticket->bad_count;
        release(self, ticket->payload, ticket->reserved);
        return;
    }
    assert(self->joined_tail - self->joined_head <= self->joined_mask);
    joined_t *joined = joined_at(self, self->joined_tail++);
    *joined = (joined_t){.first = ticket->first,
                         .bytes = ticket->reserved,
                         .payload = ticket->payload,
                         .origin = ticket->origin,
                         .bad = ticket->bad,
                         .gap = epoch->gap,
                         .gap_bad = epoch->gap_bad,
                         .epoch = ticket->epoch,
                         .attempt = ticket->attempt,
                         .covered = ticket->covered,
                         .rows = ticket->rows,
                         .bad_count = ticket->bad_count};
    epoch->gap = epoch->gap_bad = 0;
    /*  The rewind came between two rows of one position. */
    joined->taken = self->skip;
    self->skip = 0;
    uint32_t rows = joined->rows - joined->taken;
    self->ready += rows;
    if (!TND_BUG(MARK_AHEAD))
        epoch->rows += rows;
}

static void advance(tnd_order_t *self)
{
    for (; self->ticket_head < self->ticket_tail; self->ticket_head++) {
        const ticket_t *ticket = ticket_at(self, self->ticket_head);
        if (ticket->state == RECEIVED)
            join(self, ticket);
        else if (ticket->state != VOID)
            break;
    }
}

/*  Cuts tickets so that a block keeps its slowest stage busy for block_ns at most. */
static void adapt(tnd_order_t *self, const tnd_block_note_t *block)
{
    if (self->config.block_ns == 0 || block->count == 0)
        return;
    uint64_t row_ns = block->work_ns / block->count;
    self->row_ns = self->row_ns == 0 ? row_ns : self->row_ns - self->row_ns / 4 + row_ns / 4;
    uint64_t rows = self->config.block_ns / (self->row_ns + !self->row_ns);
    if (rows > self->config.block_rows)
        rows = self->config.block_rows;
    self->block_rows = rows > 0 ? (uint32_t)rows : 1;
}

/*  Of a ticket that was doubled the answer that won counts, from when it was asked for: one slow
 *  worker does not make others wait longer, while all that are slow together do.
 */
static void learn(tnd_order_t *self, uint64_t at, const tnd_block_note_t *block)
{
    const ticket_t *ticket = ticket_at(self, at);
    if (self->config.overdue_ns == 0)
        return;
    if (at >= self->answered_to)
        self->answered_to = at + 1;
    if (self->answered_count == ANSWERED_ROOM)
        return;
    bool second = ticket->doubled_ns != 0 && block->attempt >= ticket->attempt;
    uint32_t i = self->answered_count++;
    self->answered[i].issued_ns = second ? ticket->doubled_ns : ticket->issued_ns;
    self->answered[i].passed_ns = second ? ticket->doubled_ns : ticket->passed_ns;
}

static tnd_status_t receive(tnd_order_t *self, uint64_t at, const tnd_block_note_t *block,
                            tnd_error_t *error)
{
    ticket_t *ticket = ticket_at(self, at);
    TND_TRY(check(self, ticket, block, error));
    uint32_t skipped = 0;
    if (self->skip > 0 && block->first == self->position.index &&
        block->epoch == self->position.epoch) {
        skipped = rows_used(block, self->skip);
        if (skipped < self->skip || skipped == block->rows || block->origin[skipped] != 0)
            return refuse(self, block, error,
                          "fewer rows of the first position than the cursor has used: an operation "
                          "is not deterministic");
    }
    if (block->end)
        TND_TRY(end_epoch(self, block, error));
    if (ticket->state == LOST)
        self->lost_count--;
    ticket->state = RECEIVED;
    ticket->payload = block->payload;
    ticket->origin = block->origin;
    ticket->bad = block->bad;
    ticket->covered = block->count;
    ticket->rows = block->rows;
    ticket->bad_count = block->bad_count;
    self->used_bytes = self->used_bytes - ticket->reserved + block->bytes;
    ticket->reserved = block->bytes;
    adapt(self, block);
    learn(self, at, block);
    advance(self);
    return TND_OK;
}

/*  An answer to a ticket that was joined. */
static tnd_status_t duplicate(tnd_order_t *self, const tnd_block_note_t *block, tnd_error_t *error)
{
    if (TND_BUG(DUPLICATE_OFF_BY_ONE) && self->ticket_head < self->ticket_tail &&
        ticket_at(self, self->ticket_head)->epoch == block->epoch &&
        ticket_at(self, self->ticket_head)->first == block->first + block->count) {
        self->used_blocks++;
        join(self, &(ticket_t){.first = block->first,
                               .payload = block->payload,
                               .origin = block->origin,
                               .bad = block->bad,
                               .epoch = block->epoch,
                               .covered = block->count,
                               .rows = block->rows,
                               .bad_count = block->bad_count});
        return TND_OK;
    }
    const joined_t *joined = find_joined(self, block->epoch, block->first);
    tnd_status_t status = TND_OK;
    /* A ticket that was cut is answered late. */
    bool is_late =
        joined != NULL && block->attempt < joined->attempt && block->count != joined->covered;
    if (joined != NULL && !is_late)
        status = compare(self, block, joined->covered, joined->rows, joined->bad_count,
                         joined->origin, joined->bad, error);
    drop(self, block->payload);
    return status;
}

tnd_status_t tnd_order_block(tnd_order_t *self, const tnd_msg_t *msg, tnd_error_t *error)
{
    const tnd_block_note_t *block = &msg->block;
    worker_t *worker = self->working > 0 ? find_worker(self, msg->from) : NULL;
    if (worker != NULL)
        set_working(self, worker, false);
    if (msg->generation != self->generation) {
        drop(self, block->payload);
        self->stale++;
        return TND_OK;
    }
    if (TND_BUG(MARK_AHEAD))
        self->epochs[stream_epoch(self, block->epoch) & 1].rows += block->rows;
    uint64_t at = find_ticket(self, block->epoch, block->first);
    ticket_t *ticket = at < self->ticket_tail ? ticket_at(self, at) : NULL;
    bool found = ticket != NULL && ticket->epoch == block->epoch && ticket->first == block->first;
    tnd_status_t status = TND_OK;
    if (block->lane != self->config.lane) {
        status = refuse(self, block, error, "a block of another lane");
    } else if (!found) {
        tnd_position_t start = {.epoch = block->epoch, .index = block->first};
        if (at == self->ticket_head && tnd_position_compare(start, self->plan) < 0) {
            self->stale++;
            return duplicate(self, block, error);
        }
        status = refuse(self, block, error, "a block that nobody asked for");
    } else if (block->attempt < ticket->attempt && block->asked != ticket->asked) {
        /* Late: its ticket was cut since. */
    } else if (ticket->state == RECEIVED && ticket->payload == NULL) {
        /* Late: its row was condemned. */
    } else if (ticket->state == RECEIVED) {
        status = compare(self, block, ticket->covered, ticket->rows, ticket->bad_count,
                         ticket->origin, ticket->bad, error);
    } else if (ticket->state != VOID) {
        status = receive(self, at, block, error);
        if (status == TND_OK)
            return TND_OK;
    }
    drop(self, block->payload);
    self->stale++;
    return status;
}

/*  The ticket of which `msg` speaks, if that attempt is under way; else ticket_tail. */
static uint64_t find_sent(const tnd_order_t *self, const tnd_msg_t *msg)
{
    if (msg->generation != self->generation || msg->ticket.lane != self->config.lane)
        return self->ticket_tail;
    uint64_t at = find_ticket(self, msg->ticket.epoch, msg->ticket.first);
    if (at == self->ticket_tail)
        return at;
    const ticket_t *ticket = ticket_at(self, at);
    bool same = ticket->epoch == msg->ticket.epoch && ticket->first == msg->ticket.first &&
                ticket->state == SENT && ticket->attempt == msg->ticket.attempt;
    return same ? at : self->ticket_tail;
}

void tnd_order_begin(tnd_order_t *self, const tnd_msg_t *msg)
{
    uint64_t at = find_sent(self, msg);
    worker_t *worker = find_worker(self, msg->from);
    assert(worker != NULL);
    set_working(self, worker, at < self->ticket_tail);
    if (at == self->ticket_tail)
        return;
    ticket_at(self, at)->begun = true;
    worker->epoch = msg->ticket.epoch;
    worker->first = msg->ticket.first;
    worker->count = ticket_at(self, at)->asked;
}

bool tnd_order_go(const tnd_order_t *self, const tnd_msg_t *heard, tnd_msg_t *go)
{
    if (find_worker(self, heard->from) == NULL)
        return false;
    *go = (tnd_msg_t){.kind = TND_MSG_GO,
                      .generation = heard->generation,
                      .from = self->config.self,
                      .to = heard->from};
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

/*  Cuts a lost ticket, as far as there is room for the pieces. */
static void cut(tnd_order_t *self, uint64_t at)
{
    ticket_t whole = *ticket_at(self, at);
    uint64_t room = self->ticket_mask + 1 - (self->ticket_tail - self->ticket_head);
    uint64_t over = self->used_blocks > self->config.window_blocks
                        ? self->used_blocks - self->config.window_blocks
                        : 0;
    uint32_t pieces = whole.asked < PIECES ? whole.asked : PIECES;
    if (room < pieces || over + pieces > TND_ORDER_SPARE)
        return;
    for (uint64_t to = self->ticket_tail; to-- > at + 1;)
        *ticket_at(self, to + pieces - 1) = *ticket_at(self, to);
    self->ticket_tail += pieces - 1;
    self->answered_to += self->answered_to > at ? pieces - 1 : 0;
    self->passed_to += self->passed_to > at ? pieces - 1 : 0;
    self->used_blocks += pieces - 1;
    self->lost_count += pieces - 1;
    uint64_t first = whole.first, reserved = whole.reserved;
    for (uint32_t i = 0; i < pieces; i++) {
        ticket_t *piece = ticket_at(self, at + i);
        *piece = (ticket_t){.epoch = whole.epoch,
                            .first = first,
                            .asked = whole.asked / pieces + (i < whole.asked % pieces),
                            .attempt = whole.attempt,
                            .charged = whole.charged,
                            .reader = whole.reader,
                            .state = LOST};
        piece->reserved = i + 1 < pieces ? whole.reserved / whole.asked * piece->asked : reserved;
        reserved -= piece->reserved;
        first += piece->asked;
    }
}

/*  A row that ends workers is bad: as a block that has no rows. */
static void condemn(tnd_order_t *self, uint64_t at)
{
    static const uint32_t alone = 0;
    ticket_t *ticket = ticket_at(self, at);
    bool is_used = self->skip > 0 && ticket->first == self->position.index &&
                   ticket->epoch == self->position.epoch;
    if (self->condemned_count == CONDEMNED_ROOM || is_used)
        return;
    self->condemned[self->condemned_count++] =
        (tnd_position_t){.epoch = ticket->epoch, .index = ticket->first};
    self->lost_count -= ticket->state == LOST;
    self->used_bytes -= ticket->reserved;
    ticket->reserved = 0;
    ticket->state = RECEIVED;
    ticket->payload = NULL;
    ticket->origin = ticket->bad = &alone;
    ticket->covered = ticket->bad_count = 1;
    ticket->rows = 0;
    advance(self);
}

void tnd_order_lost(tnd_order_t *self, const tnd_msg_t *msg)
{
    uint64_t at = find_sent(self, msg);
    if (at == self->ticket_tail)
        return;
    ticket_t *ticket = ticket_at(self, at);
    if (TND_BUG(END_NOT_RETAINED) && ticket->first + ticket->asked == self->config.count)
        return;
    ticket->state = LOST;
    ticket->attempt++;
    if (self->lost_count++ == 0 || at < self->lost_from)
        self->lost_from = at;
    if (!ticket->begun)
        return;
    ticket->begun = false;
    if (ticket->asked > 1)
        cut(self, at);
}

/*  A worker has ended with what it worked on.  That may be in pieces by now, and all of them were
 *  with it; a row is condemned by what it has done alone.
 */
static void charge(tnd_order_t *self, const worker_t *worker)
{
    for (uint64_t at = find_ticket(self, worker->epoch, worker->first); at < self->ticket_tail;
         at++) {
        ticket_t *ticket = ticket_at(self, at);
        if (ticket->epoch != worker->epoch || ticket->first - worker->first >= worker->count)
            return;
        if (ticket->state != SENT && ticket->state != LOST)
            continue;
        ticket->charged++;
        self->suspects = true;
        if (worker->count == 1 && ticket->charged >= CONDEMNED_AFTER) {
            condemn(self, at);
            return;
        }
    }
}

void tnd_order_worker_up(tnd_order_t *self, tnd_actor_id_t id, tnd_life_t birth)
{
    worker_t *worker = find_worker(self, id);
    if (worker == NULL) {
        assert(self->worker_count < self->config.workers_max);
        worker = &self->workers[self->worker_count++];
        *worker = (worker_t){.id = id, .birth = birth};
    }
    bool has_ended = worker->birth != birth || TND_BUG(LOSS_BLAMES);
    if (worker->works && has_ended)
        charge(self, worker);
    set_working(self, worker, false);
    worker->birth = birth;
}

static tnd_position_t floor_of(const tnd_order_t *self)
{
    if (self->ticket_head == self->ticket_tail)
        return self->plan;
    const ticket_t *ticket = ticket_at(self, self->ticket_head);
    return (tnd_position_t){.epoch = ticket->epoch, .index = ticket->first};
}

/*  Behind everything that arrived, whether joined or not: what a floor must never be. */
static tnd_position_t received_floor(const tnd_order_t *self)
{
    for (uint64_t at = self->ticket_tail; at-- > self->ticket_head;) {
        const ticket_t *ticket = ticket_at(self, at);
        if (ticket->state == RECEIVED)
            return (tnd_position_t){.epoch = ticket->epoch,
                                    .index = ticket->first + ticket->covered};
    }
    return floor_of(self);
}

uint64_t tnd_order_joined(const tnd_order_t *self, uint32_t epoch, bool *ended_p)
{
    const epoch_t *found = &self->epochs[epoch & 1];
    assert(found->number == epoch);
    tnd_position_t floor = floor_of(self);
    *ended_p = self->config.span_epochs ? floor.epoch >= self->config.epochs : floor.epoch > epoch;
    return found->rows;
}

uint64_t tnd_order_ready(const tnd_order_t *self)
{
    return self->ready;
}

bool tnd_order_head(const tnd_order_t *self, tnd_order_head_t *head)
{
    if (self->joined_head == self->joined_tail)
        return false;
    const joined_t *joined = joined_at(self, self->joined_head);
    *head = (tnd_order_head_t){.epoch = stream_epoch(self, joined->epoch),
                               .rows = joined->rows - joined->taken,
                               .first = joined->taken,
                               .payload = joined->payload};
    return true;
}

/*  Books positions that became no row. */
static void book_gap(tnd_ledger_t *ledger, uint64_t positions, uint64_t bad)
{
    ledger->read += positions;
    ledger->quarantined += bad;
    ledger->filtered += positions - bad;
}

/*  Books the positions of the block from the last booked one up to `offset`, which have no rows. */
static void book_until(tnd_order_t *self, joined_t *joined, uint32_t offset)
{
    uint32_t bad = joined->bad_taken;
    while (bad < joined->bad_count && joined->bad[bad] < offset)
        bad++;
    book_gap(&self->pending, joined->first + offset - self->booked.index, bad - joined->bad_taken);
    joined->bad_taken = bad;
    self->booked.index = joined->first + offset;
}

static void book_rows(tnd_order_t *self, joined_t *joined, uint32_t rows)
{
    if (joined->origin == NULL) {
        self->pending.read += rows;
        self->booked.index += rows;
        joined->taken += rows;
        return;
    }
    for (; rows > 0; rows--) {
        uint32_t offset = joined->origin[joined->taken++];
        if (self->booked.used > 0) {
            self->pending.added++;
        } else {
            book_until(self, joined, offset);
            self->pending.read++;
        }
        bool more = joined->taken < joined->rows && joined->origin[joined->taken] == offset;
        self->booked.used = more ? self->booked.used + 1 : 0;
        self->booked.index += !more;
    }
}

/*  Takes rows of the head and moves the cursor behind them. */
static void consume(tnd_order_t *self, uint32_t rows)
{
    joined_t *joined = joined_at(self, self->joined_head);
    assert(self->joined_head < self->joined_tail && rows > 0);
    assert(rows <= joined->rows - joined->taken);
    if (joined->taken == 0) {
        book_gap(&self->pending, joined->gap, joined->gap_bad);
        self->booked = (tnd_position_t){.epoch = joined->epoch, .index = joined->first};
    }
    book_rows(self, joined, rows);
    self->position = self->booked;
    self->ready -= rows;
}

/*  After a row was taken: nothing is pending up to it; a block that is empty now goes. */
static void settle(tnd_order_t *self, tnd_ledger_t *ledger)
{
    tnd_ledger_add(ledger, &self->pending);
    memset(&self->pending, 0, sizeof self->pending);
    joined_t *joined = joined_at(self, self->joined_head);
    if (joined->taken < joined->rows)
        return;
    book_until(self, joined, joined->covered);
    release(self, joined->payload, joined->bytes);
    self->joined_head++;
}

void tnd_order_take(tnd_order_t *self, uint32_t rows, tnd_ledger_t *ledger)
{
    consume(self, rows);
    ledger->fed += rows;
    settle(self, ledger);
}

void tnd_order_discard(tnd_order_t *self, uint32_t rows, tnd_ledger_t *ledger)
{
    consume(self, rows);
    ledger->dropped += rows;
    settle(self, ledger);
}

/*  The epoch is over: the next one is composed now, and the lane may go on into the one after it.
 */
static void turn(tnd_order_t *self, uint32_t epoch)
{
    epoch_t *closed = epoch_of(self, epoch);
    memset(&self->pending, 0, sizeof self->pending);
    *closed = (epoch_t){.number = epoch + 2};
    self->position =
        (tnd_position_t){.epoch = self->config.span_epochs ? self->config.epochs : epoch + 1};
    self->booked = self->position;
    self->limit = epoch + 2;
    skip_ends(self);
}

void tnd_order_close(tnd_order_t *self, uint32_t epoch, tnd_ledger_t *ledger)
{
    const epoch_t *closed = epoch_of(self, epoch);
    book_gap(&self->pending, closed->gap, closed->gap_bad);
    tnd_ledger_add(ledger, &self->pending);
    turn(self, epoch);
}

/*  Blocks that still come find no ticket, and stand before the plan, as duplicates do. */
void tnd_order_abandon(tnd_order_t *self, uint32_t epoch)
{
    for (; self->joined_head < self->joined_tail; self->joined_head++) {
        const joined_t *joined = joined_at(self, self->joined_head);
        if (stream_epoch(self, joined->epoch) != epoch)
            break;
        self->ready -= joined->rows - joined->taken;
        release(self, joined->payload, joined->bytes);
    }
    for (; self->ticket_head < self->ticket_tail; self->ticket_head++) {
        const ticket_t *ticket = ticket_at(self, self->ticket_head);
        if (stream_epoch(self, ticket->epoch) != epoch)
            break;
        if (ticket->state == VOID)
            continue;
        if (ticket->state == LOST)
            self->lost_count--;
        release(self, ticket->state == RECEIVED ? ticket->payload : NULL, ticket->reserved);
    }
    self->skip = 0;
    if (self->config.span_epochs)
        self->plan = (tnd_position_t){.epoch = self->config.epochs};
    else if (self->plan.epoch == epoch)
        self->plan = (tnd_position_t){.epoch = epoch + 1};
    turn(self, epoch);
    advance(self);
}

tnd_position_t tnd_order_position(const tnd_order_t *self)
{
    return self->position;
}

/*  Whether there is room for one more block of `bytes`. */
static bool has_room(const tnd_order_t *self, uint64_t bytes)
{
    uint64_t open = self->ticket_tail - self->ticket_head;
    bool wanted = self->ready < self->config.rows_wanted;
    if (open >= self->config.window_blocks ||
        (self->used_blocks >= self->config.window_blocks && !wanted))
        return false;
    /*  Blocks that take more than their rows should must not stop the batch that needs a row. */
    return self->used_bytes + bytes <= self->window_bytes || (open == 0 && wanted) ||
           TND_BUG(RESERVATION_MISSING);
}

/*  Tickets go out in runs: not one for each block that was taken, which would wake a reader for
 *  every block, but a quarter of the window at a time, or at once when rows are wanted and nothing
 *  is under way.
 */
static bool is_filling(tnd_order_t *self)
{
    bool idle = self->ticket_head == self->ticket_tail && self->ready < self->config.rows_wanted;
    if (!self->filling)
        self->filling = idle || (self->used_blocks <= self->config.window_blocks / 4 * 3 &&
                                 self->used_bytes <= self->window_bytes / 4 * 3);
    return self->filling;
}

static uint32_t next_count(const tnd_order_t *self)
{
    uint64_t left = self->config.count - self->plan.index;
    return left < self->block_rows ? (uint32_t)left : self->block_rows;
}

static void reserve(tnd_order_t *self, ticket_t *ticket)
{
    ticket->reserved = ticket->asked * self->config.row_bytes_max;
    self->used_bytes += ticket->reserved;
    self->used_blocks++;
}

static void say_ticket(const tnd_order_t *self, const ticket_t *ticket, tnd_effect_t *effect)
{
    memset(effect, 0, sizeof *effect);
    effect->kind = TND_EFFECT_CONTROL;
    effect->msg.kind = TND_MSG_TICKET;
    effect->msg.generation = self->generation;
    effect->msg.from = self->config.self;
    effect->msg.to = ticket->reader;
    effect->msg.ticket.first = ticket->first;
    effect->msg.ticket.lane = self->config.lane;
    effect->msg.ticket.epoch = ticket->epoch;
    effect->msg.ticket.count = ticket->asked;
    effect->msg.ticket.attempt = ticket->attempt;
    effect->msg.ticket.floor = TND_BUG(ACK_ON_RECEIPT) ? received_floor(self) : floor_of(self);
}

static void say_condemned(tnd_order_t *self, tnd_effect_t *effect)
{
    tnd_position_t place = self->condemned[--self->condemned_count];
    memset(effect, 0, sizeof *effect);
    effect->kind = TND_EFFECT_CONTROL;
    effect->msg.kind = TND_MSG_BAD;
    effect->msg.generation = self->generation;
    effect->msg.from = self->config.self;
    effect->msg.to = self->config.readers[0];
    effect->msg.bad.position = place.index;
    effect->msg.bad.epoch = place.epoch;
    effect->msg.bad.lane = self->config.lane;
}

/*  Some ticket may be overdue once so long a time is over. */
static void be_due(tnd_order_t *self, const patience_t *patience, uint64_t now)
{
    if (patience->limit_ns != 0 && now + patience->limit_ns < self->due_ns)
        self->due_ns = now + patience->limit_ns;
}

static void expect(tnd_order_t *self, uint64_t at, uint64_t now)
{
    ticket_t *ticket = ticket_at(self, at);
    ticket->issued_ns = now;
    if (ticket->doubled_ns != 0)
        ticket->doubled_ns = now;
    ticket->passed_ns = at < self->passed_to ? now : 0;
    be_due(self, ticket->passed_ns != 0 ? &self->passed : &self->issued, now);
}

/*  Whether a ticket that may have ended a worker is under way. */
static bool is_suspected(tnd_order_t *self)
{
    bool any = false, sent = false;
    for (uint64_t at = self->ticket_head; self->suspects && at < self->ticket_tail; at++) {
        const ticket_t *ticket = ticket_at(self, at);
        any = any || (ticket->charged > 0 && ticket->state <= LOST);
        sent = sent || (ticket->charged > 0 && ticket->state == SENT);
    }
    self->suspects = any;
    return sent;
}

/*  The least lost ticket, again: its reservation stands.  Of those that may have ended a worker one
 *  at a time: several that are worked on in one process end with it, and only one is to blame.
 */
static bool reissue(tnd_order_t *self, uint64_t now, tnd_effect_t *effect)
{
    if (self->lost_from < self->ticket_head)
        self->lost_from = self->ticket_head;
    while (ticket_at(self, self->lost_from)->state != LOST)
        self->lost_from++;
    uint64_t at = self->lost_from;
    bool suspected = is_suspected(self);
    while (at < self->ticket_tail &&
           (ticket_at(self, at)->state != LOST || (suspected && ticket_at(self, at)->charged > 0)))
        at++;
    if (at == self->ticket_tail)
        return false;
    expect(self, at, now);
    ticket_t *ticket = ticket_at(self, at);
    self->lost_from += at == self->lost_from;
    ticket->state = SENT;
    self->lost_count--;
    if (TND_BUG(CREDIT_NOT_RESTORED))
        reserve(self, ticket);
    say_ticket(self, ticket, effect);
    return true;
}

static void issue(tnd_order_t *self, uint64_t now, tnd_effect_t *effect)
{
    ticket_t *ticket = ticket_at(self, self->ticket_tail++);
    *ticket = (ticket_t){.first = self->plan.index,
                         .epoch = self->plan.epoch,
                         .asked = next_count(self),
                         .reader = self->config.readers[self->next_reader]};
    expect(self, self->ticket_tail - 1, now);
    self->next_reader = (self->next_reader + 1) % self->config.reader_count;
    if (TND_BUG(RESERVATION_MISSING))
        self->used_blocks++;
    else
        reserve(self, ticket);
    self->plan.index += ticket->asked;
    skip_ends(self);
    say_ticket(self, ticket, effect);
}

static void take_answered(tnd_order_t *self, uint64_t now)
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
    uint64_t at = self->passed_to > self->ticket_head ? self->passed_to : self->ticket_head;
    for (; at < self->answered_to; at++)
        if (ticket_at(self, at)->state == SENT) {
            ticket_at(self, at)->passed_ns = now;
            be_due(self, &self->passed, now);
        }
    self->passed_to = self->answered_to;
}

static void learn_patience(const tnd_order_t *self, patience_t *patience)
{
    patience->limit_ns = OVERDUE_TIMES * tnd_latency_quantile(&patience->usual, OVERDUE_PERCENT);
    if (patience->limit_ns < self->config.overdue_ns)
        patience->limit_ns = self->config.overdue_ns;
}

static uint64_t overdue_at(const tnd_order_t *self, const ticket_t *ticket)
{
    uint64_t issued = ticket->issued_ns + self->issued.limit_ns;
    uint64_t passed = ticket->passed_ns + self->passed.limit_ns;
    return ticket->passed_ns != 0 && passed < issued ? passed : issued;
}

/*  The least ticket that is overdue, as its next attempt; or when to look again. */
static bool double_ticket(tnd_order_t *self, uint64_t now, tnd_effect_t *effect)
{
    learn_patience(self, &self->issued);
    learn_patience(self, &self->passed);
    self->due_ns = TND_NEVER;
    for (uint64_t at = self->ticket_head; at < self->ticket_tail; at++) {
        ticket_t *ticket = ticket_at(self, at);
        if (ticket->state != SENT || ticket->doubled_ns != 0)
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
        say_ticket(self, ticket, effect);
        return true;
    }
    return false;
}

bool tnd_order_next(tnd_order_t *self, uint64_t now, tnd_effect_t *effect)
{
    take_answered(self, now);
    if (self->drop_head < self->drop_tail) {
        memset(effect, 0, sizeof *effect);
        effect->kind = TND_EFFECT_DROP;
        effect->payload = self->drops[self->drop_head++ & self->drop_mask];
        return true;
    }
    if (self->condemned_count > 0) {
        say_condemned(self, effect);
        return true;
    }
    if (self->lost_count > 0 && reissue(self, now, effect))
        return true;
    if (now >= self->due_ns && double_ticket(self, now, effect))
        return true;
    if (!may_plan(self) || !is_filling(self))
        return false;
    self->filling = has_room(self, next_count(self) * self->config.row_bytes_max);
    if (self->filling)
        issue(self, now, effect);
    return self->filling;
}

uint64_t tnd_order_deadline(const tnd_order_t *self)
{
    return self->ticket_head < self->ticket_tail ? self->due_ns : TND_NEVER;
}

uint64_t tnd_order_doubled(const tnd_order_t *self)
{
    return self->doubled;
}

uint64_t tnd_order_stale(const tnd_order_t *self)
{
    return self->stale;
}

uint32_t tnd_order_blocked_on(const tnd_order_t *self)
{
    uint32_t waits = 0;
    if (self->ticket_head < self->ticket_tail) {
        waits |= TND_WAIT_INPUT;
        for (uint64_t at = self->ticket_head; at < self->ticket_tail; at++)
            if (ticket_at(self, at)->state == RECEIVED)
                return waits | TND_WAIT_ORDER;
    }
    if (may_plan(self) && !has_room(self, next_count(self) * self->config.row_bytes_max))
        waits |= TND_WAIT_MEMORY;
    if (self->plan.epoch >= self->config.epochs && waits == 0 && self->ready == 0)
        waits |= TND_WAIT_ENDED;
    return waits;
}

uint64_t tnd_order_used_bytes(const tnd_order_t *self)
{
    return self->used_bytes;
}

uint64_t tnd_order_window_bytes(const tnd_order_t *self)
{
    return self->window_bytes;
}

uint32_t tnd_order_used_blocks(const tnd_order_t *self)
{
    return self->used_blocks;
}
