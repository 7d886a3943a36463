/*  actors/source/sources.c - the list of sources, as the runtime asks for it. */
#include "actors/source/sources.h"

#include "actors/source/custom.h"
#include "runtime/option/registry.h"

static const tnd_source_spec_t *const specs[] = {
#define SOURCE(name) &tnd_source_##name##_spec,
#include "actors/source/sources.def"
#undef SOURCE
    NULL};

static const tnd_source_t *const sources[] = {
#define SOURCE(name) &tnd_source_##name,
#include "actors/source/sources.def"
#undef SOURCE
    NULL};

const tnd_source_spec_t *const *tnd_registry_sources(size_t *count_p)
{
    *count_p = sizeof specs / sizeof specs[0] - 1;
    return specs;
}

const tnd_source_t *tnd_source_of(const tnd_source_spec_t *spec)
{
    if (spec->given != NULL)
        return &tnd_source_custom;
    for (const tnd_source_t *const *source = sources; *source != NULL; source++)
        if ((*source)->spec == spec)
            return *source;
    return NULL;
}
