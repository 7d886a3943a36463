/*  actors/cache/cache_options.h - the options of a cache, which fill a tnd_cache_options_t.
 *
 *  Threads: any; constants. */
#ifndef TND_ACTORS_CACHE_CACHE_OPTIONS_H
#define TND_ACTORS_CACHE_CACHE_OPTIONS_H

#include "actors/plan/kind_options.h"

enum { TND_CACHE_OPTIONS = 4 };
extern const tnd_option_t tnd_cache_options[TND_CACHE_OPTIONS];

#endif
