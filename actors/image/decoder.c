/*  actors/image/decoder.c - decodes a part of a JPEG or PNG picture. */
#include "actors/image/decoder.h"

#include <stdio.h>
#include <string.h>

#include "actors/image/jpeg.h"
#include "actors/image/png.h"
#include "runtime/base/allocation.h"

struct tnd_decoder {
    const tnd_picture_format_t *format;
    tnd_jpeg_t *jpeg;
    tnd_png_t *png;
    bool is_png;
    uint32_t orientation;
    uint32_t height, width; /* as stored, before it is turned */
    uint8_t *stored;        /* a part that is still to be turned */
    size_t room;
};

tnd_decoder_t *tnd_decoder_new(const tnd_picture_format_t *format)
{
    tnd_decoder_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->format = format;
    self->jpeg = tnd_jpeg_new(format);
    self->png = tnd_png_new(format);
    return self;
}

void tnd_decoder_free(tnd_decoder_t **self_p)
{
    tnd_decoder_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    tnd_jpeg_free(&self->jpeg);
    tnd_png_free(&self->png);
    free(self->stored);
    free(self);
}

/*  Orientations 5 to 8 exchange lines and columns. */
static bool is_across(const tnd_decoder_t *self)
{
    return self->orientation >= 5;
}

static void tell_size(const tnd_decoder_t *self, uint32_t *height_p, uint32_t *width_p)
{
    *height_p = is_across(self) ? self->width : self->height;
    *width_p = is_across(self) ? self->height : self->width;
}

/*  "5 bytes that begin with ff d8 00", "1 byte, ff", "no bytes". */
static const char *describe_bytes(const uint8_t *bytes, size_t size, char text[64])
{
    if (size == 0)
        return "no bytes";
    if (size == 1)
        snprintf(text, 64, "1 byte, %02x", bytes[0]);
    else if (size == 2)
        snprintf(text, 64, "2 bytes, %02x %02x", bytes[0], bytes[1]);
    else
        snprintf(text, 64, "%zu bytes that begin with %02x %02x %02x", size, bytes[0], bytes[1],
                 bytes[2]);
    return text;
}

tnd_status_t tnd_decoder_open(tnd_decoder_t *self, const uint8_t *bytes, size_t size,
                              uint32_t *height_p, uint32_t *width_p, tnd_error_t *error)
{
    char text[64];
    self->orientation = 1;
    self->is_png = tnd_png_is(bytes, size);
    if (self->is_png) {
        TND_TRY(tnd_png_open(self->png, bytes, size, &self->height, &self->width, error));
    } else if (tnd_jpeg_is(bytes, size)) {
        TND_TRY(tnd_jpeg_open(self->jpeg, bytes, size, &self->height, &self->width, error));
        if (self->format->oriented)
            self->orientation = tnd_jpeg_orientation(self->jpeg);
    } else {
        return tnd_fail(error, "neither JPEG nor PNG: %s", describe_bytes(bytes, size, text));
    }
    tell_size(self, height_p, width_p);
    return TND_OK;
}

bool tnd_decoder_scale(tnd_decoder_t *self, uint32_t ratio, uint32_t *height_p, uint32_t *width_p)
{
    if (self->is_png)
        return false;
    tnd_jpeg_scale(self->jpeg, ratio, &self->height, &self->width);
    tell_size(self, height_p, width_p);
    return true;
}

bool tnd_decoder_is_deep(const tnd_decoder_t *self)
{
    return self->is_png && tnd_png_is_deep(self->png);
}

/*  Where the pixel (y, x) of the turned picture is stored. By orientation: 1 as it is, 2 mirrored,
 *  3 upside down, 4 both, 5 to 8 the same after lines and columns are exchanged. */
static void stored_at(const tnd_decoder_t *self, uint32_t y, uint32_t x, uint32_t *line_p,
                      uint32_t *column_p)
{
    static const bool flips_line[] = {0, 0, 0, 1, 1, 0, 1, 1, 0};
    static const bool flips_column[] = {0, 0, 1, 1, 0, 0, 0, 1, 1};
    uint32_t line = is_across(self) ? x : y, column = is_across(self) ? y : x;
    *line_p = flips_line[self->orientation] ? self->height - 1 - line : line;
    *column_p = flips_column[self->orientation] ? self->width - 1 - column : column;
}

static void turn(const tnd_decoder_t *self, const tnd_window_t *window, const tnd_window_t *stored,
                 uint8_t *out)
{
    uint32_t channels = self->format->channels, line, column;
    for (uint32_t y = 0; y < window->height; y++)
        for (uint32_t x = 0; x < window->width; x++, out += channels) {
            stored_at(self, window->top + y, window->left + x, &line, &column);
            size_t pixel = (size_t)(line - stored->top) * stored->width + (column - stored->left);
            memcpy(out, self->stored + pixel * channels, channels);
        }
}

static tnd_status_t decode_jpeg(tnd_decoder_t *self, const tnd_window_t *window, uint8_t *out,
                                tnd_error_t *error)
{
    if (self->orientation == 1)
        return tnd_jpeg_decode(self->jpeg, window, out, error);
    uint32_t lines[2], columns[2];
    stored_at(self, window->top, window->left, &lines[0], &columns[0]);
    stored_at(self, window->top + window->height - 1, window->left + window->width - 1, &lines[1],
              &columns[1]);
    bool up = lines[1] < lines[0], back = columns[1] < columns[0];
    tnd_window_t stored = {.top = lines[up],
                           .left = columns[back],
                           .height = lines[!up] - lines[up] + 1,
                           .width = columns[!back] - columns[back] + 1};
    size_t bytes = (size_t)stored.height * stored.width * self->format->channels;
    if (self->room < bytes) {
        self->stored = tnd_resize(self->stored, bytes, 1);
        self->room = bytes;
    }
    TND_TRY(tnd_jpeg_decode(self->jpeg, &stored, self->stored, error));
    turn(self, window, &stored, out);
    return TND_OK;
}

/*  Makes samples of 16 bits of those of 8, which are at the start of the same memory; from the last
 *  one on, so that none is overwritten before it is read. */
static void widen(size_t count, tnd_sample_t sample, void *samples)
{
    const uint8_t *bytes = samples;
    uint16_t *whole = samples;
    float *floats = samples;
    for (size_t i = count; i-- > 0;) {
        uint16_t value = (uint16_t)(bytes[i] * 256u);
        if (sample == TND_SAMPLE_U16)
            whole[i] = value;
        else
            floats[i] = value;
    }
}

tnd_status_t tnd_decoder_decode(tnd_decoder_t *self, const tnd_window_t *window,
                                tnd_sample_t sample, void *out, tnd_error_t *error)
{
    if (self->is_png)
        return tnd_png_decode(self->png, window, sample, out, error);
    TND_TRY(decode_jpeg(self, window, out, error));
    if (sample != TND_SAMPLE_U8)
        widen((size_t)window->height * window->width * self->format->channels, sample, out);
    return TND_OK;
}
