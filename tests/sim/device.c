/*  tests/sim/device.c - the device of a feeder: copies, the events of steps, and readers of rows.
 *
 *  A copy takes the rows from the host's side when it ends, as late as a real one may, so a slot that
 *  is filled again too early shows.  The event of a step comes some time after the step was put on
 *  the device, sometimes much later.  In some runs a copy or an event never comes: then the process is
 *  killed. */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/cluster.h"

static uint64_t hash_rows(const sim_t *self, uint32_t id, uint64_t *const *ids,
                          const uint32_t *count)
{
    uint32_t replicas = self->plan.feeder_replicas[id - self->plan.first_feeder];
    uint64_t hash = 0;
    for (uint32_t r = 0; r < replicas; r++)
        for (uint32_t i = 0; i < count[r]; i++)
            hash = sim_hash(hash + r, ids[r][i]);
    return hash;
}

static sim_slot_t *slot_of(sim_actor_t *actor, uint64_t step)
{
    return &actor->slots[actor->device.order[step % SIM_DEPTH]];
}

static void put_event(sim_t *self, uint32_t id, uint64_t at, sim_at_t kind, uint32_t which)
{
    sim_agenda_put(&self->agenda, at, kind, id, (uint32_t)self->actors[id].life, which);
}

/*  One copy or event after the other; `late`: now and then much later. */
static uint64_t draw_end(sim_t *self, uint64_t *last, uint64_t ns, bool late)
{
    uint64_t took = ns / 2 + sim_below(&self->device_luck, (uint32_t)ns + 1);
    if (late && sim_chance(&self->device_luck, 10))
        took *= 30;
    *last = (*last > self->now ? *last : self->now) + took;
    return *last;
}

static void commit(sim_t *self, uint32_t id);

/* --- copies ----------------------------------------------------------------------------------- */

/*  The device of this feeder does not do what it is asked to for this step, and then nothing more. */
static bool hangs_at(const sim_t *self, uint32_t id, uint64_t step)
{
    return id == self->plan.hung_feeder && step >= self->plan.hung_step;
}

static void put_hang(sim_t *self, uint32_t id)
{
    put_event(self, id, self->now + 300000000, SIM_AT_HUNG, 0);
}

static void start_copies(sim_t *self, uint32_t id, sim_device_t *device)
{
    while (device->counts.copying < tnd_device_slots_to_copy(&device->counts)) {
        uint64_t step = slot_of(&self->actors[id], device->counts.copying)->step;
        device->counts.copying++;
        if (self->plan.hung_copies && hangs_at(self, id, step))
            put_hang(self, id);
        else if (self->plan.copy_ns > 0)
            put_event(self, id, draw_end(self, &device->link_at, self->plan.copy_ns, false),
                      SIM_AT_COPIED, 0);
        else
            sim_device_copied(self, id);
    }
}

void sim_device_ready(sim_t *self, uint32_t id, uint32_t slot)
{
    sim_actor_t *actor = &self->actors[id];
    sim_device_t *device = &actor->device;
    actor->slots[slot].hash = hash_rows(self, id, actor->slots[slot].ids, actor->slots[slot].count);
    device->order[device->counts.ready++ % SIM_DEPTH] = slot;
    start_copies(self, id, device);
    commit(self, id);
}

void sim_device_copied(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    sim_slot_t *slot = slot_of(actor, actor->device.counts.copied);
    slot->copied = hash_rows(self, id, slot->ids, slot->count);
    if (slot->copied != slot->hash)
        sim_violate(self, "%s fills a slot whose rows are being copied", sim_name(self, id));
    actor->device.counts.copied++;
    sim_feeder_goes(self, id);
    commit(self, id);
}

bool sim_device_starts(const sim_actor_t *actor)
{
    return actor->device.counts.put < tnd_device_slots_to_start(&actor->device.counts);
}

/* --- steps ------------------------------------------------------------------------------------ */

void sim_device_put(sim_t *self, uint32_t id)
{
    sim_device_t *device = &self->actors[id].device;
    uint64_t step = slot_of(&self->actors[id], device->counts.put)->step;
    device->counts.put++;
    if (self->plan.event_ns == 0) {
        sim_device_event(self, id);
        return;
    }
    uint64_t at = draw_end(self, &device->event_at, self->plan.event_ns, true);
    if (!self->plan.hung_copies && hangs_at(self, id, step))
        put_hang(self, id);
    else
        put_event(self, id, at, SIM_AT_EVENT, 0);
    commit(self, id);
}

void sim_device_event(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    const sim_slot_t *slot = slot_of(actor, actor->device.counts.finished);
    if (hash_rows(self, id, slot->ids, slot->count) != slot->copied)
        sim_violate(self, "%s fills a slot that the device reads", sim_name(self, id));
    actor->device.counts.finished++;
    commit(self, id);
}

static void commit(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    sim_device_t *device = &actor->device;
    const tnd_device_slots_t *counts = &device->counts;
    while (device->committed < tnd_device_slots_to_commit(counts, self->plan.discards)) {
        sim_slot_t *slot = slot_of(actor, device->committed);
        if (sim_sync_holds(self, id, slot->step))
            return;
        if (!self->plan.discards && device->committed >= counts->finished)
            sim_violate(self, "%s commits step %" PRIu64 " before its device has done it",
                        sim_name(self, id), slot->step);
        device->committed++;
        sim_feeder_commit(self, id, slot);
    }
}

void sim_device_go_on(sim_t *self, uint32_t id)
{
    commit(self, id);
}

void sim_device_hung(sim_t *self, uint32_t id)
{
    self->feeder_dead = true;
    self->over = self->over || self->closing;
    sim_actor_crash(self, id);
}

/* --- readers ---------------------------------------------------------------------------------- */

static void swap_memory(sim_slot_t *slot, uint64_t *const *ids)
{
    memcpy(slot->ids, ids, sizeof slot->ids);
}

static void new_memory(sim_t *self, uint32_t id, sim_slot_t *slot)
{
    uint32_t replicas = self->plan.feeder_replicas[id - self->plan.first_feeder];
    for (uint32_t r = 0; r < replicas; r++)
        slot->ids[r] = sim_store_take(&self->store, self->plan.size * sizeof(uint64_t));
}

/*  A program keeps tensors of the step for a while; NULL: it does not. */
static sim_reader_hold_t *hold(sim_t *self, uint32_t id, sim_device_t *device,
                               const sim_slot_t *slot)
{
    if (self->plan.hold_percent == 0 || device->reader_count == SIM_READERS ||
        !sim_chance(&self->device_luck, self->plan.hold_percent))
        return NULL;
    uint32_t number = 0;
    while (device->readers[number].reads)
        number++;
    sim_reader_hold_t *reader = &device->readers[number];
    reader->reads = true;
    memcpy(reader->ids, slot->ids, sizeof reader->ids);
    memcpy(reader->count, slot->count, sizeof reader->count);
    reader->hash = hash_rows(self, id, reader->ids, reader->count);
    device->reader_count++;
    uint64_t until = self->now + sim_below(&self->device_luck, 20 * (uint32_t)self->plan.step_ns);
    put_event(self, id, until, SIM_AT_READER, number);
    return reader;
}

void sim_device_refill(sim_t *self, uint32_t id, sim_slot_t *slot)
{
    sim_device_t *device = &self->actors[id].device;
    sim_reader_hold_t *reader = hold(self, id, device, slot);
    tnd_refill_t refill = tnd_device_slots_refill(reader != NULL, device->spare_count, SIM_READERS);
    if (reader != NULL)
        reader->alone = refill != TND_REFILL_SAME;
    switch (refill) {
    case TND_REFILL_SAME:
        break;
    case TND_REFILL_SPARE:
        swap_memory(slot, device->spares[--device->spare_count].ids);
        break;
    case TND_REFILL_NEW:
        new_memory(self, id, slot);
        break;
    case TND_REFILL_NONE:
        sim_violate(self, "%s has no memory for a slot", sim_name(self, id));
    }
}

void sim_device_release(sim_t *self, uint32_t id, uint32_t number)
{
    sim_device_t *device = &self->actors[id].device;
    sim_reader_hold_t *reader = &device->readers[number];
    if (hash_rows(self, id, reader->ids, reader->count) != reader->hash)
        sim_violate(self, "%s changes rows that a program still reads", sim_name(self, id));
    reader->reads = false;
    device->reader_count--;
    if (reader->alone)
        memcpy(device->spares[device->spare_count++].ids, reader->ids, sizeof reader->ids);
}
