/*  runtime/checkpoint/checkpoint_writer.h - writes the checkpoints of a run, on the leader.
 *
 *  It finds the checkpoint to resume from, tells the feeders after which steps to save their
 *  models, and collects their reports.  It writes the manifest once the step is booked; only then
 *  do model and cursor form a checkpoint.  A checkpoint that lacks a part is not written; the user
 *  is told and the run continues.
 *
 *  Checkpoints are made every N steps or after some time.  For the latter the leader chooses a step
 *  that no feeder can have reached, which follows from the limit of unbooked steps.
 *
 *  Threads: the host's.  Files are written on a thread of the writer, so that a slow disk does not
 *  block the host. */
#ifndef TND_RUNTIME_CHECKPOINT_CHECKPOINT_WRITER_H
#define TND_RUNTIME_CHECKPOINT_CHECKPOINT_WRITER_H

#include "runtime/checkpoint/data_table.h"
#include "runtime/checkpoint/store.h"
#include "runtime/core/protocol/effect.h"
#include "runtime/plan/placement.h"

typedef struct tnd_checkpoint_writer tnd_checkpoint_writer_t;

typedef struct {
    const tnd_plan_t *plan;               /* its `checkpoint` is not NULL */
    uint32_t depth;                       /* steps that a feeder holds */
    uint32_t ahead;                       /* no feeder is so many steps ahead of the booked ones */
    const tnd_validations_t *validations; /* made so far; checkpoints have them */
    void (*wake)(void *context);
    void *context;
} tnd_checkpoint_writer_config_t;

/*  Locks the folder and finds the checkpoint to resume from.  Errors: TND_FAILED if the folder
 *  cannot be used or its checkpoints do not fit this run; the text names the difference and what to
 *  do.  *self_p is set in any case and must be destroyed. */
tnd_status_t tnd_checkpoint_writer_new(tnd_checkpoint_writer_t **self_p,
                                       const tnd_checkpoint_writer_config_t *config,
                                       tnd_error_t *error) TND_CHECKED;
/*  Waits until everything is written. */
void tnd_checkpoint_writer_destroy(tnd_checkpoint_writer_t **self_p);

/*  What the run resumes from; NULL: it begins at the start. */
const tnd_resume_t *tnd_checkpoint_writer_resume(const tnd_checkpoint_writer_t *self);
const tnd_cursor_t *tnd_checkpoint_writer_cursor(const tnd_checkpoint_writer_t *self);
const tnd_epoch_metrics_t *tnd_checkpoint_writer_sums(const tnd_checkpoint_writer_t *self);
const tnd_validations_t *tnd_checkpoint_writer_validations(const tnd_checkpoint_writer_t *self);

/*  Sets the data that the run reads, before the first step is booked.  Errors: TND_FAILED if it
 *  differs from the data of the checkpoint; the text names the file and what to do. */
tnd_status_t tnd_checkpoint_writer_data(tnd_checkpoint_writer_t *self,
                                        const tnd_data_table_t *table,
                                        tnd_error_t *error) TND_CHECKED;

/*  Handles a line "part ...", "bare ..." or "unkept ..." of a feeder; false if it is another line.
 *  `step` is the number of steps done. */
bool tnd_checkpoint_writer_line(tnd_checkpoint_writer_t *self, uint64_t step, const char *line);
/*  The step before the cursor is booked: every feeder has reported it.  `sums` include it. */
void tnd_checkpoint_writer_booked(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor,
                                  const tnd_epoch_metrics_t *sums, uint64_t now);
/*  The run has ended with this cursor. */
void tnd_checkpoint_writer_end(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor,
                               const tnd_epoch_metrics_t *sums);
/*  The run was validated after that many steps, and `validations` have the result, which its checkpoint
 *  now has too.  `best`: the steps before the best one, whose checkpoint stays; 0: none is. */
void tnd_checkpoint_writer_validated(tnd_checkpoint_writer_t *self, uint64_t step, uint64_t best);
/*  The steps before the checkpoint that stays, because it has the best value and is complete; 0: there is
 *  none. */
uint64_t tnd_checkpoint_writer_best(tnd_checkpoint_writer_t *self);
/*  The next instruction for feeders; false: it has not changed since the last call. */
bool tnd_checkpoint_writer_next(tnd_checkpoint_writer_t *self, tnd_keep_note_t *note);
/*  The last instruction, for a feeder that may have missed it. */
tnd_keep_note_t tnd_checkpoint_writer_word(const tnd_checkpoint_writer_t *self);
/*  The next line for the user; false: there is none. */
bool tnd_checkpoint_writer_news(tnd_checkpoint_writer_t *self, tnd_log_level_t *level_p, char *text,
                                size_t room);
/*  The number of steps done at the newest complete checkpoint; 0: there is none. */
uint64_t tnd_checkpoint_writer_last(tnd_checkpoint_writer_t *self);
/*  Checkpoints that could not be made since the newest complete one, and why the last of them, until the
 *  next call of a function of the writer. */
uint64_t tnd_checkpoint_writer_unwritten(tnd_checkpoint_writer_t *self, const char **why_p);
/*  Checkpoints that could not be made, as of that call. */
uint64_t tnd_checkpoint_writer_failed(const tnd_checkpoint_writer_t *self);
/*  Whether something is still being written. */
bool tnd_checkpoint_writer_busy(tnd_checkpoint_writer_t *self);

#endif
