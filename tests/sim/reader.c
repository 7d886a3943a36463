/*  tests/sim/reader.c - a reader: what its driver does for the machine of the core. */
#include "tests/sim/cluster.h"

/*  Bytes of ragged columns of a position. */
static uint64_t ragged_of(const sim_plan_t *plan, const tnd_block_note_t *note, uint32_t offset,
                          bool made)
{
    uint64_t index = note->first + offset, bytes = 0;
    if (!made)
        return sim_ragged_read(plan, sim_plan_row(plan, note->lane, note->epoch, index, 0));
    int32_t rows = sim_plan_made(plan, note->lane, note->epoch, index);
    for (int32_t j = 0; j < rows; j++)
        bytes +=
            sim_ragged_made(plan, sim_plan_row(plan, note->lane, note->epoch, index, (uint32_t)j));
    return bytes;
}

void sim_fit_rows(sim_t *self, tnd_block_note_t *note, const tnd_held_t *held, bool made)
{
    uint64_t ragged = 0, one = 0;
    uint32_t fits = 0, count = note->count, most = count;
    if (count > 1 && self->plan.hasty_percent > 0 &&
        sim_chance(&self->chance, self->plan.hasty_percent))
        most = sim_between(&self->chance, 1, count - 1);
    for (; fits < most; fits++, ragged += one) {
        one = tnd_held_has(held, fits) ? 0 : ragged_of(&self->plan, note, fits, made);
        if (ragged + one > note->budget)
            break;
    }
    if (fits == count) {
        note->ragged = ragged > note->ragged ? ragged : note->ragged;
        return;
    }
    note->end = false;
    note->count = fits;
    note->ragged = fits > 0 ? ragged : one;
}

/*  How many rows are made of a position; -1: it is bad. */
static int32_t made_of(const sim_plan_t *plan, const tnd_block_note_t *note, const tnd_held_t *held,
                       uint32_t offset)
{
    return tnd_held_has(held, offset)
               ? 0
               : sim_plan_made(plan, note->lane, note->epoch, note->first + offset);
}

/*  Fills a note with positions [first, first + count) and the rows made from those that are not held. */
void sim_make_rows(sim_t *self, uint32_t id, tnd_block_note_t *note, const tnd_held_t *held)
{
    const sim_plan_t *plan = &self->plan;
    bool marked = plan->operations || tnd_held_asked(held, note->count) < note->count;
    uint32_t rows = 0, bad = 0;
    for (uint32_t i = 0; i < note->count; i++) {
        int32_t made = made_of(plan, note, held, i);
        rows += made > 0 ? (uint32_t)made : 0;
        bad += made < 0;
    }
    sim_payload_t *payload = sim_payload(self, rows, bad, id);
    note->payload = payload;
    note->rows = rows;
    note->bad_count = bad;
    note->bad = bad ? payload->bad : NULL;
    note->origin = bad || marked ? payload->origin : NULL;
    note->bytes = 0;
    note->measured = plan->measured;
    note->lengths = plan->measured && rows > 0 ? payload->lengths : NULL;
    rows = bad = 0;
    for (uint32_t i = 0; i < note->count; i++) {
        int32_t made = made_of(plan, note, held, i);
        if (made < 0)
            payload->bad[bad++] = i;
        for (int32_t j = 0; j < made; j++) {
            uint64_t row =
                sim_plan_row(plan, note->lane, note->epoch, note->first + i, (uint32_t)j);
            payload->origin[rows] = i;
            payload->lengths[rows] = sim_row_length(plan, row);
            payload->ids[rows++] = row;
            note->bytes += sim_row_bytes(plan, row) + sim_ragged_made(plan, row);
        }
    }
}

bool sim_sleep_changes(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    return self->plan.workers > 0 && msg->kind == TND_MSG_TICKET &&
           (self->hosts[h].scale > 0 || (self->plan.sleepy && sim_chance(&self->sleep, 8)));
}

uint32_t sim_awake(sim_t *self, uint32_t h)
{
    uint32_t most = self->hosts[h].scale > 0 ? self->hosts[h].scale : self->plan.workers;
    return self->plan.sleepy ? sim_between(&self->sleep, 1, most) : most;
}

/*  Fills a note with rows as they are read, which are told from one another by their positions. */
static void read_rows(sim_t *self, uint32_t id, tnd_block_note_t *note, const tnd_held_t *held)
{
    note->rows = tnd_held_asked(held, note->count);
    bool marked = note->rows < note->count;
    sim_payload_t *payload = sim_payload(self, marked ? note->rows : 0, 0, id);
    for (uint32_t i = 0, row = 0; i < note->count && marked; i++)
        if (!tnd_held_has(held, i))
            payload->origin[row++] = i;
    note->payload = payload;
    note->origin = marked ? payload->origin : NULL;
    note->bytes = note->rows * self->plan.row_bytes + (note->rows > 0 ? note->ragged : 0);
}

static void worked(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    const sim_plan_t *plan = &self->plan;
    tnd_msg_t asked = actor->work.msg;
    uint64_t all = plan->count[asked.ticket.lane], first = asked.ticket.first;
    uint64_t left = first < all ? all - first : 0;
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .generation = asked.generation, .from = id};
    msg.to = asked.to;
    msg.block.first = first;
    msg.block.lane = asked.ticket.lane;
    msg.block.epoch = asked.ticket.epoch;
    msg.block.asked = asked.ticket.count;
    msg.block.attempt = asked.ticket.attempt;
    msg.block.budget = asked.ticket.budget;
    msg.block.count = asked.ticket.count < left ? asked.ticket.count : (uint32_t)left;
    msg.block.end = msg.block.count < msg.block.asked ||
                    ((plan->known || plan->eager_end) && first + msg.block.count >= all);
    msg.block.work_ns = plan->read_ns;
    sim_fit_rows(self, &msg.block, &asked.ticket.held, !plan->operations);
    if (plan->operations)
        read_rows(self, id, &msg.block, &asked.ticket.held);
    else
        sim_make_rows(self, id, &msg.block, &asked.ticket.held);
    sim_own(self, msg.block.payload, id, SIM_FLYING);
    uint64_t bytes = msg.block.bytes;
    sim_actor_send(self, id, msg.to, &msg);
    tnd_reader_core_sent(actor->machine, asked.to, bytes);
}

static void run(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_effect_t effect;
    while (!actor->busy &&
           tnd_reader_core_next(actor->machine, sim_clock(self, actor->host), &effect)) {
        if (effect.kind == TND_EFFECT_CONTROL)
            sim_actor_control(self, actor, &effect.msg);
        if (effect.kind != TND_EFFECT_READ)
            continue;
        sim_actor_work(self, id, &effect, self->plan.read_ns);
    }
}

static void message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    sim_actor_t *actor = &self->actors[id];
    if (msg->kind == TND_MSG_REWIND)
        tnd_reader_core_rewind(actor->machine, msg->generation);
    else if (msg->kind == TND_MSG_TICKET)
        tnd_reader_core_ticket(actor->machine, msg);
    if (sim_sleep_changes(self, actor->host, msg))
        tnd_reader_core_awake(actor->machine, sim_awake(self, actor->host));
    if (msg->kind == TND_MSG_CREDIT)
        tnd_reader_core_credit(actor->machine, msg->from, msg->credit.blocks, msg->credit.bytes);
}

static void *create(sim_t *self, uint32_t id)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t lane = plan->members[id].lane;
    tnd_reader_core_config_t config = {
        .self = id, .join = plan->cached ? self->caches[lane] : self->joins[lane], .lane = lane};
    config.before_cache = plan->cached;
    config.tickets_max = plan->window_blocks + 2 * plan->size + 1 + TND_ORDER_SPARE;
    config.workers_max = plan->workers > 0 ? plan->workers : 1;
    config.rest_ns = plan->rest_ns;
    return SIM_MAKE(self, tnd_reader_core, &config);
}

static void up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    void *machine = self->actors[id].machine;
    tnd_reader_core_worker_up(machine, peer);
    /* A batcher or a cache grants credit by its tickets. */
    if (self->actors[peer].role == TND_ROLE_JOIN || self->actors[peer].role == TND_ROLE_CACHE)
        tnd_reader_core_credit(machine, peer, UINT64_MAX, UINT64_MAX);
}

static void lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    tnd_reader_core_worker_lost(self->actors[id].machine, peer);
}

const sim_role_t sim_reader = {
    .create = create, .run = run, .message = message, .worked = worked, .up = up, .lost = lost};
