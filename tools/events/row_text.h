/*  tools/events/row_text.h - prints where a row of a file is, and how far its run is.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_EVENTS_ROW_TEXT_H
#define TND_TOOLS_EVENTS_ROW_TEXT_H

#include <stdio.h>

#include "tools/events/row_place.h"

/*  How far the run is that is asked about. */
typedef struct {
    bool here;      /* it is on this machine */
    uint32_t chain; /* the running one */
    uint64_t steps; /* committed, of that one */
} tnd_row_run_t;

/*  A sentence for each place. */
void tnd_row_places_print(FILE *out, const tnd_row_places_t *self, const tnd_plan_t *plan);
/*  The same as an object in a line. */
void tnd_row_places_print_json(FILE *out, const tnd_row_places_t *self, const tnd_plan_t *plan,
                               const tnd_row_run_t *run);

/*  Whether the step of the place is committed, as far as the run's count says. */
bool tnd_row_place_is_committed(const tnd_row_place_t *self, const tnd_row_run_t *run);

#endif
