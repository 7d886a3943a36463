/*  Covers runtime/core/batcher.h: lanes that exchange marks under random schedules, against the
 *  definition of the stream (rows in lists, no blocks, no time); every cursor resumes exactly. */
#include "runtime/core/batcher.h"

#include "tests/runtime/core/lane.h"

#include <criterion/criterion.h>

enum {
    LANES = 3,
    ROWS_MAX = 8192,
    STEPS_MAX = 4096,
    REPLICAS_MAX = 5,
    FEEDERS = 2,
    MAIL_MAX = 8192,
    SIZE_MAX_ROWS = 17
};

/*  A step as the definition has it. */
typedef struct {
    uint32_t epoch, rows;
    uint64_t step_of_epoch, rank;
    bool last;
    lane_row_t row[SIZE_MAX_ROWS];
    tnd_cursor_t after;
} step_t;

typedef struct {
    lane_t lane[LANES];
    tnd_batcher_core_config_t config;
    tnd_actor_id_t feeder_of[REPLICAS_MAX];
    uint32_t epochs;
    step_t *step;
    uint32_t step_count;
    tnd_ledger_t whole; /* at the end of the run */
} stream_t;

typedef struct {
    const stream_t *stream;
    void *memory[LANES];
    tnd_batcher_core_t *join[LANES];
    tnd_msg_t mail[MAIL_MAX]; /* under way; arrives in any order */
    uint32_t mail_to[MAIL_MAX], mail_count;
    uint32_t generation, marks;
    uint64_t held[FEEDERS], until[FEEDERS], depth; /* until: the highest window given */
    uint32_t got[STEPS_MAX][REPLICAS_MAX], slices[STEPS_MAX][REPLICAS_MAX];
    uint32_t parts[STEPS_MAX];
    tnd_cursor_t cursor;                 /* assembled up to the step whose parts are all there */
    tnd_ledger_t delta[STEPS_MAX], rest; /* of a step; after the last one */
    uint32_t lasts;
} world_t;

static const tnd_actor_id_t first_feeder = 50, readers[LANES] = {20, 21, 22};

static uint32_t quota(uint32_t size, uint32_t lanes, uint32_t lane, uint64_t step)
{
    uint32_t parts[LANES];
    for (uint32_t i = 0; i < lanes; i++)
        parts[i] = size / lanes + (i < size % lanes);
    return parts[(lane + step) % lanes];
}

/*  Writes the stream down from its definition. */
static void stream_define(stream_t *stream)
{
    static lane_row_t rows[LANES][ROWS_MAX];
    static tnd_position_t after[LANES][ROWS_MAX];
    const tnd_batcher_core_config_t *config = &stream->config;
    uint32_t lanes = config->lanes, size = (uint32_t)config->size;
    bool span = config->span_epochs, drops = config->remainder == TND_REMAINDER_DROP;
    tnd_cursor_t cursor;
    tnd_cursor_start(&cursor, lanes);
    stream->step_count = 0;
    for (uint32_t epoch = 0; epoch < (span ? 1 : stream->epochs); epoch++) {
        uint32_t count[LANES] = {0}, at[LANES] = {0};
        for (uint32_t lane = 0; lane < lanes; lane++)
            cursor.part[lane] = (tnd_position_t){.epoch = epoch};
        for (uint32_t lane = 0; lane < lanes; lane++)
            for (uint32_t e = epoch; e < (span ? stream->epochs : epoch + 1); e++) {
                tnd_position_t walk = {.epoch = e};
                lane_row_t row;
                while (lane_next(&stream->lane[lane], &walk, &row)) {
                    cr_assert_lt(count[lane], ROWS_MAX);
                    rows[lane][count[lane]] = row;
                    after[lane][count[lane]++] = walk;
                }
            }
        for (uint64_t s = 0;; s++) {
            uint32_t take[LANES], sum = 0, left = 0;
            for (uint32_t lane = 0; lane < lanes; lane++) {
                uint32_t rest = count[lane] - at[lane], q = quota(size, lanes, lane, s);
                take[lane] = q < rest ? q : rest;
                sum += take[lane];
                left += rest;
            }
            for (uint32_t lane = 0; lane < lanes; lane++) {
                uint32_t rest = count[lane] - at[lane] - take[lane];
                uint32_t more = size - sum < rest ? size - sum : rest;
                take[lane] += more;
                sum += more;
            }
            if (sum == 0 || (drops && sum < size))
                break;
            if (s < config->skip) {
                for (uint32_t lane = 0; lane < lanes; lane++) {
                    at[lane] += take[lane];
                    if (take[lane] > 0)
                        cursor.part[lane] = after[lane][at[lane] - 1];
                }
                continue;
            }
            cr_assert_lt(stream->step_count, STEPS_MAX);
            step_t *step = &stream->step[stream->step_count++];
            *step = (step_t){.epoch = epoch, .rows = sum, .step_of_epoch = s - config->skip};
            step->rank = cursor.rank;
            step->last = drops ? left - sum < size : left == sum;
            uint32_t filled = 0;
            for (uint32_t lane = 0; lane < lanes; lane++) {
                for (uint32_t i = 0; i < take[lane]; i++) {
                    cursor.part[lane] = after[lane][at[lane]];
                    step->row[filled++] = rows[lane][at[lane]++];
                }
                if (step->last)
                    cursor.part[lane] =
                        (tnd_position_t){.epoch = span ? stream->epochs : epoch + 1};
            }
            cursor.step++;
            cursor.rank += sum;
            cursor.epoch = epoch + step->last;
            cursor.step_of_epoch = step->last ? 0 : step->step_of_epoch + 1;
            uint64_t padded = cursor.ledger.padded;
            if (config->remainder == TND_REMAINDER_PAD)
                padded += size - sum;
            cursor.ledger = (tnd_ledger_t){0};
            for (uint32_t lane = 0; lane < lanes; lane++) {
                tnd_ledger_t part = lane_ledger(&stream->lane[lane], cursor.part[lane]);
                tnd_ledger_add(&cursor.ledger, &part);
            }
            cursor.ledger.dropped = cursor.ledger.fed - cursor.rank;
            cursor.ledger.fed = cursor.rank;
            cursor.ledger.padded = padded;
            step->after = cursor;
        }
    }
    stream->whole = (tnd_ledger_t){0};
    for (uint32_t lane = 0; lane < lanes; lane++) {
        tnd_ledger_t part =
            lane_ledger(&stream->lane[lane], (tnd_position_t){.epoch = stream->epochs});
        tnd_ledger_add(&stream->whole, &part);
    }
    stream->whole.dropped = stream->whole.fed - cursor.rank;
    stream->whole.fed = cursor.rank;
    stream->whole.padded = cursor.ledger.padded;
}

static void world_mail(world_t *world, uint32_t to, const tnd_msg_t *msg)
{
    cr_assert_lt(world->mail_count, MAIL_MAX);
    world->mail_to[world->mail_count] = to;
    world->mail[world->mail_count++] = *msg;
}

static void world_window(world_t *world, uint32_t feeder)
{
    tnd_msg_t msg = {.kind = TND_MSG_WINDOW, .from = first_feeder + feeder};
    msg.until.step = world->held[feeder] + world->depth;
    if (msg.until.step > world->until[feeder])
        world->until[feeder] = msg.until.step;
    for (uint32_t lane = 0; lane < world->stream->config.lanes; lane++)
        world_mail(world, lane, &msg);
}

/*  A feeder holds the next step when all its replicas have their rows. */
static void world_hold(world_t *world, uint32_t feeder)
{
    const stream_t *stream = world->stream;
    bool moved = false, whole = true;
    while (whole && world->held[feeder] < stream->step_count) {
        uint64_t at = world->held[feeder];
        for (uint32_t r = 0; r < stream->config.replicas; r++) {
            uint64_t rows = stream->step[at].rows, size = stream->config.size;
            if (stream->config.feeders[r] != first_feeder + feeder)
                continue;
            bool pads = stream->config.remainder == TND_REMAINDER_PAD;
            uint64_t cut = pads ? size : rows;
            uint64_t from =
                tnd_split_offset(stream->config.split, size, cut, stream->config.replicas, r);
            uint64_t to =
                from + tnd_split_rows(stream->config.split, size, cut, stream->config.replicas, r);
            uint64_t total = (to < rows ? to : rows) - (from < rows ? from : rows);
            whole &= world->slices[at][r] > 0 && world->got[at][r] == total;
        }
        world->held[feeder] += whole;
        moved |= whole;
    }
    if (moved)
        world_window(world, feeder);
}

static void world_slice(world_t *world, const tnd_effect_t *effect)
{
    const stream_t *stream = world->stream;
    const tnd_slice_note_t *slice = &effect->msg.slice;
    uint64_t size = stream->config.size;
    cr_assert_lt(slice->step, stream->step_count);
    const step_t *step = &stream->step[slice->step];
    uint32_t feeder = stream->config.feeders[slice->replica] - first_feeder;
    cr_assert_eq(effect->kind, TND_EFFECT_LINK);
    cr_assert_eq(effect->msg.to, stream->config.feeders[slice->replica]);
    cr_assert_eq(effect->msg.generation, world->generation);
    cr_assert_lt(slice->step, world->until[feeder], "a slice without a slot");
    cr_assert(slice->epoch == step->epoch && slice->step_of_epoch == step->step_of_epoch);
    cr_assert(slice->step_rows == step->rows && slice->last_of_epoch == step->last);
    cr_assert_eq(slice->last_of_run,
                 step->last &&
                     step->epoch + 1 == (stream->config.span_epochs ? 1 : stream->epochs));
    uint64_t full =
        tnd_split_rows(stream->config.split, size, size, stream->config.replicas, slice->replica);
    cr_assert_eq(slice->padded,
                 stream->config.remainder == TND_REMAINDER_PAD ? full - slice->total : 0);
    cr_assert(slice->rows > 0 || slice->total == 0);
    cr_assert_leq(slice->offset + slice->rows, slice->total);
    uint64_t at = slice->rank - step->rank;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < effect->piece_count; i++) {
        const tnd_piece_t *piece = &effect->pieces[i];
        const lane_block_t *block = piece->payload;
        for (uint32_t row = 0; row < piece->rows; row++, seen++) {
            cr_assert_lt(at + seen, step->rows);
            cr_assert_eq(
                memcmp(&block->row[piece->first + row], &step->row[at + seen], sizeof(lane_row_t)),
                0);
        }
    }
    cr_assert_eq(seen, slice->rows);
    world->got[slice->step][slice->replica] += slice->rows;
    world->slices[slice->step][slice->replica]++;
    cr_assert_leq(world->got[slice->step][slice->replica], slice->total);
    world_hold(world, feeder);
}

static void world_part(world_t *world, const tnd_msg_t *msg)
{
    const stream_t *stream = world->stream;
    cr_assert_lt(msg->part.step, stream->step_count);
    const tnd_cursor_t *after = &stream->step[msg->part.step].after;
    cr_assert_eq(tnd_position_compare(msg->part.position, after->part[msg->part.lane]), 0);
    cr_assert(msg->part.epoch == after->epoch && msg->part.rank == after->rank);
    cr_assert_eq(msg->part.step_of_epoch, after->step_of_epoch);
    tnd_ledger_add(&world->delta[msg->part.step], &msg->part.ledger);
    world->parts[msg->part.step]++;
    while (world->cursor.step < stream->step_count &&
           world->parts[world->cursor.step] == stream->config.lanes) {
        uint64_t step = world->cursor.step;
        tnd_ledger_t sum = world->cursor.ledger;
        tnd_ledger_add(&sum, &world->delta[step]);
        world->cursor = stream->step[step].after;
        cr_assert_eq(memcmp(&sum, &world->cursor.ledger, sizeof sum), 0, "seed %lu, step %lu",
                     stream->lane[0].seed, step);

        cr_assert(tnd_ledger_balances(&sum));
    }
}

static void world_effect(world_t *world, uint32_t lane, const tnd_effect_t *effect)
{
    const stream_t *stream = world->stream;
    switch (effect->kind) {
    case TND_EFFECT_DROP:
        lane_drop(effect->payload);
        return;
    case TND_EFFECT_LINK:
        if (effect->msg.kind == TND_MSG_WINDOW)
            return; /* the schedule decides when slots become free */
        world_slice(world, effect);
        return;
    default:
        cr_assert_eq(effect->kind, TND_EFFECT_CONTROL);
    }
    switch (effect->msg.kind) {
    case TND_MSG_TICKET:
        cr_assert_eq(effect->msg.to, readers[lane]);
        world_mail(world, lane, &effect->msg);
        return;
    case TND_MSG_MARK:
        cr_assert_gt(stream->config.lanes, 1);
        world->marks++;
        for (uint32_t other = 0; other < stream->config.lanes; other++)
            if (other != lane)
                world_mail(world, other, &effect->msg);
        return;
    case TND_MSG_PART:
        world_part(world, &effect->msg);
        return;
    case TND_MSG_LAST:
        cr_assert_eq(effect->msg.part.step, stream->step_count);
        tnd_ledger_add(&world->rest, &effect->msg.part.ledger);
        world->lasts++;
        return;
    default:
        cr_assert(false, "message %d", effect->msg.kind);
    }
}

static void world_drain(world_t *world, uint32_t lane)
{
    tnd_effect_t effect;
    while (tnd_batcher_core_next(world->join[lane], 0, &effect))
        world_effect(world, lane, &effect);
}

static void world_open(world_t *world, const stream_t *stream)
{
    memset(world, 0, sizeof *world);
    world->stream = stream;
    world->depth = 2;
    for (uint32_t lane = 0; lane < stream->config.lanes; lane++) {
        tnd_batcher_core_config_t config = stream->config;
        config.order.lane = lane;
        config.order.self = lane;
        config.order.readers = &readers[lane];
        if (config.order.count != TND_UNKNOWN)
            config.order.count = stream->lane[lane].count;
        world->memory[lane] = calloc(1, tnd_batcher_core_bytes(&config));
        world->join[lane] = tnd_batcher_core_init(world->memory[lane], &config);
        cr_assert_eq(tnd_batcher_core_blocked_on(world->join[lane]), TND_WAIT_LEADER);
        for (uint32_t feeder = 0; feeder < FEEDERS; feeder++)
            tnd_batcher_core_feeder_up(world->join[lane], first_feeder + feeder, 1);
    }
}

static void world_close(world_t *world)
{
    tnd_cursor_t cursor;
    tnd_cursor_start(&cursor, world->stream->config.lanes);
    for (uint32_t lane = 0; lane < world->stream->config.lanes; lane++) {
        tnd_effect_t effect;
        tnd_batcher_core_rewind(world->join[lane], 1u << 30, &cursor, 0);
        while (tnd_batcher_core_next(world->join[lane], 0, &effect))
            if (effect.kind == TND_EFFECT_DROP)
                lane_drop(effect.payload);
        free(world->memory[lane]);
    }
    cr_assert_eq(lane_live, 0);
}

/*  All joins go on from a cursor; old mail stays under way. */
static void world_rewind(world_t *world, const tnd_cursor_t *cursor)
{
    world->generation++;
    world->cursor = *cursor;
    world->lasts = 0;
    world->rest = (tnd_ledger_t){0};
    memset(world->got, 0, sizeof world->got);
    memset(world->slices, 0, sizeof world->slices);
    memset(world->parts, 0, sizeof world->parts);
    memset(world->delta, 0, sizeof world->delta);
    for (uint32_t lane = 0; lane < world->stream->config.lanes; lane++) {
        cr_assert(tnd_batcher_core_fits(world->join[lane], cursor));
        tnd_batcher_core_rewind(world->join[lane], world->generation, cursor, 0);
    }
    for (uint32_t feeder = 0; feeder < FEEDERS; feeder++) {
        world->held[feeder] = cursor->step;
        world_window(world, feeder);
    }
    for (uint32_t lane = 0; lane < world->stream->config.lanes; lane++)
        world_drain(world, lane);
}

static void world_deliver(world_t *world, uint64_t *random)
{
    uint32_t at = (uint32_t)lane_random(random, world->mail_count);
    tnd_msg_t msg = world->mail[at];
    uint32_t lane = world->mail_to[at];
    world->mail_count--;
    world->mail[at] = world->mail[world->mail_count];
    world->mail_to[at] = world->mail_to[world->mail_count];
    if (msg.kind == TND_MSG_TICKET && lane_random(random, 4) == 0) {
        msg.kind = TND_MSG_LOST;
        tnd_order_lost(tnd_batcher_core_order(world->join[lane]), &msg);
    } else if (msg.kind == TND_MSG_TICKET) {
        tnd_error_t error;
        tnd_msg_t block = lane_answer(&world->stream->lane[lane], &msg);
        cr_assert_eq(tnd_batcher_core_block(world->join[lane], &block, &error), TND_OK, "%s",
                     error.text);
    } else if (msg.kind == TND_MSG_MARK) {
        tnd_batcher_core_mark(world->join[lane], &msg);
    } else {
        tnd_batcher_core_window(world->join[lane], &msg);
    }
    world_drain(world, lane);
}

/*  To the end of the run, checked on the way. */
static void world_run(world_t *world, uint64_t *random)
{
    const stream_t *stream = world->stream;
    for (unsigned n = 0; world->lasts < stream->config.lanes; n++) {
        cr_assert_gt(world->mail_count, 0, "seed %lu is stuck at step %lu of %u",
                     stream->lane[0].seed, world->cursor.step, stream->step_count);
        cr_assert_lt(n, 200000);
        world_deliver(world, random);
    }
    cr_assert_eq(world->cursor.step, stream->step_count);
    tnd_ledger_add(&world->cursor.ledger, &world->rest);
    cr_assert_eq(memcmp(&world->cursor.ledger, &stream->whole, sizeof stream->whole), 0);
    for (uint32_t replica = 0; replica < stream->config.replicas; replica++)
        cr_assert_eq(world->held[stream->feeder_of[replica] - first_feeder], stream->step_count);
    for (uint32_t lane = 0; lane < stream->config.lanes; lane++)
        cr_assert_eq(tnd_batcher_core_blocked_on(world->join[lane]), TND_WAIT_ENDED);
}

static void random_stream(uint64_t seed, stream_t *stream)
{
    static const uint64_t counts[] = {0, 1, 3, 7, 20, 40};
    uint64_t random = seed * 1001;
    step_t *step = stream->step;
    *stream = (stream_t){.step = step, .epochs = 1 + (uint32_t)lane_random(&random, 3)};
    lane_kind_t kind = (lane_kind_t)lane_random(&random, 4);
    tnd_batcher_core_config_t *config = &stream->config;
    config->lanes = 1 + (uint32_t)lane_random(&random, LANES);
    for (uint32_t lane = 0; lane < config->lanes; lane++)
        stream->lane[lane] = (lane_t){
            .seed = seed, .count = counts[lane_random(&random, 6)], .lane = lane, .kind = kind};
    config->order = (tnd_order_config_t){.reader_count = 1,
                                         .epochs = stream->epochs,
                                         .count = lane_random(&random, 2) ? 0 : TND_UNKNOWN,
                                         .block_rows = 1 + (uint32_t)lane_random(&random, 9),
                                         .bytes = {.fixed = LANE_ROWS_MAX * LANE_BYTES_ROW},
                                         .made_max = LANE_ROWS_MAX * LANE_BYTES_ROW,
                                         .window_bytes = lane_random(&random, 2000),
                                         .window_blocks = 1 + (uint32_t)lane_random(&random, 9)};
    config->size = 1 + lane_random(&random, SIZE_MAX_ROWS);
    config->replicas = 1 + (uint32_t)lane_random(&random, REPLICAS_MAX);
    for (uint32_t r = 0; r < config->replicas; r++)
        stream->feeder_of[r] = first_feeder + r * FEEDERS / config->replicas;
    if (config->replicas == 1)
        stream->feeder_of[0] = first_feeder + (tnd_actor_id_t)lane_random(&random, 2);
    config->feeders = stream->feeder_of;
    config->split = (tnd_split_t)lane_random(&random, 2);
    config->remainder = (tnd_remainder_t)lane_random(&random, 3);
    config->span_epochs = lane_random(&random, 3) == 0;
    config->skip = lane_random(&random, 4) == 0 ? lane_random(&random, 4) : 0;
    stream_define(stream);
}

static world_t world;
static stream_t stream;
static step_t steps[STEPS_MAX];

Test(batcher, steps_and_cursors_are_those_of_the_definition_whatever_the_schedule)
{
    unsigned empty = 0;
    stream.step = steps;
    for (uint64_t seed = 0; seed < 600; seed++) {
        uint64_t random = seed + 5;
        tnd_cursor_t start;
        random_stream(seed, &stream);
        empty += stream.step_count == 0;
        tnd_cursor_start(&start, stream.config.lanes);
        world_open(&world, &stream);
        world_rewind(&world, &start);
        world_run(&world, &random);
        world_close(&world);
    }
    cr_assert_lt(empty, 240);
}

Test(batcher, every_cursor_resumes_exactly)
{
    stream.step = steps;
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint64_t random = seed + 6;
        random_stream(seed, &stream);
        for (uint32_t step = 0; step < stream.step_count; step++) {
            world_open(&world, &stream);
            world_rewind(&world, &stream.step[step].after);
            world_run(&world, &random);
            world_close(&world);
        }
    }
}

Test(batcher, rewinds_in_the_middle_of_anything_change_nothing)
{
    stream.step = steps;
    for (uint64_t seed = 0; seed < 200; seed++) {
        uint64_t random = seed + 7;
        tnd_cursor_t start;
        random_stream(seed, &stream);
        tnd_cursor_start(&start, stream.config.lanes);
        world_open(&world, &stream);
        world_rewind(&world, &start);
        for (unsigned n = 0; n < 5; n++) {
            uint64_t events = lane_random(&random, 60);
            while (events-- > 0 && world.mail_count > 0)
                world_deliver(&world, &random);
            uint64_t to = lane_random(&random, stream.step_count + 1);
            world_rewind(&world, to == 0 ? &start : &stream.step[to - 1].after);
        }
        world_run(&world, &random);
        world_close(&world);
    }
}

/*  One lane, 20 rows, batches of 4 for two replicas at two feeders. */
static void two_replicas(void)
{
    stream = (stream_t){.step = steps, .epochs = 1, .feeder_of = {50, 51}};
    stream.lane[0].count = 20;
    stream.config = (tnd_batcher_core_config_t){.order = {.reader_count = 1,
                                                          .epochs = 1,
                                                          .block_rows = 10,
                                                          .bytes = {.fixed = LANE_BYTES_ROW},
                                                          .made_max = LANE_BYTES_ROW,
                                                          .window_blocks = 4},
                                                .lanes = 1,
                                                .size = 4,
                                                .replicas = 2,
                                                .feeders = stream.feeder_of};
    stream_define(&stream);
}

/*  All tickets are answered; nothing else happens. */
static void answer_all(void)
{
    tnd_error_t error;
    for (uint32_t i = 0; i < world.mail_count; i++)
        if (world.mail[i].kind == TND_MSG_TICKET) {
            tnd_msg_t block = lane_answer(&stream.lane[0], &world.mail[i]);
            cr_assert_eq(tnd_batcher_core_block(world.join[0], &block, &error), TND_OK);
        }
    world.mail_count = 0;
    world_drain(&world, 0);
}

static void give_window(tnd_actor_id_t feeder, uint64_t until)
{
    tnd_msg_t msg = {.kind = TND_MSG_WINDOW, .from = feeder};
    msg.until.step = until;
    world.until[feeder - first_feeder] = until;
    tnd_batcher_core_window(world.join[0], &msg);
}

static void open_two_replicas(void)
{
    tnd_cursor_t start;
    two_replicas();
    tnd_cursor_start(&start, 1);
    world_open(&world, &stream);
    world.depth = 0;
    world_rewind(&world, &start);
    answer_all();
}

Test(batcher, a_step_goes_out_when_all_its_feeders_have_a_slot)
{
    open_two_replicas();
    cr_assert_eq(world.cursor.step, 0);
    cr_assert(tnd_batcher_core_blocked_on(world.join[0]) & TND_WAIT_WINDOW);

    give_window(50, 3);
    world_drain(&world, 0);
    cr_assert_eq(world.slices[0][0], 0, "the other feeder has no slot yet");
    give_window(51, 2);
    world_drain(&world, 0);

    cr_assert_eq(world.cursor.step, 2);
    cr_assert(world.got[1][0] == 2 && world.got[1][1] == 2);
    cr_assert_eq(world.slices[2][0], 0);
    world_close(&world);
}

Test(batcher, a_lost_feeder_breaks_the_generation_only_if_slices_were_sent_to_it)
{
    tnd_effect_t effect;
    open_two_replicas();
    tnd_batcher_core_feeder_lost(world.join[0], 50);
    tnd_batcher_core_feeder_up(world.join[0], 50, 1);
    cr_assert_not(tnd_batcher_core_next(world.join[0], 0, &effect), "nothing was sent to it");
    give_window(50, 1);
    give_window(51, 1);
    world_drain(&world, 0);
    cr_assert_eq(world.cursor.step, 1);

    tnd_batcher_core_feeder_up(world.join[0], 51,
                               1); /* a new connection took the place of the old one */
    give_window(51, 9);
    give_window(50, 9);
    cr_assert(tnd_batcher_core_next(world.join[0], 0, &effect));
    cr_assert(effect.msg.kind == TND_MSG_BROKEN && effect.msg.to == TND_LEADER);
    cr_assert_not(tnd_batcher_core_next(world.join[0], 0, &effect),
                  "said once, and no slice after it");
    cr_assert_eq(tnd_batcher_core_blocked_on(world.join[0]), TND_WAIT_LEADER);

    tnd_cursor_t after = stream.step[0].after;
    world_rewind(&world, &after);
    answer_all();
    cr_assert_eq(world.cursor.step, 5);
    world_close(&world);
}

Test(batcher, lanes_send_about_one_mark_per_step_and_a_single_lane_none)
{
    for (uint32_t lanes = 1; lanes <= LANES; lanes++) {
        uint64_t random = lanes;
        tnd_cursor_t start;
        two_replicas();
        stream.config.lanes = lanes;
        stream.config.size = 12;
        stream.config.order.block_rows = 1;
        stream.config.order.window_blocks = 64;
        for (uint32_t lane = 0; lane < lanes; lane++)
            stream.lane[lane] = (lane_t){.count = 400, .lane = lane};
        stream_define(&stream);
        tnd_cursor_start(&start, lanes);
        world_open(&world, &stream);
        world_rewind(&world, &start);
        world_run(&world, &random);
        cr_assert(lanes == 1 ? world.marks == 0 : world.marks < lanes * 3 * stream.step_count,
                  "%u marks of %u lanes for %u steps", world.marks, lanes, stream.step_count);
        world_close(&world);
    }
}

/*  The first of two lanes, rewound to the start, for batches of 4 rows to one feeder. */
static tnd_batcher_core_t *first_lane(bool span_epochs)
{
    static const tnd_actor_id_t feeder = 9;
    tnd_batcher_core_config_t config = {.order = {.readers = readers,
                                                  .reader_count = 1,
                                                  .epochs = 9,
                                                  .count = 100,
                                                  .block_rows = 100,
                                                  .bytes = {.fixed = 1},
                                                  .made_max = 1,
                                                  .window_blocks = 1},
                                        .lanes = 2,
                                        .size = 4,
                                        .replicas = 1,
                                        .feeders = &feeder,
                                        .span_epochs = span_epochs};
    tnd_batcher_core_t *join =
        tnd_batcher_core_init(calloc(1, tnd_batcher_core_bytes(&config)), &config);
    tnd_cursor_t start;
    tnd_cursor_start(&start, 2);
    tnd_batcher_core_rewind(join, 1, &start, 0);
    tnd_batcher_core_feeder_up(join, feeder, 1);
    tnd_msg_t window = {.kind = TND_MSG_WINDOW, .generation = 1, .from = feeder, .until.step = 9};
    tnd_batcher_core_window(join, &window);
    return join;
}

static uint32_t slices_of(tnd_batcher_core_t *join)
{
    uint32_t slices = 0;
    tnd_effect_t effect;
    while (tnd_batcher_core_next(join, 0, &effect))
        slices += effect.msg.kind == TND_MSG_SLICE;
    return slices;
}

Test(batcher, a_mark_of_an_epoch_far_away_does_not_displace_that_of_now)
{
    tnd_batcher_core_t *join = first_lane(false);
    cr_assert_eq(slices_of(join), 0);
    int payload;
    tnd_msg_t block = {.kind = TND_MSG_BLOCK,
                       .generation = 1,
                       .block = {.count = 100, .asked = 100, .rows = 100, .payload = &payload}};
    cr_assert_eq(tnd_batcher_core_block(join, &block, NULL), TND_OK);
    tnd_msg_t mark = {.kind = TND_MSG_MARK, .generation = 1, .mark = {.lane = 1, .rows = 3}};
    tnd_batcher_core_mark(join, &mark);
    cr_assert_eq(slices_of(join), 1);
    tnd_msg_t far = {.kind = TND_MSG_MARK, .generation = 1, .mark = {.lane = 1, .epoch = 4}};
    tnd_batcher_core_mark(join, &far);
    mark.mark.rows = 5;
    tnd_batcher_core_mark(join, &mark);
    cr_assert_eq(slices_of(join), 1);
    free(join);
}

Test(batcher, a_cursor_whose_lanes_are_in_another_epoch_does_not_fit)
{
    tnd_batcher_core_t *apart = first_lane(false), *spanning = first_lane(true);
    tnd_cursor_t cursor;
    tnd_cursor_start(&cursor, 2);
    cr_assert(tnd_batcher_core_fits(apart, &cursor));
    cursor.part[0].epoch = cursor.part[1].epoch = 3;
    cr_assert_not(tnd_batcher_core_fits(apart, &cursor));
    cr_assert(tnd_batcher_core_fits(spanning, &cursor), "there all epochs are one");
    cursor.epoch = 3;
    cr_assert(tnd_batcher_core_fits(apart, &cursor));
    cursor.lanes = 3;
    cr_assert_not(tnd_batcher_core_fits(spanning, &cursor));
    free(apart);
    free(spanning);
}
