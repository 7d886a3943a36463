/*  tests/sim/store.h - memory of one simulated run, and the payloads of actors.
 *
 *  All memory is released at once when the next run begins. */
#ifndef TND_TESTS_SIM_STORE_H
#define TND_TESTS_SIM_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/protocol/message.h"

enum { SIM_CLASSES = 24 };

/*  Some rows, or a value on its way through a reduction.  `holder` is the actor that has it, or
 *  SIM_FLYING, or SIM_FREED: an actor that releases a payload which it does not hold is a violation.
 */
typedef struct sim_payload {
    struct sim_payload *next;
    uint32_t rank; /* class of its size */
    uint32_t holder;
    uint32_t rows, bad_count;
    uint64_t value;
    uint64_t *ids;     /* of the rows */
    uint64_t *lengths; /* likewise, in one column */
    uint32_t *origin;  /* of each row: its position less the first */
    uint32_t *bad;
    tnd_block_note_t note; /* of a block that waits in a cache */
} sim_payload_t;

enum { SIM_FLYING = 0xfffe, SIM_FREED = 0xffff };

typedef struct sim_chunk sim_chunk_t;

typedef struct {
    sim_chunk_t *first, *current;
    sim_payload_t *unused[SIM_CLASSES];
    uint64_t payloads; /* alive */
} sim_store_t;

void sim_store_clear(sim_store_t *self);
void sim_store_free(sim_store_t *self);
/*  Zeroed. */
void *sim_store_take(sim_store_t *self, size_t bytes);
sim_payload_t *sim_payload_new(sim_store_t *self, uint32_t rows, uint32_t bad, uint32_t holder);
void sim_payload_free(sim_store_t *self, sim_payload_t *payload);

#endif
