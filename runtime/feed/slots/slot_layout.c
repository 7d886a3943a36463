/*  runtime/feed/slots/slot_layout.c - where the rows of one replica are in its slot. */
#include "runtime/feed/slots/slot_layout.h"

#include "runtime/base/bounds.h"
#include "runtime/interface/device.h"

/*  The product, or UINT64_MAX. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/*  Places columns that are ragged, or not, from `at` on; returns their end. */
static size_t lay_out(tnd_slot_layout_t *self, bool ragged, size_t at)
{
    const tnd_schema_t *schema = self->config.schema;
    for (uint32_t c = 0; c < schema->count; c++) {
        if (schema->columns[c].ragged != ragged)
            continue;
        self->offsets[c] = at;
        at = tnd_round_up(at + self->config.rows_max * tnd_column_bytes(&schema->columns[c]),
                          TND_STAGE_ALIGN);
    }
    return at;
}

/*  Ragged columns come after the warm ones, so that pages that no row reaches are not touched. */
tnd_slot_layout_t tnd_slot_layout_of(const tnd_slot_layout_config_t *config)
{
    tnd_slot_layout_t self = {.config = *config};
    const tnd_schema_t *schema = config->schema;
    for (uint32_t c = 0; c < schema->count; c++)
        if (schema->columns[c].ragged) {
            self.units[c] = tnd_column_unit(&schema->columns[c]);
            self.lists[c] = self.ragged++;
        }
    self.list_room = config->rows_max;
    if (config->form == TND_SLOT_PACKED)
        self.list_room += config->rows_max + 1;
    self.ragged_max = multiply(config->rows_max, tnd_schema_ragged_bytes(schema));
    self.warm = lay_out(&self, false, 0);
    if (config->form == TND_SLOT_SPREAD || self.ragged == 0) {
        self.bytes = lay_out(&self, true, self.warm);
        return self;
    }
    if (config->ragged_max > 0 && config->ragged_max < self.ragged_max)
        self.ragged_max = config->ragged_max;
    /* Each column begins at a cache line. */
    self.bytes = self.warm + tnd_round_up(self.ragged_max, TND_STAGE_ALIGN) +
                 self.ragged * (size_t)TND_STAGE_ALIGN;
    return self;
}

size_t tnd_slot_layout_memory(const tnd_slot_layout_t *self)
{
    return self->bytes + self->ragged * self->list_room * sizeof(uint64_t);
}

/*  Writes where each row begins, and where the last one ends. */
static void split(const uint64_t *lengths, uint64_t rows, uint64_t *splits)
{
    splits[0] = 0;
    for (uint64_t row = 0; row < rows; row++)
        splits[row + 1] = splits[row] + lengths[row];
}

static uint64_t longest_of(const uint64_t *lengths, uint64_t rows)
{
    uint64_t longest = 0;
    for (uint64_t row = 0; row < rows; row++)
        longest = lengths[row] > longest ? lengths[row] : longest;
    return longest;
}

/*  How long rows of bounded columns are padded to be; 0: as long as the longest. */
static uint64_t bound_of(const tnd_slot_layout_t *self, uint64_t *lists, uint64_t rows)
{
    const tnd_slot_layout_config_t *config = &self->config;
    if (config->bounded == 0)
        return 0;
    uint64_t longest = longest_of(tnd_slot_layout_lengths(self, lists, config->deciding), rows);
    for (uint32_t b = 0; b < config->bound_count; b++)
        if (longest < config->bounds[b])
            return config->bounds[b] - 1;
    return 0;
}

uint64_t tnd_slot_layout_arrange(const tnd_slot_layout_t *self, uint64_t *lists, uint64_t rows,
                                 tnd_slot_column_t *columns)
{
    const tnd_schema_t *schema = self->config.schema;
    size_t at = self->warm;
    uint64_t all = 0, bytes, bound = bound_of(self, lists, rows);
    for (uint32_t c = 0; c < schema->count; c++) {
        if (!schema->columns[c].ragged)
            continue;
        const uint64_t *lengths = tnd_slot_layout_lengths(self, lists, c);
        tnd_slot_column_t *column = &columns[self->lists[c]];
        *column = (tnd_slot_column_t){.offset = at};
        if (self->config.form == TND_SLOT_PACKED) {
            uint64_t *splits = tnd_slot_layout_splits(self, lists, c);
            split(lengths, rows, splits);
            bytes = splits[rows] * self->units[c];
        } else {
            uint64_t longest = longest_of(lengths, rows);
            bool bounded = (self->config.bounded >> c & 1) != 0 && longest < bound;
            column->stride = (bounded ? bound : longest) * self->units[c];
            bytes = multiply(rows, column->stride);
        }
        if (__builtin_add_overflow(all, bytes, &all))
            return UINT64_MAX;
        at = tnd_round_up(at + bytes, TND_STAGE_ALIGN);
    }
    return all;
}
