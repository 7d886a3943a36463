/*  actors/feeder.h - what a topology can say about a feeder. */
#ifndef TND_ACTORS_FEEDER_H
#define TND_ACTORS_FEEDER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/option/option_parse.h"

/*  `step: {plugin: mlp, hidden: 128}`: all but the name is the plugin's own. */
typedef struct {
    const char *plugin;
    tnd_pairs_t options; /* of type VALUE; tnd_pairs_print gives them as text */
} tnd_step_options_t;

/*  As many steps as fit into some bytes; see prefetch.h. */
#define TND_DEPTH_AUTO 0

typedef struct {
    uint64_t depth; /* or TND_DEPTH_AUTO */
    uint64_t spare;
    uint64_t gather;                /* threads, or TND_GATHER_AUTO: runtime/feed/gatherers.h */
    tnd_strings_t devices;          /* as the actor says; those of a host are in the plan */
    const tnd_step_options_t *step; /* NULL: none */
    const char *after;              /* NULL: none */
    bool digest;
} tnd_feeder_options_t;

#endif
