/*  tools/inspect/data_scan.h - reads all rows of an open source: their sizes, what they
 *  contain, and which are damaged.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_INSPECT_DATA_SCAN_H
#define TND_TOOLS_INSPECT_DATA_SCAN_H

#include "actors/image/decoder.h"
#include "tools/inspect/example_keys.h"
#include "tools/inspect/size_counts.h"
#include "tools/new/data_source.h"
#include "tools/table/record_place.h"

enum { TND_SCAN_DAMAGE_MAX = 100, TND_SCAN_FIRST_RECORDS = 100, TND_SCAN_LINES = 3 };

/*  A row that cannot be read. */
typedef struct {
    tnd_source_place_t place; /* valid while the source is open */
    char why[256];
} tnd_scan_damage_t;

typedef struct {
    uint64_t records; /* all, also damaged ones */
    uint64_t damaged;
    tnd_scan_damage_t damage[TND_SCAN_DAMAGE_MAX]; /* the first of them */
    tnd_size_counts_t sizes;                       /* of rows that are not damaged, in bytes */
    tnd_example_keys_t keys;        /* of all rows; of the first only, if others are among them */
    char lines[TND_SCAN_LINES][64]; /* the first rows, if the first is text */
    uint32_t line_count;
    /*  Set by the caller: gets each row of bytes, in order; NULL: not. */
    void (*take)(void *taker, const tnd_record_place_t *place, const uint8_t *row, size_t size);
    void *taker;
    const char *column; /* set by the caller: whose bytes are taken; NULL: of the first of bytes */
    tnd_record_place_t place; /* of the row that `take` gets */
    uint64_t next_line;
    tnd_decoder_t *pictures; /* set by the caller: the rows are files of pictures; NULL: not */
    uint64_t pixels_max;     /* of a picture, by its header */
    uint64_t pixels_row;     /* the first row that has as many */
} tnd_data_scan_t;

/*  Whether the rows of a source differ in size; otherwise there is nothing to read. */
bool tnd_data_scan_needed(const tnd_data_source_t *data);

/*  Reads at most `most` rows; TND_UNKNOWN: all.  `self` is zeroed; free it also after a failure.
 *  `progress` is called often, with rows, of which `all` may be TND_UNKNOWN; NULL: not.  Errors: TND_FAILED if the files cannot be read. */
tnd_status_t tnd_data_scan_run(tnd_data_scan_t *self, tnd_data_source_t *data, uint64_t most,
                               void (*progress)(void *context, uint64_t done, uint64_t all),
                               void *context, tnd_error_t *error) TND_CHECKED;
void tnd_data_scan_free(tnd_data_scan_t *self);

#endif
