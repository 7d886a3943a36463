/*  tools/rows/png.c - writes a picture as PNG. */
#include "tools/rows/png.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <spng.h>

#include "runtime/base/allocation.h"

void tnd_png_init(tnd_png_t *self, uint32_t width, uint32_t height, uint32_t channels,
                  uint8_t shade)
{
    assert(width > 0 && height > 0 && (channels == 1 || channels == 3));
    size_t bytes = (size_t)width * height * channels;
    *self = (tnd_png_t){.width = width, .height = height, .channels = channels};
    self->pixels = tnd_allocate(1, bytes);
    memset(self->pixels, shade, bytes);
}

void tnd_png_fini(tnd_png_t *self)
{
    free(self->pixels);
    *self = (tnd_png_t){0};
}

uint8_t *tnd_png_at(const tnd_png_t *self, uint32_t x, uint32_t y)
{
    assert(x < self->width && y < self->height);
    return self->pixels + ((size_t)y * self->width + x) * self->channels;
}

void tnd_png_write(const tnd_png_t *self, FILE *out)
{
    struct spng_ihdr header = {.width = self->width,
                               .height = self->height,
                               .bit_depth = 8,
                               .color_type = self->channels == 3 ? SPNG_COLOR_TYPE_TRUECOLOR
                                                                 : SPNG_COLOR_TYPE_GRAYSCALE};
    spng_ctx *context = tnd_require_memory(spng_ctx_new(SPNG_CTX_ENCODER));
    size_t bytes = (size_t)self->width * self->height * self->channels;
    (void)spng_set_png_file(context, out);
    (void)spng_set_ihdr(context, &header);
    (void)spng_set_option(context, SPNG_FILTER_CHOICE, SPNG_DISABLE_FILTERING);
    int outcome =
        spng_encode_image(context, self->pixels, bytes, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
    assert(outcome == 0 || ferror(out));
    (void)outcome;
    spng_ctx_free(context);
}
