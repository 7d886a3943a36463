/*  actors/feeder/feeder_options.h - the options of a feeder, which fill a tnd_feeder_options_t.
 *
 *  Threads: any; constants. */
#ifndef TND_ACTORS_FEEDER_FEEDER_OPTIONS_H
#define TND_ACTORS_FEEDER_FEEDER_OPTIONS_H

#include "actors/plan/kind_options.h"

enum { TND_FEEDER_OPTIONS = 13 };
extern const tnd_option_t tnd_feeder_options[TND_FEEDER_OPTIONS];

#endif
