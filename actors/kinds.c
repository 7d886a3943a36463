/*  actors/kinds.c - the list of kinds, as the runtime asks for it. */
#include "runtime/option/registry.h"

#define KIND(name) extern const tnd_kind_spec_t tnd_kind_##name##_spec;
#include "actors/kinds.def"
#undef KIND

static const tnd_kind_spec_t *const kinds[] = {
#define KIND(name) &tnd_kind_##name##_spec,
#include "actors/kinds.def"
#undef KIND
    NULL};

const tnd_kind_spec_t *const *tnd_registry_kinds(size_t *count_p)
{
    *count_p = sizeof kinds / sizeof kinds[0] - 1;
    return kinds;
}
