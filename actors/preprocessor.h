/*  actors/preprocessor.h - what a topology can say about a preprocessor. */
#ifndef TND_ACTORS_PREPROCESSOR_H
#define TND_ACTORS_PREPROCESSOR_H

#include <stdint.h>

#include "runtime/option/option_parse.h"

#define TND_WORKERS_AUTO 0

typedef struct {
    tnd_part_list_t ops;
    uint64_t workers; /* or TND_WORKERS_AUTO */
    int isolate;      /* 0: in a thread of its host, 1: in processes of its own */
    int on_error;     /* tnd_bad_way_t */
} tnd_preprocessor_options_t;

#endif
