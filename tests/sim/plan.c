/*  tests/sim/plan.c - draws the plan of a seed. */
#include "tests/sim/plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*  What a random stream of a seed draws. */
enum { USE_GRAPH = 1, USE_PLACEMENT, USE_MADE, USE_ROGUE, USE_CUT, USE_KEEP, USE_KILLERS };
enum { USE_AFTER = 8, USE_LATE, USE_FLAPS, USE_PORTS, USE_SIZES, USE_READ, USE_OPENING };
enum { USE_PREEMPTED = 16, USE_CACHE, USE_BUCKETS, USE_SLEEP, USE_PACKING, USE_DEVICES };
enum {
    USE_CURSOR = 15,
    USE_PARENTS = 22,
    USE_FINISH,
    USE_SPARE,
    USE_REWINDS = 40,
    USE_VALIDATION,
    USE_FEED,
    USE_SYNCS,
    USE_DEALT
};

static const uint64_t us = 1000, ms = 1000 * 1000;

uint64_t sim_plan_sample(const sim_plan_t *self, uint32_t lane, uint32_t epoch, uint64_t index)
{
    uint64_t count = self->count[lane];
    return self->cached && index < count ? (index + epoch * (count / 2 + 1)) % count : index;
}

uint64_t sim_plan_row(const sim_plan_t *self, uint32_t lane, uint32_t epoch, uint64_t index,
                      uint32_t sub)
{
    lane = self->feed == TND_FEED_PIECES ? 0 : lane;
    return sim_row_id(lane, self->cached ? 0 : epoch, sim_plan_sample(self, lane, epoch, index),
                      sub);
}

/*  With a cache a row kills in every epoch. */
bool sim_plan_kills(const sim_plan_t *self, uint32_t lane, uint32_t epoch, uint64_t index)
{
    uint64_t sample = sim_plan_sample(self, lane, epoch, index);
    bool there = lane == self->killer_lane || self->feed == TND_FEED_PIECES;
    return self->killers > 0 && there && (epoch == 0 || self->cached) &&
           sample >= self->killer_first && sample - self->killer_first < self->killers;
}

bool sim_plan_is_exact(const sim_plan_t *self)
{
    return self->known && self->bad_percent == 0 && self->drop_percent == 0 &&
           self->more_most == 1 && self->killers == 0 && !self->empties;
}

int32_t sim_plan_made(const sim_plan_t *self, uint32_t lane, uint32_t epoch, uint64_t index)
{
    if (sim_plan_kills(self, lane, epoch, index))
        return -1;
    uint64_t hash = sim_hash(self->seed ^ USE_MADE, sim_plan_row(self, lane, epoch, index, 0));
    if (hash % 1000 < self->bad_percent)
        return -1;
    hash >>= 16;
    if (hash % 100 < self->drop_percent || (self->empties && epoch == 1))
        return 0;
    hash >>= 16;
    if (hash % 100 < self->more_percent)
        return 1 + (int32_t)((hash >> 8) % self->more_most);
    return 1;
}

static uint64_t ragged_of(const sim_plan_t *self, uint64_t hash)
{
    if (self->bytes.ragged_max == 0)
        return 0;
    bool large = hash % 1000 < self->large_rows;
    return 1 + (hash >> 16) % (large ? self->most_ragged : self->usual_ragged);
}

uint64_t sim_ragged_made(const sim_plan_t *self, uint64_t id)
{
    return self->pads ? 0 : ragged_of(self, sim_hash(self->seed ^ USE_SIZES, id));
}

uint64_t sim_ragged_read(const sim_plan_t *self, uint64_t id)
{
    return ragged_of(self, sim_hash(self->seed ^ USE_READ, id));
}

/*  Batches at the start of an epoch that are not steps, and the number of steps. */
static void draw_cut(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_CUT);
    uint64_t rows = 0;
    for (uint32_t l = 0; l < self->lanes; l++)
        rows += (uint64_t)self->count[l] * (self->span_epochs ? self->epochs : 1);
    uint32_t batches = (uint32_t)(rows / self->size);
    self->skip = sim_chance(&random, 60) ? sim_below(&random, 2 + batches / 2) : 0;
    self->take = sim_chance(&random, 75) ? sim_between(&random, 1, 1 + batches) : 0;
}

static void draw_cache(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_CACHE);
    self->cached = sim_chance(&random, 20);
    if (!self->cached)
        return;
    self->cache_first = sim_chance(&random, 50);
    self->cache_room = sim_chance(&random, 60) ? UINT32_MAX : sim_below(&random, 3000);
    self->epochs = sim_between(&random, 2, SIM_EPOCHS);
    self->cache_holes = sim_chance(&random, 60) ? sim_between(&random, 1, 30) : 0;
}

/*  Rows from 0 to 999 long, in up to six buckets; most windows have several batches. */
static void draw_buckets(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_BUCKETS);
    if (self->lanes > 1 || self->size > SIM_BUCKET_ROWS || !sim_chance(&random, 50))
        return;
    uint32_t most = self->size, rows = 0;
    self->bucket_count = sim_between(&random, 2, SIM_BUCKETS);
    uint64_t bound = 0;
    for (uint32_t b = 0; b < self->bucket_count; b++) {
        bound += sim_between(&random, 1, 400);
        self->bucket_bounds[b] = bound;
        self->bucket_sizes[b] = sim_between(&random, 1 + most / 2, most);
        rows += (uint32_t)self->bucket_sizes[b];
        self->size = b > 0 && self->size > self->bucket_sizes[b] ? self->size
                                                                 : (uint32_t)self->bucket_sizes[b];
    }
    self->bucket_window = sim_chance(&random, 60) ? sim_between(&random, 1, 3 * rows) : 0;
    self->bucket_drop = sim_chance(&random, 30);
    self->bucket_bounded = sim_chance(&random, 30);
    self->measured = true;
    self->span_epochs = false;
    self->remainder = TND_REMAINDER_KEEP;
    self->skip = self->cursor_every = 0;
}

/*  Some rows are longer than a packed row, others have no values. */
static void draw_packing(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_PACKING);
    if (self->lanes > 1 || self->size > SIM_BUCKET_ROWS || self->bucket_count > 0 ||
        !sim_chance(&random, 50))
        return;
    self->pack_length = sim_between(&random, 300, 2000);
    self->pack_drop = sim_chance(&random, 30);
    self->measured = true;
    self->cursor_every = 0;
}

/*  In every third run of several lanes each of them has replicas of its own.  With pieces each reads the
 *  rows of all. */
static void draw_feed(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_FEED);
    if (self->lanes == 1 || self->lanes > SIM_REPLICAS || !sim_chance(&random, 35))
        return;
    self->feed = sim_chance(&random, 60) ? TND_FEED_APART : TND_FEED_PIECES;
    self->replicas =
        self->replicas < self->lanes ? self->lanes : self->replicas / self->lanes * self->lanes;
    uint32_t rows = 0;
    for (uint32_t l = 0; l < self->lanes; l++)
        rows += self->count[l];
    for (uint32_t l = 0; l < self->lanes && self->feed == TND_FEED_PIECES; l++)
        self->count[l] = rows / self->lanes;
    if (self->feed == TND_FEED_PIECES) {
        self->size = 1 + self->size / self->lanes;
        return;
    }
    bool legacy = self->split == TND_SPLIT_REBATCH_LEGACY;
    uint32_t others = self->replicas - 1;
    /* Every replica gets a row of a full batch. */
    while (legacy ? (self->size + others) / self->replicas * others >= self->size
                  : self->size < self->replicas)
        self->size++;
    if (legacy && self->remainder != TND_REMAINDER_PAD) {
        self->cursor_every = self->lanes;
        self->skip -= self->skip % self->lanes;
    }
}

/*  As a parameter server: the rows of a batch are not split. */
static void draw_dealt(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_DEALT);
    if (self->reductions > 0 || self->finishes || self->feed != TND_FEED_TOGETHER ||
        !sim_chance(&random, 30))
        return;
    self->dealt = self->replicas;
    self->replicas = 1;
    self->deal_window = sim_between(&random, 8, 40);
    self->arrival = sim_chance(&random, 40);
    self->staleness =
        self->arrival && sim_chance(&random, 40) ? TND_UNKNOWN : sim_below(&random, 7);
}

static void draw_graph(sim_plan_t *self)
{
    static const uint32_t lane_counts[] = {1, 1, 1, 2, 2, 3, 4, 5, 8};
    sim_random_t random = sim_random(self->seed, USE_GRAPH);
    self->lanes = lane_counts[sim_below(&random, 9)];
    self->epochs = sim_between(&random, 1, SIM_EPOCHS);
    self->replicas = sim_between(&random, 1, SIM_REPLICAS);
    self->reductions = sim_below(&random, 3);
    self->split = sim_chance(&random, 70) ? TND_SPLIT_REBATCH_V2 : TND_SPLIT_REBATCH_LEGACY;
    uint32_t kind = sim_below(&random, 10);
    self->remainder = kind < 6   ? TND_REMAINDER_KEEP
                      : kind < 8 ? TND_REMAINDER_DROP
                                 : TND_REMAINDER_PAD;
    self->span_epochs = sim_chance(&random, 25);
    self->operations = sim_chance(&random, 85);
    self->bad_percent = sim_chance(&random, 40) ? sim_between(&random, 1, 100) : 0;
    self->more_most = 1;
    if (self->operations) {
        self->drop_percent = sim_chance(&random, 60) ? sim_between(&random, 1, 60) : 0;
        self->more_percent = sim_chance(&random, 40) ? sim_between(&random, 1, 50) : 0;
        self->more_most = self->more_percent ? sim_between(&random, 2, 4) : 1;
    }
    /*  Lanes are uneven: each draws its part of all positions; some have none. */
    uint32_t rows =
        sim_chance(&random, 4) ? sim_below(&random, 50) : sim_between(&random, 1000, 3200);
    draw_cache(self);
    uint32_t weights[SIM_LANES], sum = 0;
    for (uint32_t l = 0; l < self->lanes; l++)
        sum += weights[l] = sim_chance(&random, 8) ? 0 : sim_between(&random, 1, 6);
    for (uint32_t l = 0; l < self->lanes; l++)
        self->count[l] = sum ? rows * weights[l] / sum / self->epochs : 0;
    uint32_t least = 1 + rows / 250;
    self->size = sim_chance(&random, 50) ? sim_between(&random, least, 2 * least)
                                         : sim_between(&random, least, 12 * least);
    self->steps_max = sim_chance(&random, 10) ? sim_below(&random, 150) : TND_UNKNOWN;
    if (self->seed % 4 == 1)
        draw_cut(self);
    random = sim_random(self->seed, USE_CURSOR);
    self->measured = sim_chance(&random, 50);
    self->cursor_every = sim_chance(&random, 40) ? sim_between(&random, 1, 9) : 0;
    draw_buckets(self);
    draw_packing(self);
    draw_feed(self);
    /* Programs of several hosts end their loops apart only if no reduction joins their steps. */
    self->finishes = sim_hash(self->seed, USE_FINISH) % 100 < 16;
    if (self->finishes && sim_hash(self->seed, USE_FINISH + 64) % 100 < 60)
        self->reductions = 0;
    draw_dealt(self);
}

/*  Drawn apart: the graphs of kept seeds stay what they are.  Where connections do not last rows
 *  that kill are common: they are to be told from those that are only lost. */
static void draw_killers(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_FLAPS);
    if (self->operations && sim_chance(&random, 8))
        self->flaps = sim_between(&random, 10, 60);
    random = sim_random(self->seed, USE_KILLERS);
    if (!self->operations || !sim_chance(&random, self->flaps > 0 ? 50 : 15))
        return;
    self->killers = sim_between(&random, 1, SIM_KILLERS);
    self->killer_lane = sim_below(&random, self->lanes);
    self->killer_first = sim_below(&random, 1 + self->count[self->killer_lane]);
}

static void add(sim_plan_t *self, tnd_role_t role, uint32_t host, uint32_t lane, const char *name,
                uint32_t number)
{
    uint32_t id = self->member_count++;
    assert(id < SIM_ACTORS);
    (void)snprintf(self->names[id], sizeof self->names[id], "%s.%u", name, number);
    self->members[id] =
        (tnd_member_t){.id = id, .role = role, .host = host, .lane = lane, .name = self->names[id]};
}

bool sim_plan_serves(const sim_plan_t *self, uint32_t host, uint32_t lane)
{
    bool beside = false;
    for (uint32_t i = 0; i < self->first_join; i++) {
        if (self->members[i].host != host)
            continue;
        if (self->members[i].lane == lane)
            return true;
        beside = true;
    }
    return !beside;
}

/*  The replicas that feeders carry. */
static uint32_t carried(const sim_plan_t *self)
{
    return self->dealt > 0 ? self->dealt : self->replicas;
}

static void draw_members(sim_plan_t *self, sim_random_t *random)
{
    bool pool = self->hosts > 1 && self->operations && sim_chance(random, 60);
    uint32_t pools = pool ? sim_between(random, 1, self->hosts > 3 ? 2 : 1) : 0;
    uint32_t first_pool = self->hosts - pools; /* readers have lower numbers */
    uint32_t reading = sim_between(random, 1, first_pool);
    if (!pool && self->operations && reading > self->workers)
        reading = self->workers;
    uint32_t lane_host[SIM_LANES];
    bool used[SIM_HOSTS] = {false};
    for (uint32_t l = 0; l < self->lanes; l++) {
        lane_host[l] = sim_below(random, reading);
        used[lane_host[l]] = true;
    }
    for (uint32_t l = 0; l < self->lanes; l++)
        for (uint32_t r = 0; r < self->readers; r++)
            add(self, TND_ROLE_READER, lane_host[l], l, "read", l * self->readers + r);
    self->first_join = self->member_count;
    for (uint32_t l = 0; l < self->lanes; l++)
        add(self, TND_ROLE_JOIN,
            sim_chance(random, 75) ? lane_host[l] : sim_below(random, self->hosts), l, "batch", l);
    self->first_worker = self->member_count;
    for (uint32_t w = 0, next = 0; w < self->workers; w++) {
        uint32_t host = first_pool + sim_below(random, pools ? pools : 1);
        if (!pool) {
            while (!used[next % self->hosts])
                next++;
            host = next++ % self->hosts;
        }
        add(self, TND_ROLE_WORKER, host, 0, "prep", w);
    }
    self->first_feeder = self->member_count;
    for (uint32_t f = 0, next = 0; f < self->feeders; f++) {
        uint32_t left = self->feeders - f - 1;
        uint32_t most = carried(self) - next - left;
        uint32_t replicas = left == 0 ? most : sim_between(random, 1, most);
        self->feeder_first[f] = next;
        self->feeder_replicas[f] = replicas;
        next += replicas;
        add(self, self->dealt > 0 ? TND_ROLE_REPLICA : TND_ROLE_FEEDER,
            sim_below(random, self->hosts), 0, "feed", f);
    }
    self->reducer = self->member_count;
    if (self->dealt > 0)
        add(self, TND_ROLE_PARAMETERS, sim_below(random, self->hosts), 0, "hold", 0);
    else if (self->reductions > 0)
        add(self, TND_ROLE_REDUCER, sim_below(random, self->hosts), 0, "mean", 0);
    self->first_cache = self->member_count;
    for (uint32_t l = 0; l < self->lanes && self->cached; l++)
        add(self, TND_ROLE_CACHE,
            sim_chance(random, 60) ? lane_host[l] : sim_below(random, self->hosts), l, "keep", l);
    for (uint32_t w = self->first_worker; w < self->first_feeder; w++)
        self->members[w].lane = self->cached && self->cache_first;
}

static void draw_placement(sim_plan_t *self)
{
    static const uint32_t rows_choices[] = {1, 2, 3, 4, 6, 8, 13, 20, 50};
    sim_random_t random = sim_random(self->seed, USE_PLACEMENT + 16 * (uint64_t)self->session);
    self->hosts = sim_between(&random, 1, SIM_HOSTS);
    self->readers = sim_chance(&random, 30) ? 2 : 1;
    self->workers = self->operations ? sim_between(&random, 1, 7) : 0;
    self->feeders = sim_between(&random, 1, carried(self) < 3 ? carried(self) : 3);
    self->known = sim_chance(&random, 60);
    self->eager_end = sim_chance(&random, 60);
    /*  Some hundred blocks per run, whatever the size of the data. */
    uint64_t positions = 0;
    for (uint32_t l = 0; l < self->lanes; l++)
        positions += (uint64_t)self->count[l] * self->epochs;
    uint32_t fair = 1 + (uint32_t)(positions / 700);
    self->block_rows = sim_chance(&random, 75) ? sim_between(&random, fair, fair + 2)
                                               : rows_choices[sim_below(&random, 9)];
    if (self->block_rows * 900 < positions)
        self->block_rows = fair;
    self->row_bytes = sim_between(&random, 1, 200);
    uint64_t block_max = self->block_rows * self->row_bytes * self->more_most;
    self->window_blocks =
        sim_chance(&random, 30) ? sim_between(&random, 1, 4) : sim_between(&random, 4, 40);
    self->window_bytes = block_max * sim_between(&random, 1, 2 * self->window_blocks);
    self->queue_blocks = sim_between(&random, 1, 8);
    self->queue_bytes = block_max * sim_between(&random, 1, 8);
    self->block_ns = sim_chance(&random, 20) ? sim_between(&random, 50, 500) * us : 0;
    self->depth = sim_between(&random, 1, 4);
    self->unbooked_most = self->depth + sim_below(&random, 6);
    self->link_timeout_ns = 100 * ms;
    self->dead_after_ns = 1500 * ms;
    self->latency_ns = sim_between(&random, 5, 300) * us;
    self->jitter_ns = sim_between(&random, 0, 200) * us;
    self->read_ns = sim_between(&random, 5, 200) * us;
    self->apply_ns = sim_between(&random, 5, 600) * us;
    self->step_ns = sim_between(&random, 5, 1000) * us;
    self->known = self->known || self->cached; /* a cache needs to know it */
    draw_members(self, &random);
    self->faults = sim_between(&random, 14, 23);
    self->drain = sim_chance(&random, 7);
    self->death = self->session == 0 && sim_chance(&random, 12);
}

/*  The most bytes of ragged columns of as many rows of a lane as a batch has. */
static uint64_t most_of_lane(const sim_plan_t *self, uint32_t lane)
{
    uint64_t most = 1, sum = 0, rows = 0, *sizes = NULL;
    uint64_t room = (uint64_t)self->count[lane] * self->epochs * self->more_most;
    sizes = calloc(room + 1, sizeof *sizes);
    assert(sizes != NULL);
    for (uint32_t epoch = 0; epoch < self->epochs; epoch++)
        for (uint64_t index = 0; index < self->count[lane]; index++) {
            int32_t made = sim_plan_made(self, lane, epoch, index);
            for (int32_t j = 0; j < made; j++) {
                sizes[rows] =
                    sim_ragged_made(self, sim_plan_row(self, lane, epoch, index, (uint32_t)j));
                sum += sizes[rows] - (rows >= self->size ? sizes[rows - self->size] : 0);
                rows++;
                most = sum > most ? sum : most;
            }
        }
    free(sizes);
    return most;
}

static uint64_t most_of_batch(const sim_plan_t *self)
{
    uint64_t most = 0;
    for (uint32_t lane = 0; lane < self->lanes; lane++) {
        uint64_t of_lane = most_of_lane(self, lane);
        most = of_lane > most ? of_lane : most;
    }
    return most;
}

/*  Rows from one byte to 40 budgets; in a third of the runs all rows have one size. */
static void draw_sizes(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_SIZES + 16 * (uint64_t)self->session);
    self->bytes.fixed = self->made_max = self->row_bytes * self->more_most;
    if (sim_chance(&random, 35))
        return;
    uint64_t budget = sim_between(&random, 20, 4000);
    uint64_t most = sim_chance(&random, 40) ? sim_between(&random, 1, (uint32_t)budget)
                                            : budget * sim_between(&random, 1, 40);
    self->bytes.budget = budget;
    self->most_ragged = most / self->more_most + 1;
    self->bytes.ragged_max = self->most_ragged * self->more_most;
    self->usual_ragged = budget / (self->block_rows * sim_between(&random, 1, 4)) + 1;
    if (self->usual_ragged > self->most_ragged)
        self->usual_ragged = self->most_ragged;
    self->large_rows = sim_chance(&random, 10) ? 1000 : sim_below(&random, 60);
    self->hasty_percent = sim_chance(&random, 50) ? sim_between(&random, 1, 30) : 0;
    self->pads = self->operations && sim_chance(&random, 40);
    if (!self->pads)
        self->made_ragged = self->bytes.ragged_max;
    self->made_max += self->made_ragged;
    if (!self->pads && sim_chance(&random, 50) && !sim_plan_stores(self))
        self->batch_ragged = most_of_batch(self);
    uint64_t blocks = self->block_rows * self->bytes.fixed + budget;
    self->window_bytes = sim_chance(&random, 50) ? 0 : 2 * (uint64_t)self->size * self->made_max;
    self->window_bytes += blocks * sim_between(&random, 1, 2 * self->window_blocks);
    self->queue_bytes += budget;
}

static void draw_straggler(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_LATE + 16 * (uint64_t)self->session);
    self->straggler = UINT32_MAX;
    if (sim_chance(&random, 50)) {
        self->overdue_ns = sim_between(&random, 200, 10000) * us;
        self->rest_ns = sim_between(&random, 1, 16) * self->overdue_ns;
    }
    self->queue_ns = sim_chance(&random, 50) ? sim_between(&random, 1, 8) * self->apply_ns : 0;
    if (self->workers > 1 && sim_chance(&random, 40))
        self->straggler = self->first_worker + sim_below(&random, self->workers);
}

static void draw_rogue(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_ROGUE);
    self->rogue = UINT32_MAX;
    if (self->reductions == 0 || self->feeders < 2 || self->session > 0 || !sim_chance(&random, 14))
        return;
    self->rogue = self->first_feeder + sim_below(&random, self->feeders);
    self->rogue_step = sim_below(&random, 100);
    self->rogue_reductions = sim_below(&random, self->reductions + 1);
    if (self->rogue_reductions == self->reductions)
        self->rogue_reductions++;
}

/*  Every other seed has checkpoints and is killed until it has resumed a few times. */
static void draw_checkpoints(sim_plan_t *self)
{
    if (self->seed % 2 == 0 || self->dealt > 0)
        return;
    sim_random_t random = sim_random(self->seed, USE_KEEP);
    self->keep = sim_between(&random, 1, 3);
    if (sim_chance(&random, 50))
        self->keep_steps = sim_between(&random, 1, 30);
    else
        self->keep_ns = sim_between(&random, 200, 40000) * us;
    for (uint32_t s = 0; s <= self->session; s++)
        self->death = sim_chance(&random, 40) && s < SIM_SESSIONS - 1;
}

/*  In every tenth run hosts open their data, some for longer than start_timeout. */
static void draw_opening(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_OPENING + 16 * (uint64_t)self->session);
    self->start_timeout_ns = 15000 * ms;
    self->hung_after_ns = 1500 * ms;
    self->stalls = UINT32_MAX;
    self->opens = sim_hash(self->seed, USE_OPENING) % 100 < 12;
    if (!self->opens)
        return;
    self->start_timeout_ns = 10000 * ms;
    self->report_ns = sim_between(&random, 50, 750) * ms;
    for (uint32_t h = 0; h < self->hosts; h++) {
        self->open_ns[h] = sim_below(&random, sim_chance(&random, 40) ? 15000 : 100) * ms;
        self->reopen_ns[h] = sim_below(&random, sim_chance(&random, 30) ? 15000 : 100) * ms;
    }
    if (!sim_chance(&random, 25))
        return;
    self->stalls = sim_below(&random, self->hosts);
    self->stalls_after = sim_below(&random, 4);
    self->open_ns[self->stalls] = 15000 * ms;
}

static bool only_works(const sim_plan_t *self, uint32_t h)
{
    bool only = h > 0, works = false;
    for (uint32_t id = 0; id < self->member_count; id++) {
        bool worker = id >= self->first_worker && id < self->first_feeder;
        only = only && (worker || self->members[id].host != h);
        works = works || (worker && self->members[id].host == h);
    }
    return only && works;
}

/*  Whether the workers of other hosts serve all lanes. */
static bool can_miss(const sim_plan_t *self, uint32_t h)
{
    uint32_t served = 0;
    for (uint32_t l = 0; l < self->lanes; l++) {
        bool serves = false;
        for (uint32_t w = self->first_worker; w < self->first_feeder && !serves; w++)
            serves = self->members[w].host != h && sim_plan_serves(self, self->members[w].host, l);
        served += serves;
    }
    return served == self->lanes;
}

/*  In some runs the start does not wait for a host that only carries workers, which comes later. */
static void draw_spare(sim_plan_t *self)
{
    self->spare = UINT32_MAX;
    for (uint32_t h = 1; h < self->hosts && sim_hash(self->seed, USE_SPARE) % 100 < 60; h++)
        if (only_works(self, h) && can_miss(self, h))
            self->spare = h;
}

/*  In a run of so few steps that a feeder may do them all meanwhile. */
static void draw_preempted(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_PREEMPTED);
    if (!sim_chance(&random, 8))
        return;
    self->steps_max = sim_below(&random, 12);
    self->preempted_host =
        self->members[self->first_feeder + sim_below(&random, self->feeders)].host;
    self->preempted_ns = sim_below(&random, 300) * ms;
    if (sim_chance(&random, 50))
        self->validation =
            (tnd_validation_t){.steps = sim_between(&random, 1, 6), .made = TND_UNKNOWN};
}

/*  In every second run copies and steps take time on the device. */
static void draw_devices(sim_plan_t *self)
{
    sim_random_t random = sim_random(self->seed, USE_DEVICES + 16 * (uint64_t)self->session);
    self->hung_feeder = UINT32_MAX;
    if (self->dealt > 0 || sim_hash(self->seed, USE_DEVICES) % 2 == 0)
        return;
    self->copy_ns = sim_between(&random, 5, 1500) * us;
    self->event_ns = sim_between(&random, 5, 1500) * us;
    self->hold_percent = sim_chance(&random, 50) ? sim_between(&random, 5, 100) : 0;
    self->discards =
        self->reductions == 0 && !self->finishes && sim_hash(self->seed, USE_DEVICES + 8) % 4 == 0;
    if (!self->death || self->session > 0 || !sim_chance(&random, 50))
        return;
    self->hung_feeder = self->first_feeder + sim_below(&random, self->feeders);
    self->hung_step = sim_below(&random, 100);
    self->hung_copies = sim_chance(&random, 50) || self->discards;
}

/*  Where programs end epochs early, the stream is the one that `take` gives. */
static void draw_rewinds(sim_plan_t *self)
{
    self->rewinds = self->take > 0 && self->dealt == 0 && !self->span_epochs &&
                    self->bucket_count == 0 && self->pack_length == 0 && !self->discards &&
                    !self->finishes && self->rogue == UINT32_MAX &&
                    sim_hash(self->seed, USE_REWINDS) % 100 < 60;
}

/*  Steps are few, so that validations are due often. */
static void draw_validation(sim_plan_t *self)
{
    uint64_t drawn = sim_hash(self->seed, USE_VALIDATION);
    self->validation.made = TND_UNKNOWN;
    if (drawn % 100 >= 25 || self->dealt > 0)
        return;
    if (drawn % 2 == 0)
        self->validation.steps = 1 + drawn / 100 % 20;
    else
        self->validation.epochs = 1 + drawn / 100 % 3;
    self->best = self->keep > 0 && !self->finishes && drawn / 10000 % 100 < 70;
    if (self->best && self->validation.epochs > 1) {
        self->validation.epochs = 2;
        self->empties = self->operations && !self->cached;
    }
    self->judge = (tnd_best_t){.least = drawn / 1000000 % 2, .patience = drawn / 2000000 % 4};
}

void sim_plan_draw(sim_plan_t *self, uint64_t seed, uint32_t session)
{
    memset(self, 0, sizeof *self);
    self->seed = seed;
    self->session = session;
    draw_graph(self);
    draw_killers(self);
    draw_placement(self);
    draw_sizes(self);
    draw_straggler(self);
    self->sleepy = sim_hash(seed, USE_SLEEP) % 100 < 35;
    if (self->flaps > 0)
        self->flapper = self->first_worker + sim_hash(seed, USE_FLAPS) % self->workers;
    draw_rogue(self);
    draw_checkpoints(self);
    self->after = self->dealt == 0 && sim_hash(seed, USE_AFTER) % 100 < 24;
    draw_validation(self);
    self->parents = sim_hash(seed, USE_PARENTS) % 100 < 50;
    self->ports = sim_hash(seed, USE_PORTS) % 100 < 35;
    draw_opening(self);
    draw_spare(self);
    draw_preempted(self);
    draw_devices(self);
    draw_rewinds(self);
    self->repeats =
        self->after && sim_hash(seed, USE_AFTER) % 100 < 12 && self->steps_max == TND_UNKNOWN;
    if (self->repeats) /* what is fed again was fed to its end */
        self->judge.patience = 0;
    self->syncs = self->reductions > 0 && !self->repeats && sim_hash(seed, USE_SYNCS) % 100 < 40;
}
