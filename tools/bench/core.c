/*  tools/bench/core.c - the cost of the decisions about a block: at most 1 us per event.
 *
 *  Blocks of 128 rows without data pass ticket, preprocessor, join, slices for four replicas,
 *  feeder and commits on one thread.  An event is one call of a machine, or one effect that it
 *  returns; the messages between them are counted as part of the core.  The bound is these messages
 *  alone: each copied into a ring and out.
 *  Usage: bench_core [BLOCKS] */
#include <assert.h>

#include "runtime/base/allocation.h"
#include "runtime/core/batcher.h"
#include "runtime/core/feeder.h"
#include "runtime/core/preprocessor.h"
#include "runtime/core/reader.h"
#include "tools/bench/bench.h"

enum { RUNS = 5, WORKERS = 3, ROWS = 128, REPLICAS = 4, DEPTH = 4, MAIL = 1024 };
enum { READER = 1, JOIN, FEEDER, WORKER };

typedef struct {
    tnd_msg_t letters[MAIL]; /* in the order they were sent */
    uint64_t head, tail;
} mail_t;

typedef struct {
    tnd_reader_core_t *dispatch;
    tnd_preprocessor_core_t *queues[WORKERS];
    tnd_batcher_core_t *join;
    tnd_feeder_core_t *feed;
    mail_t mail;
    uint64_t positions;
    uint64_t events, blocks, rows; /* counted; blocks and rows that the feeder received */
} chain_t;

static void mail_put(mail_t *self, const tnd_msg_t *msg)
{
    assert(self->tail - self->head < MAIL);
    self->letters[self->tail++ % MAIL] = *msg;
}

/*  The feeder's devices take no time and the leader books at once. */
static void feeder_does(chain_t *self, const tnd_effect_t *effect)
{
    const uint64_t digest[2] = {0};
    switch (effect->kind) {
    case TND_EFFECT_LINK:
        mail_put(&self->mail, &effect->msg);
        break;
    case TND_EFFECT_PLACE:
        self->rows += effect->msg.slice.rows;
        break;
    case TND_EFFECT_READY:
        tnd_feeder_core_done(self->feed, effect->msg.slice.step, digest,
                             effect->msg.slice.step_rows, NULL);
        self->events++;
        break;
    case TND_EFFECT_CONTROL:
        if (effect->msg.kind != TND_MSG_COMMIT)
            break;
        tnd_feeder_core_booked(self->feed, effect->msg.commit.step + 1);
        self->events++;
        break;
    default:
        break;
    }
}

static void reader_does(chain_t *self, const tnd_effect_t *effect)
{
    assert(effect->kind == TND_EFFECT_READ);
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK,
                     .generation = effect->msg.generation,
                     .from = READER,
                     .to = effect->msg.to};
    msg.block.first = effect->msg.ticket.first;
    msg.block.lane = effect->msg.ticket.lane;
    msg.block.epoch = effect->msg.ticket.epoch;
    msg.block.count = msg.block.asked = msg.block.rows = effect->msg.ticket.count;
    msg.block.attempt = effect->msg.ticket.attempt;
    msg.block.bytes = ROWS;
    msg.block.payload = self;
    mail_put(&self->mail, &msg);
    tnd_reader_core_sent(self->dispatch, effect->msg.to, msg.block.bytes);
    self->events++;
}

/*  Passes credit on, and blocks unchanged. */
static void worker_does(chain_t *self, const tnd_effect_t *effect)
{
    assert(effect->kind == TND_EFFECT_LINK || effect->kind == TND_EFFECT_APPLY);
    mail_put(&self->mail, &effect->msg);
}

static void join_does(chain_t *self, tnd_effect_t *effect)
{
    if (effect->kind == TND_EFFECT_DROP)
        self->blocks++;
    if (effect->msg.kind == TND_MSG_SLICE)
        effect->msg.slice.payload = self;
    bool passes = effect->kind == TND_EFFECT_LINK || effect->msg.kind == TND_MSG_TICKET ||
                  effect->msg.kind == TND_MSG_LAST;
    if (effect->kind != TND_EFFECT_DROP && passes)
        mail_put(&self->mail, &effect->msg);
}

static void effects(chain_t *self)
{
    tnd_effect_t effect;
    for (; tnd_batcher_core_next(self->join, 0, &effect); self->events++)
        join_does(self, &effect);
    for (; tnd_reader_core_next(self->dispatch, 0, &effect); self->events++)
        reader_does(self, &effect);
    for (int i = 0; i < WORKERS; i++)
        for (; tnd_preprocessor_core_next(self->queues[i], 0, &effect); self->events++)
            worker_does(self, &effect);
    for (; tnd_feeder_core_next_effect(self->feed, 0, &effect); self->events++)
        feeder_does(self, &effect);
}

static void arrive(chain_t *self, const tnd_msg_t *msg)
{
    tnd_error_t error;
    tnd_status_t status = TND_OK;
    switch (msg->kind) {
    case TND_MSG_TICKET:
        tnd_reader_core_ticket(self->dispatch, msg);
        break;
    case TND_MSG_CREDIT:
        tnd_reader_core_credit(self->dispatch, msg->from, msg->credit.blocks, msg->credit.bytes);
        break;
    case TND_MSG_BLOCK:
        if (msg->to == JOIN)
            status = tnd_batcher_core_block(self->join, msg, &error);
        else
            tnd_preprocessor_core_block(self->queues[msg->to - WORKER], msg);
        break;
    case TND_MSG_WINDOW:
        tnd_batcher_core_window(self->join, msg);
        break;
    case TND_MSG_SLICE:
        status = tnd_feeder_core_slice(self->feed, msg, &error);
        break;
    case TND_MSG_LAST:
        tnd_feeder_core_end(self->feed, msg->part.step);
        break;
    default:
        abort();
    }
    assert(status == TND_OK);
    self->events++;
}

static const tnd_actor_id_t reader = READER, join = JOIN;
static const tnd_actor_id_t feeders[REPLICAS] = {FEEDER, FEEDER, FEEDER, FEEDER};
static const uint32_t lane = 0;

static void chain_start(chain_t *self, uint32_t blocks)
{
    *self = (chain_t){.positions = (uint64_t)blocks * ROWS};
    tnd_reader_core_config_t dispatch = {
        .self = READER, .join = JOIN, .tickets_max = 256, .workers_max = WORKERS};
    tnd_batcher_core_config_t joins = {.order = {.self = JOIN,
                                                 .readers = &reader,
                                                 .reader_count = 1,
                                                 .epochs = 1,
                                                 .count = self->positions,
                                                 .block_rows = ROWS,
                                                 .bytes = {.fixed = 1},
                                                 .made_max = 1,
                                                 .window_bytes = 64 * ROWS,
                                                 .window_blocks = 64},
                                       .lanes = 1,
                                       .size = ROWS,
                                       .replicas = REPLICAS,
                                       .feeders = feeders};
    tnd_feeder_core_config_t feed = {.self = FEEDER,
                                     .joins = &join,
                                     .join_count = 1,
                                     .replicas = REPLICAS,
                                     .depth = DEPTH,
                                     .unbooked_max = 16};
    tnd_cursor_t cursor;
    tnd_cursor_start(&cursor, 1);

    self->dispatch =
        tnd_reader_core_init(tnd_allocate_zeroed(1, tnd_reader_core_bytes(&dispatch)), &dispatch);
    tnd_reader_core_rewind(self->dispatch, 1);
    self->join =
        tnd_batcher_core_init(tnd_allocate_zeroed(1, tnd_batcher_core_bytes(&joins)), &joins);
    tnd_batcher_core_rewind(self->join, 1, &cursor, 0);
    self->feed = tnd_feeder_core_init(tnd_allocate_zeroed(1, tnd_feeder_core_bytes(&feed)), &feed);
    tnd_feeder_core_rewind_to(self->feed, 1, 0, 0, 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        tnd_preprocessor_core_config_t queue = {.self = WORKER + i,
                                                .lanes = 1,
                                                .readers = &reader,
                                                .reader_lane = &lane,
                                                .reader_count = 1,
                                                .joins = &join,
                                                .lane_number = &lane,
                                                .window_blocks = 8,
                                                .window_bytes = 8 * ROWS};
        self->queues[i] = tnd_preprocessor_core_init(
            tnd_allocate_zeroed(1, tnd_preprocessor_core_bytes(&queue)), &queue);
        tnd_preprocessor_core_rewind(self->queues[i], 1);
        tnd_preprocessor_core_peer_up(self->queues[i], READER);
        tnd_preprocessor_core_peer_up(self->queues[i], JOIN);
        tnd_reader_core_worker_up(self->dispatch, WORKER + i);
    }
    tnd_batcher_core_feeder_up(self->join, FEEDER, 1);
    tnd_feeder_core_join_up(self->feed, JOIN);
}

static void chain_end(chain_t *self)
{
    free(self->dispatch);
    free(self->join);
    free(self->feed);
    for (int i = 0; i < WORKERS; i++)
        free(self->queues[i]);
}

/*  ns per event for `blocks` blocks; *letters_p is the number of messages. */
static double run_core(uint32_t blocks, uint64_t *letters_p)
{
    static chain_t chain;
    chain_start(&chain, blocks);
    uint64_t start = tnd_clock_now();
    effects(&chain);
    while (chain.mail.head != chain.mail.tail) {
        arrive(&chain, &chain.mail.letters[chain.mail.head++ % MAIL]);
        effects(&chain);
    }
    double ns = (double)(tnd_clock_now() - start);
    if (chain.blocks != blocks || chain.rows != chain.positions ||
        !tnd_feeder_core_over(chain.feed)) {
        fprintf(stderr, "bench_core: %lu of %u blocks and %lu of %lu rows came through\n",
                (unsigned long)chain.blocks, blocks, (unsigned long)chain.rows,
                (unsigned long)chain.positions);
        exit(1);
    }
    *letters_p = chain.mail.tail;
    chain_end(&chain);
    return ns / (double)chain.events;
}

/*  ns per message through the ring, read as the machines read it. */
static double run_mail(uint64_t letters)
{
    static mail_t mail;
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK};
    uint64_t seen = 0, start = tnd_clock_now();
    for (uint64_t i = 0; i < letters; i++) {
        msg.block.first = i;
        mail_put(&mail, &msg);
        seen += mail.letters[mail.head++ % MAIL].block.first;
    }
    double ns = (double)(tnd_clock_now() - start);
    assert(seen == letters * (letters - 1) / 2);
    return ns / (double)letters;
}

int main(int argc, char **argv)
{
    uint32_t blocks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 200000;
    double core[RUNS], bound[RUNS];
    for (int i = 0; i < RUNS; i++) {
        uint64_t letters;
        core[i] = run_core(blocks, &letters);
        bound[i] = run_mail(letters);
    }
    double value = bench_median(core, RUNS), least = bench_median(bound, RUNS);
    bench_print("core_event_ns", value, least, value / least, 1000, value <= 1000);
    return 0;
}
