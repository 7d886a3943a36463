/*  actors/source/sources.h - the functions of the sources of the list. */
#ifndef TND_ACTORS_SOURCE_SOURCES_H
#define TND_ACTORS_SOURCE_SOURCES_H

#include "runtime/interface/source.h"

#define SOURCE(name, file)                                                                         \
    extern const tnd_source_spec_t tnd_source_##name##_spec;                                       \
    extern const tnd_source_t tnd_source_##name;
#include "actors/source/sources.def"
#undef SOURCE

/*  The source of a spec; never NULL for a spec of the registry or of a graph. */
const tnd_source_t *tnd_source_of(const tnd_source_spec_t *spec);

#endif
