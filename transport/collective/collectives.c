/*  transport/collective/collectives.c - the list of collectives, as the runtime asks for it. */
#include "runtime/interface/collective.h"

#define COLLECTIVE(name) extern const tnd_collective_ops_t tnd_collective_##name;
#include "transport/collective/collectives.def"
#undef COLLECTIVE

static const tnd_collective_ops_t *const collectives[] = {
#define COLLECTIVE(name) &tnd_collective_##name,
#include "transport/collective/collectives.def"
#undef COLLECTIVE
};

const tnd_collective_ops_t *const *tnd_registry_collectives(size_t *count_p)
{
    *count_p = sizeof collectives / sizeof collectives[0];
    return collectives;
}
