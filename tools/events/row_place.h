/*  tools/events/row_place.h - where a row of a file is in a graph: its positions and steps.
 *
 *  Opens the data as a run does, and searches the order of each chain that reads the file.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_EVENTS_ROW_PLACE_H
#define TND_TOOLS_EVENTS_ROW_PLACE_H

#include <limits.h>

#include "actors/plan/row_step.h"
#include "runtime/plan/graph.h"

enum { TND_ROW_PLACES = 8 };

typedef struct {
    uint32_t chain, lane, epoch;
    uint64_t position;
    tnd_row_step_t step;
    uint64_t run_step; /* the step over the whole run; TND_UNKNOWN: only the run finds out */
} tnd_row_place_t;

typedef struct {
    char file[PATH_MAX]; /* as the source names it */
    uint64_t row;
    uint64_t rows; /* of the file */
    tnd_row_place_t places[TND_ROW_PLACES];
    uint64_t count;     /* of all places; `places` has the first */
    char left_out[512]; /* a sentence if there are none, or if its batch is left out */
} tnd_row_places_t;

/*  Finds `written`, "FILE:ROW", where FILE is a path or enough of its end.  `epochs` has the epoch of
 *  each chain.  TND_EXIT_OK; TND_EXIT_USAGE if the file, row or epoch does not exist; TND_EXIT_FAILED
 *  if it cannot be known before the run; TND_EXIT_TOPOLOGY if the data cannot be opened.  The error
 *  is printed. */
int tnd_row_places_find(tnd_row_places_t *self, const char *written, tnd_graph_t *graph,
                        const uint32_t *epochs);

#endif
