/*  tools/rows/tapped_rows.c - rows that were copied from a run, as a capture. */
#include "tools/rows/tapped_rows.h"

#include <string.h>

#include "runtime/base/allocation.h"

/*  Copies one column of a row to the end of the column; returns what follows it. */
static const uint8_t *add(tnd_capture_replica_t *rows, const tnd_column_t *column, uint32_t c,
                          uint32_t row, const uint8_t *from)
{
    size_t unit = tnd_column_bytes(column), at = row * unit, size = unit;
    if (column->ragged) {
        uint64_t length;
        memcpy(&length, from, sizeof length);
        from += sizeof length;
        unit = tnd_column_unit(column);
        at = rows->splits[c][row] * unit;
        size = length * unit;
        rows->splits[c][row + 1] = rows->splits[c][row] + length;
    }
    if (size > 0)
        memcpy(rows->columns[c] + at, from, size);
    return from + size;
}

void tnd_tapped_rows(tnd_capture_t *self, const tnd_tap_t *tap)
{
    tnd_capture_init(self, &tap->schema, 1);
    tnd_capture_replica_t *rows = &self->replicas[0];
    rows->step = tap->note.slice ? tap->note.first : 0;
    rows->epoch = tap->note.epoch;
    rows->rows = tap->note.rows;
    for (uint32_t c = 0; c < self->schema.count; c++) {
        /* No column has more bytes than the whole copy. */
        rows->columns[c] = tnd_allocate(1, tap->note.bytes + (size_t)1);
        if (self->schema.columns[c].ragged)
            rows->splits[c] =
                tnd_allocate_zeroed(tap->note.rows + (size_t)1, sizeof *rows->splits[c]);
        rows->padded_to[c] = TND_UNKNOWN;
    }
    const uint8_t *from = tap->rows;
    for (uint32_t row = 0; row < tap->note.rows; row++)
        for (uint32_t c = 0; c < self->schema.count; c++)
            from = add(rows, &self->schema.columns[c], c, row, from);
}
