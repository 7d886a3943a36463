/*  actors/image/png.c - decodes PNG by libspng. */
#include "actors/image/png.h"

#include <string.h>

#include <spng.h>
#include <zlib.h>

#include "runtime/base/allocation.h"

/*  Of texts and colour profiles, which are not used. */
enum { CHUNK_MAX = 16 << 20 };

/*  A chunk is its length, its type, its data and their CRC-32. */
enum { MAGIC_BYTES = 8, DATA_AT = 8, AROUND = 12, LENGTH_MAX = 0x7fffffff };

struct tnd_png {
    const tnd_picture_format_t *format;
    spng_ctx *context;
    struct spng_ihdr header;
    uint8_t *lines; /* one of what the library returns, or all */
    size_t room;
};

tnd_png_t *tnd_png_new(const tnd_picture_format_t *format)
{
    tnd_png_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->format = format;
    return self;
}

static void close_context(tnd_png_t *self)
{
    spng_ctx_free(self->context);
    self->context = NULL;
}

void tnd_png_free(tnd_png_t **self_p)
{
    tnd_png_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    close_context(self);
    free(self->lines);
    free(self);
}

bool tnd_png_is(const uint8_t *bytes, size_t size)
{
    static const uint8_t magic[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static tnd_status_t check(int code, tnd_error_t *error)
{
    return code == 0 ? TND_OK : tnd_fail(error, "not a readable PNG: %s", spng_strerror(code));
}

static size_t length_at(const uint8_t *at)
{
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/*  Compares the CRC-32 of every chunk: the library stops once it has the last line, and leaves out
 *  chunks such as those of transparency if theirs is wrong. */
static tnd_status_t check_chunks(const uint8_t *bytes, size_t size, tnd_error_t *error)
{
    bool last = false;
    for (size_t at = MAGIC_BYTES, length; !last; at += length + AROUND) {
        length = size - at >= AROUND ? length_at(bytes + at) : SIZE_MAX;
        if (length > LENGTH_MAX || length > size - at - AROUND)
            return tnd_fail(error, "not a readable PNG: the file ends early, after %zu bytes",
                            size);
        const uint8_t *chunk = bytes + at;
        if (crc32_z(0, chunk + 4, 4 + length) != length_at(chunk + DATA_AT + length))
            return tnd_fail(error,
                            "not a readable PNG: the chunk at byte %zu is damaged (its CRC-32 is "
                            "another one)",
                            at);
        last = memcmp(chunk + 4, "IEND", 4) == 0;
    }
    return TND_OK;
}

tnd_status_t tnd_png_open(tnd_png_t *self, const uint8_t *bytes, size_t size, uint32_t *height_p,
                          uint32_t *width_p, tnd_error_t *error)
{
    close_context(self);
    TND_TRY(check_chunks(bytes, size, error));
    self->context = tnd_require_memory(spng_ctx_new(0));
    TND_TRY(check(spng_set_chunk_limits(self->context, CHUNK_MAX, CHUNK_MAX), error));
    TND_TRY(check(spng_set_crc_action(self->context, SPNG_CRC_USE, SPNG_CRC_USE), error));
    TND_TRY(check(spng_set_png_buffer(self->context, bytes, size), error));
    TND_TRY(check(spng_get_ihdr(self->context, &self->header), error));
    *height_p = self->header.height;
    *width_p = self->header.width;
    return tnd_picture_format_check(self->format, *height_p, *width_p, error);
}

bool tnd_png_is_deep(const tnd_png_t *self)
{
    return self->header.bit_depth == 16;
}

static bool is_grey(const tnd_png_t *self)
{
    return self->header.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
           self->header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
}

/*  Of a file without colours the three numbers of a pixel are equal. */
static void convert(const tnd_png_t *self, size_t count, uint8_t *out, const uint8_t *in)
{
    bool grey = is_grey(self);
    if (self->format->channels != 1) {
        memcpy(out, in, count * self->format->channels);
        return;
    }
    for (size_t i = 0; i < count; i++, in += 3)
        out[i] = grey ? in[0] : tnd_picture_luma(in);
}

/*  The brightness of a colour as libpng computes it for TensorFlow: rounded if the file has 16 bits
 *  per channel, cut off if it has 8. */
static uint16_t deep_luma(const tnd_png_t *self, const uint16_t *rgb)
{
    enum { RED = 9797, GREEN = 19234, BLUE = 3737, ONE = 15, EIGHT = 257 };
    if (rgb[0] == rgb[1] && rgb[0] == rgb[2])
        return rgb[0];
    uint32_t sum = RED * (uint32_t)rgb[0] + GREEN * (uint32_t)rgb[1] + BLUE * (uint32_t)rgb[2];
    if (tnd_png_is_deep(self))
        return (uint16_t)((sum + (1u << (ONE - 1))) >> ONE);
    return (uint16_t)((sum / EIGHT >> ONE) * EIGHT);
}

/*  `in` has four channels. */
static void convert_deep(const tnd_png_t *self, size_t count, tnd_sample_t sample, void *out,
                         const uint16_t *in)
{
    uint32_t channels = self->format->channels;
    bool mixes = channels == 1 && !is_grey(self);
    uint16_t *whole = out;
    float *floats = out;
    for (size_t i = 0; i < count; i++, in += 4)
        for (uint32_t c = 0; c < channels; c++) {
            uint16_t value = mixes ? deep_luma(self, in) : in[c];
            if (sample == TND_SAMPLE_U16)
                *whole++ = value;
            else
                *floats++ = value;
        }
}

/*  How the library gives pixels, and how many bytes each has. */
static int layout(const tnd_png_t *self, tnd_sample_t sample, uint32_t *pixel_p)
{
    if (sample != TND_SAMPLE_U8)
        return *pixel_p = 8, SPNG_FMT_RGBA16;
    *pixel_p = self->format->channels == 4 ? 4 : 3;
    return self->format->channels == 4 ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8;
}

static void convert_line(const tnd_png_t *self, size_t count, tnd_sample_t sample, void *out,
                         const uint8_t *in)
{
    if (sample == TND_SAMPLE_U8)
        convert(self, count, out, in);
    else
        convert_deep(self, count, sample, out, (const uint16_t *)(const void *)in);
}

static tnd_status_t decode_lines(tnd_png_t *self, const tnd_window_t *window, tnd_sample_t sample,
                                 uint8_t *out, tnd_error_t *error)
{
    uint32_t channels = self->format->channels, pixel;
    int format = layout(self, sample, &pixel);
    int flags = channels == 4 ? SPNG_DECODE_TRNS : 0;
    bool whole = self->header.interlace_method != 0; /* its lines come in several passes */
    size_t bytes = (size_t)self->header.width * pixel;
    size_t room = whole ? bytes * self->header.height : bytes;
    if (self->room < room) {
        self->lines = tnd_resize(self->lines, room, 1);
        self->room = room;
    }
    if (whole)
        TND_TRY(check(spng_decode_image(self->context, self->lines, room, format, flags), error));
    else
        TND_TRY(check(
            spng_decode_image(self->context, NULL, 0, format, flags | SPNG_DECODE_PROGRESSIVE),
            error));
    size_t out_bytes = window->width * channels * tnd_sample_size(sample);
    for (uint32_t y = 0; y < window->top + window->height; y++) {
        uint8_t *line = self->lines + (whole ? y * bytes : 0);
        if (!whole) {
            int code = spng_decode_row(self->context, line, bytes);
            TND_TRY(check(code == SPNG_EOI ? 0 : code, error));
        }
        if (y >= window->top)
            convert_line(self, window->width, sample, out + (y - window->top) * out_bytes,
                         line + (size_t)window->left * pixel);
    }
    return TND_OK;
}

tnd_status_t tnd_png_decode(tnd_png_t *self, const tnd_window_t *window, tnd_sample_t sample,
                            void *out, tnd_error_t *error)
{
    tnd_status_t status = decode_lines(self, window, sample, out, error);
    close_context(self);
    return status;
}

const char *tnd_png_library(void)
{
    return spng_version_string();
}
