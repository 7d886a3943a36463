/*  runtime/core/cache.c - a cache's decisions: which tickets it answers itself.  */
#include "runtime/core/cache.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"
#include "runtime/core/lane/suspects.h"
#include "runtime/core/reader.h"

typedef enum {
    ENTRY_WAITING, /* not looked up yet */
    ENTRY_ASKED,   /* passed on to a reader */
    ENTRY_LOST,    /* by the reader; to be reported once it is known whether its worker died */
    ENTRY_HERE,    /* its block has arrived */
    ENTRY_SENT,    /* its block was sent, and is kept until the floor has passed it */
    ENTRY_STORED,  /* all its samples are stored */
    ENTRY_STATES
} entry_state_t;

/*  A ticket of the join that is not answered. */
typedef struct {
    uint64_t first, budget;
    uint32_t epoch, count, attempt;
    uint32_t attempt_from; /* the first one of which this cache knows */
    uint32_t held;         /* positions that were stored when it was looked up last */
    uint32_t reader;       /* it was passed on to; an index */
    entry_state_t state;
    bool passed;              /* to that reader, perhaps an earlier attempt */
    bool begun;               /* by a worker, with this attempt */
    void *payload;            /* HERE, SENT */
    uint64_t absent_until_ns; /* LOST: how long it waits for its worker; 0: not yet */
} entry_t;

/*  A worker before the cache, and the last ticket that it began. */
typedef struct {
    tnd_actor_id_t id;
    tnd_life_t birth;
    uint64_t first;
    uint32_t epoch, count, attempt;
    bool works, died;
} maker_t;

struct tnd_cache_core {
    tnd_cache_core_config_t config;
    uint32_t generation;
    tnd_position_t floor;
    tnd_reader_core_t *reader; /* towards the workers after the cache */
    entry_t *entries;          /* sorted by position */
    uint32_t entry_count;
    uint32_t in_state[ENTRY_STATES]; /* entries */
    uint32_t turn;                   /* of the readers */
    uint64_t due_ns;                 /* when the next lost entry has waited for long enough */
    bool full;                       /* the store */
    maker_t *makers;
    uint32_t maker_count, died;
    void **drops; /* one per entry at most, and they are taken after each event */
    uint32_t drop_count;
};

static tnd_reader_core_config_t reader_config(const tnd_cache_core_config_t *config)
{
    return (tnd_reader_core_config_t){.self = config->self,
                                      .join = config->join,
                                      .lane = config->lane,
                                      .tickets_max = config->tickets_max,
                                      .workers_max = config->workers_max,
                                      .rest_ns = config->rest_ns};
}

size_t tnd_cache_core_bytes(const tnd_cache_core_config_t *config)
{
    tnd_reader_core_config_t reader = reader_config(config);
    return tnd_align(sizeof(tnd_cache_core_t)) + tnd_align(tnd_reader_core_bytes(&reader)) +
           tnd_align(config->tickets_max * sizeof(entry_t)) +
           tnd_align(config->makers_max * sizeof(maker_t)) + config->tickets_max * sizeof(void *);
}

tnd_cache_core_t *tnd_cache_core_init(void *memory, const tnd_cache_core_config_t *config)
{
    assert(config->tickets_max > 0 && config->reader_count > 0);
    tnd_cache_core_t *self = memory;
    tnd_reader_core_config_t reader = reader_config(config);
    char *at = (char *)memory + tnd_align(sizeof *self);
    self->config = *config;
    self->reader = tnd_reader_core_init(at, &reader);
    at += tnd_align(tnd_reader_core_bytes(&reader));
    self->entries = (entry_t *)at;
    at += tnd_align(config->tickets_max * sizeof(entry_t));
    self->makers = (maker_t *)at;
    at += tnd_align(config->makers_max * sizeof(maker_t));
    self->drops = (void **)at;
    return self;
}

/* Tickets. */

static void drop(tnd_cache_core_t *self, void *payload)
{
    if (payload == NULL)
        return;
    assert(self->drop_count < self->config.tickets_max);
    self->drops[self->drop_count++] = payload;
}

static void set_state(tnd_cache_core_t *self, entry_t *entry, entry_state_t state)
{
    self->in_state[entry->state]--;
    self->in_state[state]++;
    entry->state = state;
}

/*  The place of (epoch, first), or where it would be. */
static uint32_t search(const tnd_cache_core_t *self, uint32_t epoch, uint64_t first)
{
    const entry_t *entries = self->entries;
    uint32_t at;
    TND_LOWER_BOUND(at, 0, self->entry_count,
                    entries[at].epoch < epoch ||
                        (entries[at].epoch == epoch && entries[at].first < first));
    return at;
}

static entry_t *find(const tnd_cache_core_t *self, uint32_t epoch, uint64_t first)
{
    uint32_t at = search(self, epoch, first);
    entry_t *entry = &self->entries[at];
    bool found = at < self->entry_count && entry->epoch == epoch && entry->first == first;
    return found ? entry : NULL;
}

/*  The payload is the caller's. */
static void forget(tnd_cache_core_t *self, entry_t *entry)
{
    uint32_t at = (uint32_t)(entry - self->entries);
    self->in_state[entry->state]--;
    self->entry_count--;
    memmove(entry, entry + 1, (self->entry_count - at) * sizeof *entry);
}

static bool is_below(const tnd_position_t *floor, uint32_t epoch, uint64_t first, uint32_t count)
{
    return epoch < floor->epoch || (epoch == floor->epoch && first + count <= floor->index);
}

/*  A ticket that was cut may end above the floor although a later one is below it. */
static void raise_floor(tnd_cache_core_t *self, tnd_position_t floor)
{
    if (tnd_position_compare(floor, self->floor) <= 0)
        return;
    self->floor = floor;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < self->entry_count; i++) {
        entry_t *entry = &self->entries[i];
        if (is_below(&floor, entry->epoch, entry->first, entry->count)) {
            drop(self, entry->payload);
            self->in_state[entry->state]--;
        } else {
            self->entries[kept++] = *entry;
        }
    }
    self->entry_count = kept;
    tnd_reader_core_floor(self->reader, floor);
}

static entry_t *insert(tnd_cache_core_t *self, uint32_t epoch, uint64_t first, uint32_t attempt)
{
    assert(self->entry_count < self->config.tickets_max);
    uint32_t at = search(self, epoch, first);
    entry_t *entry = &self->entries[at];
    memmove(entry + 1, entry, (self->entry_count - at) * sizeof *entry);
    self->entry_count++;
    *entry =
        (entry_t){.epoch = epoch, .first = first, .attempt_from = attempt, .state = ENTRY_STORED};
    self->in_state[ENTRY_STORED]++;
    return entry;
}

static void fill_ticket(const tnd_cache_core_t *self, const entry_t *entry, tnd_msg_t *msg)
{
    *msg = (tnd_msg_t){
        .kind = TND_MSG_TICKET, .generation = self->generation, .from = self->config.self};
    msg->ticket.first = entry->first;
    msg->ticket.lane = self->config.lane;
    msg->ticket.epoch = entry->epoch;
    msg->ticket.count = entry->count;
    msg->ticket.attempt = entry->attempt;
    msg->ticket.budget = entry->budget;
    msg->ticket.floor = self->floor;
}

/*  The ticket can be answered: a worker after the cache gets its block when it has credit. */
static void answer(tnd_cache_core_t *self, const entry_t *entry)
{
    tnd_msg_t msg;
    fill_ticket(self, entry, &msg);
    tnd_reader_core_ticket(self->reader, &msg);
}

void tnd_cache_core_rewind(tnd_cache_core_t *self, uint32_t generation)
{
    if (generation <= self->generation)
        return;
    self->generation = generation;
    self->floor = (tnd_position_t){0};
    tnd_reader_core_rewind(self->reader, generation);
    for (uint32_t i = 0; i < self->entry_count; i++)
        drop(self, self->entries[i].payload);
    self->entry_count = self->died = 0;
    memset(self->in_state, 0, sizeof self->in_state);
    for (uint32_t i = 0; i < self->maker_count; i++)
        self->makers[i].works = self->makers[i].died = false;
}

bool tnd_cache_core_full(const tnd_cache_core_t *self)
{
    return self->entry_count == self->config.tickets_max || tnd_reader_core_full(self->reader);
}

void tnd_cache_core_ticket(tnd_cache_core_t *self, const tnd_msg_t *msg)
{
    if (msg->generation < self->generation)
        return;
    tnd_cache_core_rewind(self, msg->generation);
    raise_floor(self, msg->ticket.floor);
    if (is_below(&self->floor, msg->ticket.epoch, msg->ticket.first, msg->ticket.count))
        return;
    entry_t *entry = find(self, msg->ticket.epoch, msg->ticket.first);
    if (entry == NULL)
        entry = insert(self, msg->ticket.epoch, msg->ticket.first, msg->ticket.attempt);
    else if (msg->ticket.attempt <= entry->attempt)
        return;
    entry->absent_until_ns = 0;
    bool same = entry->count == msg->ticket.count && entry->budget == msg->ticket.budget;
    entry->count = msg->ticket.count;
    entry->budget = msg->ticket.budget;
    entry->attempt = msg->ticket.attempt;
    entry->begun = false;
    if ((entry->state == ENTRY_HERE || entry->state == ENTRY_SENT) && same) {
        set_state(self, entry, ENTRY_HERE);
        answer(self, entry);
        return;
    }
    drop(self, entry->payload);
    entry->payload = NULL;
    tnd_reader_core_withdraw(self->reader, entry->epoch, entry->first);
    set_state(self, entry, ENTRY_WAITING);
}

/* The actors before the cache. */

static maker_t *find_maker(const tnd_cache_core_t *self, tnd_actor_id_t id)
{
    for (uint32_t i = 0; i < self->maker_count; i++)
        if (self->makers[i].id == id)
            return &self->makers[i];
    return NULL;
}

/*  Whether a reader has this ticket.  A later attempt may wait here for an earlier epoch: the answer
 *  to the earlier one counts, because the reader would not make it again. */
static bool is_awaited(const entry_t *entry)
{
    return entry->state == ENTRY_ASKED || (entry->state == ENTRY_WAITING && entry->passed);
}

bool tnd_cache_core_block(tnd_cache_core_t *self, const tnd_msg_t *msg)
{
    const tnd_block_note_t *block = &msg->block;
    maker_t *maker = find_maker(self, msg->from);
    if (maker != NULL)
        maker->works = false;
    if (msg->generation > self->generation)
        tnd_cache_core_rewind(self, msg->generation);
    bool stale = msg->generation < self->generation;
    entry_t *entry = stale ? NULL : find(self, block->epoch, block->first);
    /* A ticket that was cut, or has another budget, is another one.  An earlier attempt may be of the cache
     * that was here before, and lack what that had stored. */
    if (entry == NULL || !is_awaited(entry) || entry->count != block->asked ||
        entry->budget != block->budget || block->attempt < entry->attempt_from)
        return false;
    set_state(self, entry, ENTRY_HERE);
    entry->payload = block->payload;
    answer(self, entry);
    return true;
}

void tnd_cache_core_store_full(tnd_cache_core_t *self)
{
    self->full = true;
}

void tnd_cache_core_lost(tnd_cache_core_t *self, const tnd_msg_t *msg)
{
    if (msg->generation != self->generation)
        return;
    entry_t *entry = find(self, msg->ticket.epoch, msg->ticket.first);
    if (entry == NULL || entry->state != ENTRY_ASKED || entry->attempt != msg->ticket.attempt)
        return;
    set_state(self, entry, ENTRY_LOST);
}

void tnd_cache_core_maker_up(tnd_cache_core_t *self, tnd_actor_id_t id, tnd_life_t birth)
{
    maker_t *maker = find_maker(self, id);
    if (maker == NULL) {
        assert(self->maker_count < self->config.makers_max);
        maker = &self->makers[self->maker_count++];
        *maker = (maker_t){.id = id, .birth = birth};
    }
    if (maker->works && maker->birth != birth && !maker->died) {
        maker->died = true;
        self->died++;
    }
    maker->works = false;
    maker->birth = birth;
}

void tnd_cache_core_begin(tnd_cache_core_t *self, const tnd_msg_t *msg)
{
    maker_t *maker = find_maker(self, msg->from);
    if (maker == NULL)
        return;
    entry_t *entry = msg->generation == self->generation
                         ? find(self, msg->ticket.epoch, msg->ticket.first)
                         : NULL;
    maker->works = entry != NULL && entry->state == ENTRY_ASKED &&
                   entry->attempt == msg->ticket.attempt && !maker->died;
    if (!maker->works)
        return;
    entry->begun = true;
    maker->epoch = entry->epoch;
    maker->first = entry->first;
    maker->count = entry->count;
    maker->attempt = entry->attempt;
}

bool tnd_cache_core_go(const tnd_cache_core_t *self, const tnd_msg_t *heard, tnd_msg_t *go)
{
    return find_maker(self, heard->from) != NULL && tnd_suspects_go(self->config.self, heard, go);
}

/* The actors after the cache. */

void tnd_cache_core_worker_up(tnd_cache_core_t *self, tnd_actor_id_t worker)
{
    tnd_reader_core_worker_up(self->reader, worker);
}

void tnd_cache_core_worker_lost(tnd_cache_core_t *self, tnd_actor_id_t worker)
{
    tnd_reader_core_worker_lost(self->reader, worker);
}

void tnd_cache_core_awake(tnd_cache_core_t *self, uint32_t most)
{
    tnd_reader_core_awake(self->reader, most);
}

void tnd_cache_core_credit(tnd_cache_core_t *self, tnd_actor_id_t worker, uint64_t blocks,
                           uint64_t bytes)
{
    tnd_reader_core_credit(self->reader, worker, blocks, bytes);
}

void tnd_cache_core_sent(tnd_cache_core_t *self, tnd_actor_id_t worker, uint64_t bytes)
{
    tnd_reader_core_sent(self->reader, worker, bytes);
}

/* Effects. */

void *tnd_cache_core_drop(tnd_cache_core_t *self)
{
    return self->drop_count > 0 ? self->drops[--self->drop_count] : NULL;
}

static entry_t *first_in(const tnd_cache_core_t *self, entry_state_t state)
{
    if (self->in_state[state] == 0)
        return NULL;
    entry_t *entry = self->entries;
    while (entry->state != state)
        entry++;
    return entry;
}

/*  Whether the worker that began the lost entry may have died: the join must learn it before it
 *  issues the ticket again, or a row that kills costs one more worker. */
static bool waits_for_maker(tnd_cache_core_t *self, entry_t *entry, uint64_t now)
{
    const maker_t *maker = self->makers, *end = self->makers + self->maker_count;
    while (maker < end && !(entry->begun && maker->works && maker->epoch == entry->epoch &&
                            maker->first == entry->first && maker->attempt == entry->attempt))
        maker++;
    if (maker == end || TND_BUG(DEATH_NOT_AWAITED))
        return false;
    if (entry->absent_until_ns == 0)
        entry->absent_until_ns = now + TND_ABSENT_MAX_NS;
    if (entry->absent_until_ns < self->due_ns)
        self->due_ns = entry->absent_until_ns;
    return now < entry->absent_until_ns;
}

static entry_t *find_lost(tnd_cache_core_t *self, uint64_t now)
{
    entry_t *end = self->entries + self->entry_count;
    self->due_ns = TND_NEVER;
    for (entry_t *entry = self->entries; self->in_state[ENTRY_LOST] > 0 && entry < end; entry++)
        if (entry->state == ENTRY_LOST && !waits_for_maker(self, entry, now))
            return entry;
    return NULL;
}

static bool next_lost(tnd_cache_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    entry_t *entry = find_lost(self, now);
    if (entry == NULL || TND_BUG(LOST_NOT_PASSED_ON))
        return false;
    effect->kind = TND_EFFECT_CONTROL;
    fill_ticket(self, entry, &effect->msg);
    effect->msg.kind = TND_MSG_LOST;
    effect->msg.to = self->config.join;
    effect->msg.ticket.begun = entry->begun;
    forget(self, entry);
    return true;
}

static bool next_died(tnd_cache_core_t *self, tnd_effect_t *effect)
{
    for (uint32_t i = 0; i < self->maker_count && self->died > 0; i++) {
        maker_t *maker = &self->makers[i];
        if (!maker->died)
            continue;
        const entry_t ticket = {.epoch = maker->epoch,
                                .first = maker->first,
                                .count = maker->count,
                                .attempt = maker->attempt};
        maker->died = false;
        self->died--;
        effect->kind = TND_EFFECT_CONTROL;
        fill_ticket(self, &ticket, &effect->msg);
        effect->msg.kind = TND_MSG_DIED;
        effect->msg.to = self->config.join;
        return true;
    }
    return false;
}

/*  Whether samples of the entry may be stored once those of an earlier epoch are made. */
static bool is_early(const tnd_cache_core_t *self, const entry_t *entry)
{
    const entry_t *asked = first_in(self, ENTRY_ASKED);
    return asked != NULL && asked->epoch < entry->epoch && !self->full;
}

/*  Looks the entry up; returns whether all its samples are stored. */
static bool look_up(const tnd_cache_core_t *self, entry_t *entry, tnd_held_t *held)
{
    *held = (tnd_held_t){0};
    entry->held =
        self->config.stored(self->config.store, entry->epoch, entry->first, entry->count, held);
    assert(entry->held <= entry->count);
    return entry->held == entry->count;
}

/*  Readers get tickets in turn, as from a join.  A ticket that is overdue goes to the reader that
 *  has it, which knows the worker that is late. */
static bool next_ticket(tnd_cache_core_t *self, tnd_effect_t *effect)
{
    entry_t *entry;
    tnd_held_t held;
    while ((entry = first_in(self, ENTRY_WAITING)) != NULL && look_up(self, entry, &held)) {
        set_state(self, entry, ENTRY_STORED);
        answer(self, entry);
    }
    if (entry == NULL || is_early(self, entry))
        return false;
    if (!entry->passed)
        entry->reader = self->turn++ % self->config.reader_count;
    entry->passed = true;
    set_state(self, entry, ENTRY_ASKED);
    effect->kind = TND_EFFECT_CONTROL;
    fill_ticket(self, entry, &effect->msg);
    effect->msg.ticket.held = held;
    effect->msg.to = self->config.readers[entry->reader];
    return true;
}

/*  READ of the reader's machine: the ticket is answered. */
static bool next_answer(tnd_cache_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    if (!tnd_reader_core_next(self->reader, now, effect))
        return false;
    if (effect->kind != TND_EFFECT_READ)
        return true;
    entry_t *entry = find(self, effect->msg.ticket.epoch, effect->msg.ticket.first);
    assert(entry != NULL && (entry->state == ENTRY_HERE || entry->state == ENTRY_STORED));
    effect->payload = entry->payload;
    effect->at = entry->payload != NULL ? entry->held : 0;
    effect->msg.ticket.count = entry->count;
    if (entry->state == ENTRY_HERE && !TND_BUG(SENT_NOT_KEPT)) {
        set_state(self, entry, ENTRY_SENT);
        return true;
    }
    drop(self, entry->payload);
    forget(self, entry);
    return true;
}

bool tnd_cache_core_next(tnd_cache_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    memset(effect, 0, sizeof *effect);
    return next_died(self, effect) || next_lost(self, now, effect) || next_ticket(self, effect) ||
           next_answer(self, now, effect);
}

uint64_t tnd_cache_core_deadline(const tnd_cache_core_t *self)
{
    uint64_t due = tnd_reader_core_deadline(self->reader);
    bool waits = self->in_state[ENTRY_LOST] > 0 && self->due_ns < due;
    return waits ? self->due_ns : due;
}

uint32_t tnd_cache_core_blocked_on(const tnd_cache_core_t *self)
{
    uint32_t waits = tnd_reader_core_blocked_on(self->reader) |
                     (self->in_state[ENTRY_LOST] > 0 ? TND_WAIT_PEER : 0);
    return self->in_state[ENTRY_ASKED] > 0 && tnd_reader_core_waiting(self->reader) == 0
               ? waits | TND_WAIT_INPUT
               : waits;
}

uint32_t tnd_cache_core_waiting(const tnd_cache_core_t *self)
{
    return self->entry_count - self->in_state[ENTRY_SENT];
}

uint32_t tnd_cache_core_held(const tnd_cache_core_t *self)
{
    return self->in_state[ENTRY_HERE] + self->in_state[ENTRY_SENT];
}

uint64_t tnd_cache_core_room(const tnd_cache_core_t *self)
{
    return tnd_reader_core_room(self->reader);
}
