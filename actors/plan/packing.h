/*  actors/plan/packing.h - the option `pack` of a batcher: its rule for the core, and the rows that it
 *  makes.
 *
 *  Threads: any; pure. */
#ifndef TND_ACTORS_PLAN_PACKING_H
#define TND_ACTORS_PLAN_PACKING_H

#include "actors/plan/kind_options.h"
#include "runtime/core/lane/packed_rows.h"
#include "runtime/data/schema.h"

/*  The columns of a packed row are those of the documents, then the two of `segments`. */
enum { TND_PACK_SEGMENTS, TND_PACK_POSITIONS, TND_PACK_NUMBERS };

extern const tnd_table_t tnd_pack_table;

/*  Without `pack` the length is 0. */
tnd_pack_rule_t tnd_plan_pack_rule(const tnd_batcher_options_t *options);

/*  TND_FAILED, with the reason, if options beside it are not possible. */
tnd_status_t tnd_plan_pack_check(const tnd_batcher_options_t *options, uint32_t lanes,
                                 tnd_error_t *error) TND_CHECKED;
/*  The columns of packed rows that are made of rows of `joined`; TND_FAILED if these cannot be
 *  packed. */
tnd_status_t tnd_plan_pack_schema(const tnd_pack_options_t *pack, const tnd_schema_t *joined,
                                  tnd_schema_t *packed, tnd_error_t *error) TND_CHECKED;

/*  Where a batch has its columns. */
typedef struct {
    size_t data[TND_COLUMNS_MAX], bytes;
} tnd_pack_batch_layout_t;

tnd_pack_batch_layout_t tnd_plan_pack_layout(const tnd_batcher_options_t *options,
                                             const tnd_schema_t *packed);

#endif
