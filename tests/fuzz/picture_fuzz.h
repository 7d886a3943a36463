/*  tests/fuzz/picture_fuzz.h - any bytes as a picture: whole, and parts of it, in all the ways that
 *  `decode_image` has. */
#ifndef TND_TESTS_FUZZ_PICTURE_FUZZ_H
#define TND_TESTS_FUZZ_PICTURE_FUZZ_H

#include <assert.h>
#include <string.h>

#include "actors/image/decoder.h"
#include "runtime/base/allocation.h"
#include "tests/fuzz/fuzz.h"

static inline void fuzz_part(tnd_decoder_t *decoder, const tnd_picture_format_t *format,
                             const uint8_t *bytes, size_t size, uint32_t number,
                             tnd_sample_t sample)
{
    uint32_t height, width;
    tnd_error_t error = {.text = ""};
    if (tnd_decoder_open(decoder, bytes, size, &height, &width, &error) != TND_OK) {
        assert(error.text[0] != '\0');
        return;
    }
    assert(height > 0 && width > 0 && (uint64_t)height * width <= format->pixels_max);
    if (number % 3 == 1 && !tnd_decoder_scale(decoder, 2, &height, &width))
        return;
    tnd_window_t part = {0, 0, height, width};
    if (number > 0)
        part = (tnd_window_t){height / 3, width / 2, 1 + height / 4, 1};
    void *out =
        tnd_allocate((size_t)part.height * part.width, format->channels * tnd_sample_size(sample));
    if (tnd_decoder_decode(decoder, &part, sample, out, &error) != TND_OK)
        assert(error.text[0] != '\0');
    free(out);
}

static inline void fuzz_picture(const uint8_t *bytes, size_t size)
{
    /* Exactly `size` bytes, so that the sanitizer notices one that is read beyond. */
    uint8_t *copy = tnd_allocate(size > 0 ? size : 1, 1);
    if (size > 0)
        memcpy(copy, bytes, size);
    for (uint32_t i = 0; i < 4; i++) {
        const tnd_picture_format_t format = {.channels = i < 2    ? 3
                                                         : i == 2 ? 1
                                                                  : 4,
                                             .accurate = i == 1,
                                             .fancy = i != 1,
                                             .recover = i >= 2,
                                             .oriented = i % 2 == 1,
                                             .ratio = 1,
                                             .pixels_max = 1 << 14};
        tnd_decoder_t *decoder = tnd_decoder_new(&format);
        for (uint32_t number = 0; number < 3; number++)
            fuzz_part(decoder, &format, copy, size, number, (tnd_sample_t)((i + number) % 3));
        tnd_decoder_free(&decoder);
    }
    free(copy);
}

#endif
