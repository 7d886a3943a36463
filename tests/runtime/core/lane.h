/*  tests/runtime/core/lane.h - a lane's source as arithmetic: what each position becomes, and the
 *  blocks that a worker makes of a ticket.  Independent of orders. */
#ifndef TND_TESTS_RUNTIME_CORE_LANE_H
#define TND_TESTS_RUNTIME_CORE_LANE_H

#include <stdlib.h>
#include <string.h>

#include "runtime/core/protocol/message.h"

typedef enum { LANE_PLAIN, LANE_FILTERED, LANE_EXPANDED, LANE_EMPTYING } lane_kind_t;

enum { LANE_ROWS_MAX = 3, LANE_BYTES_ROW = 10, LANE_BAD = -1 };

typedef struct {
    uint64_t seed, count;
    uint32_t lane;
    lane_kind_t kind;
} lane_t;

typedef struct {
    uint32_t lane, epoch;
    uint64_t index, sub; /* no padding: rows are compared as bytes */
} lane_row_t;

typedef struct {
    uint32_t rows;
    lane_row_t *row;
    uint32_t *origin, *bad;
} lane_block_t;

static uint64_t lane_live; /* blocks made and not dropped */

static inline uint64_t lane_hash(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
    x = (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
    return x ^ x >> 33;
}

static inline uint64_t lane_random(uint64_t *state, uint64_t below)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return lane_hash(*state) % below;
}

/*  How many rows a position becomes; LANE_BAD: it cannot be read. */
static inline int lane_rows(const lane_t *self, uint32_t epoch, uint64_t index)
{
    uint64_t hash = lane_hash(self->seed * 31 + self->lane * 7 + epoch * UINT64_C(0x10001) +
                              index * UINT64_C(0x100000001b3) + 1);
    switch (self->kind) {
    case LANE_PLAIN:
        return 1;
    case LANE_FILTERED:
        return hash % 16 == 0 ? LANE_BAD : hash % 3 != 0;
    case LANE_EXPANDED:
        return hash % 16 == 0 ? LANE_BAD : (int)(hash % (LANE_ROWS_MAX + 1));
    case LANE_EMPTYING: /* long stretches of nothing, whole epochs among them */
        return epoch % 2 == 1 ? 0 : hash % 29 == 0;
    }
    abort();
}

static inline tnd_msg_t lane_answer(const lane_t *self, const tnd_msg_t *ticket)
{
    uint64_t first = ticket->ticket.first;
    uint32_t asked = ticket->ticket.count, epoch = ticket->ticket.epoch, bad = 0;
    uint64_t left = first < self->count ? self->count - first : 0;
    lane_block_t *block = calloc(1, sizeof *block);
    uint32_t covered = left < asked ? (uint32_t)left : asked;
    block->row = calloc(LANE_ROWS_MAX * covered + 1, sizeof *block->row);
    block->origin = calloc(LANE_ROWS_MAX * covered + 1, sizeof *block->origin);
    block->bad = calloc(covered + 1, sizeof *block->bad);
    for (uint32_t i = 0; i < covered; i++) {
        int rows = lane_rows(self, epoch, first + i);
        if (rows == LANE_BAD)
            block->bad[bad++] = i;
        for (int sub = 0; sub < rows; sub++) {
            block->origin[block->rows] = i;
            block->row[block->rows++] = (lane_row_t){self->lane, epoch, first + i, (uint64_t)sub};
        }
    }
    lane_live++;
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .generation = ticket->generation};
    msg.block = (tnd_block_note_t){.first = first,
                                   .lane = self->lane,
                                   .epoch = epoch,
                                   .count = covered,
                                   .asked = asked,
                                   .attempt = ticket->ticket.attempt,
                                   .budget = ticket->ticket.budget,
                                   .rows = block->rows,
                                   .end = covered < asked,
                                   .bad_count = bad,
                                   .origin = self->kind == LANE_PLAIN ? NULL : block->origin,
                                   .bad = bad > 0 ? block->bad : NULL,
                                   .bytes = block->rows * (uint64_t)LANE_BYTES_ROW,
                                   .payload = block};
    return msg;
}

static inline void lane_drop(void *payload)
{
    lane_block_t *block = payload;
    free(block->row);
    free(block->origin);
    free(block->bad);
    free(block);
    lane_live--;
}

/*  The next row at or after *at, which is moved past it; returns false at the end of the epoch. */
static inline bool lane_next(const lane_t *self, tnd_position_t *at, lane_row_t *row)
{
    for (; at->index < self->count; at->index++, at->used = 0) {
        int rows = lane_rows(self, at->epoch, at->index);
        if ((int)at->used >= rows)
            continue;
        *row = (lane_row_t){self->lane, at->epoch, at->index, at->used};
        if ((int)++at->used == rows) {
            at->used = 0;
            at->index++;
        }
        return true;
    }
    return false;
}

/*  Everything before a position, counted one by one. */
static inline tnd_ledger_t lane_ledger(const lane_t *self, tnd_position_t to)
{
    tnd_ledger_t ledger = {0};
    for (uint32_t epoch = 0; epoch <= to.epoch; epoch++)
        for (uint64_t index = 0; index < self->count; index++) {
            if (epoch == to.epoch && (index > to.index || (index == to.index && to.used == 0)))
                break;
            int rows = lane_rows(self, epoch, index);
            if (epoch == to.epoch && index == to.index)
                rows = (int)to.used;
            ledger.read++;
            ledger.bad += rows == LANE_BAD;
            ledger.filtered += rows == 0;
            ledger.fed += rows > 0 ? (uint64_t)rows : 0;
            ledger.added += rows > 1 ? (uint64_t)rows - 1 : 0;
        }
    return ledger;
}

#endif
