/*  actors/quarantine/bad_records.h - the bad records of a lane, between their arrival and their
 * release.
 *
 *  Blocks say which of their records are bad as they come, in any order and maybe more than once;
 *  the join says how many a step leaves behind.  In between they wait here, by position.
 *
 *  Threads: one.
 */
#ifndef TND_ACTORS_QUARANTINE_BAD_RECORDS_H
#define TND_ACTORS_QUARANTINE_BAD_RECORDS_H

#include "runtime/core/protocol/message.h"

typedef struct {
    tnd_position_t place;
    tnd_bad_way_t way;
    char *who, *what; /* one piece of memory, at `who` */
} tnd_bad_record_t;

typedef struct {
    tnd_bad_record_t *items; /* sorted by place */
    size_t count, room;
    tnd_position_t from; /* nothing before it is wanted any more */
} tnd_bad_records_t;

void tnd_bad_records_clear(tnd_bad_records_t *self, tnd_position_t from);
void tnd_bad_records_free(tnd_bad_records_t *self);

/*  `why` as in tnd_block_note_t.  If it is NULL or invalid, the record has `way` as its only
 * reason. */
void tnd_bad_records_add(tnd_bad_records_t *self, tnd_position_t place, const char *why,
                         tnd_bad_way_t way);
/*  All of a block. */
void tnd_bad_records_note(tnd_bad_records_t *self, const tnd_block_note_t *note, tnd_bad_way_t way);

/*  How many stand before `to`, at most `most`. */
size_t tnd_bad_records_before(const tnd_bad_records_t *self, tnd_position_t to, uint64_t most);
/*  Forgets all that stand before `to`. */
void tnd_bad_records_pass(tnd_bad_records_t *self, tnd_position_t to);

#endif
