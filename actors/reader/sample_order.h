/*  actors/reader/sample_order.h - which sample is at a position of a lane.
 *
 *  The order depends on the stream, the options and the epoch alone: see runtime/core/places.h.
 *
 *  Ownership: the stream and the counts of files remain the caller's.
 *  Threads: one at a time. */
#ifndef TND_ACTORS_READER_SAMPLE_ORDER_H
#define TND_ACTORS_READER_SAMPLE_ORDER_H

#include "actors/plan/kind_options.h"
#include "runtime/core/places.h"
#include "runtime/core/places/row_parts.h"
#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"

typedef struct {
    tnd_shuffle_t shuffle; /* without `order` */
    const tnd_stream_t *stream;
    uint32_t lane;
    const uint64_t *files; /* rows of each file; NULL: one file, or not known yet */
    uint32_t file_count;
    bool renamed;              /* the first map of an order that is steady is left out */
    uint64_t recall;           /* positions of the lane that may be asked for again */
    tnd_place_watch_fn *watch; /* see places.h; NULL: none */
    void *watcher;
} tnd_sample_order_config_t;

typedef struct {
    tnd_place_list_t list;
    tnd_row_parts_t parts; /* of a `part` by a column */
    void *memory;
    tnd_places_t *places;
} tnd_sample_order_t;

/*  Whether the first map of an order puts the rows of files at the same positions in each epoch. */
static inline bool tnd_sample_order_is_steady(const tnd_place_list_t *order)
{
    return order->count > 0 && order->maps[0].kind == TND_PLACE_INTERLEAVE;
}

/*  How a reader mixes rows, without `order`. */
tnd_shuffle_t tnd_sample_order_shuffle(const tnd_instance_t *reader);
/*  The order of a lane's reader, for the actors after it.  `files` is not known to them: where it is steady, they
 *  name a sample by its position after the first map. */
tnd_sample_order_config_t tnd_sample_order_planned(const tnd_plan_t *plan, uint32_t chain,
                                                   uint32_t lane, const tnd_stream_t *stream);

size_t tnd_sample_order_bytes(const tnd_sample_order_config_t *config);
void tnd_sample_order_init(tnd_sample_order_t *self, const tnd_sample_order_config_t *config);
void tnd_sample_order_free(tnd_sample_order_t *self);
/*  Finds a position, which may take long after a resume; later ones then do not. */
void tnd_sample_order_seek(tnd_sample_order_t *self, uint32_t epoch, uint64_t position);
/*  Writes the places of positions [first, first + count) of the lane: tnd_places_width of the order
 *  each, of which a short window has fewer. */
void tnd_sample_order_fill(tnd_sample_order_t *self, uint32_t epoch, uint64_t first, uint32_t count,
                           uint64_t *places);
/*  How many places a position has. */
uint32_t tnd_sample_order_pieces(const tnd_sample_order_t *self, uint64_t position);

#endif
