/*  tests/sim/store.c - memory of one simulated run: chunks, and payloads by powers of two. */
#include "tests/sim/store.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

enum { CHUNK_BYTES = 4 << 20 };

struct sim_chunk {
    struct sim_chunk *next;
    size_t used, room;
    _Alignas(64) char bytes[];
};

static sim_chunk_t *chunk_new(size_t room)
{
    sim_chunk_t *chunk = tnd_allocate(1, sizeof *chunk + room);
    *chunk = (sim_chunk_t){.room = room};
    return chunk;
}

void sim_store_clear(sim_store_t *self)
{
    for (sim_chunk_t *chunk = self->first; chunk; chunk = chunk->next)
        chunk->used = 0;
    self->current = self->first;
    memset(self->unused, 0, sizeof self->unused);
    self->payloads = 0;
}

void sim_store_free(sim_store_t *self)
{
    while (self->first) {
        sim_chunk_t *next = self->first->next;
        free(self->first);
        self->first = next;
    }
    memset(self, 0, sizeof *self);
}

static void *take(sim_store_t *self, size_t bytes)
{
    bytes = (bytes + 63) & ~(size_t)63;
    while (self->current && self->current->room - self->current->used < bytes) {
        if (!self->current->next)
            self->current->next = chunk_new(bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES);
        self->current = self->current->next;
    }
    if (!self->current)
        self->first = self->current = chunk_new(bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES);
    void *memory = self->current->bytes + self->current->used;
    self->current->used += bytes;
    return memory;
}

void *sim_store_take(sim_store_t *self, size_t bytes)
{
    return memset(take(self, bytes), 0, bytes);
}

sim_payload_t *sim_payload_new(sim_store_t *self, uint32_t rows, uint32_t bad, uint32_t holder)
{
    size_t bytes = sizeof(sim_payload_t) + rows * (2 * sizeof(uint64_t) + sizeof(uint32_t)) +
                   bad * sizeof(uint32_t);
    uint32_t rank = 7;
    while (((size_t)1 << rank) < bytes)
        rank++;
    sim_payload_t *payload = self->unused[rank];
    if (payload)
        self->unused[rank] = payload->next;
    else
        payload = take(self, (size_t)1 << rank);
    payload->rank = rank;
    payload->holder = holder;
    payload->rows = rows;
    payload->bad_count = bad;
    payload->ids = (uint64_t *)(payload + 1);
    payload->lengths = payload->ids + rows;
    payload->origin = (uint32_t *)(payload->lengths + rows);
    payload->bad = payload->origin + rows;
    self->payloads++;
    return payload;
}

void sim_payload_free(sim_store_t *self, sim_payload_t *payload)
{
    payload->holder = SIM_FREED;
    payload->next = self->unused[payload->rank];
    self->unused[payload->rank] = payload;
    self->payloads--;
}
