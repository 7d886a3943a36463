/*  tools/new/picture_lines.c - the operations of a new topology that make pictures of JPEG and PNG files. */
#include "tools/new/picture_lines.h"

#include "actors/file/content.h"
#include "actors/image/decoder.h"

/*  The side that most models for classes of pictures are trained with. */
enum { USUAL_SIDE = 224 };

static const tnd_picture_format_t format = {.channels = 3, .ratio = 1, .pixels_max = UINT64_MAX};

uint32_t tnd_picture_lines_side(const char *path)
{
    const tnd_source_scope_t scope = {.lanes = 1};
    tnd_content_t content = {0};
    tnd_error_t error;
    uint32_t height = USUAL_SIDE, width = USUAL_SIDE;
    const uint8_t *bytes;
    if (tnd_content_open(&content, path, &scope, &error) != TND_OK)
        return USUAL_SIDE;
    tnd_decoder_t *decoder = tnd_decoder_new(&format);
    if (tnd_content_view(&content, 0, content.size, &bytes, &error) != TND_OK ||
        tnd_decoder_open(decoder, bytes, content.size, &height, &width, &error) != TND_OK)
        height = width = USUAL_SIDE;
    tnd_decoder_free(&decoder);
    tnd_content_close(&content);
    uint32_t side = height < width ? height : width;
    return side < USUAL_SIDE ? side : USUAL_SIDE;
}

void tnd_picture_lines_print(const char *column, uint32_t side, FILE *out)
{
    fprintf(out,
            "      - decode_image:  # to pictures of one shape, u8; tundish help images\n"
            "          column: %s\n"
            "          then: [{random_resized_crop: {size: %u}}]  # to train\n"
            "          # then: [{resize: {size: %u}}]  # to test\n"
            "      # - {random_flip: {column: %s}}\n"
            "      # - {scale: {column: %s, to: f32, range: [0, 1]}}  # 0 to 255 become 0 to 1\n",
            column, side, side, column, column);
}
