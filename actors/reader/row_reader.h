/*  actors/reader/row_reader.h - reads rows of a lane's source into blocks.
 *
 *  Requests rows ahead of those that are read, to keep the disk busy.
 *
 *  Ownership: everything in the config remains the caller's.  Blocks may outlive the row reader.
 *  Threads: the reader's actor. */
#ifndef TND_ACTORS_READER_ROW_READER_H
#define TND_ACTORS_READER_ROW_READER_H

#include "actors/plan/kind_options.h"
#include "actors/quarantine/quarantine.h"
#include "actors/reader/shared_source.h"
#include "actors/reader/stream_reader.h"
#include "runtime/core/places.h"

typedef struct {
    const char *name; /* of the reader, for errors */
    const tnd_reader_options_t *options;
    const tnd_stream_t *stream;
    const void *shared; /* the open source: shared_source.h */
    uint32_t lane;
    bool alone;                /* no other reader reads positions of the lane */
    bool late;                 /* rows may be checked where they are used */
    uint64_t recall;           /* positions of the lane that may be read again */
    tnd_place_watch_fn *watch; /* see places.h; NULL: none */
    void *watcher;
} tnd_row_reader_config_t;

typedef struct tnd_row_reader tnd_row_reader_t;

tnd_row_reader_t *tnd_row_reader_new(const tnd_row_reader_config_t *config);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_row_reader_destroy(tnd_row_reader_t **self_p);

/*  An empty block for the rows. */
tnd_block_t *tnd_row_reader_block(tnd_row_reader_t *self);
/*  Finds the sample at a position, which may take long after a resume; `watch` is called meanwhile
 *  and may end it.  Those after it are then found at once. */
void tnd_row_reader_seek(tnd_row_reader_t *self, uint32_t epoch, uint64_t position);
/*  Writes the samples at positions [first, first + count) of the lane: the index in the source, with
 *  `unbatch` that of the row inside, or, with `window`, the position. */
void tnd_row_reader_samples(tnd_row_reader_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                            uint64_t *samples);
/*  How many of the positions [first, first + count) fit `budget`, where those in `held` take nothing;
 *  *ragged_p: the bytes of their ragged columns, or of the first row if not even that one fits.  All
 *  fit without sizes. */
tnd_status_t tnd_row_reader_fit(tnd_row_reader_t *self, uint32_t epoch, uint64_t first,
                                const tnd_held_t *held, uint64_t budget, uint32_t *count_p,
                                uint64_t *ragged_p, tnd_error_t *error) TND_CHECKED;
/*  Reads the rows at positions [first, first + *count_p) that are not in `held`.  Where the source
 *  ends, *end_p is set and *count_p becomes less.
 *
 *  Errors: TND_REFUSED if some of the rows are not valid records, unless the source is not RANDOM:
 *  then they are left out.  Others as the source's. */
tnd_status_t tnd_row_reader_read(tnd_row_reader_t *self, uint32_t epoch, uint64_t first,
                                 const tnd_held_t *held, uint32_t *count_p, bool *end_p,
                                 tnd_block_t *block, tnd_error_t *error) TND_CHECKED;
/*  The rows that the last read has left out; valid until the next. */
const tnd_stream_refusal_t *tnd_row_reader_refused(const tnd_row_reader_t *self, uint32_t *count_p);
/*  Whether samples can be read in any order, each as fast as the next. */
bool tnd_row_reader_is_random(const tnd_row_reader_t *self);
/*  Reads samples of an epoch. */
tnd_status_t tnd_row_reader_read_samples(tnd_row_reader_t *self, uint32_t epoch,
                                         const uint64_t *samples, uint32_t count,
                                         tnd_block_t *block, tnd_error_t *error) TND_CHECKED;
/*  Where the row of a position is stored, or the first one of several; returns false if rows have no
 *  place.  Reads nothing. */
bool tnd_row_reader_where(tnd_row_reader_t *self, uint32_t epoch, uint64_t position,
                          tnd_source_place_t *place);
/*  Where a sample is stored, of a window its first bad row: in *place (without its position) for the quarantine, and as text such
 *  as "record 3 of x.npy, at byte 224". */
void tnd_row_reader_place(tnd_row_reader_t *self, uint32_t epoch, uint64_t sample,
                          tnd_quarantine_place_t *place, char *text, size_t room);

#endif
