/*  runtime/resources/guarded_call.h - calls user code on a thread that can be abandoned.
 *
 *  Opening a source and checking an operation run user code, which may hang.  A guarded call runs
 *  on a thread of its own and records what each of its threads does.  The caller polls it; a call
 *  that hangs is reported (hang_watch.h) and abandoned.  Memory that it may still access is
 *  leaked.
 *
 *  Lifecycle: begin; poll any number of times; end.
 *
 *  Threads: begin, done, hangs, wait, end on one; enter, at, tell, leave on threads of the call. */
#ifndef TND_RUNTIME_RESOURCES_GUARDED_CALL_H
#define TND_RUNTIME_RESOURCES_GUARDED_CALL_H

#include "runtime/observe/open_progress.h"
#include "runtime/plan/placement.h"
#include "runtime/text/diagnostic.h"

typedef struct tnd_guarded_call tnd_guarded_call_t;

/*  The work of a call; it reports to `found`, which the call owns. */
typedef void tnd_guarded_call_fn(void *context, tnd_guarded_call_t *call, tnd_diagnostics_t *found);

/*  Starts `work`; `context` must outlive it.  `done` is called with the context on the thread of
 *  the call at its end; it may be NULL.
 *  Errors: TND_FAILED if no thread can be started. */
tnd_status_t tnd_guarded_call_begin(tnd_guarded_call_t **self_p, tnd_guarded_call_fn *work,
                                    void (*done)(void *context), void *context,
                                    tnd_error_t *error) TND_CHECKED;

/*  Whether the call has ended. */
bool tnd_guarded_call_done(const tnd_guarded_call_t *self);

/*  Whether one of its threads hangs; reports it at its place in the topology.  Call it at intervals
 *  (hang_watch.h). */
bool tnd_guarded_call_hangs(tnd_guarded_call_t *self, uint64_t hung_after_ns, uint64_t now,
                            tnd_diagnostics_t *diagnostics);

/*  How often its threads have reported progress or, while they open data,
 *  read another 64 KiB. */
uint64_t tnd_guarded_call_reports(tnd_guarded_call_t *self);
/*  Writes a line for each thread that opens data. */
void tnd_guarded_call_write(tnd_guarded_call_t *self, FILE *out);

/*  For people, what the thread does that is at the same work for the longest time: "read: indexing 3
 *  of 16 files, 41 %, 2 min left, now data/x.rec", "prep: trying operation 2, `drag`".  Returns since
 *  when; 0: none is in user code. */
uint64_t tnd_guarded_call_show(tnd_guarded_call_t *self, uint64_t now, char *text, size_t room);

/*  Waits at most `wait_ns` for the end, adds the findings to `diagnostics` (may be NULL) and frees
 *  the call.  False: it was abandoned; memory that it may access must not be freed. */
bool tnd_guarded_call_end(tnd_guarded_call_t **self_p, uint64_t wait_ns,
                          tnd_diagnostics_t *diagnostics);

/* --- on threads of the call; `self` may be NULL ----------------------------------------------- */

/*  The calling thread starts work for an instance; a hang is an error with this code. */
void tnd_guarded_call_enter(tnd_guarded_call_t *self, const tnd_instance_t *instance,
                            tnd_diagnostic_code_t code);
/*  It calls user code now: "operation 2, `drag`,", about a value of the topology. */
void tnd_guarded_call_at(tnd_guarded_call_t *self, const void *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*  The calling thread opens the data of its instance, for as long as it is in user code.  Returns
 *  what other threads report to as well.  `what`: the source, "source `csv`". */
typedef struct tnd_guarded_work tnd_guarded_work_t;
tnd_guarded_work_t *tnd_guarded_call_opens(tnd_guarded_call_t *self, const void *about,
                                           const char *what);
/*  That work progresses, so it does not hang; what it does (open_progress.h).  Threads: any. */
void tnd_guarded_work_count(tnd_guarded_work_t *self, uint64_t done, uint64_t all,
                            const char *unit);
void tnd_guarded_work_doing(tnd_guarded_work_t *self, const char *doing, const char *file);
/*  Reports an additional error, which is shown at the end. */
void tnd_guarded_call_tell(tnd_guarded_call_t *self, const tnd_error_t *error);
void tnd_guarded_call_leave(tnd_guarded_call_t *self);

#endif
