/*  tools/inspect/sample_kind.c - what the files of one extension in an archive are, by their bytes. */
#include "tools/inspect/sample_kind.h"

#include <string.h>

#include "actors/image/decoder.h"
#include "actors/text/number_text.h"

static bool begins(const uint8_t *bytes, size_t size, const char *head, size_t head_size)
{
    return size >= head_size && memcmp(bytes, head, head_size) == 0;
}

static void take_picture(tnd_sample_kind_t *self, const uint8_t *bytes, size_t size)
{
    static const tnd_picture_format_t format = {
        .channels = 3, .ratio = 1, .pixels_max = UINT64_MAX};
    tnd_picture_size_t found;
    tnd_error_t ignored;
    tnd_decoder_t *decoder = tnd_decoder_new(&format);
    if (tnd_decoder_open(decoder, bytes, size, &found.height, &found.width, &ignored) == TND_OK) {
        if (self->first.height == 0)
            self->first = found;
        if (tnd_picture_size_pixels(found) > tnd_picture_size_pixels(self->largest))
            self->largest = found;
    }
    tnd_decoder_free(&decoder);
}

void tnd_sample_kind_take(tnd_sample_kind_t *self, const uint8_t *bytes, size_t size)
{
    int64_t integer;
    double number;
    self->files++;
    if (size == 0)
        return;
    if (begins(bytes, size, "\xff\xd8\xff", 3) || begins(bytes, size, "\x89PNG\r\n\x1a\n", 8)) {
        self->pictures++;
        take_picture(self, bytes, size);
    }
    self->arrays += begins(bytes, size, "\x93NUMPY", 6);
    self->integers += tnd_number_text(TND_I64, (const char *)bytes, size, &integer);
    self->numbers += tnd_number_text(TND_F64, (const char *)bytes, size, &number);
}
