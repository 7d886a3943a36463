/*  actors/chain/chain_internal.h - what the files of chain.h share.  */
#ifndef TND_ACTORS_CHAIN_CHAIN_INTERNAL_H
#define TND_ACTORS_CHAIN_CHAIN_INTERNAL_H

#include "actors/chain/bad_rows.h"
#include "actors/chain/chain.h"
#include "actors/op/ops.h"
#include "runtime/base/bounds.h"
#include "runtime/option/running_part.h"

/*  One operation and where the rows between it and the next one lie. */
typedef struct {
    const tnd_op_spec_t *spec;
    const tnd_part_t *part;
    const tnd_op_t *op;
    void *state;
    tnd_schema_t schema; /* of what comes out */
    const char *name;    /* for people */
    uint32_t caps;       /* with these options */
    bool draws;          /* other rows in each epoch */
    bool adapts, known;  /* it has `auto` options, whose values are known */
    uint64_t key;        /* by which it finds them */
    uint64_t unknown;    /* columns that they change, as long as they are not known */
    uint64_t reads;      /* columns that it reads */
    uint32_t rows_max;   /* that one row of the chain's input may have become here */
    int8_t passes[TND_COLUMNS_MAX];
    /*  For each column that it makes: the column that leaves the chain so, in as many rows, and is
     *  written where it will stay; or -1, and memory of the stage's own. */
    int8_t leaves[TND_COLUMNS_MAX];
    uint8_t *columns[TND_COLUMNS_MAX];
    uint64_t *sample;
    uint32_t *origin;
} stage_t;

struct tnd_chain {
    tnd_schema_t in;
    size_t in_bytes[TND_COLUMNS_MAX], out_bytes[TND_COLUMNS_MAX]; /* of a row in a tile */
    stage_t *stages;
    size_t count;
    tnd_buffer_t *out; /* the schema of what comes out, which blocks hold */
    const tnd_op_scope_t *scope;
    tnd_chain_facts_t facts;
    bool skip_bad;
    tnd_guarded_call_t *call;
    size_t tile_bytes;
    uint32_t tile_rows;
    /*  For each column that goes out: the column of the input that is passed on as it is, or -1.
     *  For each that comes in: whether its rows are needed in a tile. */
    int passed[TND_COLUMNS_MAX];
    bool needed[TND_COLUMNS_MAX];
    uint8_t *gathered[TND_COLUMNS_MAX];
    uint64_t *sample;
    uint32_t *origin;
    uint8_t *scratch;
    tnd_tile_t tiles[2]; /* what goes into an operation, and what comes out */
    tnd_room_t room;
    tnd_actor_detail_t *detail; /* NULL: operations are not timed */
    size_t timed_count;         /* of the operations; 0: this run is not timed */
    uint32_t runs;
    tnd_bad_rows_t bad; /* of the block under way */
};

/*  An operation is at work now. */
static inline void tnd_chain_tell(const tnd_chain_t *self, size_t index)
{
    const tnd_part_t *part = self->stages[index].part;
    tnd_running_part_set(part, index + 1);
    if (self->call != NULL)
        tnd_guarded_call_at(self->call, part->value, "operation %zu, `%s`,", index + 1,
                            part->table->name);
}

/*  Of a row in a tile. */
static inline size_t tnd_chain_cell_bytes(const tnd_column_t *column)
{
    return column->ragged ? sizeof(tnd_ragged_t) : tnd_column_bytes(column);
}

/*  Takes `size` bytes of the scratch memory, or only counts them. */
static inline uint8_t *tnd_chain_carve(uint8_t *base, size_t *used, size_t size)
{
    uint8_t *at = base == NULL ? NULL : base + *used;
    *used += tnd_round_up(size, TND_BUFFER_ALIGN);
    return at;
}

#endif
