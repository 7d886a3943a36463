/*  runtime/core/reader.c - a reader's decisions: which ticket next, to which worker.  */
#include "runtime/core/reader.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

/*  A worker rests for at most 2^LATE_MOST times as long as the first time. */
enum { LATE_MOST = 6 };

enum { WORKER_MASK = (1 << 27) - 1 };

typedef enum {
    TICKET_WAITING,
    TICKET_SENT,
    TICKET_LOST, /* to be reported */
    TICKET_GONE  /* reported as lost: the join owns it again */
} ticket_state_t;

typedef struct {
    uint64_t first, budget;
    uint32_t epoch, count, attempt;
    uint32_t worker : 27; /* index; of TICKET_SENT */
    uint32_t state : 4;   /* ticket_state_t */
    uint32_t is_cut : 1;  /* it had more positions when it was sent */
} ticket_t;

typedef struct {
    tnd_actor_id_t id;
    bool up;
    bool asleep;      /* it gets nothing until it is one of the first `awake_most` */
    bool reading;     /* a READ is under way, its bytes are not known yet */
    bool rests;       /* it was late, until wake_ns */
    bool tried;       /* it was late before and has one ticket now */
    uint32_t late;    /* times in a row */
    uint64_t wake_ns; /* 0: set when the time is known */
    uint32_t place;   /* in the heap */
    uint64_t served;  /* serial number of the last READ */
    uint64_t granted_blocks, granted_bytes;
    uint64_t sent_blocks, sent_bytes;
} worker_t;

/*  Tickets are sorted by position in an array with room at its end.  New ones are appended, the
 *  floor removes them at the front, and the rest moves to the start when the end is reached, so
 *  that both are cheap on average.  Only tickets that are issued again are inserted. */
struct tnd_reader_core {
    tnd_reader_core_config_t config;
    uint32_t generation;
    tnd_position_t floor;
    ticket_t *tickets;
    tnd_held_t *held;    /* of each ticket; NULL without a cache */
    uint32_t head, tail; /* in tickets[2 * tickets_max] */
    uint32_t next;       /* no ticket before it is waiting */
    uint32_t waiting, lost;
    worker_t *workers;
    uint32_t *heap;  /* of live workers; the next one to serve is on top */
    uint32_t *index; /* hash of ids: worker + 1, or 0 */
    uint32_t index_mask;
    uint32_t live, awake, resting; /* resting ones are awake */
    uint32_t awake_most;
    uint64_t wake_ns; /* the earliest of resting workers */
    uint64_t serial;
};

static uint32_t index_size(const tnd_reader_core_config_t *config)
{
    uint32_t size = 4;
    while (size < 2 * config->workers_max)
        size *= 2;
    return size;
}

/* Workers: look-up by id, a heap by free credit. */

static uint32_t spot(const tnd_reader_core_t *self, tnd_actor_id_t id)
{
    uint32_t at = (id * 2654435761u) & self->index_mask;
    while (self->index[at] != 0 && self->workers[self->index[at] - 1].id != id)
        at = (at + 1) & self->index_mask;
    return at;
}

static worker_t *find_worker(const tnd_reader_core_t *self, tnd_actor_id_t id)
{
    uint32_t entry = self->index[spot(self, id)];
    return entry == 0 ? NULL : &self->workers[entry - 1];
}

static uint64_t free_blocks(const worker_t *worker)
{
    /* A block may exceed the credit of bytes: its size is known only after reading. */
    if (worker->reading || worker->rests || worker->asleep ||
        worker->granted_bytes <= worker->sent_bytes ||
        worker->granted_blocks <= worker->sent_blocks)
        return 0;
    return worker->granted_blocks - worker->sent_blocks;
}

static bool before(const worker_t *a, const worker_t *b)
{
    uint64_t free_a = free_blocks(a), free_b = free_blocks(b);
    /* A worker on trial gets more only if the reader has no other worker. */
    if (free_a > 0 && free_b > 0 && a->tried != b->tried)
        return b->tried;
    return free_a != free_b ? free_a > free_b : a->served < b->served;
}

static void put(tnd_reader_core_t *self, uint32_t place, uint32_t worker)
{
    self->heap[place] = worker;
    self->workers[worker].place = place;
}

/*  The worker's credit changed: moves it to where it belongs. */
static void settle(tnd_reader_core_t *self, worker_t *worker)
{
    uint32_t place = worker->place, number = (uint32_t)(worker - self->workers);
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;
        if (!before(worker, &self->workers[self->heap[parent]]))
            break;
        put(self, place, self->heap[parent]);
        place = parent;
    }
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= self->live)
            break;
        if (child + 1 < self->live &&
            before(&self->workers[self->heap[child + 1]], &self->workers[self->heap[child]]))
            child++;
        if (!before(&self->workers[self->heap[child]], worker))
            break;
        put(self, place, self->heap[child]);
        place = child;
    }
    put(self, place, number);
}

static void rebuild_index(tnd_reader_core_t *self)
{
    memset(self->index, 0, (self->index_mask + 1) * sizeof *self->index);
    for (uint32_t i = 0; i < self->config.workers_max; i++)
        if (self->workers[i].up)
            self->index[spot(self, self->workers[i].id)] = i + 1;
}

/* Late workers. */

static void wake(tnd_reader_core_t *self, worker_t *worker)
{
    worker->rests = false;
    self->resting--;
    settle(self, worker);
}

static void wake_all(tnd_reader_core_t *self)
{
    for (uint32_t i = 0; i < self->config.workers_max; i++)
        if (self->workers[i].up && self->workers[i].rests)
            wake(self, &self->workers[i]);
}

/*  One of its tickets goes to another worker. */
static void put_to_rest(tnd_reader_core_t *self, worker_t *worker)
{
    worker->tried = false;
    if (worker->rests || worker->asleep)
        return;
    if (self->resting + 1 == self->awake)
        wake_all(self);
    worker->rests = true;
    worker->wake_ns = self->wake_ns = 0;
    self->resting++;
    settle(self, worker);
}

static void look_at_resting(tnd_reader_core_t *self, uint64_t now)
{
    self->wake_ns = TND_NEVER;
    for (uint32_t i = 0; i < self->config.workers_max && self->resting > 0; i++) {
        worker_t *worker = &self->workers[i];
        if (!worker->up || !worker->rests)
            continue;
        if (worker->wake_ns == 0) {
            worker->wake_ns = now + (self->config.rest_ns << worker->late);
            worker->late += worker->late < LATE_MOST;
        }
        if (worker->wake_ns <= now)
            wake(self, worker);
        else if (worker->wake_ns < self->wake_ns)
            self->wake_ns = worker->wake_ns;
    }
}

/*  The floor passed a ticket that only this worker had. */
static void note_in_time(tnd_reader_core_t *self, worker_t *worker)
{
    if (!worker->tried)
        return;
    worker->tried = false;
    worker->late = 0;
    settle(self, worker);
}

/* Sleeping workers. */

static void set_asleep(tnd_reader_core_t *self, worker_t *worker, bool asleep)
{
    if (worker->asleep == asleep)
        return;
    self->resting -= worker->rests;
    self->awake += asleep ? -1u : 1u;
    worker->asleep = asleep;
    worker->rests = worker->tried = false;
    if (!asleep && TND_BUG(SLEEPER_FORGETS_ITS_BLOCKS))
        worker->sent_blocks = 0;
    settle(self, worker);
}

static bool is_among_first(const tnd_reader_core_t *self, const worker_t *worker)
{
    uint32_t lower = 0;
    for (uint32_t i = 0; i < self->config.workers_max && lower < self->awake_most; i++)
        lower += self->workers[i].up && self->workers[i].id < worker->id;
    return lower < self->awake_most;
}

/*  The live workers with the lowest numbers are awake. */
static void choose_awake(tnd_reader_core_t *self)
{
    if (self->awake_most >= self->live && self->awake == self->live)
        return;
    for (uint32_t i = 0; i < self->config.workers_max; i++)
        if (self->workers[i].up)
            set_asleep(self, &self->workers[i], !is_among_first(self, &self->workers[i]));
    if (self->resting > 0 && self->resting == self->awake)
        wake_all(self);
}

/* Tickets. */

static int compare(const ticket_t *ticket, uint32_t epoch, uint64_t first)
{
    if (ticket->epoch != epoch)
        return ticket->epoch < epoch ? -1 : 1;
    return ticket->first < first ? -1 : ticket->first > first;
}

static bool is_below_floor(const tnd_reader_core_t *self, uint32_t epoch, uint64_t first,
                           uint32_t count)
{
    return epoch < self->floor.epoch ||
           (epoch == self->floor.epoch && first + count <= self->floor.index);
}

static void count_state(tnd_reader_core_t *self, ticket_state_t state, int more)
{
    if (state == TICKET_WAITING)
        self->waiting += (uint32_t)more;
    else if (state == TICKET_LOST)
        self->lost += (uint32_t)more;
}

static void set_state(tnd_reader_core_t *self, uint32_t at, ticket_state_t state)
{
    count_state(self, (ticket_state_t)self->tickets[at].state, -1);
    count_state(self, state, 1);
    self->tickets[at].state = state;
    if (state == TICKET_WAITING && at < self->next)
        self->next = at;
}

static void raise_floor(tnd_reader_core_t *self, tnd_position_t floor)
{
    if (tnd_position_compare(floor, self->floor) <= 0)
        return;
    self->floor = floor;
    while (self->head < self->tail) {
        const ticket_t *ticket = &self->tickets[self->head];
        if (!is_below_floor(self, ticket->epoch, ticket->first, ticket->count))
            break;
        count_state(self, (ticket_state_t)ticket->state, -1);
        if (ticket->state == TICKET_SENT)
            note_in_time(self, &self->workers[ticket->worker]);
        self->head++;
    }
    if (self->next < self->head)
        self->next = self->head;
}

/*  The place of (epoch, first) in the array. */
static uint32_t search(const tnd_reader_core_t *self, uint32_t epoch, uint64_t first)
{
    uint32_t at = self->tail;
    if (self->head < at && compare(&self->tickets[at - 1], epoch, first) < 0)
        return at;
    TND_LOWER_BOUND(at, self->head, self->tail, compare(&self->tickets[at], epoch, first) < 0);
    return at;
}

/*  A ticket that begins within the one before `at` is a part of it, which was cut or answered in
 *  part: the floor passes the rest of that one earlier. */
static void end_before(const tnd_reader_core_t *self, uint32_t at, uint32_t epoch, uint64_t first)
{
    ticket_t *before = &self->tickets[at - (at > self->head)];
    if (at == self->head || before->epoch != epoch || before->count <= first - before->first)
        return;
    before->count = (uint32_t)(first - before->first);
    before->is_cut = before->state == TICKET_SENT;
}

static void move(tnd_reader_core_t *self, uint32_t to, uint32_t from, uint32_t count)
{
    memmove(self->tickets + to, self->tickets + from, count * sizeof *self->tickets);
    if (self->held != NULL && !TND_BUG(HELD_OF_ANOTHER_TICKET))
        memmove(self->held + to, self->held + from, count * sizeof *self->held);
}

static uint32_t make_room(tnd_reader_core_t *self, uint32_t at)
{
    assert(self->tail - self->head < self->config.tickets_max);
    if (self->tail == 2 * self->config.tickets_max) {
        move(self, 0, self->head, self->tail - self->head);
        self->next -= self->head;
        self->tail -= self->head;
        at -= self->head;
        self->head = 0;
    }
    move(self, at + 1, at, self->tail - at);
    self->tail++;
    if (self->next >= at)
        self->next = at;
    return at;
}

static uint32_t lowest_waiting(tnd_reader_core_t *self)
{
    if (TND_BUG(FRONT_INSTEAD_OF_SORTED))
        for (uint32_t at = self->tail; at-- > self->head;)
            if (self->tickets[at].state == TICKET_WAITING && self->tickets[at].attempt > 0)
                return at;
    while (self->tickets[self->next].state != TICKET_WAITING)
        self->next++;
    return self->next;
}

static void fill(const tnd_reader_core_t *self, const ticket_t *ticket, tnd_msg_kind_t kind,
                 tnd_actor_id_t to, tnd_effect_t *effect)
{
    memset(effect, 0, sizeof *effect);
    effect->msg.kind = kind;
    effect->msg.generation = self->generation;
    effect->msg.from = self->config.self;
    effect->msg.to = to;
    effect->msg.ticket.first = ticket->first;
    effect->msg.ticket.lane = self->config.lane;
    effect->msg.ticket.epoch = ticket->epoch;
    effect->msg.ticket.count = ticket->count;
    effect->msg.ticket.attempt = ticket->attempt;
    effect->msg.ticket.budget = ticket->budget;
    effect->msg.ticket.floor = self->floor;
    if (self->held != NULL)
        effect->msg.ticket.held = self->held[ticket - self->tickets];
}

/*  Tickets in the array, see tnd_reader_core. */
static size_t ticket_room(const tnd_reader_core_config_t *config)
{
    return 2 * (size_t)config->tickets_max;
}

static size_t held_bytes(const tnd_reader_core_config_t *config)
{
    return config->before_cache ? ticket_room(config) * sizeof(tnd_held_t) : 0;
}

size_t tnd_reader_core_bytes(const tnd_reader_core_config_t *config)
{
    return sizeof(tnd_reader_core_t) + ticket_room(config) * sizeof(ticket_t) + held_bytes(config) +
           config->workers_max * (sizeof(worker_t) + sizeof(uint32_t)) +
           index_size(config) * sizeof(uint32_t);
}

tnd_reader_core_t *tnd_reader_core_init(void *memory, const tnd_reader_core_config_t *config)
{
    assert(config->tickets_max > 0 && config->workers_max > 0 &&
           config->workers_max <= WORKER_MASK);
    tnd_reader_core_t *self = memory;
    self->config = *config;
    self->wake_ns = TND_NEVER;
    self->awake_most = UINT32_MAX;
    self->tickets = (ticket_t *)(self + 1);
    char *after = (char *)(self->tickets + ticket_room(config));
    self->held = config->before_cache ? (tnd_held_t *)(void *)after : NULL;
    self->workers = (worker_t *)(void *)(after + held_bytes(config));
    self->heap = (uint32_t *)(self->workers + config->workers_max);
    self->index = self->heap + config->workers_max;
    self->index_mask = index_size(config) - 1;
    return self;
}

void tnd_reader_core_rewind(tnd_reader_core_t *self, uint32_t generation)
{
    if (generation <= self->generation)
        return;
    self->generation = generation;
    self->floor = (tnd_position_t){0};
    self->head = self->tail = self->next = 0;
    self->waiting = self->lost = 0;
    for (uint32_t i = 0; i < self->config.workers_max; i++)
        if (self->workers[i].up && self->workers[i].tried) {
            self->workers[i].tried = false;
            settle(self, &self->workers[i]);
        }
}

void tnd_reader_core_ticket(tnd_reader_core_t *self, const tnd_msg_t *msg)
{
    if (msg->generation < self->generation)
        return;
    tnd_reader_core_rewind(self, msg->generation);
    raise_floor(self, msg->ticket.floor);
    uint32_t epoch = msg->ticket.epoch;
    uint64_t first = msg->ticket.first;
    uint32_t count = msg->ticket.count;
    if (is_below_floor(self, epoch, first, count))
        return;
    uint32_t at = search(self, epoch, first);
    if (at < self->tail && compare(&self->tickets[at], epoch, first) == 0) {
        if (msg->ticket.attempt <= self->tickets[at].attempt)
            return;
        /* A ticket that was cut, or has another budget, is another one. */
        bool is_overdue = self->tickets[at].state == TICKET_SENT && !self->tickets[at].is_cut &&
                          self->tickets[at].count == count &&
                          self->tickets[at].budget == msg->ticket.budget;
        worker_t *late = is_overdue ? &self->workers[self->tickets[at].worker] : NULL;
        if (is_overdue && self->awake == (late->asleep ? 0 : 1)) {
            self->tickets[at].attempt = msg->ticket.attempt;
            return;
        }
        if (is_overdue)
            put_to_rest(self, late);
    } else {
        end_before(self, at, epoch, first);
        at = make_room(self, at);
        self->tickets[at] = (ticket_t){.first = first, .epoch = epoch, .state = TICKET_GONE};
    }
    self->tickets[at].count = count;
    self->tickets[at].budget = msg->ticket.budget;
    self->tickets[at].attempt = msg->ticket.attempt;
    self->tickets[at].is_cut = false;
    if (self->held != NULL)
        self->held[at] = msg->ticket.held;
    set_state(self, at, TICKET_WAITING);
}

void tnd_reader_core_floor(tnd_reader_core_t *self, tnd_position_t floor)
{
    raise_floor(self, floor);
}

void tnd_reader_core_withdraw(tnd_reader_core_t *self, uint32_t epoch, uint64_t first)
{
    uint32_t at = search(self, epoch, first);
    if (at < self->tail && compare(&self->tickets[at], epoch, first) == 0 &&
        self->tickets[at].state == TICKET_WAITING)
        set_state(self, at, TICKET_GONE);
}

bool tnd_reader_core_full(const tnd_reader_core_t *self)
{
    return self->tail - self->head == self->config.tickets_max;
}

void tnd_reader_core_worker_up(tnd_reader_core_t *self, tnd_actor_id_t id)
{
    tnd_reader_core_worker_lost(self, id);
    uint32_t free_place = 0;
    while (free_place < self->config.workers_max && self->workers[free_place].up)
        free_place++;
    assert(free_place < self->config.workers_max);
    worker_t *worker = &self->workers[free_place];
    *worker = (worker_t){.id = id, .up = true, .place = self->live};
    self->index[spot(self, id)] = free_place + 1;
    self->live++;
    self->awake++;
    settle(self, worker);
    choose_awake(self);
}

void tnd_reader_core_worker_lost(tnd_reader_core_t *self, tnd_actor_id_t id)
{
    worker_t *worker = find_worker(self, id);
    if (worker == NULL)
        return;
    uint32_t number = (uint32_t)(worker - self->workers), place = worker->place;
    for (uint32_t at = self->head; at < self->tail; at++)
        if (self->tickets[at].state == TICKET_SENT && self->tickets[at].worker == number)
            set_state(self, at, TICKET_LOST);
    worker->up = false;
    self->resting -= worker->rests;
    self->awake -= !worker->asleep;
    rebuild_index(self);
    self->live--;
    if (place < self->live) {
        put(self, place, self->heap[self->live]);
        settle(self, &self->workers[self->heap[place]]);
    }
    choose_awake(self);
    if (self->resting == self->awake)
        wake_all(self);
}

void tnd_reader_core_awake(tnd_reader_core_t *self, uint32_t most)
{
    assert(most > 0);
    if (self->awake_most == most)
        return;
    self->awake_most = most;
    choose_awake(self);
}

void tnd_reader_core_credit(tnd_reader_core_t *self, tnd_actor_id_t id, uint64_t blocks,
                            uint64_t bytes)
{
    worker_t *worker = find_worker(self, id);
    if (worker == NULL)
        return;
    if (blocks > worker->granted_blocks)
        worker->granted_blocks = blocks;
    if (bytes > worker->granted_bytes)
        worker->granted_bytes = bytes;
    settle(self, worker);
}

void tnd_reader_core_sent(tnd_reader_core_t *self, tnd_actor_id_t id, uint64_t bytes)
{
    worker_t *worker = find_worker(self, id);
    if (worker == NULL || !worker->reading)
        return;
    worker->reading = false;
    worker->sent_bytes += bytes;
    settle(self, worker);
}

bool tnd_reader_core_next(tnd_reader_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    if (now >= self->wake_ns)
        look_at_resting(self, now);
    if (self->lost > 0) {
        uint32_t at = self->head;
        while (self->tickets[at].state != TICKET_LOST)
            at++;
        fill(self, &self->tickets[at], TND_MSG_LOST, self->config.join, effect);
        effect->kind = TND_EFFECT_CONTROL;
        set_state(self, at, TICKET_GONE);
        return true;
    }
    if (self->waiting == 0 || self->live == 0)
        return false;
    worker_t *worker = &self->workers[self->heap[0]];
    if (free_blocks(worker) == 0)
        return false;
    uint32_t at = lowest_waiting(self);
    fill(self, &self->tickets[at], TND_MSG_TICKET, worker->id, effect);
    effect->kind = TND_EFFECT_READ;
    self->tickets[at].worker = (uint32_t)(worker - self->workers) & WORKER_MASK;
    set_state(self, at, TICKET_SENT);
    worker->served = ++self->serial;
    worker->sent_blocks++;
    worker->reading = true;
    worker->tried = worker->late > 0;
    settle(self, worker);
    return true;
}

uint64_t tnd_reader_core_deadline(const tnd_reader_core_t *self)
{
    return self->wake_ns;
}

uint32_t tnd_reader_core_blocked_on(const tnd_reader_core_t *self)
{
    uint32_t waits = 0;
    if (self->waiting == 0)
        waits |= TND_WAIT_INPUT;
    if (self->live == 0)
        waits |= TND_WAIT_PEER;
    else if (self->waiting > 0 && free_blocks(&self->workers[self->heap[0]]) == 0)
        waits |= TND_WAIT_CREDIT;
    return waits;
}

uint64_t tnd_reader_core_room(const tnd_reader_core_t *self)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < self->live; i++) {
        uint64_t blocks = free_blocks(&self->workers[self->heap[i]]);
        if (blocks > UINT32_MAX)
            return TND_UNKNOWN;
        sum += blocks;
    }
    return sum;
}

uint32_t tnd_reader_core_waiting(const tnd_reader_core_t *self)
{
    return self->waiting;
}
