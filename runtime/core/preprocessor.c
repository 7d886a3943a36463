/*  runtime/core/preprocessor.c - a preprocessor's decisions: queue, credit and restarts. */
#include "runtime/core/preprocessor.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

typedef struct {
    tnd_actor_id_t id;
    uint32_t reader; /* index, or NONE: a join */
    uint32_t lane;   /* index */
    bool up;
} peer_t;

#define NONE UINT32_MAX

/*  A worker that gets nothing doubles its assumed speed after so many block times. */
enum { IDLE_TIMES = 16 };

/*  The credit of one reader on its connection, and what it has sent. */
typedef struct {
    uint32_t peer, join; /* indices of peers */
    uint64_t granted_blocks, granted_bytes;
    uint64_t received_blocks, received_bytes;
    uint64_t left_blocks, left_bytes; /* gone from the queue: room for others */
    uint64_t last_bytes;              /* of the last block received */
    bool pending;
} reader_t;

typedef struct {
    tnd_block_note_t note;
    tnd_actor_id_t from;
    uint32_t reader;
} block_t;

/*  What the order of the heap needs. */
typedef struct {
    uint64_t first;
    uint32_t epoch, lane, attempt;
    uint32_t block;
} entry_t;

/*  All blocks in the heap are of one generation: those of an older one are in `drops`. */
struct tnd_preprocessor_core {
    tnd_preprocessor_core_config_t config;
    uint32_t generation;
    bool reset_due, working;
    uint64_t cost_ns, since_ns; /* of a block; when the last one began or ended */
    uint32_t capacity, waiting, drop_count, free_count, pending_count, peer_count, peers_up;
    peer_t *peers; /* sorted by id */
    reader_t *readers;
    block_t *blocks;
    entry_t *heap;
    uint32_t *drops, *frees; /* of blocks */
    uint32_t *pending;       /* readers whose credit is due */
    uint32_t *lane_join;     /* by lane: peer of its join */
    uint32_t held;           /* a block that was lost before, taken out of the heap; or NONE */
    bool may_go;             /* its join has answered BEGIN */
    bool unheard;            /* its join has not answered its BLOCK yet */
    entry_t suspect;         /* the last one held */
};

static uint32_t capacity_of(const tnd_preprocessor_core_config_t *config)
{
    return config->reader_count * config->window_blocks;
}

/* Peers. */

static uint32_t find_peer(const tnd_preprocessor_core_t *self, tnd_actor_id_t id)
{
    uint32_t at;
    TND_LOWER_BOUND(at, 0, self->peer_count, self->peers[at].id < id);
    return at < self->peer_count && self->peers[at].id == id ? at : NONE;
}

static void add_peer(tnd_preprocessor_core_t *self, tnd_actor_id_t id, uint32_t reader,
                     uint32_t lane)
{
    uint32_t at = self->peer_count++;
    for (; at > 0 && self->peers[at - 1].id > id; at--)
        self->peers[at] = self->peers[at - 1];
    assert(at == 0 || self->peers[at - 1].id != id);
    self->peers[at] = (peer_t){.id = id, .reader = reader, .lane = lane};
}

static uint32_t lane_of(const tnd_preprocessor_core_t *self, uint32_t lane_number)
{
    uint32_t lane = 0;
    while (lane < self->config.lanes && self->config.lane_number[lane] != lane_number)
        lane++;
    return lane;
}

/* Credit. */

static bool may_receive(const tnd_preprocessor_core_t *self, const reader_t *reader)
{
    return self->peers[reader->peer].up && self->peers[reader->join].up;
}

static uint32_t window_of(const tnd_preprocessor_core_t *self)
{
    uint32_t most = self->config.window_blocks, first = self->config.window_first;
    if (self->cost_ns == 0 && first > 0 && first < most)
        return first;
    if (self->config.window_ns == 0 || self->cost_ns * most <= self->config.window_ns)
        return most;
    uint64_t blocks = self->config.window_ns / self->cost_ns;
    return blocks > 0 ? (uint32_t)blocks : 1;
}

/*  If a reader has no credit, its whole window is here.  A quarter of it leaves before the rest, so
 *  no reader waits for ever below that threshold. */
static void offer(tnd_preprocessor_core_t *self, uint32_t number)
{
    reader_t *reader = &self->readers[number];
    if (reader->pending || !may_receive(self, reader))
        return;
    uint32_t window = window_of(self);
    uint64_t blocks = reader->left_blocks + window;
    blocks = blocks > reader->granted_blocks ? blocks - reader->granted_blocks : 0;
    uint64_t bytes = reader->left_bytes + self->config.window_bytes - reader->granted_bytes;
    if ((blocks == 0 || blocks < window / 4) &&
        (bytes == 0 || bytes < self->config.window_bytes / 4))
        return;
    reader->pending = true;
    self->pending[self->pending_count++] = number;
}

static void leave(tnd_preprocessor_core_t *self, const block_t *block)
{
    reader_t *reader = &self->readers[block->reader];
    reader->left_blocks++;
    reader->left_bytes += block->note.bytes;
    offer(self, block->reader);
}

/* The queue. */

static bool before(const entry_t *a, const entry_t *b)
{
    if (a->epoch != b->epoch)
        return a->epoch < b->epoch;
    if (a->first != b->first)
        return a->first < b->first;
    return a->lane < b->lane;
}

static bool goes_first(const entry_t *a, const entry_t *b)
{
    if (TND_BUG(FRONT_INSTEAD_OF_SORTED) && (a->attempt > 0) != (b->attempt > 0))
        return a->attempt > 0;
    return before(a, b);
}

static void push(tnd_preprocessor_core_t *self, entry_t entry)
{
    uint32_t at = self->waiting++;
    while (at > 0 && goes_first(&entry, &self->heap[(at - 1) / 2])) {
        self->heap[at] = self->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    self->heap[at] = entry;
}

static uint32_t pop(tnd_preprocessor_core_t *self)
{
    uint32_t block = self->heap[0].block, at = 0;
    entry_t last = self->heap[--self->waiting];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= self->waiting)
            break;
        if (child + 1 < self->waiting && goes_first(&self->heap[child + 1], &self->heap[child]))
            child++;
        if (!goes_first(&self->heap[child], &last))
            break;
        self->heap[at] = self->heap[child];
        at = child;
    }
    self->heap[at] = last;
    return block;
}

static void drop_all(tnd_preprocessor_core_t *self)
{
    for (uint32_t i = 0; i < self->waiting; i++)
        self->drops[self->drop_count++] = self->heap[i].block;
    if (self->held != NONE)
        self->drops[self->drop_count++] = self->held;
    self->held = NONE;
    self->unheard = false;
    self->waiting = 0;
}

size_t tnd_preprocessor_core_bytes(const tnd_preprocessor_core_config_t *config)
{
    size_t capacity = capacity_of(config), peers = config->reader_count + (size_t)config->lanes;
    return tnd_align(sizeof(tnd_preprocessor_core_t)) + tnd_align(peers * sizeof(peer_t)) +
           tnd_align(config->reader_count * sizeof(reader_t)) +
           tnd_align(capacity * sizeof(block_t)) + tnd_align(capacity * sizeof(entry_t)) +
           (2 * capacity + config->reader_count + config->lanes) * sizeof(uint32_t);
}

tnd_preprocessor_core_t *tnd_preprocessor_core_init(void *memory,
                                                    const tnd_preprocessor_core_config_t *config)
{
    assert(config->window_blocks > 0 && config->window_bytes > 0);
    tnd_preprocessor_core_t *self = memory;
    char *at = (char *)memory + tnd_align(sizeof *self);
    self->config = *config;
    self->capacity = self->free_count = capacity_of(config);
    self->held = NONE;
    self->peers = (peer_t *)at;
    at += tnd_align((config->reader_count + (size_t)config->lanes) * sizeof *self->peers);
    self->readers = (reader_t *)at;
    at += tnd_align(config->reader_count * sizeof *self->readers);
    self->blocks = (block_t *)at;
    at += tnd_align(self->capacity * sizeof *self->blocks);
    self->heap = (entry_t *)at;
    at += tnd_align(self->capacity * sizeof *self->heap);
    self->drops = (uint32_t *)at;
    self->frees = self->drops + self->capacity;
    self->pending = self->frees + self->capacity;
    self->lane_join = self->pending + config->reader_count;
    for (uint32_t i = 0; i < self->capacity; i++)
        self->frees[i] = i;
    for (uint32_t i = 0; i < config->reader_count; i++)
        add_peer(self, config->readers[i], i, lane_of(self, config->reader_lane[i]));
    for (uint32_t i = 0; i < config->lanes; i++)
        add_peer(self, config->joins[i], NONE, i);
    for (uint32_t i = 0; i < self->peer_count; i++)
        if (self->peers[i].reader == NONE)
            self->lane_join[self->peers[i].lane] = i;
    for (uint32_t i = 0; i < self->peer_count; i++)
        if (self->peers[i].reader != NONE) {
            reader_t *reader = &self->readers[self->peers[i].reader];
            assert(self->peers[i].lane < config->lanes);
            reader->peer = i;
            reader->join = self->lane_join[self->peers[i].lane];
        }
    return self;
}

void tnd_preprocessor_core_rewind(tnd_preprocessor_core_t *self, uint32_t generation)
{
    if (generation <= self->generation)
        return;
    self->generation = generation;
    drop_all(self);
}

void tnd_preprocessor_core_block(tnd_preprocessor_core_t *self, const tnd_msg_t *msg)
{
    uint32_t peer = find_peer(self, msg->from);
    assert(peer != NONE && self->peers[peer].reader != NONE && self->free_count > 0);
    uint32_t number = self->peers[peer].reader, block = self->frees[--self->free_count];
    reader_t *reader = &self->readers[number];
    reader->received_blocks++;
    reader->received_bytes += msg->block.bytes;
    reader->last_bytes = msg->block.bytes;
    self->blocks[block] = (block_t){.note = msg->block, .from = msg->from, .reader = number};
    tnd_preprocessor_core_rewind(self, msg->generation);
    if (msg->generation < self->generation || !may_receive(self, reader)) {
        self->drops[self->drop_count++] = block;
        return;
    }
    push(self, (entry_t){.first = msg->block.first,
                         .epoch = msg->block.epoch,
                         .lane = msg->block.lane,
                         .attempt = msg->block.attempt,
                         .block = block});
}

static bool is_about(const tnd_msg_t *msg, const entry_t *entry)
{
    return msg->ticket.first == entry->first && msg->ticket.lane == entry->lane &&
           msg->ticket.epoch == entry->epoch && msg->ticket.attempt == entry->attempt;
}

void tnd_preprocessor_core_go(tnd_preprocessor_core_t *self, const tnd_msg_t *msg)
{
    if (msg->generation != self->generation)
        return;
    if (self->unheard && is_about(msg, &self->suspect))
        self->unheard = false;
    else if (self->held != NONE && is_about(msg, &self->suspect))
        self->may_go = true;
}

void tnd_preprocessor_core_peer_up(tnd_preprocessor_core_t *self, tnd_actor_id_t id)
{
    uint32_t at = find_peer(self, id);
    assert(at != NONE);
    if (self->reset_due || self->peers[at].up)
        return;
    self->peers[at].up = true;
    self->peers_up++;
    if (self->peers[at].reader != NONE) {
        offer(self, self->peers[at].reader);
        return;
    }
    for (uint32_t i = 0; i < self->config.reader_count; i++)
        if (self->readers[i].join == at)
            offer(self, i);
}

void tnd_preprocessor_core_peer_lost(tnd_preprocessor_core_t *self, tnd_actor_id_t id)
{
    uint32_t at = find_peer(self, id);
    assert(at != NONE);
    if (!self->peers[at].up)
        return;
    drop_all(self);
    self->reset_due = true;
    self->pending_count = self->peers_up = 0;
    for (uint32_t i = 0; i < self->peer_count; i++)
        self->peers[i].up = false;
}

static bool next_drop(tnd_preprocessor_core_t *self, tnd_effect_t *effect)
{
    if (self->drop_count == 0)
        return false;
    uint32_t block = self->drops[--self->drop_count];
    effect->kind = TND_EFFECT_DROP;
    effect->payload = self->blocks[block].note.payload;
    leave(self, &self->blocks[block]);
    self->frees[self->free_count++] = block;
    return true;
}

static bool next_reset(tnd_preprocessor_core_t *self, tnd_effect_t *effect)
{
    if (!self->reset_due)
        return false;
    self->reset_due = false;
    for (uint32_t i = 0; i < self->config.reader_count; i++)
        self->readers[i] = (reader_t){.peer = self->readers[i].peer, .join = self->readers[i].join};
    effect->kind = TND_EFFECT_RESET;
    return true;
}

static bool next_credit(tnd_preprocessor_core_t *self, tnd_effect_t *effect)
{
    if (self->pending_count == 0)
        return false;
    reader_t *reader = &self->readers[self->pending[--self->pending_count]];
    reader->pending = false;
    uint64_t blocks = reader->left_blocks + window_of(self);
    if (blocks > reader->granted_blocks)
        reader->granted_blocks = blocks;
    reader->granted_bytes = reader->left_bytes + self->config.window_bytes;
    effect->kind = TND_EFFECT_LINK;
    effect->msg.kind = TND_MSG_CREDIT;
    effect->msg.generation = self->generation;
    effect->msg.from = self->config.self;
    effect->msg.to = self->peers[reader->peer].id;
    effect->msg.credit.blocks = reader->granted_blocks;
    effect->msg.credit.bytes = reader->granted_bytes;
    return true;
}

static void say_begin(const tnd_preprocessor_core_t *self, const block_t *block,
                      tnd_effect_t *effect)
{
    effect->kind = TND_EFFECT_LINK;
    effect->msg.kind = TND_MSG_BEGIN;
    effect->msg.generation = self->generation;
    effect->msg.from = self->config.self;
    effect->msg.to = self->peers[self->readers[block->reader].join].id;
    effect->msg.ticket.first = block->note.first;
    effect->msg.ticket.lane = block->note.lane;
    effect->msg.ticket.epoch = block->note.epoch;
    effect->msg.ticket.count = block->note.asked;
    effect->msg.ticket.attempt = block->note.attempt;
}

/*  A block whose ticket was lost may have killed its worker.  Its join is told before the work
 *  begins, and after it ends, before any other work, so that it knows the block. */
static bool next_apply(tnd_preprocessor_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    uint32_t number = self->held;
    if (self->unheard)
        return false;
    if (number == NONE) {
        if (self->waiting == 0)
            return false;
        entry_t entry = self->heap[0];
        number = pop(self);
        if (entry.attempt > 0) {
            self->held = number;
            self->suspect = entry;
            self->may_go = false;
            say_begin(self, &self->blocks[number], effect);
            return true;
        }
    } else if (!self->may_go) {
        return false;
    }
    self->unheard = self->held != NONE;
    self->held = NONE;
    const block_t *block = &self->blocks[number];
    self->working = true;
    self->since_ns = now;
    effect->kind = TND_EFFECT_APPLY;
    effect->msg.kind = TND_MSG_BLOCK;
    effect->msg.generation = self->generation;
    effect->msg.from = self->config.self;
    effect->msg.to = self->peers[self->readers[block->reader].join].id;
    effect->msg.block = block->note;
    leave(self, block);
    self->frees[self->free_count++] = number;
    return true;
}

/*  One slow block makes a worker slow; several fast ones make it fast again. */
static void learn_cost(tnd_preprocessor_core_t *self, uint64_t now)
{
    uint64_t spent = now - self->since_ns;
    if (self->working) {
        self->cost_ns = spent > self->cost_ns ? spent : self->cost_ns - (self->cost_ns - spent) / 4;
    } else if (self->waiting == 0 &&
               self->cost_ns * self->config.window_blocks > self->config.window_ns &&
               spent / IDLE_TIMES >= self->cost_ns) {
        self->cost_ns /= 2;
        for (uint32_t i = 0; i < self->config.reader_count; i++)
            offer(self, i);
    } else {
        return;
    }
    self->working = false;
    self->since_ns = now;
}

bool tnd_preprocessor_core_next(tnd_preprocessor_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    if (self->config.window_ns > 0)
        learn_cost(self, now);
    memset(effect, 0, sizeof *effect);
    return next_drop(self, effect) || next_reset(self, effect) || next_credit(self, effect) ||
           next_apply(self, now, effect);
}

uint32_t tnd_preprocessor_core_blocked_on(const tnd_preprocessor_core_t *self)
{
    if (self->unheard || (self->held != NONE && !self->may_go))
        return TND_WAIT_ORDER;
    if (self->waiting > 0)
        return 0;
    return (self->peers_up > 0 ? TND_WAIT_INPUT : 0) |
           (self->peers_up < self->peer_count ? TND_WAIT_PEER : 0);
}

uint32_t tnd_preprocessor_core_waiting(const tnd_preprocessor_core_t *self)
{
    return self->waiting + (self->held != NONE);
}

bool tnd_preprocessor_core_sound(const tnd_preprocessor_core_t *self)
{
    for (uint32_t i = 1; i < self->waiting; i++)
        if (before(&self->heap[i], &self->heap[(i - 1) / 2]))
            return false;
    for (uint32_t i = 0; i < self->config.reader_count; i++) {
        const reader_t *reader = &self->readers[i];
        if (reader->received_blocks > reader->granted_blocks)
            return false;
        if (reader->received_blocks > 0 &&
            reader->received_bytes - reader->last_bytes >= reader->granted_bytes)
            return false;
    }
    return tnd_preprocessor_core_waiting(self) + self->drop_count + self->free_count ==
           self->capacity;
}
