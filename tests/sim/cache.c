/*  tests/sim/cache.c - a cache: what its driver does for the machine of the core, and its store. */
#include <string.h>

#include "runtime/core/lane/mixed_rows.h"
#include "tests/sim/cluster.h"

/*  Which samples are stored; their rows are those that sim_make_rows makes. */
struct sim_cache {
    sim_t *sim;
    uint32_t lane, stored;
    bool *has;
};

/*  Whether it stores rows as they are read. */
static bool is_raw(const sim_plan_t *plan)
{
    return plan->operations && plan->cache_first;
}

static bool has(const struct sim_cache *cache, uint32_t epoch, uint64_t position)
{
    const sim_plan_t *plan = &cache->sim->plan;
    return position < plan->count[cache->lane] &&
           cache->has[sim_plan_sample(plan, cache->lane, epoch, position)];
}

static uint32_t find_stored(void *store, uint32_t epoch, uint64_t first, uint32_t count,
                            tnd_held_t *held)
{
    uint32_t stored = 0;
    for (uint32_t i = 0; i < count; i++)
        if (has(store, epoch, first + i)) {
            tnd_held_add(held, i);
            stored++;
        }
    return stored;
}

static bool is_hole(const struct sim_cache *cache, uint64_t sample)
{
    const sim_plan_t *plan = &cache->sim->plan;
    return sim_hash(plan->seed + cache->lane, sample) % 100 < plan->cache_holes;
}

static void put(sim_t *self, uint32_t id, const tnd_block_note_t *note)
{
    struct sim_cache *cache = self->actors[id].cache;
    const sim_plan_t *plan = &self->plan;
    uint32_t bad = 0;
    for (uint32_t i = 0; i < note->count; i++) {
        uint64_t sample = sim_plan_sample(plan, note->lane, note->epoch, note->first + i);
        if (bad < note->bad_count && note->bad[bad] == i)
            bad++;
        else if (!cache->has[sample] &&
                 (cache->stored == plan->cache_room || is_hole(cache, sample)))
            tnd_cache_core_store_full(self->actors[id].machine);
        else if (!cache->has[sample]) {
            cache->stored++;
            cache->has[sample] = true;
        }
    }
}

/*  The block of a ticket whose samples are stored. */
static void fill(sim_t *self, uint32_t id, const tnd_msg_t *ticket, tnd_block_note_t *note)
{
    const tnd_held_t none = {0};
    tnd_held_t held = {0};
    const sim_plan_t *plan = &self->plan;
    *note = (tnd_block_note_t){.first = ticket->ticket.first,
                               .lane = ticket->ticket.lane,
                               .epoch = ticket->ticket.epoch,
                               .count = ticket->ticket.count,
                               .asked = ticket->ticket.count,
                               .attempt = ticket->ticket.attempt,
                               .budget = ticket->ticket.budget};
    if (find_stored(self->actors[id].cache, note->epoch, note->first, note->count, &held) <
        note->count)
        sim_violate(self, "%s answers a ticket whose samples it has not stored",
                    sim_name(self, id));
    sim_fit_rows(self, note, &none, !is_raw(plan));
    if (is_raw(plan)) {
        note->payload = sim_payload(self, 0, 0, id);
        note->rows = note->count;
        note->bytes = note->count * plan->row_bytes + (note->count > 0 ? note->ragged : 0);
        return;
    }
    sim_make_rows(self, id, note, &none);
}

/*  Adds a row of position `offset`; returns the bytes of its ragged columns. */
static uint64_t add_row(const sim_plan_t *plan, sim_payload_t *payload, uint32_t offset,
                        uint64_t row)
{
    payload->origin[payload->rows] = offset;
    payload->lengths[payload->rows] = sim_row_length(plan, row);
    payload->ids[payload->rows++] = row;
    return is_raw(plan) ? sim_ragged_read(plan, row) : sim_ragged_made(plan, row);
}

/*  Adds the rows of the next position, from the block that was made and from the store. */
static uint64_t add_rows(sim_t *self, uint32_t id, const sim_payload_t *kept,
                         tnd_mixed_rows_t *made, sim_payload_t *payload)
{
    const sim_plan_t *plan = &self->plan;
    const tnd_block_note_t *note = &kept->note;
    uint32_t offset = made->position, first;
    uint64_t position = note->first + offset, ragged = 0;
    bool stored = has(self->actors[id].cache, note->epoch, position);
    uint32_t some = tnd_mixed_rows_next(made, stored, &first);
    int32_t rows = is_raw(plan) ? 1 : sim_plan_made(plan, note->lane, note->epoch, position);
    for (uint32_t i = first; i < first + some; i++)
        ragged += add_row(plan, payload, offset,
                          is_raw(plan) ? sim_plan_row(plan, note->lane, note->epoch, position, 0)
                                       : kept->ids[i]);
    for (int32_t i = 0; i < rows && stored; i++)
        ragged += add_row(plan, payload, offset,
                          sim_plan_row(plan, note->lane, note->epoch, position, (uint32_t)i));
    return ragged;
}

/*  The rows of the first positions that fit the budget; note->count: how many. */
static void mix_rows(sim_t *self, uint32_t id, const sim_payload_t *kept, sim_payload_t *payload,
                     tnd_block_note_t *note)
{
    tnd_mixed_rows_t made = {.made = &kept->note};
    uint64_t sum = 0;
    note->count = 0;
    while (note->count < kept->note.count) {
        uint32_t before = payload->rows;
        uint64_t ragged = add_rows(self, id, kept, &made, payload);
        if (self->plan.bytes.ragged_max > 0 && sum + ragged > note->budget) {
            payload->rows = before;
            sum = note->count == 0 ? ragged : sum;
            break;
        }
        sum += ragged;
        note->count++;
    }
    if (note->count < kept->note.count || note->ragged < sum)
        note->ragged = sum;
    note->end = note->end && note->count == kept->note.count;
}

static uint64_t bytes_of(const sim_plan_t *plan, const sim_payload_t *payload)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < payload->rows; i++)
        bytes += is_raw(plan) ? plan->row_bytes + sim_ragged_read(plan, payload->ids[i])
                              : sim_row_bytes(plan, payload->ids[i]) +
                                    sim_ragged_made(plan, payload->ids[i]);
    return bytes;
}

/*  A block that the cache keeps, completed with the rows that are stored. */
static void mix(sim_t *self, uint32_t id, const sim_payload_t *kept, tnd_block_note_t *note)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t most = kept->note.rows + kept->note.count * plan->more_most;
    sim_payload_t *payload = sim_payload(self, most, kept->bad_count, id);
    *note = kept->note;
    payload->rows = 0;
    mix_rows(self, id, kept, payload, note);
    for (note->bad_count = 0; note->bad_count < kept->note.bad_count; note->bad_count++)
        if ((payload->bad[note->bad_count] = kept->note.bad[note->bad_count]) >= note->count)
            break;
    note->payload = payload;
    note->rows = payload->rows;
    note->bytes = bytes_of(plan, payload);
    note->origin = is_raw(plan) ? NULL : payload->origin;
    note->bad = note->bad_count > 0 ? payload->bad : NULL;
    note->lengths = plan->measured && note->rows > 0 && !is_raw(plan) ? payload->lengths : NULL;
    if (is_raw(plan) && note->rows != note->count)
        sim_violate(self, "%s sends %u rows of %u positions", sim_name(self, id), note->rows,
                    note->count);
}

/*  A block that the cache keeps, to be sent. */
static void copy(sim_t *self, uint32_t id, const sim_payload_t *kept, tnd_block_note_t *note)
{
    sim_payload_t *payload = sim_payload(self, kept->rows, kept->bad_count, id);
    memcpy(payload->ids, kept->ids, kept->rows * sizeof *kept->ids);
    memcpy(payload->lengths, kept->lengths, kept->rows * sizeof *kept->lengths);
    memcpy(payload->origin, kept->origin, kept->rows * sizeof *kept->origin);
    memcpy(payload->bad, kept->bad, kept->bad_count * sizeof *kept->bad);
    *note = kept->note;
    note->payload = payload;
    note->origin = note->origin != NULL ? payload->origin : NULL;
    note->bad = note->bad != NULL ? payload->bad : NULL;
    note->lengths = note->lengths != NULL ? payload->lengths : NULL;
}

static void run(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_effect_t effect;
    while (tnd_cache_core_next(actor->machine, sim_clock(self, actor->host), &effect)) {
        if (effect.kind == TND_EFFECT_CONTROL) {
            sim_actor_control(self, actor, &effect.msg);
            continue;
        }
        tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .generation = effect.msg.generation, .from = id};
        msg.to = effect.msg.to;
        const sim_payload_t *kept = effect.payload;
        if (kept == NULL)
            fill(self, id, &effect.msg, &msg.block);
        else if (effect.at > 0 && kept->note.count > 0)
            mix(self, id, kept, &msg.block);
        else
            copy(self, id, kept, &msg.block);
        msg.block.asked = effect.msg.ticket.count;
        msg.block.attempt = effect.msg.ticket.attempt;
        uint64_t bytes = msg.block.bytes;
        sim_own(self, msg.block.payload, id, SIM_FLYING);
        sim_actor_send(self, id, msg.to, &msg);
        tnd_cache_core_sent(actor->machine, effect.msg.to, bytes);
    }
}

static void say_go(sim_t *self, uint32_t id, const tnd_msg_t *heard)
{
    tnd_msg_t go;
    if (tnd_cache_core_go(self->actors[id].machine, heard, &go))
        sim_actor_send(self, id, go.to, &go);
}

static void take_block(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    sim_payload_t *payload = msg->block.payload;
    sim_own(self, payload, SIM_FLYING, id);
    payload->note = msg->block;
    if (tnd_cache_core_block(self->actors[id].machine, msg))
        put(self, id, &msg->block);
    else
        sim_free(self, payload, id);
    say_go(self, id, msg);
}

static void message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    void *machine = self->actors[id].machine, *payload;
    if (msg->kind == TND_MSG_REWIND)
        tnd_cache_core_rewind(machine, msg->generation);
    else if (msg->kind == TND_MSG_TICKET)
        tnd_cache_core_ticket(machine, msg);
    else if (msg->kind == TND_MSG_CREDIT)
        tnd_cache_core_credit(machine, msg->from, msg->credit.blocks, msg->credit.bytes);
    else if (msg->kind == TND_MSG_LOST)
        tnd_cache_core_lost(machine, msg);
    else if (msg->kind == TND_MSG_BLOCK)
        take_block(self, id, msg);
    if (self->plan.cache_first && sim_sleep_changes(self, self->actors[id].host, msg))
        tnd_cache_core_awake(machine, sim_awake(self, self->actors[id].host));
    if (msg->kind == TND_MSG_BEGIN) {
        tnd_cache_core_begin(machine, msg);
        say_go(self, id, msg);
    }
    while ((payload = tnd_cache_core_drop(machine)) != NULL)
        sim_free(self, payload, id);
}

static void *create(sim_t *self, uint32_t id)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t lane = plan->members[id].lane;
    struct sim_cache *cache = sim_store_take(&self->store, sizeof *cache);
    *cache = (struct sim_cache){.sim = self, .lane = lane};
    cache->has = sim_store_take(&self->store, plan->count[lane] + 1);
    self->actors[id].cache = cache;
    tnd_cache_core_config_t config = {.self = id,
                                      .join = self->joins[lane],
                                      .lane = lane,
                                      .readers = self->readers[lane],
                                      .reader_count = plan->readers,
                                      .makers_max = plan->workers,
                                      .tickets_max = plan->window_blocks + 2 * plan->size + 1 +
                                                     TND_ORDER_SPARE,
                                      .workers_max = plan->workers > 0 ? plan->workers : 1,
                                      .rest_ns = plan->rest_ns,
                                      .stored = find_stored,
                                      .store = cache};
    return SIM_MAKE(self, tnd_cache_core, &config);
}

/*  Whether `peer` takes blocks from the cache. */
static bool is_after(const sim_t *self, tnd_actor_id_t peer)
{
    return self->actors[peer].role == TND_ROLE_JOIN ||
           (self->actors[peer].role == TND_ROLE_WORKER && self->plan.cache_first);
}

static void up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    sim_actor_t *actor = &self->actors[id];
    if (is_after(self, peer)) {
        tnd_cache_core_worker_up(actor->machine, peer);
        if (self->actors[peer].role == TND_ROLE_JOIN)
            tnd_cache_core_credit(actor->machine, peer, UINT64_MAX, UINT64_MAX);
    } else if (self->actors[peer].role == TND_ROLE_WORKER) {
        tnd_cache_core_maker_up(actor->machine, peer,
                                self->links[self->link_of[id][peer] - 1].end[1].birth);
    } else {
        tnd_validator_sent(
            actor->validator,
            &(tnd_msg_t){.kind = TND_MSG_CREDIT, .to = peer, .credit = {UINT64_MAX, UINT64_MAX}});
    }
}

static void lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    if (is_after(self, peer))
        tnd_cache_core_worker_lost(self->actors[id].machine, peer);
}

const sim_role_t sim_cache = {
    .create = create, .run = run, .message = message, .up = up, .lost = lost};
