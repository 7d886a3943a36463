/*  tests/support/nccl/meeting.h - where the members of a communicator meet: memory that they share.
 *
 *  The process that makes the id has a file without a name; the id says where the others open it, so that
 *  process must live until all have come, as with a real NCCL.  Nothing is left when all have ended.
 *
 *  Threads: any. */
#ifndef TND_TESTS_SUPPORT_NCCL_MEETING_H
#define TND_TESTS_SUPPORT_NCCL_MEETING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/nccl/nccl_library.h"

enum { MEETING_RANKS = 16, MEETING_AREA = 8 << 20 };

/*  What a member asks of all: it must be the same for each. */
typedef struct {
    uint64_t kind, type, operation, count;
} meeting_call_t;

/*  What a member sends in a group: the peer, and how much. */
typedef struct {
    uint64_t peer, bytes;
} meeting_trade_t;

typedef struct {
    uint64_t count;
    meeting_trade_t sent[64];
} meeting_trades_t;

typedef struct {
    _Atomic uint64_t joined;     /* 1: it is there */
    unsigned char device[16];    /* the uuid of its device */
    _Atomic uint64_t gave, took; /* so many collectives: its values are there; it has the result */
    _Atomic uint64_t aborted;    /* 1: what it gave is gone */
    meeting_call_t calls[2];     /* of the last two collectives */
    meeting_trades_t trades[2];
} meeting_rank_t;

typedef struct {
    _Atomic uint64_t ranks; /* 0: none has joined */
    meeting_rank_t rank[MEETING_RANKS];
} meeting_head_t;

typedef struct meeting meeting_t;

/*  Makes an id; false: there are too few files. */
bool meeting_make(tnd_nccl_id_t *id);
/*  NULL: it is not an id, or its process has ended. */
meeting_t *meeting_open(const tnd_nccl_id_t *id);
void meeting_close(meeting_t *self);
meeting_head_t *meeting_head(const meeting_t *self);
/*  The values of a rank in collective `number`, MEETING_AREA bytes. */
uint8_t *meeting_area(const meeting_t *self, unsigned rank, uint64_t number);

#endif
