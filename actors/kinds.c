/*  actors/kinds.c - the list of kinds. */
#include <assert.h>

#include "runtime/interface/kind.h"
#include "runtime/option/registry.h"

#define KIND(name) extern const tnd_kind_t tnd_kind_##name;
#include "actors/kinds.def"
#undef KIND

static const tnd_kind_spec_t *const specs[] = {
#define KIND(name) &tnd_kind_##name.spec,
#include "actors/kinds.def"
#undef KIND
    NULL};

const tnd_kind_spec_t *const *tnd_registry_kinds(size_t *count_p)
{
    *count_p = sizeof specs / sizeof specs[0] - 1;
    return specs;
}

const tnd_kind_t *tnd_kind_of(const tnd_kind_spec_t *spec)
{
#define KIND(name)                                                                                 \
    if (&tnd_kind_##name.spec == spec)                                                             \
        return &tnd_kind_##name;
#include "actors/kinds.def"
#undef KIND
    assert(!"the spec belongs to a kind of the list");
    return NULL;
}
