/*  tools/rows/contact_sheet.c - writes the pictures of some steps to one file, in rows. */
#include "tools/rows/contact_sheet.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "tools/cli/output.h"
#include "tools/rows/png.h"

enum {
    SIDE_LEAST = 4,
    SIDE_GREATEST = 4096,
    GLYPH_WIDE = 3,
    GLYPH_TALL = 5,
    PAPER = 24,
    INK = 230
};

/*  The most bytes of a sheet; it then shows fewer pictures. */
static const uint64_t sheet_bytes_max = (uint64_t)1 << 28;

/*  The digits and the minus sign: five lines of three pixels, bit 2 is the left one. */
static const uint8_t glyphs[11][GLYPH_TALL] = {
    {7, 5, 5, 5, 7}, {2, 6, 2, 2, 7}, {7, 1, 7, 4, 7}, {7, 1, 3, 1, 7},
    {5, 5, 7, 1, 1}, {7, 4, 7, 1, 7}, {7, 4, 7, 5, 7}, {7, 1, 2, 2, 2},
    {7, 5, 7, 5, 7}, {7, 5, 7, 1, 7}, {0, 0, 7, 0, 0},
};

bool tnd_contact_sheet_shows(const tnd_column_t *column)
{
    bool channels = column->rank == 3 &&
                    (column->shape[2] == 1 || column->shape[2] == 3 || column->shape[2] == 4);
    return !column->ragged && (column->rank == 2 || channels) && column->shape[0] >= SIDE_LEAST &&
           column->shape[1] >= SIDE_LEAST && column->shape[0] <= SIDE_GREATEST &&
           column->shape[1] <= SIDE_GREATEST;
}

static const tnd_column_t *picture_of(const tnd_contact_sheet_t *self)
{
    return &self->schema.columns[self->picture];
}

tnd_status_t tnd_contact_sheet_begin(tnd_contact_sheet_t *self, const char *path,
                                     const tnd_schema_t *schema, tnd_error_t *error)
{
    *self = (tnd_contact_sheet_t){.path = path, .schema = *schema, .picture = -1, .label = -1};
    for (uint32_t c = schema->count; c-- > 0;) {
        const tnd_column_t *column = &schema->columns[c];
        if (tnd_contact_sheet_shows(column))
            self->picture = (int)c;
        else if (column->rank == 0 && column->dtype != TND_BOOL &&
                 !tnd_dtype_is_float(column->dtype))
            self->label = (int)c;
    }
    char text[256];
    if (self->picture < 0)
        return tnd_fail(error,
                        "no column holds pictures (height x width, or with 1, 3 or 4 channels "
                        "last): there is %s",
                        tnd_schema_text(schema, text, sizeof text));
    return TND_OK;
}

void tnd_contact_sheet_add(tnd_contact_sheet_t *self, const tnd_capture_t *capture)
{
    size_t bytes = tnd_column_bytes(picture_of(self));
    for (uint32_t r = 0; r < capture->replica_count; r++) {
        const tnd_capture_replica_t *replica = &capture->replicas[r];
        self->seen += replica->rows;
        uint64_t rows = replica->rows;
        if (rows > TND_CONTACT_SHEET_MOST - self->rows)
            rows = TND_CONTACT_SHEET_MOST - self->rows;
        if (rows == 0)
            continue;
        self->pictures = tnd_resize(self->pictures, 1, (self->rows + rows) * bytes);
        self->labels = tnd_resize(self->labels, self->rows + rows, sizeof *self->labels);
        memcpy(self->pictures + self->rows * bytes, replica->columns[self->picture], rows * bytes);
        for (uint64_t i = 0; i < rows && self->label >= 0; i++)
            self->labels[self->rows + i] = tnd_capture_number(
                self->schema.columns[self->label].dtype, replica->columns[self->label], i);
        self->rows += rows;
    }
}

/*  The values that become black and white. */
static void find_range(const tnd_contact_sheet_t *self, double *black_p, double *white_p)
{
    const tnd_column_t *column = picture_of(self);
    uint64_t count = self->rows * tnd_column_elements(column);
    double least = INFINITY, greatest = -INFINITY;
    *black_p = 0;
    *white_p = column->dtype == TND_BOOL ? 1 : 255;
    if (column->dtype == TND_U8 || column->dtype == TND_BOOL)
        return;
    for (uint64_t i = 0; i < count; i++) {
        double value = tnd_capture_number(column->dtype, self->pictures, i);
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    bool unit = tnd_dtype_is_float(column->dtype) && least >= 0 && greatest <= 1;
    *black_p = unit || !(least < greatest) ? 0 : least;
    *white_p = unit || !(least < greatest) ? 1 : greatest;
}

static uint8_t shade_of(double value, double black, double white)
{
    double part = (value - black) / (white - black);
    return part >= 1 ? 255 : part > 0 ? (uint8_t)(part * 255 + 0.5) : 0;
}

/*  The layout of the sheet. */
typedef struct {
    uint32_t factor;                  /* the side of the square that shows one pixel */
    uint32_t cell_width, cell_height; /* including the gap before and the label below */
    uint32_t across, down, shown;
} layout_t;

static uint32_t digits_most(const tnd_contact_sheet_t *self)
{
    char text[32];
    uint32_t most = 0;
    for (uint64_t i = 0; i < self->rows && self->label >= 0; i++) {
        uint32_t size = (uint32_t)snprintf(text, sizeof text, "%.0f", self->labels[i]);
        most = size > most ? size : most;
    }
    return most;
}

static layout_t lay_out(const tnd_contact_sheet_t *self, uint32_t channels)
{
    const tnd_column_t *column = picture_of(self);
    uint32_t height = (uint32_t)column->shape[0], width = (uint32_t)column->shape[1];
    uint32_t side = height > width ? height : width;
    layout_t layout = {
        .factor = side >= TND_CONTACT_SHEET_WISH ? 1 : (TND_CONTACT_SHEET_WISH + side - 1) / side};
    uint32_t label = digits_most(self) * (GLYPH_WIDE + 1);
    width *= layout.factor;
    layout.cell_width = (label > width ? label : width) + TND_CONTACT_SHEET_GAP;
    layout.cell_height = height * layout.factor + TND_CONTACT_SHEET_GAP +
                         (self->label >= 0 ? TND_CONTACT_SHEET_LABEL : 0);
    uint64_t cell = (uint64_t)layout.cell_width * layout.cell_height * channels;
    uint64_t shown = sheet_bytes_max / cell > 0 ? sheet_bytes_max / cell : 1;
    layout.shown = (uint32_t)(shown < self->rows ? shown : self->rows);
    /* About twice as wide as high, like a screen. */
    layout.across =
        (uint32_t)ceil(sqrt(2.0 * layout.shown * layout.cell_height / layout.cell_width));
    layout.across = layout.across < layout.shown ? layout.across : layout.shown;
    layout.down = (layout.shown + layout.across - 1) / layout.across;
    return layout;
}

static void draw_picture(const tnd_contact_sheet_t *self, tnd_png_t *png, const layout_t *layout,
                         uint32_t index, double black, double white)
{
    const tnd_column_t *column = picture_of(self);
    uint32_t height = (uint32_t)column->shape[0], width = (uint32_t)column->shape[1];
    uint32_t channels = column->rank == 3 ? (uint32_t)column->shape[2] : 1;
    const uint8_t *picture = self->pictures + index * tnd_column_bytes(column);
    uint32_t left = index % layout->across * layout->cell_width + TND_CONTACT_SHEET_GAP;
    uint32_t top = index / layout->across * layout->cell_height + TND_CONTACT_SHEET_GAP;
    for (uint32_t y = 0; y < height * layout->factor; y++)
        for (uint32_t x = 0; x < width * layout->factor; x++) {
            uint64_t from = (uint64_t)(y / layout->factor) * width + x / layout->factor;
            uint8_t *to = tnd_png_at(png, left + x, top + y);
            for (uint32_t c = 0; c < png->channels; c++)
                to[c] = shade_of(tnd_capture_number(column->dtype, picture, from * channels + c),
                                 black, white);
        }
}

static void draw_label(const tnd_contact_sheet_t *self, tnd_png_t *png, const layout_t *layout,
                       uint32_t index)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f", self->labels[index]);
    uint32_t left = index % layout->across * layout->cell_width + TND_CONTACT_SHEET_GAP;
    uint32_t top = (index / layout->across + 1) * layout->cell_height - TND_CONTACT_SHEET_LABEL +
                   TND_CONTACT_SHEET_GAP + 2;
    for (const char *at = text; *at != '\0'; at++, left += GLYPH_WIDE + 1)
        for (uint32_t y = 0; y < GLYPH_TALL; y++)
            for (uint32_t x = 0; x < GLYPH_WIDE; x++)
                if ((glyphs[*at == '-' ? 10 : *at - '0'][y] >> (GLYPH_WIDE - 1 - x) & 1) != 0)
                    memset(tnd_png_at(png, left + x, top + y), INK, png->channels);
}

tnd_status_t tnd_contact_sheet_end(tnd_contact_sheet_t *self, tnd_error_t *error)
{
    if (self->rows == 0) {
        tnd_contact_sheet_abandon(self);
        return tnd_fail(error, "the stream is empty: no picture to show");
    }
    const tnd_column_t *column = picture_of(self);
    uint32_t channels = column->rank == 3 && column->shape[2] >= 3 ? 3 : 1;
    layout_t layout = lay_out(self, channels);
    double black, white;
    tnd_png_t png;
    find_range(self, &black, &white);
    tnd_png_init(&png, layout.across * layout.cell_width + TND_CONTACT_SHEET_GAP,
                 layout.down * layout.cell_height + TND_CONTACT_SHEET_GAP, channels, PAPER);
    for (uint32_t i = 0; i < layout.shown; i++) {
        draw_picture(self, &png, &layout, i, black, white);
        if (self->label >= 0)
            draw_label(self, &png, &layout, i);
    }
    tnd_output_t output;
    tnd_status_t status = tnd_output_open(&output, self->path, error);
    if (status == TND_OK) {
        tnd_png_write(&png, output.out);
        status = tnd_output_close(&output, error);
    }
    if (status == TND_OK) {
        fprintf(stderr, "tundish head: wrote %s: %" PRIu32 " of `%s`, %" PRIu32 " x %" PRIu32,
                self->path, layout.shown, column->name, layout.across, layout.down);
        if (self->label >= 0)
            fprintf(stderr, ", with `%s`", self->schema.columns[self->label].name);
        if (self->seen > layout.shown)
            fprintf(stderr, "; %" PRIu64 " more do not fit", self->seen - layout.shown);
        fputc('\n', stderr);
    }
    tnd_png_fini(&png);
    tnd_contact_sheet_abandon(self);
    return status;
}

void tnd_contact_sheet_abandon(tnd_contact_sheet_t *self)
{
    free(self->pictures);
    free(self->labels);
    *self = (tnd_contact_sheet_t){0};
}
