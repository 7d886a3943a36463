/*  actors/reader/order_options.h - the maps of `order:` as options.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_READER_ORDER_OPTIONS_H
#define TND_ACTORS_READER_ORDER_OPTIONS_H

#include "actors/plan/kind_options.h"
#include "runtime/core/places.h"
#include "runtime/option/option.h"
#include "runtime/plan/placement.h"

struct tnd_stream;

/*  For the option table: `.parts` and `.check`. */
const tnd_table_t *tnd_order_map_table(size_t index);
bool tnd_order_check(const tnd_part_list_t *parts, tnd_parts_fault_t *fault);

/*  Of `part:` of a reader. */
extern const tnd_table_t tnd_order_part_table;
/*  The `part` of a reader, as a key or in `order`.  */
typedef struct {
    const tnd_order_part_t *options; /* NULL: it has none */
    const tnd_value_t *value;        /* as written; NULL */
    uint64_t unit;                   /* rows inside a stored row */
} tnd_order_part_written_t;

tnd_order_part_written_t tnd_order_part_written(const tnd_instance_t *reader);
/*  Its map; by a column, the list is that of this reader. */
tnd_place_map_t tnd_order_part_map(const tnd_order_part_t *part, const char *reader);
/*  Sets what is known of a `part` by a column in stream->order. */
tnd_status_t tnd_order_resolve(const tnd_instance_t *reader, struct tnd_stream *stream,
                               tnd_error_t *error) TND_CHECKED;

/*  Whether it can be used. */
bool tnd_order_part_usable(const tnd_order_part_t *part, tnd_places_fault_t *fault);
/*  Reports that of a reader, if it cannot. */
void tnd_order_part_check(const tnd_instance_t *own, const tnd_plan_t *plan,
                          tnd_diagnostics_t *diagnostics);

/*  Appends the shuffle of a reader (tnd_shuffle_t). */
void tnd_order_shuffle(int shuffle, uint64_t seed, tnd_place_list_t *list);

/*  The list that the keys of a reader are short for, if it has `part:`. */
void tnd_order_short(const tnd_reader_options_t *options, uint64_t seed, tnd_place_list_t *list);

/*  The list that the parts describe; `seed` is that of maps that name none. */
void tnd_order_list(const tnd_part_list_t *parts, uint64_t seed, tnd_place_list_t *list);

#endif
