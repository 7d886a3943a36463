/*  actors/source/sources.c - the list of sources. */
#include "actors/source/sources.h"

#include "actors/source/custom.h"

static const tnd_source_t *const sources[] = {
#define SOURCE(name, file) &tnd_source_##name,
#include "actors/source/sources.def"
#undef SOURCE
    NULL};

const tnd_source_t *tnd_source_of(const tnd_source_spec_t *spec)
{
    if (spec->custom != NULL)
        return &tnd_source_custom;
    for (const tnd_source_t *const *source = sources; *source != NULL; source++)
        if ((*source)->spec == spec)
            return *source;
    return NULL;
}
