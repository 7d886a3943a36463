/*  transport/nccl/nccl_member.h - one member of a communicator of NCCL: a device of CUDA, a stream of its
 *  own there, and memory for two parts of the values, page-locked and on the device.
 *
 *  The host writes a part, and starts to reduce it over all members; then it does something else, and
 *  awaits the result in the same memory.
 *
 *  The communicator does not make callers wait, and no call waits for the device: a member asks NCCL and
 *  the device in turn until they are done, it is to stop, or its patience ends.  It ends by an abort,
 *  always, which needs no other member; unless it failed, it waits a moment before for what others still
 *  take from it.  Those of one process that may have work are closed by a thread each: NCCL hangs if a
 *  thread aborts them one by one.
 *
 *  Threads: one at a time; `stopped` is called on it.
 *  Errors: TND_FAILED with NCCL's words, or the driver's, after the name of the device; TND_STOPPED if it
 *  is to stop.  After either it can only be closed. */
#ifndef TND_TRANSPORT_NCCL_NCCL_MEMBER_H
#define TND_TRANSPORT_NCCL_NCCL_MEMBER_H

#include <stdint.h>

#include "runtime/core/numeric/reduction_tree.h"
#include "transport/nccl/nccl_library.h"

typedef struct tnd_nccl_member tnd_nccl_member_t;

enum { TND_NCCL_PARTS = 2 };

typedef struct {
    uint32_t ordinal; /* of the device */
    uint32_t rank, ranks;
    tnd_nccl_id_t id;
    size_t bytes; /* of a part */
    /*  To add along the tree of so many replicas: bytes on the device for what is received, and for what is
     *  gathered, of a part.  0, all: only tnd_nccl_member_reduce is called. */
    uint32_t replicas;
    size_t received, gathered;
    /*  How long one collective, or the meeting of all members, may take. */
    uint64_t patience_ns;
    bool (*stopped)(const void *context);
    const void *context;
} tnd_nccl_member_config_t;

/*  Waits for all members. */
tnd_status_t tnd_nccl_member_open(tnd_nccl_member_t **self_p,
                                  const tnd_nccl_member_config_t *config,
                                  tnd_error_t *error) TND_CHECKED;
/*  Page-locked memory of a part, `bytes` of the configuration. */
void *tnd_nccl_member_part(const tnd_nccl_member_t *self, uint32_t part);
/*  Starts to reduce `count` elements of a part.  All members call it with the same arguments, in the same
 *  order. */
tnd_status_t tnd_nccl_member_reduce(tnd_nccl_member_t *self, uint32_t part, size_t count,
                                    ncclDataType_t type, ncclRedOp_t operation,
                                    tnd_error_t *error) TND_CHECKED;
/*  A part that has the values of several nodes of the tree, one node after the other, and is divided among the
 *  members: each has `shard` elements, the last ones fewer. */
typedef struct {
    size_t elements, size;      /* of each node; bytes of each */
    size_t shard;               /* a multiple of 64 bytes */
    const uint32_t *first_node; /* by rank, and past the last: each has its own nodes in its part */
} tnd_nccl_shards_t;

/*  Where the shard of a rank begins; that of the next one is its end. */
size_t tnd_nccl_shards_begin(const tnd_nccl_shards_t *self, uint32_t rank);
/*  Starts to send the shards of this member's nodes to their members, and to receive its own shard of all
 *  nodes. */
tnd_status_t tnd_nccl_member_exchange(tnd_nccl_member_t *self, uint32_t part,
                                      const tnd_nccl_shards_t *shards,
                                      tnd_error_t *error) TND_CHECKED;
/*  What is received of a node. */
const void *tnd_nccl_member_received(const tnd_nccl_member_t *self, uint32_t part,
                                     const tnd_nccl_shards_t *shards, uint32_t node);
/*  Adds `count` elements of a job, whose inputs have been received, to element `at` of its own shard. */
tnd_status_t tnd_nccl_member_add(tnd_nccl_member_t *self, uint32_t part,
                                 const tnd_nccl_shards_t *shards,
                                 const tnd_reduction_tree_job_t *job, size_t at, size_t count,
                                 tnd_error_t *error) TND_CHECKED;
/*  Starts to give all shards to all members. */
tnd_status_t tnd_nccl_member_collect(tnd_nccl_member_t *self, uint32_t part,
                                     const tnd_nccl_shards_t *shards,
                                     tnd_error_t *error) TND_CHECKED;

/*  The result is in the part. */
tnd_status_t tnd_nccl_member_await(tnd_nccl_member_t *self, uint32_t part,
                                   tnd_error_t *error) TND_CHECKED;
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_nccl_member_close(tnd_nccl_member_t **self_p);

#endif
