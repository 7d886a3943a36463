/*  runtime/option/registry.c - lookup by name, and the lists as option tables. */
#include "runtime/option/registry.h"

#include <string.h>

const tnd_kind_spec_t *tnd_registry_kind_of_role(tnd_role_t role)
{
    size_t count = 0;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    for (size_t i = 0; i < count; i++)
        if (kinds[i]->role == role)
            return kinds[i];
    return NULL;
}

const tnd_kind_spec_t *tnd_registry_kind(const char *name)
{
    size_t count = 0;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(kinds[i]->table.name, name) == 0)
            return kinds[i];
    return NULL;
}

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
