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
 *  Data and computation of one's own come in by tables of functions: a source (where rows come
 *  from), an operation (what is done to them), a step (what is trained on them).  A table that is
 *  linked in is given to the graph, which then knows it by its name; one in a shared object is
 * named where it is used, `source: {plugin: NAME}`.  examples/ has a program of each sort.
 *
 *  Ownership: what a function returns as a const pointer belongs to the object it was asked of and
 *  is valid as long as that is.  Texts and tables that a function is given are copied, unless it
 *  says otherwise.  Destroy functions take the address of a pointer, allow NULL in it and set it to
 *  NULL.
 *
 *  Errors: TND_FAILED is the world misbehaving, and a text says what, where and what to do: that of
 *  the graph before a session is open, that of the session afterwards.  A broken promise of the
 *  caller (a replica used outside of a step) is an assert.  Exhausted memory ends the program.
 *
 *  Threads: a graph, a session and a feed belong to one thread at a time, except where it says "any
 *  thread".  Inside `step` and `apply` the replica functions may be called on whatever thread runs
 *  them.  The library prints nothing, and its only global state is a handler of SIGBUS, which it
 *  installs when it maps the first file: a page that the file has lost becomes an error of the run.
 *  Every other SIGBUS is passed on to the handler that was there before.  A program that installs
 * one later saves the old action, and calls it first.
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
#define TND_ABI 3u /* of the tables below; a plugin states the one it was built with */

typedef enum {
    TND_OK = 0,
    TND_END,     /* nothing more will come: the stream has ended */
    TND_STOPPED, /* asked to stop before the end */
    TND_FAILED,  /* a runtime error; the text says what, where and what to do */
    TND_AGAIN,   /* not now */
    TND_REFUSED  /* the other side does not fit */
} tnd_status_t;

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

typedef enum { TND_SUM, TND_MEAN, TND_MIN, TND_MAX, TND_GATHER } tnd_reduce_t;

#define TND_UNKNOWN UINT64_MAX /* a number that is known only once the end is there */

typedef struct tnd_graph tnd_graph_t;
typedef struct tnd_session tnd_session_t;
typedef struct tnd_feed tnd_feed_t;
typedef struct tnd_replica tnd_replica_t;

/* --- columns: what a row is made of --- */

enum { TND_COLUMNS_MAX = 16, TND_RANK_MAX = 8, TND_COLUMN_NAME_MAX = 64 };

/*  Every row of a stream has the same columns, each a dense array, C order, little endian: of fixed
 *  shape, or ragged: then the first axis of a row has any length up to shape[0], 0 too.
 */
typedef struct {
    char name[TND_COLUMN_NAME_MAX];
    tnd_dtype_t dtype;
    uint32_t rank; /* of one row; 0: a scalar */
    uint64_t shape[TND_RANK_MAX];
    bool ragged; /* shape[0] is the most; each row has a length of its own */
} tnd_column_t;

typedef struct tnd_schema {
    uint32_t count;
    tnd_column_t columns[TND_COLUMNS_MAX];
} tnd_schema_t;

/*  A text that explains a failure; the caller owns the struct. */
typedef struct tnd_error {
    char text[512];
    const void *about; /* the library's own */
} tnd_error_t;

/*  Appends a column to a schema, which begins zeroed; `shape` has `rank` numbers.  TND_FAILED: the
 *  name is empty, too long or taken, there are too many columns or dimensions, a dimension is 0, or
 *  a row takes 2^40 bytes or more; the schema is then as it was.
 */
TND_API tnd_status_t tnd_schema_add(tnd_schema_t *schema, const char *name, tnd_dtype_t dtype,
                                    uint32_t rank, const uint64_t *shape, tnd_error_t *error);
/*  The same of a ragged one, whose longest row has shape[0]; `rank` is at least 1. */
TND_API tnd_status_t tnd_schema_add_ragged(tnd_schema_t *schema, const char *name,
                                           tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape,
                                           tnd_error_t *error);
/*  Index of the column called `name`, or -1. */
TND_API int tnd_schema_find(const tnd_schema_t *schema, const char *name);
/*  Writes a text, cut at its end if it is too long, and returns TND_FAILED, so that a function that
 *  fails ends with one expression.  `error` may be NULL.
 */
TND_API tnd_status_t tnd_fail(tnd_error_t *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- graph: errors are kept and reported together; no call needs a test of its own --- */

/*  An empty graph.  `name` may be NULL; all that is random in the stream is drawn from `seed`. */
TND_API tnd_graph_t *tnd_graph_new(const char *name, uint64_t seed);
/*  A topology file and its overlays, in order. */
TND_API tnd_graph_t *tnd_graph_load(const char *const *files, size_t count);
/*  Adds an actor; `options` in the language of the topology file: "size: 128, replicas: 2", or
 * NULL.
 */
TND_API void tnd_graph_add(tnd_graph_t *graph, const char *name, const char *kind,
                           const char *options);
/*  Adds links: "read -> prep -> batch -> feed <-> mean". */
TND_API void tnd_graph_link(tnd_graph_t *graph, const char *path);
/*  Changes one value: "batch.size", "256"; "seed", "8". */
TND_API void tnd_graph_set(tnd_graph_t *graph, const char *key, const char *value);
/*  An overlay as text: hosts, workers, devices. */
TND_API void tnd_graph_place(tnd_graph_t *graph, const char *overlay_yaml);
/*  What `tundish validate` does with the files alone.  TND_FAILED: tnd_graph_errors says all that
 * is wrong.  May be called again, also after further changes; opening a session calls it.
 */
TND_API tnd_status_t tnd_graph_check(tnd_graph_t *graph);
/*  All errors with their places, one below the other; "" when there are none. */
TND_API const char *tnd_graph_errors(const tnd_graph_t *graph);
/*  Frees it; its sessions are gone by then.  Code of others that hangs keeps all it may touch. */
TND_API void tnd_graph_destroy(tnd_graph_t **graph_p);

/* --- session: this process's part of a run --- */

/*  Starts host `host` of the graph; NULL: the only one.  The graph must outlive the session and not
 *  be changed while it lasts.  Returns once the run has begun to form: data that cannot be used is
 *  told by the functions below.  TND_FAILED: tnd_graph_errors says why; *session_p is NULL.
 */
TND_API tnd_status_t tnd_session_open(tnd_session_t **session_p, tnd_graph_t *graph,
                                      const char *host);
/*  Waits until this host's part is done: TND_OK, TND_STOPPED (drained or stopped) or TND_FAILED
 * with tnd_session_error.  May be called again.  Feeders without a step whose feed the program has
 * never pulled discard their batches from now on, so call it after the last tnd_feed_next of all
 * feeds.
 */
TND_API tnd_status_t tnd_session_wait(tnd_session_t *session);
/*  Asks the whole run for an orderly end: every replica finishes the same last step.  Any thread,
 *  signal-safe.
 */
TND_API void tnd_session_drain(tnd_session_t *session);
/*  Ends the run at once, also in the middle of a step.  Any thread, signal-safe. */
TND_API void tnd_session_stop(tnd_session_t *session);
/*  Why the run failed or was stopped, in a sentence; "" while it runs, and after an end or a
 *  drain.  Once a step has failed, waits until the reason is known.
 */
TND_API const char *tnd_session_error(const tnd_session_t *session);
/*  The feed of the feeder called `actor` on this host.  Waits until the actors of this host run.
 *  NULL: the run failed before that (tnd_session_error) or was stopped, or no such feeder is here.
 */
TND_API tnd_feed_t *tnd_session_feed(tnd_session_t *session, const char *actor);
/*  On the leader, which is the first host of the graph, the only one if there is one; after
 *  tnd_session_wait they are final.
 *
 *  The digest of all rows that the feeder called `actor` has committed: 32 hex digits, equal
 *  wherever the actors stand.  False: nothing is known of such a feeder here.
 */
TND_API bool tnd_session_digest(tnd_session_t *session, const char *actor, char text[33]);
/*  What its steps reported as `metric`, as the weighted mean over the last epoch that has ended;
 *  false: nobody did.
 */
TND_API bool tnd_session_metric(tnd_session_t *session, const char *actor, const char *metric,
                                double *mean_p);
/*  Leaves (a run that has not ended is stopped), frees everything and gives the run's outcome:
 *  TND_OK, TND_STOPPED, TND_FAILED.  Feeds are gone with it.
 */
TND_API tnd_status_t tnd_session_destroy(tnd_session_t **session_p);

/* --- feed: pull global steps; one caller thread --- */

/*  The columns of the rows that it hands out: TensorFlow's element spec, per replica. */
TND_API const tnd_schema_t *tnd_feed_schema(const tnd_feed_t *feed);
/*  Replicas of the whole run, and the ids [first, first + count) that this host carries. */
TND_API uint32_t tnd_feed_replicas(const tnd_feed_t *feed, uint32_t *first_p, uint32_t *count_p);
/*  Steps of one epoch; TND_UNKNOWN when that is not known before its end. */
TND_API uint64_t tnd_feed_steps(const tnd_feed_t *feed);
/*  Waits for the next global step; commits the one before.  If `after:` of this feeder names
 * another one, the first step comes when that one has had its TND_END.
 *
 *  TND_END: the stream has ended.  TND_STOPPED: the run was drained, and its last step was handed
 *  out before, or it was stopped.  TND_FAILED: the run failed (tnd_session_error), or the feed
 * cannot be pulled: its feeder has a `step`, or tnd_session_wait came first.  Further calls return
 * the same.
 */
TND_API tnd_status_t tnd_feed_next(tnd_feed_t *feed);

/*  What is done with a replica's rows.  Anything but TND_OK ends the run; say why by
 *  tnd_replica_error.
 */
typedef tnd_status_t tnd_step_fn(tnd_replica_t *replica, void *user);

/*  Runs `step` for each replica of this host, then, when what they posted is reduced over all
 * hosts, `apply` (may be NULL) for each; returns when all have.  At most once per step; a step
 * without it is committed unused.
 *
 *  Where the host has one device, and that is a processor, they run on the calling thread, in a
 *  float mode of their own: the caller's is restored.  Otherwise each device has a thread, and
 *  replicas of different devices run at the same time: what they share through `user` is the
 *  caller's to guard.
 *
 *  TND_STOPPED: the run was stopped, and the step is not committed.  TND_FAILED: the run failed
 *  (tnd_session_error); or there is no step to run, because tnd_feed_next did not return TND_OK or
 *  this function was called for it before.  A `step` that hangs (`hung_after`) ends the run, but on
 *  the calling thread this function does not return before `step` does.
 */
TND_API tnd_status_t tnd_feed_run(tnd_feed_t *feed, tnd_step_fn *step, tnd_step_fn *apply,
                                  void *user);

/*  Writes the model of a replica to a file, or reads it. */
typedef tnd_status_t tnd_file_fn(const char *file, uint32_t replica, void *user);

/*  Keeps the models behind the step that was just run: calls `save` for each replica of this host,
 *  one after the other on the caller's thread.  All hosts do so behind the same step.  With the
 * next tnd_feed_next models and cursor become one checkpoint in the folder of `checkpoint: {dir:
 * DIR}` of the graph.  TND_FAILED: there is no such folder, no step was run, or some model cannot
 * be written; `error` says why, and the run may go on.
 */
TND_API tnd_status_t tnd_feed_save(tnd_feed_t *feed, tnd_file_fn *save, void *user,
                                   tnd_error_t *error);
/*  Before the first tnd_feed_next: calls `load` for each replica of this host with its file of the
 *  checkpoint that the run goes on from (`checkpoint.resume` of the graph: `latest`, or its path).
 *  TND_END: the run begins at the start.  TND_FAILED: a file is not what was kept, or `load`
 * failed.
 */
TND_API tnd_status_t tnd_feed_restore(tnd_feed_t *feed, tnd_file_fn *load, void *user,
                                      tnd_error_t *error);

/* --- replica: valid inside step and apply --- */

TND_API uint32_t tnd_replica_id(const tnd_replica_t *replica);    /* logical */
TND_API uint64_t tnd_replica_step(const tnd_replica_t *replica);  /* over the run, from 0 */
TND_API uint64_t tnd_replica_epoch(const tnd_replica_t *replica); /* from 0 */
TND_API bool tnd_replica_last(const tnd_replica_t *replica);      /* step of its epoch */
TND_API size_t tnd_replica_rows(const tnd_replica_t *replica);    /* of weight 1; 0 is possible */
TND_API size_t tnd_replica_padded(const tnd_replica_t *replica);  /* rows of zeros behind them */
/*  The rows of a column, packed, aligned to 64 bytes, in its device's memory; read-only, until the
 *  step is over.  NULL: there is no such column.
 */
TND_API const void *tnd_replica_column(const tnd_replica_t *replica, const char *name);
/*  The lengths of the rows of a ragged column, along its first axis, in the host's memory; as long
 *  valid.  Row r begins where all rows of shape[0] would put it, and is zero behind its length:
 * what TensorFlow's padded_batch gives with these shapes.  NULL: there is no such column, or it is
 * fixed.
 */
TND_API const uint64_t *tnd_replica_lengths(const tnd_replica_t *replica, const char *name);
/*  The same rows as a DLPack tensor, a DLManagedTensor of [rows, shape of the column] on its
 * device: PyTorch, JAX, NumPy and others take it in a capsule named "dltensor".  Read-only.
 *
 *  Ownership: the caller's, until it calls the tensor's deleter, once.  The rows stay in memory
 *  until then, also after the next step, the end of the session and the end of the graph.  They do
 *  not delay the commit of their step.  A step whose tensors are held takes up memory beside the
 *  `depth` slots of its feeder: up to `spare` such steps (an option of the feeder, 2 by default)
 *  use memory that is kept for them and counted in the sum of `tundish explain`; memory for more is
 *  allocated and freed as needed, and not counted.
 *
 *  Threads: the deleter may be called on any.  Errors: returns NULL if the column does not exist.
 */
TND_API void *tnd_replica_dlpack(tnd_replica_t *replica, const char *name);
/*  Type and shape of one row of that column, of the longest if it is ragged; false: no such one.
 *  `shape` has room for TND_RANK_MAX.
 */
TND_API bool tnd_replica_spec(const tnd_replica_t *replica, const char *name, tnd_dtype_t *dtype_p,
                              uint32_t *rank_p, uint64_t *shape);
/*  Posts `count` elements to a reduction over all replicas of the run, by the reducer of that name;
 *  `data` is the caller's and must stay; the result stands in it when `apply` runs.  TND_MEAN
 * weighs each replica by what tnd_replica_weight says: `data` is the mean over its rows, by their
 * weights. All replicas post the same reductions in the same order.  TND_FAILED: there is no such
 * reducer, or there are too many reductions.
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
/*  A number for progress, metrics and report: the sum over some rows, and how many those are; shown
 *  is the weighted mean over replicas and steps.  At most 16 names a step, of 31 characters.
 */
TND_API void tnd_replica_report(tnd_replica_t *replica, const char *metric, double sum,
                                double weight);
/*  The text of a failure, for a step that is about to return TND_FAILED. */
TND_API void tnd_replica_error(tnd_replica_t *replica, const char *text);

/* --- options: what a topology says to a table of one's own --- */

/*  `options` is the text that `open` of a table is given: "{rows: "1000", name: "x"}", or "".  An
 *  option that is not there leaves *value_p as it is, so set the default first.  TND_FAILED: it is
 *  no such number; the text says what was found.  Any thread.
 */
TND_API tnd_status_t tnd_option_u64(const char *options, const char *name, uint64_t *value_p,
                                    tnd_error_t *error);
TND_API tnd_status_t tnd_option_f64(const char *options, const char *name, double *value_p,
                                    tnd_error_t *error);
/*  Into `text`, which has room for `room` bytes, the zero at the end included. */
TND_API tnd_status_t tnd_option_text(const char *options, const char *name, char *text, size_t room,
                                     tnd_error_t *error);
/*  TND_FAILED: there is an option that is not in the list: "rows, name". */
TND_API tnd_status_t tnd_option_only(const char *options, const char *names, tnd_error_t *error);

/* --- sources: where rows come from --- */

/*  Rows to be filled or read: row r of column c begins at columns[c].data + r * columns[c].stride,
 *  aligned to its elements.  Of a ragged column lengths[r] is its length along the first axis: a
 *  source writes it, and so much of the row; an operation reads it.
 */
typedef struct {
    size_t count; /* of rows */
    struct {
        void *data;
        size_t stride;     /* bytes from row to row */
        uint64_t *lengths; /* NULL: the column is fixed */
    } columns[TND_COLUMNS_MAX];
} tnd_rows_t;

static inline void *tnd_rows_at(const tnd_rows_t *rows, uint32_t column, size_t row)
{
    return (char *)rows->columns[column].data + row * rows->columns[column].stride;
}

/*  What a source can do, and what follows, which is checked before the start.
 *
 *  RANDOM: any shuffle, any number of lanes, readers and epochs.
 *  REWINDS: as many epochs as wanted, in the order of the source, by one reader in one lane.  Rows
 *  that a failure makes necessary again are read again from the start.
 *  Neither: one epoch, so read.  Rows that may become necessary again are kept, up to `retain:` of
 *  the reader; where that does not suffice the run ends and says so.
 */
enum {
    TND_SOURCE_RANDOM = 1, /* any index, any time, the same rows */
    TND_SOURCE_REWINDS = 2 /* again from the start, the same rows */
};

/*  What a source says of its data once it is open. */
typedef struct {
    tnd_schema_t schema;
    uint64_t count;    /* rows of an epoch; TND_UNKNOWN, of a source that is not RANDOM */
    uint64_t identity; /* of the data set: differs where the rows do, as far as that is known */
} tnd_source_data_t;

/*  One open source serves all readers of a process: its state is `state_bytes` zeroed bytes. */
typedef struct tnd_source_ops {
    uint32_t abi; /* TND_ABI */
    const char *name;
    uint32_t caps; /* TND_SOURCE_* */
    size_t state_bytes;
    /*  Fills *data, where `count` is TND_UNKNOWN and all else zero.  `shared` is what the graph was
     * given with the table; NULL in a plugin.  On failure `close` is not called.  Several sources
     * may be opened at the same time.
     */
    tnd_status_t (*open)(void *state, void *shared, const char *options, tnd_source_data_t *data,
                         tnd_error_t *error);
    /*  Writes the rows at index[0 ... count) of the data into rows[0 ... count), which have room.
     *  May take long.  RANDOM: any indices, on any number of threads at once.  Otherwise one thread
     *  at a time, and each call goes on where the one before ended; index[0] == 0 means from the
     *  start, which happens again only with REWINDS.  TND_END: after the rows->count rows that were
     *  written, 0 if none, there are no more; only where `count` is unknown.  TND_REFUSED, if
     *  RANDOM: one of these rows is no record, see `on_error` of the reader; they are asked for
     *  again one by one, and then the text says why.
     */
    tnd_status_t (*read)(void *state, const uint64_t *index, size_t count, tnd_rows_t *rows,
                         tnd_error_t *error);
    void (*close)(void *state); /* may be NULL */
} tnd_source_ops_t;

/*  Makes a source known to the graph, as `source: NAME` or `source: {NAME: {options}}`.  The table,
 *  its name and `shared` stay the caller's until the graph is destroyed.  A name that is taken, or
 * a table that lacks something, is an error of the graph.
 */
TND_API void tnd_graph_source(tnd_graph_t *graph, const tnd_source_ops_t *ops, void *shared);

/*  The same for data that needs no opening: `read` as above, with `user` for the state, rows of
 *  `schema`, `count` of them an epoch or TND_UNKNOWN, and `caps` as TND_SOURCE_* say.
 */
typedef tnd_status_t tnd_read_fn(void *user, const uint64_t *index, size_t count, tnd_rows_t *rows,
                                 tnd_error_t *error);
TND_API void tnd_graph_callback(tnd_graph_t *graph, const char *name, const tnd_schema_t *schema,
                                uint64_t count, uint32_t caps, tnd_read_fn *read, void *user);

/* --- operations: what is done to rows --- */

/*  What an operation does to the number of rows, and whether it draws random numbers. */
enum {
    TND_OP_DROPS = 1,   /* may leave rows out */
    TND_OP_EXPANDS = 2, /* may make several of one */
    TND_OP_RANDOM = 4,  /* draws */
    TND_OP_FAILS = 8    /* may refuse a row, which is then bad */
};

/*  Draws that are a function of (seed, epoch, sample, place of the operation): the same on any
 *  worker, on a retry and after a resume.
 */
typedef struct tnd_random tnd_random_t;
TND_API uint32_t tnd_random_u32(tnd_random_t *random);
TND_API uint64_t tnd_random_u64(tnd_random_t *random);
TND_API float tnd_random_f32(tnd_random_t *random);                      /* in [0, 1) */
TND_API double tnd_random_f64(tnd_random_t *random);                     /* in [0, 1) */
TND_API uint64_t tnd_random_below(tnd_random_t *random, uint64_t bound); /* bound > 0 */

/*  An operation is pure: what comes out depends on the row, the options and `random` alone, so that
 *  any worker on any machine gives the same.  Ragged columns it may look at and leave out, never
 *  make or change.  Each worker has a state of its own, `state_bytes`
 *  zeroed bytes, on one thread at a time.  Every host of a run opens it and applies it to built-in
 *  rows of arbitrary numbers, to know that all compute alike: refuse what makes no sense, never
 *  index by it.
 */
typedef struct tnd_op_ops {
    uint32_t abi; /* TND_ABI */
    const char *name;
    uint32_t caps; /* TND_OP_* */
    size_t state_bytes;
    /*  Checks the options against the columns that come in.  *out is *in, to be changed into what
     *  comes out; *most_p is 1, the rows that one may become, and more only with EXPANDS.  `shared`
     *  is what the graph was given with the table; NULL in a plugin.  On failure `close` is not
     *  called.
     */
    tnd_status_t (*open)(void *state, void *shared, const char *options, const tnd_schema_t *in,
                         tnd_schema_t *out, uint32_t *most_p, tnd_error_t *error);
    /*  Makes rows out[0 ... out->count) of row `row` of `in`: sets out->count, which is 1, to 0
     * only with DROPS.  A column of the same name, type and shape on both sides is there already,
     * as it came in, in all rows that may be made.  `random` is NULL without RANDOM.  TND_FAILED,
     * with FAILS: the row is bad, and the text says why.
     */
    tnd_status_t (*apply)(void *state, const tnd_rows_t *in, size_t row, tnd_random_t *random,
                          tnd_rows_t *out, tnd_error_t *error);
    void (*close)(void *state); /* may be NULL */
} tnd_op_ops_t;

/*  Makes an operation known to the graph, as `ops: [NAME]` or `ops: [{NAME: {options}}]`; otherwise
 *  as tnd_graph_source.
 */
TND_API void tnd_graph_op(tnd_graph_t *graph, const tnd_op_ops_t *ops, void *shared);

/* --- steps: what is trained --- */

/*  One model a logical replica.  `options` is the text of the step's options in the topology file
 *  ("{hidden: "128"}", "" if none).  open, step, apply, evaluate run on the thread of the replica's
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

/* --- plugins ---
 *
 *  FILE.so is built without linking libtundish, whose functions it finds in the program that loads
 *  it.  It exports const tables:
 *
 *      const tnd_source_ops_t tnd_source_NAME;    `source: {plugin: NAME, option: 1}`
 *      const tnd_op_ops_t tnd_op_NAME;            `ops: [{plugin: NAME, option: 1}]`
 *      const tnd_step_ops_t tnd_step_NAME;        `step: {plugin: NAME, option: 1}`
 *
 *  `plugin: NAME` is NAME.so; `plugin: FILE.NAME` one of several tables of FILE.so.  Files are
 *  looked for beside the topology file, in $TUNDISH_PLUGIN_PATH, beside the program, and in
 *  LIBDIR/tundish.  A table is exported by TND_API:
 *
 *      extern TND_API const tnd_op_ops_t tnd_op_invert;
 */

#ifdef __cplusplus
}
#endif
#endif
