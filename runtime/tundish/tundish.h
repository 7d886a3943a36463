/*  tundish/tundish.h - composes a graph, runs it and pulls steps from it.
 *
 *  A graph of actors (reader -> preprocessor -> batcher -> feeder <-> reducer) is composed by calls
 *  or loaded from topology files.  A session is this process's part of a run.  A feed returns
 *  global steps.  A replica is one copy of the model with its rows of the step.
 *
 *      tnd_graph_t *graph = tnd_graph_load(files, 1);
 *      tnd_session_t *session = NULL;
 *      if (tnd_session_open(&session, graph, NULL) != TND_OK)
 *          return fputs(tnd_graph_errors(graph), stderr), 78;
 *      tnd_feed_t *feed = tnd_session_feed(session, "feed");
 *      while (feed != NULL && tnd_feed_next(feed) == TND_OK)
 *          if (tnd_feed_run(feed, step, apply, models) != TND_OK)
 *              break;
 *      return tnd_session_destroy(&session) == TND_OK ? 0 : 1;
 *
 *  User code is a const table of functions: a source generates rows, an operation transforms them,
 *  a step trains on them.  A table that is linked in is registered with the graph under its name; a
 *  table in a shared object is named where it is used, `source: {plugin: NAME}`.  examples/ has
 *  programs of both sorts.
 *
 *  Ownership: a const pointer that a function returns belongs to the object that was passed and is
 *  valid as long as that object.  Texts and tables that are passed are copied unless stated
 *  otherwise.  Destroy functions take the address of a pointer, accept NULL in it and set it to
 *  NULL.
 *
 *  Errors: TND_FAILED is a runtime error.  A text says what failed, where and what to do: that of
 *  the graph before a session is open, that of the session afterwards.  Calls that break this
 *  contract (such as the use of a replica outside of a step) fail an assert.  The process aborts
 *  when memory is exhausted.
 *
 *  Threads: one thread at a time uses a graph, a session or a feed, except in functions marked
 *  "Threads: any".  Replica functions are called inside `step` and `apply`, on the thread that runs
 *  them.  A call on a feed while another thread is inside of one on it is refused (TND_FAILED), and
 *  so is the pull of a step while that of another thread was not run.  A process that was forked from
 *  one with a session cannot use it: the functions return TND_FAILED, NULL or false, and
 *  tnd_session_destroy only sets the pointer to NULL.  The library's threads have the signal mask of the thread that opened the session, so a
 *  program that waits for a signal (sigwait, signalfd) blocks it before that.
 *
 *  Output: the library prints only the warnings and errors of a session, to stderr, and prints
 *  nothing once tnd_session_log was called.
 *
 *  The only global state that a program can notice is a SIGBUS handler, installed when the first
 *  file is mapped: the loss of a page of that file becomes an error of the run.  Every other SIGBUS
 *  is passed on to the previous handler.  A program that installs its own handler later saves the
 *  old action and calls it first.  And SIGXFSZ is ignored from the first session on if its action was
 *  the default, so that a file which reaches a limit of its size is reported. */
#ifndef TUNDISH_TUNDISH_H
#define TUNDISH_TUNDISH_H

#include <tundish/parameters.h>
#include <tundish/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TND_ABI 5u /* of the tables below; a plugin declares the one it was built with */

typedef struct tnd_graph tnd_graph_t;
typedef struct tnd_session tnd_session_t;
typedef struct tnd_feed tnd_feed_t;
typedef struct tnd_replica tnd_replica_t;

/* --- graph: errors are collected and reported together, so calls need no checks --------------- */

/*  An empty graph.  `name` may be NULL; all random numbers of the stream depend on `seed`. */
TND_API tnd_graph_t *tnd_graph_new(const char *name, uint64_t seed);
/*  A topology file and its overlays, in order.  ${data} is the key "data" of tnd_graph_set, else
 *  `data:` of the host or the top level, else $TUNDISH_DATA, as for `tundish run`. */
TND_API tnd_graph_t *tnd_graph_load(const char *const *files, size_t count);
/*  Adds an actor; `options` as in a topology file, "size: 128, replicas: 2", or NULL. */
TND_API void tnd_graph_add(tnd_graph_t *graph, const char *name, const char *kind,
                           const char *options);
/*  Adds links: "read -> prep -> batch -> feed <-> mean". */
TND_API void tnd_graph_link(tnd_graph_t *graph, const char *path);
/*  Passes an array of the program to the reader called `name`, whose source is `memory`: column
 *  `column` of its rows, which are not copied.  The array is contiguous, in C order, and aligned to its
 *  elements; `shape` has `rank` numbers, of which the first one is the number of rows, so a column
 *  of scalars has rank 1.  A reader may get several arrays, of the same number of rows.  If the
 *  graph declares its columns, `memory: {x: {dtype: f32, shape: [8]}}`, each needs an array of this
 *  type and shape.  In a run on several hosts, each program passes the arrays of its own readers.
 *
 *  Ownership: `data` stays the caller's.  It must remain valid and unchanged until all sessions of the
 *  graph are destroyed; the library never writes to it.  The texts and `shape` are copied.
 *  Threads: as the graph; during a session, any thread of the library reads the array.
 *  Errors: collected as those of other calls; a type or shape that is not as declared fails the
 *  session. */
TND_API void tnd_graph_array(tnd_graph_t *graph, const char *name, const char *column,
                             tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape,
                             const void *data);
/*  Changes one value: "batch.size", "256"; "seed", "8". */
TND_API void tnd_graph_set(tnd_graph_t *graph, const char *key, const char *value);
/*  An overlay as text: hosts, workers, devices. */
TND_API void tnd_graph_place(tnd_graph_t *graph, const char *overlay_yaml);
/*  Checks the graph without its data; opening a session does the same.  May be called again, also
 *  after changes.
 *  Errors: TND_FAILED; tnd_graph_errors lists everything that is wrong. */
TND_API tnd_status_t tnd_graph_check(tnd_graph_t *graph);
/*  All errors with their places, one per line; "" if there are none. */
TND_API const char *tnd_graph_errors(const tnd_graph_t *graph);
/*  Frees the graph, after its sessions.  Memory that a hung user function may still access is
 *  leaked. */
TND_API void tnd_graph_destroy(tnd_graph_t **graph_p);

/* --- session: this process's part of a run ---------------------------------------------------- */

/*  Starts host `host` of the graph; NULL: that of which a launcher such as srun tells (`tundish help
 *  launch`), or the only one.  With a range `[*]` of hosts, it first meets the other processes of the
 *  launcher, for up to `start_timeout`, and the graph is placed on them.  The graph must outlive the
 *  session and stay unchanged meanwhile.  Returns while the hosts still connect; later errors, such
 *  as unusable data or a memory sum beyond `memory:`, are reported by the functions below.
 *  Errors: TND_FAILED, and *session_p is NULL; tnd_graph_errors has the reason.  Likewise TND_STOPPED, if one
 *  of those processes was asked to end before they had met. */
TND_API tnd_status_t tnd_session_open(tnd_session_t **session_p, tnd_graph_t *graph,
                                      const char *host);
/*  Waits until this host's part is done: TND_OK, TND_STOPPED (drained or stopped) or TND_FAILED
 *  with tnd_session_error.  May be called again.  From this call on, a feeder discards its batches
 *  if it has no step plugin and tnd_feed_next was never called.
 *  Errors: TND_FAILED at once if the calling thread pulls a feed and has not got TND_END or
 *  TND_STOPPED, because nothing else could pull its next step (see tnd_session_finish), unless it has
 *  `every:`: then what is left of it is discarded; or if tnd_session_feed was asked for
 *  a feeder that the graph does not have. */
TND_API tnd_status_t tnd_session_wait(tnd_session_t *session);
/*  Ends the run after the last step that this program ran: commits that step, completes the
 *  checkpoint of tnd_feed_save, and waits until the run is over.  Digest, metrics and account are then
 *  final, and tnd_feed_next returns TND_STOPPED.  TND_OK also if the stream has ended.  A step that was
 *  pulled and not run is not committed.  Programs on several hosts call it after the same step: the
 *  run fails if two have run different steps.  Those that have not called it when the run ends get
 *  TND_STOPPED from tnd_feed_next.  A feeder with a `step` is drained.
 *  Errors: TND_STOPPED if the run was drained or stopped; TND_FAILED with tnd_session_error, also if the
 *  checkpoint is not complete, as for tnd_session_destroy, or if another thread uses a feed, and then
 *  the run does not end. */
TND_API tnd_status_t tnd_session_finish(tnd_session_t *session);
/*  Requests an orderly end of the whole run: every replica finishes the same last step.
 *  Threads: any; signal-safe. */
TND_API void tnd_session_drain(tnd_session_t *session);
/*  From now on SIGTERM, SIGUSR1 and SIGUSR2 drain the run, as tnd_session_drain does, and however
 *  often they come: Slurm, Kubernetes and others send one before they take a machine away, and
 *  repeat it.  tnd_feed_next then returns TND_STOPPED after the last step.  A child that the program
 *  forks is ended by such a signal.  tnd_session_destroy puts the former actions back.
 *  NULL, at the start of a program: the same for the session that tnd_session_open opens next, also if a
 *  signal comes before, or while processes of a launcher meet.
 *  Errors: TND_FAILED with tnd_session_error if another session of this process has asked for it. */
TND_API tnd_status_t tnd_session_drain_on_signals(tnd_session_t *session);
/*  Ends the run at once, even during a step.
 *  Threads: any; signal-safe. */
TND_API void tnd_session_stop(tnd_session_t *session);
/*  Something that happened during the run: a bad record, a checkpoint that was not written, an actor
 *  that was replaced.  Failures of the run are not among them: tnd_session_error has those. */
typedef struct {
    tnd_log_level_t level;
    const char *host, *actor; /* that report it */
    const char *text;         /* one line, without a line feed */
} tnd_log_line_t;

/*  Receives a record, which is valid until the function returns.
 *  Threads: one of the library's that does nothing else, so the function may be slow; one call at a
 *  time, until tnd_session_destroy has returned.  It calls no function of the session. */
typedef void tnd_log_fn(const tnd_log_line_t *record, void *user);

/*  Sends the records of this host from level `least` on to `log`, instead of warnings and errors to
 *  stderr; on the leader also warnings and errors of all other hosts.  NULL: nowhere.  Call it right
 *  after tnd_session_open: then `log` also receives what was reported before.  Afterwards the
 *  previous function is not called any more.
 *  Threads: any but that of `log`. */
TND_API void tnd_session_log(tnd_session_t *session, tnd_log_level_t least, tnd_log_fn *log,
                             void *user);
/*  The reason why the run failed or was stopped, or else why a call of the program was refused, a
 *  sentence; "" while it runs, at the end of the stream and after a drain.  Once a step or a feeder has failed, waits until the reason is known. */
TND_API const char *tnd_session_error(const tnd_session_t *session);
/*  The feed of the feeder called `actor` on this host; NULL: the feeder of the first chain that has
 *  one here.  Waits until the actors of this host run, or the run has ended.
 *  Errors: NULL if the run failed before that or was drained (tnd_session_error has the reason) or stopped, if this host does
 *  not have that feeder, or if the graph does not, which also is a failure of the session. */
TND_API tnd_feed_t *tnd_session_feed(tnd_session_t *session, const char *actor);
/*  The digest of all rows that the feeder called `actor` has committed: 32 hex digits, the same for
 *  every placement.  Valid on the leader, which is the first host; final after tnd_session_wait or tnd_session_finish.
 *  Errors: false if this host does not know that feeder. */
TND_API bool tnd_session_digest(tnd_session_t *session, const char *actor, char text[33]);
/*  The weighted mean of a reported metric over the last epoch that has ended, also if the run resumed
 *  within or after it; on the leader.  Of a feed with `every:` that of the last time, for which it waits
 *  after TND_END.
 *  Errors: false if no step reported it. */
TND_API bool tnd_session_metric(tnd_session_t *session, const char *actor, const char *metric,
                                double *mean_p);
/*  What became of the rows of a feeder, over the whole run, including the sessions that a resumed
 *  run continues: read + added = fed + filtered + bad + dropped. */
typedef struct {
    uint64_t steps, epochs; /* committed; ended */
    uint64_t read;          /* rows taken from the source */
    uint64_t added;         /* further rows that operations made of these */
    uint64_t fed;           /* that entered a step */
    uint64_t filtered;      /* by operations */
    uint64_t bad;           /* left out as `on_error: skip` or `quarantine` asks */
    uint64_t dropped;       /* by the batcher: `remainder: drop`, `skip` */
    uint64_t padded;        /* rows of weight 0; not part of the balance */
    uint32_t reasons;       /* for bad rows of this session, at its end: see tnd_session_bad */
    bool partial;           /* metrics lack rows before a checkpoint of an older version */
} tnd_summary_t;

/*  Bad rows with the same cause. */
typedef struct {
    uint64_t count;
    char where[160]; /* the actor and the operation that refused them */
    char first[320]; /* why the first one is bad */
} tnd_bad_t;

/*  Fills the account of the feeder called `actor`, or of the first (NULL), on the leader, as of its last committed step:
 *  in a loop the one before the last that was pulled, or an earlier one if other hosts take part or a second has passed.
 *  Once tnd_feed_next has returned TND_END or TND_STOPPED, waits until the account is final; of a feed with
 *  `every:` it is that of the last time.
 *  Errors: false if this host does not know it. */
TND_API bool tnd_session_summary(tnd_session_t *session, const char *actor, tnd_summary_t *summary);
/*  Fills reason `index` of that account, from 0 to `reasons` - 1.
 *  Errors: false if there are fewer. */
TND_API bool tnd_session_bad(tnd_session_t *session, const char *actor, uint32_t index,
                             tnd_bad_t *bad);
/*  Stops the run if it has not ended, frees the session and its feeds, and returns the outcome of
 *  the run: TND_OK, TND_STOPPED or TND_FAILED.  Before it stops the run, it commits the step whose
 *  models tnd_feed_save saved last, and waits until their checkpoint is complete, for `hung_after` at
 *  most: TND_FAILED if it is not, and tnd_graph_errors has the reason.  A device that has not done in time what it was asked
 *  to is an error too: memory that it may still access is leaked, and tnd_graph_errors names it. */
TND_API tnd_status_t tnd_session_destroy(tnd_session_t **session_p);

/* --- feed: pull global steps; one caller thread ----------------------------------------------- */

/*  The columns of its rows (TensorFlow: element spec, per replica). */
TND_API const tnd_schema_t *tnd_feed_schema(const tnd_feed_t *feed);
/*  The replicas of the whole run, and the ids [first, first + count) on this host. */
TND_API uint32_t tnd_feed_replicas(const tnd_feed_t *feed, uint32_t *first_p, uint32_t *count_p);
/*  How many consecutive replicas share a model (`accumulate` of the feeder): replica `id` has model
 *  `id / number`.  Their steps run one after the other, and each may overwrite what the one before has
 *  posted.  `apply`, and the functions of tnd_feed_save and tnd_feed_restore, are called once for a
 *  model, with the first of its replicas.  What `apply` posts and reports counts for each of them.  The
 *  result has the same bits for every number.  Above 1, a program that has an `apply`, saves or restores
 *  asks for it first: those calls fail in one that has not, and so has a model for each replica. */
TND_API uint32_t tnd_feed_accumulate(tnd_feed_t *feed);
/*  The steps per epoch; TND_UNKNOWN if that is known only at its end. */
TND_API uint64_t tnd_feed_steps(const tnd_feed_t *feed);
/*  Commits the step before and waits for the next global step.  If `after:` of this feeder names
 *  another feeder, the first step comes when that one has returned TND_END: if that one is pulled by
 *  no thread, or by this one, the call is refused at once (TND_FAILED, tnd_session_error).
 *
 *  With `every:` beside `after:`, this feed is fed from its start each time that so many steps or epochs of
 *  the other one are done, and once more at its end; TND_END ends each time.  One thread pulls both: it
 *  calls tnd_feed_next of this feed after such a step (tnd_feed_due), which commits that step, until it
 *  gets TND_END, also when it is called again before the next step of the other one.  After any other step
 *  the call is refused at once.  Steps that it has not pulled when it pulls the other feed again, also by
 *  tnd_feed_run_steps, are discarded; so is a time of which it pulls none.  Where several feeds follow,
 *  they are fed in the order of the file, and to pull one discards what is left of those before it.
 *
 *  With `best:` of such a feed, a program saves its models (tnd_feed_save) after each step after which a
 *  validation is due, and reports the metric where it evaluates (tnd_replica_report).  The other feed ends
 *  with TND_END once `patience` is exhausted.
 *
 *  TND_END: the stream has ended.  TND_STOPPED: the run was stopped, or was drained and its last
 *  step was returned before.  TND_FAILED: the run failed (tnd_session_error); it also fails if the
 *  stream ends without a step although rows were read.  Or the feed cannot be pulled, because its
 *  feeder has a `step` or tnd_session_wait was called.  Later calls return the same. */
TND_API tnd_status_t tnd_feed_next(tnd_feed_t *feed);

/*  Whether a feed with `every:` is to be pulled now: a validation of which steps, or the end, are left.
 *  Waits until that is known, and commits the step before if it has to.  A run that resumes from the
 *  checkpoint of such a step is validated first, so a loop asks before each step:
 *
 *      for (;;) {
 *          if (tnd_feed_due(test))
 *              while (tnd_feed_next(test) == TND_OK)
 *                  tnd_feed_run(test, evaluate, NULL, models);
 *          if (tnd_feed_next(feed) != TND_OK)
 *              break;
 *          tnd_feed_run(feed, step, apply, models);
 *      }
 *
 *  False while a feed is to be pulled that follows the same one and comes before this one in the file; also if
 *  the run has ended or failed, or the call is refused (tnd_session_error). */
TND_API bool tnd_feed_due(tnd_feed_t *feed);
/*  Whether the feed has `every:`, so that steps may follow TND_END. */
TND_API bool tnd_feed_repeats(const tnd_feed_t *feed);

/*  User code for the rows of one replica.  Any result but TND_OK ends the run; tnd_replica_error
 *  sets the reason. */
typedef tnd_status_t tnd_step_fn(tnd_replica_t *replica, void *user);

/*  Runs `step` for each replica of this host.  When their posted values are reduced over all hosts,
 *  runs `apply` (may be NULL) for each, or for those that tnd_feed_accumulate names.  Call it at most
 *  once per step; a step without a call is committed unused.
 *
 *  If this feeder has one device on this host and it is a processor, `step` and `apply` run on the
 *  calling thread; its float mode is restored afterwards.  Otherwise each device has a thread, and
 *  replicas of different devices run at the same time: the caller protects what they share through
 *  `user`.
 *
 *  TND_STOPPED: the run was stopped, and the step is not committed.  TND_FAILED: the run failed
 *  (tnd_session_error), tnd_feed_next did not return TND_OK, the step was run already, or the session
 *  is finished.  No thread reduces any more then, but `step` or `apply` may still run on the thread of
 *  another device until tnd_session_destroy returns: what they use must live as long.  A `step` that
 *  hangs (`hung_after`) ends the run, but if it runs on the calling thread, this function returns only
 *  when `step` does. */
TND_API tnd_status_t tnd_feed_run(tnd_feed_t *feed, tnd_step_fn *step, tnd_step_fn *apply,
                                  void *user);

/*  A round of reductions without rows, before the first step or between two: for initial weights, checks
 *  and barriers.  Calls `post` for each model of this host (tnd_feed_accumulate), on the threads of its
 *  steps; when what it posted is reduced over all hosts, calls `apply` (may be NULL) for each, which may
 *  post again, as after a step.  Every replica counts as one row, so a mean weighs all alike, also where
 *  the reducer names a column of weights.  tnd_replica_step is the number of the step that runs next.
 *
 *  All hosts call it at the same place of their programs, and it waits for them; a posting of no elements
 *  is a barrier.  The step before is neither committed nor left: tnd_feed_save may follow.  A step that was
 *  pulled and not run is next.
 *
 *  TND_END, TND_STOPPED: the stream has ended and its last step is committed; nothing is posted.
 *  TND_FAILED: as tnd_feed_run; or the feed has `every:`, or `post` is NULL (tnd_session_error). */
TND_API tnd_status_t tnd_feed_sync(tnd_feed_t *feed, tnd_step_fn *post, tnd_step_fn *apply,
                                   void *user);
/*  tnd_feed_next and tnd_feed_run of the same functions for up to `count` steps, fewer if an epoch ends
 *  before: then tnd_feed_last is true; or if a feed with `every:` is due, and then all are committed.  Steps follow one another on their devices without the calling
 *  thread, which wakes once.  The last of them is committed by the next call, as after tnd_feed_run, so
 *  it can be saved.  Sets *ran_p to the steps that all devices of this host have run; TND_OK with a
 *  `count` of 0.
 *
 *  TND_END, TND_STOPPED: as tnd_feed_next, if no step was left to run.  TND_FAILED: as tnd_feed_next and
 *  tnd_feed_run. */
TND_API tnd_status_t tnd_feed_run_steps(tnd_feed_t *feed, uint64_t count, uint64_t *ran_p,
                                        tnd_step_fn *step, tnd_step_fn *apply, void *user);
/*  Ends the epoch with the step that tnd_feed_next returned last, as a new iterator over a dataset does:
 *  commits that step and drops the rest of the epoch, also what was read ahead.  The next step is the
 *  first of the next epoch; numbers of steps and ranks of rows continue.  Digest and account of rows are
 *  those of `take: k` of the batcher after k steps: rows that entered no step are not counted.  A
 *  checkpoint of that step resumes with the next epoch.  Nothing happens before the first step of an
 *  epoch and after its last one.
 *
 *  Programs on several hosts call it after the same step: the run fails if one went on, and names two of
 *  them.  The call does not wait for other hosts.
 *
 *  TND_STOPPED: the run is finished.  TND_FAILED: as tnd_feed_next; or it is called inside of a step, or
 *  `span_epochs` makes one epoch of all, or in the middle of the epoch a feed with `every:` was pulled after
 *  the step, which is committed (tnd_session_error). */
TND_API tnd_status_t tnd_feed_rewind(tnd_feed_t *feed);
/*  Whether the step that tnd_feed_next returned last, or the last one that tnd_feed_run_steps ran, ends
 *  its epoch.  False before the first step. */
TND_API bool tnd_feed_last(const tnd_feed_t *feed);

/*  Writes the model of a replica to a file, or reads it. */
typedef tnd_status_t tnd_file_fn(const char *file, uint32_t replica, void *user);

/*  Saves the models as of the step that just ran, before another step is pulled, of whichever feed: calls `save` for each replica of this host, one
 *  after the other on the calling thread.  All hosts must call it after the same step.  The next
 *  tnd_feed_next, or tnd_session_destroy, completes the checkpoint in the folder
 *  `checkpoint: {dir: DIR}` of the graph.  Without `save` (NULL) it has the place in the data alone.
 *  Errors: TND_FAILED if that option is not set, no step was run, or a model cannot be, or was not, written; the
 *  run may continue. */
TND_API tnd_status_t tnd_feed_save(tnd_feed_t *feed, tnd_file_fn *save, void *user,
                                   tnd_error_t *error);
/*  Call it before the first tnd_feed_next: calls `load` for each replica of this host with its file
 *  of the checkpoint from which the run resumes (`checkpoint.resume` of the graph: `latest`, or a
 *  path), or calls nothing if `load` is NULL.
 *  TND_END: the run starts from the beginning.  TND_FAILED: a file is damaged, or `load` failed. */
TND_API tnd_status_t tnd_feed_restore(tnd_feed_t *feed, tnd_file_fn *load, void *user,
                                      tnd_error_t *error);

/* --- replica: valid inside step and apply ----------------------------------------------------- */

TND_API uint32_t tnd_replica_id(const tnd_replica_t *replica);    /* logical */
TND_API uint64_t tnd_replica_step(const tnd_replica_t *replica);  /* over the run, from 0 */
TND_API uint64_t tnd_replica_epoch(const tnd_replica_t *replica); /* from 0 */
TND_API bool tnd_replica_last(const tnd_replica_t *replica);      /* step of its epoch */
TND_API size_t tnd_replica_rows(const tnd_replica_t *replica);    /* without padding; can be 0 */
TND_API size_t tnd_replica_padded(const tnd_replica_t *replica);  /* rows of zeros after them */
/*  The rows of a column, packed, aligned to 64 bytes, in the device's memory; read-only, valid
 *  until the step is over.
 *  Errors: NULL if the column does not exist. */
TND_API const void *tnd_replica_column(const tnd_replica_t *replica, const char *name);
/*  The lengths of the rows of a ragged column, along its first axis, in the host's memory; valid
 *  until the step is over.  With `ragged: pad` of the batcher, rows are tnd_replica_stride apart and
 *  padded after their length, as TensorFlow's padded_batch arranges them.
 *  Errors: NULL if the column does not exist or is not ragged. */
TND_API const uint64_t *tnd_replica_lengths(const tnd_replica_t *replica, const char *name);
/*  The longest of these lengths; with `pad: bound` in `bucket` of the batcher, what the rows are padded
 *  to.
 *  Errors: 0 if the column does not exist or is not ragged. */
TND_API uint64_t tnd_replica_longest(const tnd_replica_t *replica, const char *name);
/*  Bytes from row to row of a column in this step.  With `ragged: pad`, rows of a ragged column are
 *  shape[0] long; with `bytes` or `bucket` of the batcher, as long as the longest of the replica's rows in the
 *  step.
 *  Errors: 0 if the column does not exist or its rows follow one another. */
TND_API size_t tnd_replica_stride(const tnd_replica_t *replica, const char *name);
/*  With `ragged: pack` of the batcher: where the rows of a ragged column begin and end, along its first
 *  axis.  Row r has the values from splits[r] to before splits[r + 1], as those of TensorFlow's
 *  ragged_batch.  One more than there are rows, padding included; in the host's memory, valid until
 *  the step is over.
 *  Errors: NULL if the column does not exist, is not ragged, or its rows are padded. */
TND_API const uint64_t *tnd_replica_splits(const tnd_replica_t *replica, const char *name);
/*  The same rows as a DLPack tensor: a DLManagedTensor of [rows, shape of the column] on the
 *  device, read-only.  A ragged column has the longest length of the step in place of shape[0]; if
 *  its rows are packed, the tensor is [values, rest of the shape].  PyTorch, JAX, NumPy and others
 *  accept it in a capsule named "dltensor".
 *
 *  Ownership: the caller owns the tensor until it calls the tensor's deleter, once.  The rows stay
 *  in memory until then, even after the session and the graph have ended; the commit of the step
 *  does not wait.  Steps with held tensors need memory besides the `depth` slots of their feeder.
 *  For up to `spare` steps (an option of the feeder, 2 by default) it is reserved and counted in
 *  the sum of `tundish explain`; for more it is allocated as far as `memory:` of the graph allows,
 *  and freed.  Beyond that the run fails with the number of steps whose tensors are held.
 *
 *  The rows are ready.  Work on a stream of the device that reads them must have ended when the
 *  deleter is called; tnd_tensor_share has streams.
 *
 *  Threads: any thread may call the deleter.
 *  Errors: NULL if the column does not exist, or its device has no memory that others may read. */
TND_API void *tnd_replica_dlpack(tnd_replica_t *replica, const char *name);
/*  Another tensor of the rows of `tensor`, which tnd_replica_dlpack returned: what `__dlpack__` of
 *  the Python array API standard returns in a capsule.  It is a DLManagedTensorVersioned, for a
 *  capsule named "dltensor_versioned" and with the flag READ_ONLY; or a DLManagedTensor.
 *
 *  `stream` has the numbers of that standard: for CUDA 1 (legacy default, also meant by NONE),
 *  2 (per-thread default), or a handle.  The stream waits on the device until the rows are there,
 *  and the memory is not filled again before all work has ended that was in the stream when the
 *  deleter was called.  UNSYNCHRONIZED does neither.  A processor has no streams.
 *
 *  Ownership: as tnd_replica_dlpack; both tensors are independent.
 *  Threads: any, also several at once; any thread may call the deleter, which calls no device
 *  while the session is open.
 *  Errors: NULL, and `error` has the reason, if the stream is none of the device or the device
 *  failed. */
#define TND_STREAM_NONE INT64_MIN
#define TND_STREAM_UNSYNCHRONIZED (-1)
TND_API void *tnd_tensor_share(void *tensor, bool versioned, int64_t stream, tnd_error_t *error);

/*  What a replica had in a step, for programs that use it outside of `step`. */
typedef struct tnd_taken_rows tnd_taken_rows_t;
typedef struct {
    uint32_t id;
    bool last;
    uint64_t step, epoch, count, padded; /* as tnd_replica_step and so on; `count` rows */
    tnd_taken_rows_t *rows;
} tnd_taken_t;
/*  Takes it inside of `step` or `apply`.  The rows stay as they are until tnd_taken_release, as those of
 *  tnd_replica_dlpack do until their deleter is called, and are counted as those. */
TND_API void tnd_replica_take(tnd_replica_t *replica, tnd_taken_t *taken);
/*  tnd_feed_next, and tnd_feed_run of a step that takes the rows of each replica of this host into
 *  `taken`, which has room for them (tnd_feed_replicas).
 *  Errors: theirs; then there is nothing to release. */
TND_API tnd_status_t tnd_feed_take(tnd_feed_t *feed, tnd_taken_t *taken);
/*  A column, by its place in tnd_feed_schema, as a DLManagedTensor without a deleter, for
 *  tnd_tensor_share or to be read; and the lengths of its rows, if it is ragged.  Both are valid until
 *  tnd_taken_release.
 *  Errors: NULL as of tnd_replica_dlpack and tnd_replica_lengths. */
TND_API void *tnd_taken_tensor(tnd_taken_rows_t *rows, uint32_t column);
TND_API const uint64_t *tnd_taken_lengths(const tnd_taken_rows_t *rows, uint32_t column);
/*  Threads: any. */
TND_API void tnd_taken_release(tnd_taken_rows_t *rows);

/*  The destructor of a Python capsule that contains such a tensor: calls its deleter unless a
 *  consumer has taken it.  Threads: one that holds Python's global lock. */
TND_API void tnd_tensor_end_capsule(void *capsule);
/*  The type and shape of one row of a column; of the longest row if it is ragged.  `shape` has room
 *  for TND_RANK_MAX.
 *  Errors: false if the column does not exist. */
TND_API bool tnd_replica_spec(const tnd_replica_t *replica, const char *name, tnd_dtype_t *dtype_p,
                              uint32_t *rank_p, uint64_t *shape);
/*  Posts `count` elements to a reduction over all replicas of the run, by the reducer of that name.
 *  The caller owns `data`, which must stay valid: it is read when the step has returned, and contains the result
 *  when `apply` runs.  What is posted together is reduced in any order, so no other posting may use the memory of
 *  a result.  With TND_MEAN, pass the replica's own weighted mean in `data`, which the reducer weights by
 *  tnd_replica_weight.  All replicas post the same reductions in the same order, at most 4,096 at a time.
 *
 *  A step may post nothing, such as one that only adds to its gradients; then nothing is sent.
 *  `apply` may post again, such as the norm of what it got: it is called once more when that is
 *  reduced, and so on until it posts nothing.  A posting of no elements is a barrier: `apply` runs
 *  when all replicas of the run have posted it.
 *
 *  Small arrays of one type and operation that are posted one after the other travel together
 *  (option `bucket` of the reducer); that changes no bits.
 *  Errors: TND_FAILED if the reducer does not exist or there are too many reductions. */
TND_API tnd_status_t tnd_replica_reduce(tnd_replica_t *replica, const char *reducer,
                                        tnd_reduce_t reduce, tnd_dtype_t dtype, void *data,
                                        size_t count);
/*  The same for values that must not change: `in` stays valid until `apply` runs, and the result is
 *  in `out`, which is `in` or does not overlap it. */
TND_API tnd_status_t tnd_replica_reduce_to(tnd_replica_t *replica, const char *reducer,
                                           tnd_reduce_t reduce, tnd_dtype_t dtype, const void *in,
                                           void *out, size_t count);
/*  Memory for an array that is posted in each step. */
typedef struct {
    void *own;    /* what this replica posts */
    void *result; /* of all replicas of this process: only read it */
} tnd_values_t;

/*  The array of that name, of `count` elements: pass its two parts to tnd_replica_reduce_to or
 *  tnd_replica_mean_to.  Where the replicas share a process, it is copied neither in nor out: their threads
 *  add the parts where they are, and all replicas read one result.  Zeros at first; aligned to 64 bytes;
 *  the same memory in each call, until the session is destroyed.  It is not part of the memory sum.
 *  It can be called wherever there is a replica, also in `open` of a step table.
 *  Errors: both NULL, after tnd_replica_error, if the type does not exist, the array has another type or
 *  number of elements, also in another replica of this process, or memory is exhausted. */
TND_API tnd_values_t tnd_replica_values(tnd_replica_t *replica, const char *name, tnd_dtype_t dtype,
                                        size_t count);
/*  The sum of the reducer's weight column (its option `weight`) over this replica's rows; without
 *  that option, the number of rows.
 *  Errors: negative, after tnd_replica_error, if a weight is negative or not a number. */
TND_API double tnd_replica_weight(tnd_replica_t *replica, const char *reducer);
/*  Posts a mean with a weight of the step's own, such as its number of tokens: at least 0, and at most the largest
 *  f32 (of f64: the largest f64) divided by the number of replicas.  One of weight 0 does not contribute. */
TND_API tnd_status_t tnd_replica_mean(tnd_replica_t *replica, const char *reducer,
                                      tnd_dtype_t dtype, void *data, size_t count, double weight);
/*  The same with the result in `out`, as tnd_replica_reduce_to. */
TND_API tnd_status_t tnd_replica_mean_to(tnd_replica_t *replica, const char *reducer,
                                         tnd_dtype_t dtype, const void *in, void *out, size_t count,
                                         double weight);
/*  When `apply` runs, `data` has the bytes that replica `root` has posted, such as initial weights,
 *  bit by bit, whether or not replicas have rows. */
TND_API tnd_status_t tnd_replica_broadcast(tnd_replica_t *replica, const char *reducer,
                                           uint32_t root, void *data, size_t bytes);
/*  The share of this replica in an array that is divided among the replicas of the run: elements
 *  *begin_p to before *end_p of `count`.  Replica r of R has those from count r / R on.  In `apply`,
 *  with the shares of the replicas that share its model. */
TND_API void tnd_replica_share(const tnd_replica_t *replica, size_t count, size_t *begin_p,
                               size_t *end_p);
/*  As tnd_replica_reduce, but each replica gets its share of the result only (tnd_replica_share), in its
 *  place in `data`; what the rest of `data` contains stays.  Followed by tnd_replica_gather_into, it is
 *  an all-reduce with the same bits.  Between M hosts a gather moves half of the bytes of an all-reduce, a
 *  scatter 1 / (2 M) of them more than half.  In between, `apply` updates the share, and needs the state of an
 *  optimizer for that alone. */
TND_API tnd_status_t tnd_replica_scatter(tnd_replica_t *replica, const char *reducer,
                                         tnd_reduce_t reduce, tnd_dtype_t dtype, void *data,
                                         size_t count);
/*  The reverse: gives this replica's share of `data` to all others, bit by bit, whether or not it has
 *  rows.  When `apply` runs next, `data` is the same in all replicas.  Of any size.
 *  Errors: the run fails if a step calls it whose model is shared; `apply` may. */
TND_API tnd_status_t tnd_replica_gather_into(tnd_replica_t *replica, const char *reducer,
                                             tnd_dtype_t dtype, void *data, size_t count);
/*  Fails the run before `apply` unless all replicas have the same bytes: the message has the step,
 *  the name of the array, and the replicas that differ from most.  Each sends a hash of 16 bytes;
 *  `name` must stay valid until `apply` runs, `data` need not.  It is not counted as a gather. */
TND_API tnd_status_t tnd_replica_same(tnd_replica_t *replica, const char *reducer, const char *name,
                                      const void *data, size_t bytes);
/*  Posts `count` elements to be concatenated in the order of replicas; replicas may post different
 *  numbers, also 0.  `data` must stay valid until `apply` runs, and is not changed. */
TND_API tnd_status_t tnd_replica_gather(tnd_replica_t *replica, const char *reducer,
                                        tnd_dtype_t dtype, const void *data, size_t count);
/*  In `apply`: the result of gather number `gather`, counted from 0 in the order of posting: the elements of
 *  replica `of`, or of all with TND_ALL_REPLICAS.  Aligned to their type; valid until `apply` returns.
 *  Errors: NULL if that gather does not exist, or, with `apply: early`, was not waited for. */
#define TND_ALL_REPLICAS UINT32_MAX
TND_API const void *tnd_replica_gathered(const tnd_replica_t *replica, uint32_t gather, uint32_t of,
                                         size_t *count_p);
/*  In a step: what this replica has posted is reduced between hosts while the step goes on, which leaves it alone
 *  until `apply` runs; nothing starts without this call.  All replicas call it after the same postings, for each MiB
 *  or more; the bits are the same.  Through NCCL, for gathers and all after them, after values on a device, with
 *  `accumulate`, in `apply`, without rows it does nothing.  Errors: TND_FAILED outside of steps, or at the run's end. */
TND_API tnd_status_t tnd_replica_begin(tnd_replica_t *replica);
/*  In `apply`: waits until the results of posting `posting` of this replica, and of those before it, are
 *  there; the first posting of the step, or of the last call of `apply`, is number 0.  For `apply: early`
 *  of the feeder, where `apply` runs while what was posted is on its way: it must not use what it posted,
 *  nor change it, before it has waited, and waits for each posting that has a result.  What it posts itself
 *  waits for all.  Without that option it returns at once.
 *  Errors: TND_FAILED if it is not called in `apply`, for a posting that there is not, or when the run ended. */
TND_API tnd_status_t tnd_replica_await(tnd_replica_t *replica, uint32_t posting);
/*  Reports a number for progress, metrics and report: the sum over some rows, and the number of
 *  these rows.  The weighted mean over replicas and steps is shown.  At most 16 names per step, of
 *  at most 31 characters. */
TND_API void tnd_replica_report(tnd_replica_t *replica, const char *metric, double sum,
                                double weight);
/*  Sets the reason of a failure, before `step` returns TND_FAILED. */
TND_API void tnd_replica_error(tnd_replica_t *replica, const char *text);

/* --- options of user tables ------------------------------------------------------------------- */

/*  `options` is the text that `open` of a table gets: "{rows: "1000", name: "x"}", or "".  If the
 *  option is absent, *value_p is unchanged, so set the default first.
 *  Threads: any.  Errors: TND_FAILED if the value is not such a number. */
TND_API tnd_status_t tnd_option_u64(const char *options, const char *name, uint64_t *value_p,
                                    tnd_error_t *error);
TND_API tnd_status_t tnd_option_f64(const char *options, const char *name, double *value_p,
                                    tnd_error_t *error);
/*  Copies the text of an option; `room` includes the terminating zero. */
TND_API tnd_status_t tnd_option_text(const char *options, const char *name, char *text, size_t room,
                                     tnd_error_t *error);
/*  Errors: TND_FAILED if there is an option other than those in the list: "rows, name". */
TND_API tnd_status_t tnd_option_only(const char *options, const char *names, tnd_error_t *error);

/* --- sources: user code that generates rows --------------------------------------------------- */

/*  A row of a ragged column: where it starts, and its length along the first axis. */
typedef struct {
    void *data;
    uint64_t length;
} tnd_ragged_t;

/*  Rows to be written or read, aligned to their elements.  Row r of a column of fixed shape starts
 *  at columns[c].data + r * columns[c].stride, row r of a ragged column is columns[c].ragged[r]. */
typedef struct {
    size_t count; /* of rows */
    struct {
        void *data;
        size_t stride;        /* bytes from row to row */
        tnd_ragged_t *ragged; /* NULL: the column is not ragged */
    } columns[TND_COLUMNS_MAX];
    struct tnd_room *room; /* used by the library */
} tnd_rows_t;

static inline void *tnd_rows_at(const tnd_rows_t *rows, uint32_t column, size_t row)
{
    if (rows->columns[column].ragged != NULL)
        return rows->columns[column].ragged[row].data;
    return (char *)rows->columns[column].data + row * rows->columns[column].stride;
}

/*  The length of a row of a ragged column. */
static inline uint64_t tnd_rows_length(const tnd_rows_t *rows, uint32_t column, size_t row)
{
    return rows->columns[column].ragged[row].length;
}

/*  Makes row `row` of a ragged column `length` long.  Returns where its bytes are to be written,
 *  before `read` or `apply` returns.
 *  Errors: NULL if the column is not ragged, or the row is longer than the longest that `open`
 *  declared; `read` or `apply` has then failed, whatever it returns. */
TND_API void *tnd_rows_room(tnd_rows_t *rows, uint32_t column, size_t row, uint64_t length);
/*  In `apply`: makes row `row` of a ragged column of `out` the `length` steps from `data` on.  If
 *  these are bytes of a ragged column of the input row, they are not copied.
 *  Errors: as tnd_rows_room. */
TND_API void tnd_rows_keep(tnd_rows_t *rows, uint32_t column, size_t row, const void *data,
                           uint64_t length);

/*  The capabilities of a source limit what a graph can ask of it; this is checked before the start.
 *
 *  RANDOM: any shuffle, any number of lanes, readers and epochs.
 *  REWINDS: any number of epochs, in the order of the source, by one reader in one lane.  After a
 *  failure, rows are read again from the start.  Neither: one epoch, by one reader in one lane.
 *  Rows that may be needed again are retained, up to `retain:` of the reader; the run fails with
 *  this reason if it needs more. */
enum {
    TND_SOURCE_RANDOM = 1, /* any index at any time gives the same row */
    TND_SOURCE_REWINDS = 2 /* can restart and give the same rows */
};

/*  What a source is opened for: TensorFlow's InputContext. */
typedef struct {
    uint32_t lane, lanes; /* with `shard: source`, the lane whose rows it gives, of how many; else 0
                             of 1: it gives the rows of all lanes */
    uint32_t replicas;    /* of all lanes */
    uint64_t batch;       /* rows of a step, over all replicas */
    const char *data;     /* the folder of `data:`, or "" */
    /*  Reports the progress of `open`, if it takes long: 3 of 16 "files"; `all` may be TND_UNKNOWN.
     *  The unit "bytes" is counted beside another one and tells the time that is left.  An `open`
     *  that reports nothing for `hung_after` ends the run, and the whole start has `start_timeout`
     *  for it.  `reporter` is the member below.  Threads: any, until `open` returns. */
    void (*progress)(void *reporter, uint64_t done, uint64_t all, const char *unit);
    void *reporter;
} tnd_source_context_t;

/*  The properties of an open source. */
typedef struct {
    tnd_schema_t schema;
    uint32_t caps;     /* TND_SOURCE_*: those of the table, or fewer */
    uint64_t count;    /* rows per epoch; TND_UNKNOWN is possible unless RANDOM */
    uint64_t identity; /* of the data: other rows should give another number */
} tnd_source_data_t;

/*  One open source serves all readers of a process.  Its state is `state_bytes` zeroed bytes. */
typedef struct tnd_source_ops {
    uint32_t abi; /* TND_ABI */
    const char *name;
    uint32_t caps; /* TND_SOURCE_* */
    size_t state_bytes;
    /*  Fills *data, which starts zeroed with `count` TND_UNKNOWN and the `caps` of the table.
     *  `shared` was registered with the table; NULL in a plugin.  `context` and its texts are valid
     *  until `open` returns.  After a failure `close` is not called.  Several sources may be opened
     *  at the same time. */
    tnd_status_t (*open)(void *state, void *shared, const char *options,
                         const tnd_source_context_t *context, tnd_source_data_t *data,
                         tnd_error_t *error);
    /*  Writes rows index[0 ... count) of the data to rows[0 ... count), those of ragged columns to
     *  where tnd_rows_room says.  May take long.  RANDOM:
     *  any indices, on any number of threads at once.  Otherwise on one thread at a time, and each
     *  call continues after the one before; index[0] == 0 restarts, more than once only with
     *  REWINDS.
     *  TND_END: the data end after the rows->count rows that were written; only if `count` is
     *  unknown.  TND_REFUSED: one of these rows is bad, see `on_error` of the reader, and `error` has
     *  the reason.  If RANDOM, they are then requested one by one.  Otherwise it is the row after the
     *  rows->count rows that were written, and the next call continues after it. */
    tnd_status_t (*read)(void *state, const uint64_t *index, size_t count, tnd_rows_t *rows,
                         tnd_error_t *error);
    /*  Sets bytes[0 ... count) to the bytes of the ragged columns of these rows, before they are
     *  read, on any number of threads at once.  NULL: not known before. */
    tnd_status_t (*sizes)(void *state, const uint64_t *index, size_t count, uint64_t *bytes,
                          tnd_error_t *error);
    void (*close)(void *state); /* may be NULL */
} tnd_source_ops_t;

/*  Registers a source with the graph, as `source: NAME` or `source: {NAME: {options}}`.  The table,
 *  its name and `shared` must stay valid until the graph is destroyed.  A name that is taken or an
 *  incomplete table is an error of the graph. */
TND_API void tnd_graph_source(tnd_graph_t *graph, const tnd_source_ops_t *ops, void *shared);

/*  Registers a source without `open`: `read` as above with `user` as its state, `schema`, `count`
 *  rows per epoch or TND_UNKNOWN, and `caps` TND_SOURCE_*. */
typedef tnd_status_t tnd_read_fn(void *user, const uint64_t *index, size_t count, tnd_rows_t *rows,
                                 tnd_error_t *error);
TND_API void tnd_graph_callback(tnd_graph_t *graph, const char *name, const tnd_schema_t *schema,
                                uint64_t count, uint32_t caps, tnd_read_fn *read, void *user);

/* --- operations: user code that transforms rows ----------------------------------------------- */

/*  The properties of an operation. */
enum {
    TND_OP_DROPS = 1,   /* may drop rows */
    TND_OP_EXPANDS = 2, /* may make several rows of one */
    TND_OP_RANDOM = 4,  /* draws random numbers */
    TND_OP_FAILS = 8    /* may refuse a row as bad */
};

/*  Random numbers are a function of (seed, epoch, sample, index of the operation): the same on any
 *  worker, on a retry and after a resume. */
typedef struct tnd_random tnd_random_t;
TND_API uint32_t tnd_random_u32(tnd_random_t *random);
TND_API uint64_t tnd_random_u64(tnd_random_t *random);
TND_API float tnd_random_f32(tnd_random_t *random);                      /* in [0, 1) */
TND_API double tnd_random_f64(tnd_random_t *random);                     /* in [0, 1) */
TND_API uint64_t tnd_random_below(tnd_random_t *random, uint64_t bound); /* bound > 0 */

/*  An operation is pure: its output depends on the row, the options and `random` only, so every
 *  worker on every machine gives the same.  Each worker has its own state of `state_bytes` zeroed
 *  bytes, on one thread at a time.  Before the start, every host applies the operation to generated rows with arbitrary
 *  numbers and compares the results: so check values before you use them as
 *  an index or a length, and refuse those that make no sense. */
typedef struct tnd_op_ops {
    uint32_t abi; /* TND_ABI */
    const char *name;
    uint32_t caps; /* TND_OP_* */
    size_t state_bytes;
    /*  Checks the options against the input columns.  *out starts as a copy of *in and is changed
     *  to the output columns.  *most_p, the most rows that one can become, is 1; EXPANDS may raise
     *  it.  `shared` was registered with the table; NULL in a plugin.  After a failure `close` is
     *  not called. */
    tnd_status_t (*open)(void *state, void *shared, const char *options, const tnd_schema_t *in,
                         tnd_schema_t *out, uint32_t *most_p, tnd_error_t *error);
    /*  Makes rows out[0 ... out->count) from row `row` of `in`.  out->count starts as 1; DROPS may
     *  set it to 0, EXPANDS to more.  Columns with the same name, type and shape on both sides are
     *  copied already.  Other rows of ragged columns are made by tnd_rows_room or tnd_rows_keep.
     *  `random` is NULL without RANDOM.
     *  Errors: TND_FAILED, with FAILS: the row is bad, and `error` has the reason. */
    tnd_status_t (*apply)(void *state, const tnd_rows_t *in, size_t row, tnd_random_t *random,
                          tnd_rows_t *out, tnd_error_t *error);
    void (*close)(void *state); /* may be NULL */
} tnd_op_ops_t;

/*  Registers an operation, as `ops: [NAME]` or `ops: [{NAME: {options}}]`; see tnd_graph_source. */
TND_API void tnd_graph_op(tnd_graph_t *graph, const tnd_op_ops_t *ops, void *shared);

/* --- steps: user code that trains ------------------------------------------------------------- */

/*  A step has one model per replica, or one for `accumulate` (of the feeder) consecutive replicas: their
 *  steps run one after the other, each with rows of its own, and each may overwrite what the one before
 *  has posted.  open, apply, save and load are called once for a model, with the first of its replicas.
 *  `options` is the text of its options in the topology file
 *  ("{hidden: "128"}", or "").
 *  `start` is called once for a model, before the first step of a session, also of one that resumes, and
 *  may post without rows, as in tnd_feed_sync: initial weights, checks, barriers.  The results are there
 *  when the first `step` runs.
 *  Threads: open, start, step, apply and evaluate on the thread of the replica's device; save and load on
 *  any, but not at the same time.  start, apply, evaluate, save and load may be NULL.
 *  Errors: `save` may leave in errno why it failed; it is 0 before. */
typedef struct {
    uint32_t abi; /* TND_ABI */
    const char *name;
    tnd_status_t (*open)(void **model_p, const char *options, tnd_replica_t *replica);
    tnd_status_t (*start)(void *model, tnd_replica_t *replica);
    tnd_status_t (*step)(void *model, tnd_replica_t *replica);
    tnd_status_t (*apply)(void *model, tnd_replica_t *replica);
    tnd_status_t (*evaluate)(void *model, tnd_replica_t *replica);
    tnd_status_t (*save)(void *model, const char *file);
    tnd_status_t (*load)(void *model, const char *file);
    void (*close)(void *model);
} tnd_step_ops_t;

/* --- plugins ---
 *
 *  FILE.so is built without linking libtundish; it uses the functions of the program that loads it.
 *  It exports const tables:
 *
 *      const tnd_source_ops_t tnd_source_NAME;    `source: {plugin: NAME, option: 1}`
 *      const tnd_op_ops_t tnd_op_NAME;            `ops: [{plugin: NAME, option: 1}]`
 *      const tnd_step_ops_t tnd_step_NAME;        `step: {plugin: NAME, option: 1}`
 *
 *  `plugin: NAME` is the table NAME of NAME.so; `plugin: FILE.NAME` is the table NAME of FILE.so.
 *  Files are searched beside the topology file, in $TUNDISH_PLUGIN_PATH, beside the program, and in
 *  LIBDIR/tundish.  TND_API exports a table:
 *
 *      extern TND_API const tnd_op_ops_t tnd_op_invert;
 */

#ifdef __cplusplus
}
#endif
#endif
