/*  actors/source/sources.c - the list of sources, as the runtime asks for it. */
#include "runtime/registry.h"

#define SOURCE(name) extern const tnd_source_spec_t tnd_source_##name##_spec;
#include "actors/source/sources.def"
#undef SOURCE

static const tnd_source_spec_t *const sources[] = {
#define SOURCE(name) &tnd_source_##name##_spec,
#include "actors/source/sources.def"
#undef SOURCE
    NULL};

const tnd_source_spec_t *const *tnd_registry_sources(size_t *count_p)
{
    *count_p = sizeof sources / sizeof sources[0] - 1;
    return sources;
}
