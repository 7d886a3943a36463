/*  transport/collective/host_internal.h - shared by the files of the collective `host`.
 *
 *  host.c has the table, and reductions whose replicas are all in this process; host_exchange.c has
 *  those with replicas of other processes, in pieces (host_pieces.c), of which the actor computes and takes
 *  those that are started while steps run (host_started.c); host_gather.c has what both gather. */
#ifndef TND_TRANSPORT_COLLECTIVE_HOST_INTERNAL_H
#define TND_TRANSPORT_COLLECTIVE_HOST_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/feed/futex_wait.h"
#include "runtime/interface/collective.h"
#include "runtime/posts/reduction_share.h"
#include "runtime/posts/tensor.h"

/*  What is reduced in one round: a bucket of whole postings, or a part of one. */
typedef struct {
    uint32_t posting, postings; /* the first one, and how many */
    uint32_t slot, reduction;
    uint32_t root;  /* 1 + the replica whose bytes it has; 0: values of all */
    uint32_t owner; /* 1 + the replica whose share of an array it is; 0: it is not a share */
    uint32_t first_node, node_count;
    size_t begin, count;                 /* elements of all; `begin` is that of a part */
    _Atomic uint32_t computing, copying; /* threads that have not done so */
    _Atomic bool arrived;                /* what follows is there */
    tnd_buffer_t *result;
    bool started;       /* while steps ran */
    const void *values; /* in `result` */
    const void *counts; /* of a GATHER: by replica of the run */
} piece_t;

typedef struct {
    uint32_t piece;
    tnd_reduction_tree_node_t node;
    uint64_t rows;
    tnd_buffer_t *tensor;
    void *values;
} node_t;

/*  A result that has arrived, until the actor may say that it is not read any more. */
typedef struct {
    uint64_t number; /* of the piece, from 1, over all exchanges; 0: of none that waits */
    tnd_used_t used;
} arrived_t;

/*  The reductions of one round that wait for results.  Pieces are computed, and results copied, in
 *  order, by all threads.  The first thread begins a piece once fewer than TND_PIECES_OPEN are open.
 *  Pieces are added under `lock` only: by the thread whose replica starts them as the last one, and by the
 *  first thread when the round begins. */
typedef struct {
    pthread_mutex_t lock;
    bool started;   /* steps run, and the actor does the work of all threads */
    bool begins;    /* the first thread has cut all, and has not met the others */
    uint32_t cut;   /* postings that are in pieces; 0 outside of steps */
    uint32_t known; /* pieces that were started ... */
    uint32_t computed_early, copied_early; /* ... that the actor has computed, and copied */
    uint64_t step;
    piece_t *pieces;
    node_t *nodes;
    uint32_t piece_count, node_count;
    size_t piece_room, node_room;
    uint64_t before;                  /* pieces of earlier exchanges */
    uint32_t taken;                   /* nodes that the actor has taken */
    _Atomic uint32_t missing;         /* results; nonzero only while the actor may use all this */
    _Atomic uint32_t begun, computed; /* pieces that have tensors, and that may be sent */
    _Atomic uint64_t copied, closed;  /* pieces over all exchanges */
    tnd_pool_t *pool;                 /* of their tensors */
    arrived_t *arrivals;              /* the actor's */
    size_t arrival_count, arrival_room;
} exchange_t;

struct host;

typedef struct {
    struct host *host;
    uint32_t number, first, count;  /* of the process; its replicas */
    uint64_t rounds, chunks;        /* so far; the same for all threads of a round */
    uint32_t computed, copied;      /* pieces of the exchange */
    uint32_t sharing;               /* threads that compute a piece together */
    bool ended;                     /* the round that was begun last */
    bool starts;                    /* its replicas have started postings of the next round */
    tnd_postings_shape_t shapes[2]; /* of what its first replica posted in the last two rounds */
    tnd_reduction_parts_t parts;    /* scratch */
} thread_t;

typedef struct host {
    tnd_collective_t base;
    tnd_collective_config_t config;
    thread_t *threads;
    tnd_futex_t gate;
    const tnd_postings_t *const
        *posted;             /* `posts` of the process; of `config`, while steps run, those
                                            that are started: */
    tnd_postings_t *started; /* by local replica ... */
    const tnd_postings_t **started_list; /* ... and where they are */
    thread_t actor;                      /* what a thread of all replicas would have */
    _Atomic bool over;
    exchange_t exchange;
    tnd_gathers_t gathers, sames;                 /* for steps; hashes that must be equal */
    _Atomic uint64_t chunks_claimed, chunks_done; /* over all rounds whose replicas are here */
} host_t;

static inline bool is_over(const host_t *host)
{
    return atomic_load_explicit(&host->over, memory_order_acquire);
}

/*  What a replica of this process has posted. */
static inline const tnd_postings_t *posts_of(const host_t *host, uint32_t local)
{
    return host->config.posts[local];
}

/*  Ends the run for this reason.  Always returns false. */
bool tnd_host_collective_fail(host_t *host, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/*  The same: two local replicas posted differently, from posting `number` on. */
bool tnd_host_collective_refuse(host_t *host, const tnd_collective_round_t *round, uint32_t one,
                                uint32_t other, uint32_t number);
/*  Meets the other threads; false: the member is over. */
bool tnd_host_collective_meet(thread_t *thread);
void tnd_host_collective_wake(host_t *host);

/*  What the local replicas have of one posting from element `begin` on, as parts of the tree. */
void tnd_host_collective_list_parts(thread_t *thread, uint32_t posting, size_t begin);
/*  The job of a node of the tree, of the parts that were listed. */
tnd_reduction_tree_job_t tnd_host_collective_node_job(const thread_t *thread, uint32_t posting,
                                                      tnd_reduction_tree_node_t node);
/*  Whether a result is in the same memory as that of the replica before. */
bool tnd_host_collective_shares_out(const host_t *host, uint32_t local, uint32_t posting);
/*  Whether this thread's replicas gather, or use weights.  Then the posts of the others must be
 *  known before memory for them is allocated. */
bool tnd_host_collective_posts_late(const thread_t *thread, bool weighing);

/*  Pieces (host_pieces.c), under the lock: cuts what is posted before posting `end`, from the last cut on. */
void tnd_host_collective_cut(host_t *host, tnd_collective_round_t *round, uint32_t end);
/*  Takes memory for what will be sent of a piece; computes the thread's part of a node; copies a result to
 *  the thread's replicas. */
void tnd_host_collective_begin_piece(host_t *host, uint32_t number);
void tnd_host_collective_compute_node(thread_t *thread, const node_t *node);
void tnd_host_collective_take_values(const thread_t *thread, const piece_t *piece);

/*  While steps run (host_started.c).  `make` when the member joins.  The others under the lock: the actor
 *  computes the next piece if none is to be sent, or copies the results that are there; a round begins, and
 *  has so many pieces. */
void tnd_host_collective_make_started(host_t *host);
void tnd_host_collective_free_started(host_t *host);
bool tnd_host_collective_start(tnd_collective_t *self, uint32_t number, uint32_t replica,
                               tnd_collective_round_t *round);
void tnd_host_collective_compute_started(host_t *host);
void tnd_host_collective_copy_started(host_t *host);
uint32_t tnd_host_collective_end_started(host_t *host);

/*  Reduces with replicas of other processes (host_exchange.c): as a whole; or begins that, lets the actor
 *  have what it may send, and later takes results until those of a posting are there.  false: the member is
 *  over. */
bool tnd_host_collective_exchange(thread_t *thread, tnd_collective_round_t *round);
bool tnd_host_collective_begin_exchange(thread_t *thread, tnd_collective_round_t *round);
bool tnd_host_collective_await_exchange(thread_t *thread, tnd_collective_round_t *round,
                                        uint32_t posting);
void tnd_host_collective_forget_exchange(host_t *host);
bool tnd_host_collective_outgoing(tnd_collective_t *self, tnd_outgoing_t *outgoing);
tnd_status_t tnd_host_collective_incoming(tnd_collective_t *self, tnd_actor_id_t reducer,
                                          const tnd_post_note_t *result, tnd_error_t *error);
bool tnd_host_collective_used(tnd_collective_t *self, tnd_used_t *used);
void tnd_host_collective_closed(tnd_collective_t *self);
bool tnd_host_collective_waits(const tnd_collective_t *self);
bool tnd_host_collective_awaits(const tnd_collective_t *self, uint64_t step, uint32_t reducer_slot);

/*  Gathers (host_gather.c).  If all replicas are here: `room`, while the others meet, is called by
 *  the first thread to allocate memory; then every thread copies its own posts. */
void tnd_host_collective_gather_room(host_t *host);
void tnd_host_collective_gather_own(const thread_t *thread);
/*  If other processes have replicas: the first thread allocates a node's tensor, all fill it, and the
 *  first takes the result. */
void tnd_host_collective_gather_begin(host_t *host, node_t *node, uint32_t posting,
                                      tnd_buffer_t *tensor);
void tnd_host_collective_gather_node(const thread_t *thread, const node_t *node, uint32_t posting);
tnd_status_t tnd_host_collective_gather_check(const host_t *host, piece_t *piece,
                                              tnd_buffer_t *result, tnd_error_t *error) TND_CHECKED;
void tnd_host_collective_gather_take(host_t *host, const piece_t *piece);
/*  Forgets what the round before gathered. */
void tnd_host_collective_gather_none(host_t *host);
/*  Whether the hashes that were gathered are equal in all replicas; else the run has failed. */
bool tnd_host_collective_gather_equal(host_t *host, const tnd_collective_round_t *round);
void tnd_host_collective_gather_forget(host_t *host);

#endif
