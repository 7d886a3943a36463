/*  tools/new/picture_size.c - the size of a JPEG or PNG file, from its header. */
#include "tools/new/picture_size.h"

#include "actors/file/content.h"
#include "actors/image/decoder.h"

static const tnd_picture_format_t format = {.channels = 3, .ratio = 1, .pixels_max = UINT64_MAX};

tnd_status_t tnd_picture_size_read(tnd_picture_size_t *self, const char *path, tnd_error_t *error)
{
    const tnd_source_scope_t scope = {.lanes = 1};
    tnd_content_t content = {0};
    const uint8_t *bytes;
    *self = (tnd_picture_size_t){0};
    TND_TRY(tnd_content_open(&content, path, &scope, error));
    tnd_decoder_t *decoder = tnd_decoder_new(&format);
    tnd_status_t status = tnd_content_view(&content, 0, content.size, &bytes, error);
    if (status == TND_OK)
        status = tnd_decoder_open(decoder, bytes, content.size, &self->height, &self->width, error);
    tnd_decoder_free(&decoder);
    tnd_content_close(&content);
    return status;
}
