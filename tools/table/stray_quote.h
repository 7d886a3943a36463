/*  tools/table/stray_quote.h - fields of CSV in quotes that span so many lines that the quote at their start
 *  is probably a mistake: all records up to the next quote are one then.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_TABLE_STRAY_QUOTE_H
#define TND_TOOLS_TABLE_STRAY_QUOTE_H

#include <stddef.h>

#include "tools/table/misfit.h"

/*  A field in quotes of more lines is reported. */
enum { TND_STRAY_QUOTE_LINES = 100 };

/*  Adds the record if it has such a field, or one whose quote is open at its end, and returns whether it
 *  does. */
bool tnd_stray_quote_look(tnd_misfit_t *found, const tnd_record_place_t *place,
                          const uint8_t *record, size_t size, uint8_t delimiter);

#endif
