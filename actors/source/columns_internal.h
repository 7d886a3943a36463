/*  actors/source/columns_internal.h - shared by the source files of columns.h. */
#ifndef TND_ACTORS_SOURCE_COLUMNS_INTERNAL_H
#define TND_ACTORS_SOURCE_COLUMNS_INTERNAL_H

#include "actors/source/columns.h"

/*  Decides for all strands whether their files are mapped or read, and prepares them. */
tnd_status_t tnd_columns_settle(tnd_columns_t *self, const tnd_source_scope_t *scope,
                                tnd_source_facts_t *facts, tnd_error_t *error) TND_CHECKED;

/*  Records after a read, which included row `index`, whether rows must be requested ahead. */
void tnd_columns_note(tnd_columns_t *self, const tnd_strand_t *strand, uint64_t index);

/*  The most bytes that a row takes in a file. */
static inline size_t tnd_strand_row_max(const tnd_strand_t *strand)
{
    size_t around = strand->format != NULL ? strand->format->around : 0;
    return strand->splits != NULL ? strand->record * strand->longest + around : strand->record;
}

/*  The file that contains a row, as an index in strand->stored. */
static inline size_t tnd_strand_file(const tnd_strand_t *strand, uint64_t row)
{
    if (strand->count == 1)
        return 0;
    if (strand->even > 0)
        return row / strand->even;
    size_t low = 0, high = strand->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (strand->first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
