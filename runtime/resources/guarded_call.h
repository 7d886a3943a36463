/*  runtime/resources/guarded_call.h - what is tried before a run begins, on threads that can be left
 * behind.
 *
 *  To open a source and to try an operation is other people's code, which may never return.  A
 *  trial does that on a thread of its own and knows what each of its threads is at; whoever began
 *  it looks now and then, says which of them hangs (watch.h) and leaves it behind: with all that it
 *  may touch, until the process ends.
 *
 *  Lifecycle: begin; any number of looks; end.
 *
 *  Threads: begin, done, hangs, wait and end on one; enter, at and leave on those of the trial, and
 *  on those that they make.
 */
#ifndef TND_RUNTIME_RESOURCES_GUARDED_CALL_H
#define TND_RUNTIME_RESOURCES_GUARDED_CALL_H

#include "runtime/text/diagnostic.h"
#include "runtime/plan/placement.h"

typedef struct tnd_guarded_call tnd_guarded_call_t;

/*  What is to be tried; what it finds goes to `found`, which is the trial's. */
typedef void tnd_guarded_call_fn(void *context, tnd_guarded_call_t *trial,
                                 tnd_diagnostics_t *found);

/*  Begins `work`; `context` must outlive it.  `done`, called with the context on the trial's thread
 *  when it has ended, may be NULL.
 */
tnd_guarded_call_t *tnd_guarded_call_begin(tnd_guarded_call_fn *work, void (*done)(void *context),
                                           void *context);

/*  Whether it has ended. */
bool tnd_guarded_call_done(const tnd_guarded_call_t *self);

/*  Whether one of its threads hangs, which is then reported at the place that it is about. */
bool tnd_guarded_call_hangs(tnd_guarded_call_t *self, uint64_t hung_after_ns, uint64_t now,
                            tnd_diagnostics_t *diagnostics);

/*  Waits at most `wait_ns` for its end, then adds what it found to `diagnostics` (NULL: to nothing)
 *  and frees it.  False: it is left behind, and nobody may free what it may touch.
 */
bool tnd_guarded_call_end(tnd_guarded_call_t **self_p, uint64_t wait_ns,
                          tnd_diagnostics_t *diagnostics);

/*  The same for who has nothing else to do: waits until it has ended, or hangs, which is reported.
 */
bool tnd_guarded_call_wait(tnd_guarded_call_t **self_p, uint64_t hung_after_ns,
                           tnd_diagnostics_t *diagnostics);

/* --- what is at work; `self` NULL: nobody looks ------------------------------------------------
 */

/*  The calling thread begins something for an instance; a hang is an error of this code. */
void tnd_guarded_call_enter(tnd_guarded_call_t *self, const tnd_instance_t *instance,
                            tnd_diagnostic_code_t code);
/*  It calls other people's code now: "operation 2, `drag`,", about a value of the topology. */
void tnd_guarded_call_at(tnd_guarded_call_t *self, const void *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*  Something is wrong besides what the thing returns; found with the rest at the end. */
void tnd_guarded_call_tell(tnd_guarded_call_t *self, const tnd_error_t *error);
void tnd_guarded_call_leave(tnd_guarded_call_t *self);

#endif
