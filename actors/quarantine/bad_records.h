/*  actors/quarantine/bad_records.h - the bad records of a lane that no step has released yet.
 *
 *  Blocks list their bad records as they arrive, in any order and maybe more than once.  The
 *  batcher knows how many a step leaves out.  In between they wait here, by position.
 *
 *  Threads: one. */
#ifndef TND_ACTORS_QUARANTINE_BAD_RECORDS_H
#define TND_ACTORS_QUARANTINE_BAD_RECORDS_H

#include "runtime/core/protocol/message_notes.h"
#include "runtime/core/stream/position.h"

typedef struct {
    tnd_position_t place;
    tnd_bad_way_t way;
    char *who, *what; /* one allocation, at `who` */
} tnd_bad_record_t;

typedef struct {
    tnd_bad_record_t *items; /* sorted by place */
    size_t count, room;
    tnd_position_t from; /* records before it are no longer needed */
} tnd_bad_records_t;

void tnd_bad_records_clear(tnd_bad_records_t *self, tnd_position_t from);
void tnd_bad_records_free(tnd_bad_records_t *self);

/*  `why` as in tnd_block_note_t.  If NULL or invalid, the record has `way` as its only reason. */
void tnd_bad_records_add(tnd_bad_records_t *self, tnd_position_t place, const char *why,
                         tnd_bad_way_t way);
/*  Adds all bad records of a block. */
void tnd_bad_records_note(tnd_bad_records_t *self, const tnd_block_note_t *note, tnd_bad_way_t way);

/*  How many are before `to`, at most `most`. */
size_t tnd_bad_records_before(const tnd_bad_records_t *self, tnd_position_t to, uint64_t most);
/*  Removes the first `count`, or all. */
void tnd_bad_records_remove(tnd_bad_records_t *self, uint64_t count);
/*  Removes all before `to`. */
void tnd_bad_records_pass(tnd_bad_records_t *self, tnd_position_t to);

#endif
