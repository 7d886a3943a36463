/*  tundish/tundish.h - everything a program needs to compose, run and feed from a graph.
 *
 *  A graph of actors (reader -> preprocessor -> batcher -> feeder <-> reducer) is composed call by
 *  call or loaded from topology files; a session is this process's part of a run of it; a feed
 *  hands out global steps; a replica is one logical model copy with its rows of the step.
 *
 *      tnd_graph_t *graph = tnd_graph_load(files, 1);
 *      tnd_session_t *session = NULL;
 *      if (tnd_session_open(&session, graph, NULL) != TND_OK)
 *          return fputs(tnd_graph_errors(graph), stderr), 78;
 *      tnd_feed_t *feed = tnd_session_feed(session, "feed");
 *      while (tnd_feed_next(feed) == TND_OK)
 *          if (tnd_feed_run(feed, step, apply, models) != TND_OK)
 *              break;
 *      return tnd_session_destroy(&session) == TND_OK ? 0 : 1;
 *
 *  Ownership: what a function returns as a const pointer belongs to the object it was asked of and
 *  is valid as long as that is.  Destroy functions take the address of a pointer, allow NULL in it
 *  and set it to NULL.
 *
 *  Threads: a graph and a feed belong to one thread at a time.  Inside `step` and `apply` the
 *  replica functions may be called on whatever thread runs them.  The library installs no signal
 *  handler and prints nothing.
 */
#ifndef TUNDISH_TUNDISH_H
#define TUNDISH_TUNDISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TND_API __attribute__((visibility("default")))
#define TND_ABI 1u /* of the tables below; a plugin states the one it was built with */

#ifndef TND_STATUS_DEFINED
#define TND_STATUS_DEFINED
typedef enum {
    TND_OK = 0,
    TND_END,     /* nothing more will come: the stream has ended */
    TND_STOPPED, /* asked to stop before the end */
    TND_FAILED,  /* the world misbehaved; the text says what, where and what to do */
    TND_AGAIN,   /* not now */
    TND_REFUSED  /* the other side does not fit */
} tnd_status_t;
#endif

#ifndef TND_DTYPE_DEFINED
#define TND_DTYPE_DEFINED
/*  The numbers travel between processes: new types are added at the end. */
typedef enum {
    TND_U8 = 0,
    TND_I8,
    TND_U16,
    TND_I16,
    TND_U32,
    TND_I32,
    TND_U64,
    TND_I64,
    TND_F16,
    TND_BF16,
    TND_F32,
    TND_F64,
    TND_BOOL
} tnd_dtype_t;
#endif

#ifndef TND_REDUCE_DEFINED
#define TND_REDUCE_DEFINED
typedef enum { TND_SUM, TND_MEAN, TND_MIN, TND_MAX, TND_GATHER } tnd_reduce_t;
#endif

typedef struct tnd_graph tnd_graph_t;
typedef struct tnd_session tnd_session_t;
typedef struct tnd_feed tnd_feed_t;
typedef struct tnd_replica tnd_replica_t;

/* --- graph: errors are kept and reported together; no call needs a test of its own --- */

TND_API tnd_graph_t *tnd_graph_new(const char *name, uint64_t seed);
/*  A topology file and its overlays, in order. */
TND_API tnd_graph_t *tnd_graph_load(const char *const *files, size_t count);
/*  `options` in the language of the topology file: "size: 128, replicas: 2". */
TND_API void tnd_graph_add(tnd_graph_t *graph, const char *name, const char *kind,
                           const char *options);
/*  "read -> prep -> batch -> feed <-> mean" */
TND_API void tnd_graph_link(tnd_graph_t *graph, const char *path);
/*  "batch.size", "256" */
TND_API void tnd_graph_set(tnd_graph_t *graph, const char *key, const char *value);
/*  An overlay as text: hosts, workers, devices. */
TND_API void tnd_graph_place(tnd_graph_t *graph, const char *overlay_yaml);
/*  What `tundish validate` does.  TND_FAILED: tnd_graph_errors says all that is wrong. */
TND_API tnd_status_t tnd_graph_check(tnd_graph_t *graph);
/*  "" when there are none. */
TND_API const char *tnd_graph_errors(const tnd_graph_t *graph);
TND_API void tnd_graph_destroy(tnd_graph_t **graph_p);

/* --- session: this process's part of a run --- */

/*  Starts host `host` of the graph; NULL: the only one.  The graph must outlive the session.
 *  TND_FAILED: tnd_graph_errors says why; *session_p is NULL.
 */
TND_API tnd_status_t tnd_session_open(tnd_session_t **session_p, tnd_graph_t *graph,
                                      const char *host);
/*  Until this host's part is done; for graphs whose feeders have a step plugin, or none. */
TND_API tnd_status_t tnd_session_wait(tnd_session_t *session);
/*  Asks the whole run for an orderly end: every replica finishes the same last step.  Any thread,
 *  signal-safe.
 */
TND_API void tnd_session_drain(tnd_session_t *session);
/*  Leaves at once.  Any thread, signal-safe. */
TND_API void tnd_session_stop(tnd_session_t *session);
/*  Why it failed, in a sentence; "" otherwise. */
TND_API const char *tnd_session_error(const tnd_session_t *session);
/*  The feed of feeder `actor` on this host, or NULL. */
TND_API tnd_feed_t *tnd_session_feed(tnd_session_t *session, const char *actor);
/*  The run's outcome: TND_OK, TND_STOPPED (drained), TND_FAILED. */
TND_API tnd_status_t tnd_session_destroy(tnd_session_t **session_p);

/* --- feed: pull global steps; one caller thread --- */

/*  The next global step; commits the one before.  TND_END after the last one, TND_STOPPED after a
 *  drain, TND_FAILED with tnd_session_error.
 */
TND_API tnd_status_t tnd_feed_next(tnd_feed_t *feed);

typedef tnd_status_t tnd_step_fn(tnd_replica_t *replica, void *user);

/*  Runs `step` for each replica of this host, on its device's thread, then, when what they posted
 *  is reduced, `apply` (may be NULL) for each.  Anything but TND_OK from them fails the run.
 */
TND_API tnd_status_t tnd_feed_run(tnd_feed_t *feed, tnd_step_fn *step, tnd_step_fn *apply,
                                  void *user);
/*  Replicas of the whole run, and the ids [first, first + count) that this host carries. */
TND_API uint32_t tnd_feed_replicas(const tnd_feed_t *feed, uint32_t *first_p, uint32_t *count_p);
/*  Steps of one epoch; UINT64_MAX when that is not known before its end. */
TND_API uint64_t tnd_feed_steps(const tnd_feed_t *feed);

/* --- replica: valid inside step and apply --- */

TND_API uint32_t tnd_replica_id(const tnd_replica_t *replica);    /* logical */
TND_API uint64_t tnd_replica_step(const tnd_replica_t *replica);  /* over the run, from 0 */
TND_API uint64_t tnd_replica_epoch(const tnd_replica_t *replica); /* from 0 */
TND_API bool tnd_replica_last(const tnd_replica_t *replica);      /* step of its epoch */
TND_API size_t tnd_replica_rows(const tnd_replica_t *replica);    /* of weight 1; 0 is possible */
TND_API size_t tnd_replica_padded(const tnd_replica_t *replica);  /* rows of zeros behind them */
/*  The rows of a column, packed, aligned to 64 bytes, in its device's memory; NULL: no such one. */
TND_API const void *tnd_replica_column(const tnd_replica_t *replica, const char *name);
/*  Type and shape of one row of that column; false: no such one.  `shape` has room for 8. */
TND_API bool tnd_replica_spec(const tnd_replica_t *replica, const char *name, tnd_dtype_t *dtype_p,
                              uint32_t *rank_p, uint64_t *shape);
/*  Posts `count` elements to a reduction over all replicas of the run; `data` is the caller's and
 *  must stay; the result stands in it when `apply` runs.  TND_MEAN weighs each replica by what
 *  tnd_replica_weight says: `data` is the mean over its rows, by their weights.  All replicas post
 *  the same reductions in the same order.
 */
TND_API tnd_status_t tnd_replica_reduce(tnd_replica_t *replica, const char *reducer,
                                        tnd_reduce_t reduce, tnd_dtype_t dtype, void *data,
                                        size_t count);
/*  The sum of the weight column of that reducer (its option `weight`) over this replica's rows;
 *  without one, its rows.  Negative, after tnd_replica_error: a weight is negative or no number.
 */
TND_API double tnd_replica_weight(tnd_replica_t *replica, const char *reducer);
/*  A mean by a weight that the step knows, such as how many tokens count: finite, from 0 on.  A
 *  replica of weight 0 takes no part.
 */
TND_API tnd_status_t tnd_replica_mean(tnd_replica_t *replica, const char *reducer,
                                      tnd_dtype_t dtype, void *data, size_t count, double weight);
/*  Posts `count` elements, each replica its own number, 0 too, to be put one after the other in
 *  order of replicas; `data` must stay until `apply` runs, and is not changed.
 */
TND_API tnd_status_t tnd_replica_gather(tnd_replica_t *replica, const char *reducer,
                                        tnd_dtype_t dtype, const void *data, size_t count);
/*  In `apply`: what the gather number `gather` gave, counted from 0 in order of posting: the
 *  elements of replica `of`, or with TND_ALL_REPLICAS of all.  Aligned to their type; valid until
 *  `apply` returns.  NULL: there was no such gather.
 */
#define TND_ALL_REPLICAS UINT32_MAX
TND_API const void *tnd_replica_gathered(const tnd_replica_t *replica, uint32_t gather, uint32_t of,
                                         size_t *count_p);
/*  A number for progress, metrics and report: its weighted mean over replicas and steps. */
TND_API void tnd_replica_report(tnd_replica_t *replica, const char *metric, double sum,
                                double weight);
/*  The text of a failure, for a step that is about to return TND_FAILED. */
TND_API void tnd_replica_error(tnd_replica_t *replica, const char *text);

/* --- step plugins: NAME.so exports `const tnd_step_ops_t tnd_step_NAME` --- */

/*  One model a logical replica.  `options` is the text of the step's options in the topology file
 *  ("{hidden: 128}", "" if none).  open, step, apply, evaluate run on the thread of the replica's
 *  device; save and load on any, never beside them.  apply, evaluate, save and load may be NULL.
 */
typedef struct {
    uint32_t abi; /* TND_ABI */
    const char *name;
    tnd_status_t (*open)(void **model_p, const char *options, tnd_replica_t *replica);
    tnd_status_t (*step)(void *model, tnd_replica_t *replica);
    tnd_status_t (*apply)(void *model, tnd_replica_t *replica);
    tnd_status_t (*evaluate)(void *model, tnd_replica_t *replica);
    tnd_status_t (*save)(void *model, const char *file);
    tnd_status_t (*load)(void *model, const char *file);
    void (*close)(void *model);
} tnd_step_ops_t;

#ifdef __cplusplus
}
#endif
#endif
