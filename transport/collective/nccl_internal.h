/*  transport/collective/nccl_internal.h - shared by the files of the collective `nccl`.
 *
 *  nccl.c has the table and the rounds; nccl_account.c what replicas tell each other before a round, and
 *  nccl_values.c how their values are cut, added on the host and given back. */
#ifndef TND_TRANSPORT_COLLECTIVE_NCCL_INTERNAL_H
#define TND_TRANSPORT_COLLECTIVE_NCCL_INTERNAL_H

#include <stdatomic.h>

#include "runtime/interface/collective.h"
#include "transport/nccl/nccl_member.h"
#include "transport/nccl/nccl_watch.h"

enum { TND_NCCL_PART_BYTES = 4 << 20 };

/*  What one replica of this process tells the others, and what it shows to the collective `host`. */
typedef struct {
    uint64_t *words;
    uint32_t count;
    size_t room;
    tnd_postings_t account, rest; /* to gather the words; what NCCL does not reduce */
} nccl_replica_t;

/*  A device thread. */
typedef struct {
    struct nccl *nccl;
    uint32_t number, first, count; /* of the process; its replicas */
    tnd_nccl_member_t *member;     /* NULL: nothing has been reduced yet */
    tnd_partial_weight_t *totals;  /* by posting of this round: of all replicas */
    size_t total_room;
    tnd_reduction_tree_input_t *inputs; /* scratch, for its replicas */
    void **outs;                        /* likewise */
    void *sum;                          /* of a node after the first, TND_NCCL_PART_BYTES */
    /*  With `tree`: what each replica has told of its rows and weights, from entry_first[replica] on, 3 words
     *  each; and the nodes of all threads, from left to right, by rank. */
    uint64_t *entries;
    size_t entry_room, *entry_first;
    tnd_reduction_tree_node_t *nodes;
    uint32_t *first_node, ranks, nodes_most;       /* of one thread */
    tnd_reduction_tree_input_t *leaves, *received; /* scratch: by replica; by node */
} nccl_thread_t;

typedef struct nccl {
    tnd_collective_t base;
    tnd_collective_config_t config;
    tnd_collective_t *host;       /* carries the accounts, and what NCCL does not reduce */
    const tnd_postings_t **shown; /* to it, by replica of the process */
    nccl_replica_t *replicas;
    nccl_thread_t *threads;
    tnd_nccl_watch_t *watch;
    tnd_gathers_t gathers;
    bool tree; /* `order: tree` (nccl_tree.c) */
    _Atomic bool over;
} nccl_t;

/*  What all replicas have told. */
typedef enum {
    TND_NCCL_ALIKE,
    TND_NCCL_UNLIKE, /* they have posted different things */
    TND_NCCL_BROKEN  /* it is not what replicas tell */
} tnd_nccl_told_t;

/*  Whether NCCL reduces a posting; that is the same for all replicas that post it. */
bool tnd_nccl_carries(const tnd_posting_t *post);

/*  What replica `local` tells in this round: what it has posted, with how many rows and which weights; at
 *  first, also that a device thread begins with it, and what to meet by.  `id` may be NULL. */
void tnd_nccl_account_write(nccl_t *nccl, uint32_t local, const tnd_collective_round_t *round,
                            bool begins_thread, const tnd_nccl_id_t *id);
/*  Reads what all have told: the totals of a thread's postings. */
tnd_nccl_told_t tnd_nccl_account_read(nccl_thread_t *thread, const tnd_gathered_t *gathered);
/*  Who takes part: the thread's rank, and what all meet by. */
tnd_nccl_told_t tnd_nccl_account_meet(const nccl_thread_t *thread, const tnd_gathered_t *gathered,
                                      tnd_nccl_member_config_t *config);

/*  Elements of one type that are reduced at once, of postings that follow one another: they begin with
 *  element `begin` of posting `posting`. */
typedef struct {
    uint32_t posting;
    size_t begin, count;
    ncclDataType_t type;
    ncclRedOp_t operation;
} nccl_part_t;

/*  The part after another one, or the first, after one of zeros; false: there is none.  `nodes`: it has room for
 *  the values of so many nodes. */
bool tnd_nccl_part_next(const tnd_postings_t *posts, uint32_t nodes, nccl_part_t *part);
/*  Elements of a part that are of one posting. */
typedef struct {
    const tnd_posting_t *post;
    uint32_t posting;
    size_t begin, count, at; /* in the posting; so many; in the part */
} nccl_segment_t;
/*  The segment after another one, or the first, after one of zeros; false: there is none. */
bool tnd_nccl_part_segment(const tnd_postings_t *posts, const nccl_part_t *part,
                           nccl_segment_t *segment);
/*  The bytes of an element on its way. */
size_t tnd_nccl_part_size(const tnd_posting_t *post);
/*  Adds what the thread's replicas have posted below one node. */
void tnd_nccl_part_fill_node(nccl_thread_t *thread, const nccl_part_t *part,
                             tnd_reduction_tree_node_t node, void *values);
/*  Adds what the thread's replicas have posted. */
void tnd_nccl_part_fill(nccl_thread_t *thread, const nccl_part_t *part, void *values);
/*  Gives the results to the thread's replicas. */
void tnd_nccl_part_give(nccl_thread_t *thread, const nccl_part_t *part, const void *values);

/*  With `tree` (nccl_tree.c): what a thread needs before it meets the others, when all have told; a round; and
 *  the end. */
tnd_nccl_told_t tnd_nccl_tree_begin(nccl_thread_t *thread, const tnd_gathered_t *gathered,
                                    tnd_nccl_member_config_t *config);
tnd_status_t tnd_nccl_tree_carry(nccl_thread_t *thread, tnd_error_t *error) TND_CHECKED;
void tnd_nccl_tree_free(nccl_thread_t *thread);
/*  Whether a thread begins with a replica; its rows and weight in a posting, after tnd_nccl_account_read. */
bool tnd_nccl_account_begins(const tnd_gathered_t *gathered, uint32_t replica);
tnd_partial_weight_t tnd_nccl_account_weight(const nccl_thread_t *thread, uint32_t replica,
                                             uint32_t posting);

#endif
