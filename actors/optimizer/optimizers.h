/*  actors/optimizer/optimizers.h - the optimizers of the list.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_OPTIMIZER_OPTIMIZERS_H
#define TND_ACTORS_OPTIMIZER_OPTIMIZERS_H

#include "runtime/interface/optimizer.h"

#define OPTIMIZER(name, file) extern const tnd_optimizer_ops_t tnd_optimizer_##name;
#include "actors/optimizer/optimizers.def"
#undef OPTIMIZER

/*  The index-th of the list, as an option of type PART chooses them (tnd_optimizer_of); NULL past the
 *  last. */
const tnd_table_t *tnd_optimizer_table(size_t index);

#endif
