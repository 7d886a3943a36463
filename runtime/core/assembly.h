/*  runtime/core/assembly.h - the cursors of the steps that are not booked yet, put together.
 *
 *  Each lane says where it stands behind a step and what it adds to the account (PART), each feeder
 *  that it has done the step (COMMIT).  A cursor is whole when every lane has spoken; it is booked,
 *  in step order, when every feeder has too, its rows are those that they fed and its ledger
 *  balances.  What lies behind the last step is said once, with LAST.
 *
 *  What is said again after a rewind must be what was said before: rows are the same each time they
 *  are made.  Whoever contradicts that, another lane or its own past, fails the run.
 *
 *  Failure: the text is a sentence without its end; what was said is not taken.
 *
 *  Part of a session (session.h); a noun of its own so that it can be tested alone.
 *
 *  Threads: the session's.
 */
#ifndef TND_RUNTIME_CORE_ASSEMBLY_H
#define TND_RUNTIME_CORE_ASSEMBLY_H

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

/*  Its owner may read `cursor`, `whole` and `last`. */
typedef struct {
    tnd_cursor_t cursor; /* of the last booked step */
    uint64_t whole;      /* the first step whose cursor is not */
    uint64_t last;       /* the stream ends before it; TND_UNKNOWN */
    uint32_t lanes, feeders, open_max;
    tnd_assembly_entry_t *ring;
    tnd_position_t *positions; /* lanes of them an entry */
    tnd_ledger_t *ledgers;     /* likewise: what each lane said it adds */
    tnd_assembly_entry_t end;  /* what lies behind the last step; its place is behind the ring */
} tnd_assembly_t;

/*  `open_max`: steps from the last booked one on of which something may be said. */
size_t tnd_assembly_bytes(uint32_t lanes, uint32_t open_max);
/*  `memory` is kept, zeroed and aligned for any type; so many feeders must commit a step. */
void tnd_assembly_init(tnd_assembly_t *self, void *memory, const tnd_cursor_t *from,
                       uint32_t feeders, uint32_t open_max);

/*  TND_FAILED: of that step nothing may be said yet. */
tnd_status_t tnd_assembly_reaches(const tnd_assembly_t *self, uint64_t step,
                                  tnd_error_t *error) TND_CHECKED;
/*  PART and LAST of the lane that `who` joins; of a lane that is there. */
tnd_status_t tnd_assembly_part(tnd_assembly_t *self, const tnd_msg_t *msg, const char *who,
                               tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_assembly_last(tnd_assembly_t *self, const tnd_msg_t *msg, const char *who,
                               tnd_error_t *error) TND_CHECKED;
/*  COMMIT; of a feeder once a step. */
tnd_status_t tnd_assembly_commit(tnd_assembly_t *self, const tnd_msg_t *msg,
                                 tnd_error_t *error) TND_CHECKED;

/*  Moves `cursor` behind the next step if that lies before `end` and all is known of it; TND_AGAIN:
 *  not yet.
 */
tnd_status_t tnd_assembly_book(tnd_assembly_t *self, uint64_t end, tnd_error_t *error) TND_CHECKED;
/*  Moves it to the end of the stream, once all steps before `last` are booked; TND_AGAIN: not all
 *  lanes have said theirs.
 */
tnd_status_t tnd_assembly_finish(tnd_assembly_t *self, tnd_error_t *error) TND_CHECKED;
/*  The cursor before `step`, from the booked one up to `whole`; digest and ledger are those of the
 *  booked one.
 */
void tnd_assembly_at(const tnd_assembly_t *self, uint64_t step, tnd_cursor_t *cursor);

#endif
