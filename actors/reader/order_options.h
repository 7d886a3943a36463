/*  actors/reader/order_options.h - the maps of `order:` as options.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_READER_ORDER_OPTIONS_H
#define TND_ACTORS_READER_ORDER_OPTIONS_H

#include "runtime/core/places.h"
#include "runtime/option/option.h"

/*  For the option table: `.parts` and `.check`. */
const tnd_table_t *tnd_order_map_table(size_t index);
bool tnd_order_check(const tnd_part_list_t *parts, tnd_parts_fault_t *fault);

/*  The list that the parts describe; `seed` is that of maps that name none. */
void tnd_order_list(const tnd_part_list_t *parts, uint64_t seed, tnd_place_list_t *list);

#endif
