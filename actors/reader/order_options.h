/*  actors/reader/order_options.h - the maps of `order:` as options.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_READER_ORDER_OPTIONS_H
#define TND_ACTORS_READER_ORDER_OPTIONS_H

#include "actors/plan/kind_options.h"
#include "runtime/core/places.h"
#include "runtime/option/option.h"
#include "runtime/plan/placement.h"

/*  For the option table: `.parts` and `.check`. */
const tnd_table_t *tnd_order_map_table(size_t index);
bool tnd_order_check(const tnd_part_list_t *parts, tnd_parts_fault_t *fault);

/*  Of `part:` of a reader. */
extern const tnd_table_t tnd_order_part_table;
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
