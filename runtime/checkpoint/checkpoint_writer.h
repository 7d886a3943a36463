/*  runtime/checkpoint/checkpoint_writer.h - what the leader does about checkpoints.
 *
 *  It finds what a run goes on from, says behind which steps the models are to be kept, gathers
 *  what the feeders say of their parts, and writes the manifest once the step is booked: then, and
 *  only then, model and cursor are one checkpoint.  One that lacks a part is not written, and said
 *  so; the run goes on.
 *
 *  A step is kept either behind every so many, or after so much time.  For the latter the leader
 *  names one that no feeder can have done, which follows from how many steps may be unbooked.
 *
 *  Threads: the host's; files are written on a thread of the archive's own, because a slow disk
 *  must not silence the host.
 */
#ifndef TND_RUNTIME_CHECKPOINT_CHECKPOINT_WRITER_H
#define TND_RUNTIME_CHECKPOINT_CHECKPOINT_WRITER_H

#include "runtime/core/protocol/effect.h"
#include "runtime/plan/placement.h"
#include "runtime/checkpoint/data_table.h"
#include "runtime/observe/observer.h"
#include "runtime/checkpoint/store.h"

typedef struct tnd_checkpoint_writer tnd_checkpoint_writer_t;

typedef struct {
    const tnd_plan_t *plan; /* whose `checkpoint` is not NULL */
    uint32_t depth;         /* steps that a feeder holds */
    uint32_t ahead;         /* a feeder has not begun the step so many behind the booked ones */
    void (*wake)(void *context);
    void *context;
} tnd_checkpoint_writer_config_t;

/*  Claims the folder and finds what to go on from.  TND_FAILED: the folder cannot be used, or what
 *  is in it does not fit this run; the text says what differs, and what to do.  The archive is
 * there in any case, to be destroyed.
 */
tnd_status_t tnd_checkpoint_writer_new(tnd_checkpoint_writer_t **self_p,
                                       const tnd_checkpoint_writer_config_t *config,
                                       tnd_error_t *error) TND_CHECKED;
/*  Waits until all is written. */
void tnd_checkpoint_writer_destroy(tnd_checkpoint_writer_t **self_p);

/*  What the run goes on from; NULL: it begins at the start. */
const tnd_resume_t *tnd_checkpoint_writer_resume(const tnd_checkpoint_writer_t *self);
const tnd_cursor_t *tnd_checkpoint_writer_cursor(const tnd_checkpoint_writer_t *self);

/*  The data that the run reads; before the first step is booked.  TND_FAILED: it is not the data of
 *  the checkpoint that the run resumes from; the text names the file, and says what to do.
 */
tnd_status_t tnd_checkpoint_writer_data(tnd_checkpoint_writer_t *self,
                                        const tnd_data_table_t *table,
                                        tnd_error_t *error) TND_CHECKED;

/*  A line "part ..." or "unkept ..." of a feeder; false: it is another one.  `step` counts the
 * steps behind it.
 */
bool tnd_checkpoint_writer_line(tnd_checkpoint_writer_t *self, uint64_t step, const char *line);
/*  The step before the cursor is booked: every feeder has said of it what it says. */
void tnd_checkpoint_writer_booked(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor,
                                  uint64_t now);
/*  The run is over, and this is its cursor. */
void tnd_checkpoint_writer_end(tnd_checkpoint_writer_t *self, const tnd_cursor_t *cursor);
/*  What feeders are to be told; false: nothing new since the last call. */
bool tnd_checkpoint_writer_next(tnd_checkpoint_writer_t *self, tnd_keep_note_t *note);
/*  The last of these words, for a feeder that may have missed it. */
tnd_keep_note_t tnd_checkpoint_writer_word(const tnd_checkpoint_writer_t *self);
/*  Something to be said to the user; false: nothing. */
bool tnd_checkpoint_writer_news(tnd_checkpoint_writer_t *self, tnd_log_level_t *level_p, char *text,
                                size_t room);
/*  Steps behind the newest checkpoint that is whole; 0: there is none. */
uint64_t tnd_checkpoint_writer_last(tnd_checkpoint_writer_t *self);
/*  Whether something is still being written. */
bool tnd_checkpoint_writer_busy(tnd_checkpoint_writer_t *self);

#endif
