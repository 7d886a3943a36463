/*  actors/kind_of.c - what the kinds of the list do.
 *
 *  Apart from the list of their specs, so that whoever only checks a graph links no actor.
 */
#include <assert.h>

#include "runtime/interface/kind.h"

#define KIND(name) extern const tnd_kind_t tnd_kind_##name;
#include "actors/kinds.def"
#undef KIND

const tnd_kind_t *tnd_kind_of(const tnd_kind_spec_t *spec)
{
#define KIND(name)                                                                                 \
    if (tnd_kind_##name.spec == spec)                                                              \
        return &tnd_kind_##name;
#include "actors/kinds.def"
#undef KIND
    assert(!"a kind that is not in the list");
    return NULL;
}
