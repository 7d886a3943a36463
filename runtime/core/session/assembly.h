/*  runtime/core/session/assembly.h - the cursors of the steps that are not booked yet.
 *
 *  Each lane reports its position after a step and what it adds to the ledger (PART).  Each feeder
 *  reports that it has done the step (COMMIT).  The cursor of a step is whole when every lane has
 *  reported.  It is booked, in step order, when every feeder has reported too, the rows match and
 *  the ledger balances.  What was read after the last step is reported once, with LAST.
 *
 *  A report that is repeated after a rewind must equal the first one, because rows are the same
 *  each time they are made.  A lane that contradicts itself or another lane fails the run.
 *
 *  Part of the leader (leader.h).
 *
 *  Threads: one.  Errors: the text is a sentence without its end; the report is ignored. */
#ifndef TND_RUNTIME_CORE_SESSION_ASSEMBLY_H
#define TND_RUNTIME_CORE_SESSION_ASSEMBLY_H

#include "runtime/core/protocol/message.h"

enum { TND_ASSEMBLY_WORDS = TND_LANES_MAX / 64 };

/*  What is known of one step and of the cursor after it. */
typedef struct {
    uint64_t step, step_of_epoch, rank, rows;
    uint64_t digest[2];
    tnd_ledger_t ledger;
    uint32_t epoch, parts, commits;
    uint64_t have[TND_ASSEMBLY_WORDS];
} tnd_assembly_entry_t;

/*  The owner may read `cursor`, `whole` and `last`. */
typedef struct {
    tnd_cursor_t cursor; /* of the last booked step */
    uint64_t whole;      /* the first step whose cursor is not whole */
    uint64_t last;       /* the stream ends before this step; TND_UNKNOWN */
    uint32_t lanes, feeders, open_max;
    bool alike; /* lanes have the same rows, so that their positions are equal; the owner sets it */
    tnd_assembly_entry_t *ring;
    tnd_position_t *positions; /* by entry x lane */
    uint64_t *since;           /* likewise: what was made since the position */
    tnd_ledger_t *ledgers;     /* likewise: what each lane adds */
    tnd_assembly_entry_t end;  /* what was read after the last step; stored after the ring */
} tnd_assembly_t;

/*  `open_max`: steps after the last booked one that may be reported. */
size_t tnd_assembly_bytes(uint32_t lanes, uint32_t open_max);
/*  `memory` is zeroed, aligned for any type and stays in use; `feeders` must commit each step. */
void tnd_assembly_init(tnd_assembly_t *self, void *memory, const tnd_cursor_t *from,
                       uint32_t feeders, uint32_t open_max);

/*  TND_FAILED: the step is too far ahead to be reported. */
tnd_status_t tnd_assembly_reaches(const tnd_assembly_t *self, uint64_t step,
                                  tnd_error_t *error) TND_CHECKED;
/*  PART and LAST of a lane that exists, from the batcher `who`. */
tnd_status_t tnd_assembly_part(tnd_assembly_t *self, const tnd_msg_t *msg, const char *who,
                               tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_assembly_last(tnd_assembly_t *self, const tnd_msg_t *msg, const char *who,
                               tnd_error_t *error) TND_CHECKED;
/*  COMMIT; once per feeder and step. */
tnd_status_t tnd_assembly_commit(tnd_assembly_t *self, const tnd_msg_t *msg,
                                 tnd_error_t *error) TND_CHECKED;

/*  Moves `cursor` past the next step if that is before `end` and completely reported; TND_AGAIN:
 *  not yet. */
tnd_status_t tnd_assembly_book(tnd_assembly_t *self, uint64_t end, tnd_error_t *error) TND_CHECKED;
/*  Moves it to the end of the stream, once all steps before `last` are booked; TND_AGAIN: not all
 *  lanes have reported. */
tnd_status_t tnd_assembly_finish(tnd_assembly_t *self, tnd_error_t *error) TND_CHECKED;
/*  The epoch of the next step to be booked, as far as that is known; at least that of `cursor`. */
uint32_t tnd_assembly_next_epoch(const tnd_assembly_t *self);
/*  Moves it to the start of the next epoch, and forgets what was reported of the rest of this one and
 *  of what follows. */
void tnd_assembly_cut(tnd_assembly_t *self);
/*  The cursor before `step`, from the booked one, whose digest and ledger it has, up to `whole`. */
void tnd_assembly_at(const tnd_assembly_t *self, uint64_t step, tnd_cursor_t *cursor);

#endif
