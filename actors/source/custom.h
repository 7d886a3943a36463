/*  actors/source/custom.h - adapts a source of a program or a plugin.
 *
 *  Threads: as runtime/interface/source.h says. */
#ifndef TND_ACTORS_SOURCE_CUSTOM_H
#define TND_ACTORS_SOURCE_CUSTOM_H

#include "runtime/interface/source.h"

/*  The functions of every spec with a `custom` table. */
extern const tnd_source_t tnd_source_custom;

#endif
