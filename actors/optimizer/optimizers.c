/*  actors/optimizer/optimizers.c - the optimizers of the list. */
#include "actors/optimizer/optimizers.h"

static const tnd_optimizer_ops_t *const optimizers[] = {
#define OPTIMIZER(name, file) &tnd_optimizer_##name,
#include "actors/optimizer/optimizers.def"
#undef OPTIMIZER
};

const tnd_table_t *tnd_optimizer_table(size_t index)
{
    return index < sizeof optimizers / sizeof optimizers[0] ? &optimizers[index]->table : NULL;
}
