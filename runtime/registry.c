/*  runtime/registry.c - the lists of sources and operations as tables of options. */
#include "runtime/registry.h"

const tnd_table_t *tnd_registry_source_table(size_t index)
{
    size_t count = 0;
    const tnd_source_spec_t *const *sources = tnd_registry_sources(&count);
    return index < count ? &sources[index]->table : NULL;
}

const tnd_table_t *tnd_registry_op_table(size_t index)
{
    size_t count = 0;
    const tnd_op_spec_t *const *ops = tnd_registry_ops(&count);
    return index < count ? &ops[index]->table : NULL;
}
