/*  actors/reader/row_search.h - at which positions of a run a row is: the reverse of its order.
 *
 *  A row is found by looking at the positions of an epoch one after the other, so a large epoch takes
 *  seconds: about 100 million positions a second of a global shuffle on a free processor.
 *
 *  Ownership: everything in the struct remains the caller's.
 *  Threads: one at a time. */
#ifndef TND_ACTORS_READER_ROW_SEARCH_H
#define TND_ACTORS_READER_ROW_SEARCH_H

#include "actors/reader/sample_order.h"

typedef struct {
    const tnd_stream_t *stream; /* derived */
    tnd_shuffle_t shuffle;      /* of the reader */
    const uint64_t *files;      /* rows of each file, of the first column; NULL: one file */
    uint32_t file_count;
    /*  Called now and then; NULL: never. */
    void (*progress)(void *context, uint64_t done, uint64_t all);
    void *context;
} tnd_row_search_t;

/*  Whether a row is searched for: the number of positions is known. */
bool tnd_row_search_can(const tnd_row_search_t *self, uint32_t lane);

/*  Whether a row may be at several positions, of one lane or of several. */
bool tnd_row_search_repeats(const tnd_row_search_t *self);

/*  Writes the first `most` positions of a lane at which row `sample` of its source is, ascending, and
 *  returns how many there are.  Stops after the first one if the order has no row twice.  With
 *  `unbatch` a position is one of a row inside, with `window` one whose rows include it. */
uint32_t tnd_row_search(const tnd_row_search_t *self, uint32_t lane, uint32_t epoch,
                        uint64_t sample, uint64_t *positions, uint32_t most);

/*  Of a row that is at no position, says why: "`take: 100` leaves it out", "`part: {of: [80, 20]}` is
 *  of part 0, and part 1 has it".  `text` is "" if the order is not the reason. */
void tnd_row_search_why(const tnd_row_search_t *self, uint32_t lane, uint32_t epoch,
                        uint64_t sample, char *text, size_t room);

#endif
