/*  actors/image/picture_format.c - how pictures are decoded, and which part of one. */
#include "actors/image/picture_format.h"

tnd_status_t tnd_picture_format_check(const tnd_picture_format_t *self, uint32_t height,
                                      uint32_t width, tnd_error_t *error)
{
    if (height == 0 || width == 0)
        return tnd_fail(error, "the picture has no pixels (%u x %u)", height, width);
    if ((uint64_t)height * width <= self->pixels_max)
        return TND_OK;
    return tnd_fail(error,
                    "the picture has %u x %u pixels (height x width), more than `max_pixels` "
                    "(%llu)",
                    height, width, (unsigned long long)self->pixels_max);
}
