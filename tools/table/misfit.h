/*  tools/table/misfit.h - records of one kind that do not fit: how many, and where the first is.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_TABLE_MISFIT_H
#define TND_TOOLS_TABLE_MISFIT_H

#include <stdint.h>
#include <stdio.h>

#include "tools/table/record_place.h"

enum { TND_MISFIT_WHY_MAX = 200 };

typedef struct {
    uint64_t count;
    char *place; /* "data.csv:12" of the first */
    char why[TND_MISFIT_WHY_MAX];
} tnd_misfit_t;

/*  Counts a record.  `why` is of the first: it is kept cut and printable. */
void tnd_misfit_add(tnd_misfit_t *self, const tnd_record_place_t *place, const char *why);
/*  Prints a line: "data.csv:12: 3 fields where most have 2; 5 records are like it"; nothing if there are none. */
void tnd_misfit_print(const tnd_misfit_t *self, FILE *out);
void tnd_misfit_free(tnd_misfit_t *self);

#endif
