/*  actors/quarantine/bad_records.h - the bad records of a lane, between their arrival and their
 * release.
 *
 *  Blocks say which of their records are bad as they come, in any order and maybe more than once;
 *  the join says how many a step leaves behind.  In between they wait here, by position.
 *
 *  Threads: one.
 */
#ifndef TND_ACTORS_REJECTS_H
#define TND_ACTORS_REJECTS_H

#include "runtime/core/protocol/message.h"

typedef struct {
    tnd_position_t place;
    tnd_bad_way_t way;
    char *who, *what; /* one piece of memory, at `who` */
} tnd_reject_t;

typedef struct {
    tnd_reject_t *items; /* sorted by place */
    size_t count, room;
    tnd_position_t from; /* nothing before it is wanted any more */
} tnd_rejects_t;

void tnd_rejects_clear(tnd_rejects_t *self, tnd_position_t from);
void tnd_rejects_free(tnd_rejects_t *self);

/*  `why` as in tnd_block_note_t; NULL, or a text that is none: nobody said why, and `way` holds. */
void tnd_rejects_add(tnd_rejects_t *self, tnd_position_t place, const char *why, tnd_bad_way_t way);
/*  All of a block. */
void tnd_rejects_note(tnd_rejects_t *self, const tnd_block_note_t *note, tnd_bad_way_t way);

/*  How many stand before `to`, at most `most`. */
size_t tnd_rejects_before(const tnd_rejects_t *self, tnd_position_t to, uint64_t most);
/*  Forgets all that stand before `to`. */
void tnd_rejects_pass(tnd_rejects_t *self, tnd_position_t to);

#endif
