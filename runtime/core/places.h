/*  runtime/core/places.h - which stored rows are at a position of a lane.
 *
 *  An order is a list of maps, applied as written to the rows as they are stored.  Lanes divide its
 *  result: position q of lane l of L is position q * L + l of the list.  A place is the number of a
 *  stored row over all files; with `unbatch`, of a row inside one.  With `window` a position has
 *  several places.
 *
 *  The places depend on the list, the counts of rows, the epoch and the position alone, so every
 *  reader of a lane finds the same.  Most maps find them by arithmetic.  A `shuffle` draws one
 *  position after the other: going forwards is cheap, and the last `recall` positions of a lane are
 *  remembered; going back further draws again from a snapshot, of which there is one every 65,536
 *  positions, or from the start of the epoch.
 *
 *  Ownership: the memory, and all that the config points to, remains the caller's while in use.
 *  Threads: one at a time. */
#ifndef TND_RUNTIME_CORE_PLACES_H
#define TND_RUNTIME_CORE_PLACES_H

#include "runtime/base/status.h"
#include "runtime/core/places/place_map.h"

enum { TND_PLACES_MAPS_MAX = 16 };

typedef struct {
    uint32_t count;
    tnd_place_map_t maps[TND_PLACES_MAPS_MAX];
} tnd_place_list_t;

/*  Why a list cannot be used. */
typedef struct {
    uint32_t map; /* which */
    tnd_error_t why;
    const char *help; /* what to do; NULL: no suggestion */
} tnd_places_fault_t;

typedef struct {
    const tnd_place_list_t *list; /* passes tnd_places_check */
    uint64_t rows;                /* stored */
    const uint64_t *files; /* rows of each file, for `interleave`; tnd_places_bytes ignores it */
    uint32_t file_count;   /* 0: one file */
    const tnd_row_parts_t *row_parts; /* of a `part` by a list; tnd_places_bytes ignores it */
    uint32_t lane, lanes;             /* 0, 1: the whole result */
    uint64_t recall;                  /* positions of the lane that may be asked for again */
    tnd_place_watch_fn *watch;        /* NULL: none */
    void *watcher;
} tnd_places_config_t;

typedef struct tnd_places tnd_places_t;

const char *tnd_place_name(tnd_place_kind_t kind);

/*  Whether a list can be applied to `rows` rows; TND_PLACES_ENDLESS: their number is not known. */
bool tnd_places_check(const tnd_place_list_t *self, uint64_t rows, tnd_places_fault_t *fault);
/*  Positions of one epoch of the list. */
uint64_t tnd_places_count(const tnd_place_list_t *self, uint64_t rows);
/*  Places of one position: 1, or the size of the window. */
uint64_t tnd_places_width(const tnd_place_list_t *self);
/*  Rows inside a stored row, which places count; 1 without `unbatch`. */
uint64_t tnd_places_unit(const tnd_place_list_t *self);

/*  The pair of seeds that TensorFlow makes of the seed of an operation and the global one, which is
 *  87654321 where none is set.  Both are taken modulo 2^31 - 1 first (tnd_places_seed). */
uint32_t tnd_places_seed(int64_t seed);
enum { TND_PLACES_NO_GLOBAL_SEED = 87654321 };
void tnd_places_seeds(uint32_t global_seed, uint32_t seed, uint32_t seeds[2]);

/*  Of a list with a `shard` by lane: makes it that of one lane, which has all of its result.  False:
 *  it has no such map. */
bool tnd_places_of_lane(tnd_place_list_t *self, uint32_t lane, uint32_t lanes);

size_t tnd_places_bytes(const tnd_places_config_t *config);
/*  `memory` has tnd_places_bytes bytes, aligned to 8. */
tnd_places_t *tnd_places_init(void *memory, const tnd_places_config_t *config);

/*  Writes the places of the positions [first, first + count) of the lane in `epoch`: `width` for
 *  each.  Of a short window those after the last, see tnd_places_pieces, are not set. */
void tnd_places_fill(tnd_places_t *self, uint64_t epoch, uint64_t first, size_t count,
                     uint64_t *places);
/*  How many places a position has. */
uint64_t tnd_places_pieces(const tnd_places_t *self, uint64_t position);
/*  Positions that shuffles have drawn so far.  One that is found in order is drawn once. */
uint64_t tnd_places_drawn(const tnd_places_t *self);

#endif
