/*  tools/new/picture_lines.c - the operations of a new topology that make pictures of JPEG and PNG files. */
#include "tools/new/picture_lines.h"

#include <inttypes.h>

#include "runtime/text/quantity.h"

/*  The side that most models for classes of pictures are trained with. */
enum { USUAL_SIDE = 224 };

uint32_t tnd_picture_lines_side(tnd_picture_size_t size)
{
    uint32_t side = size.height < size.width ? size.height : size.width;
    return side == 0 || side > USUAL_SIDE ? USUAL_SIDE : side;
}

/*  Memory is reserved for the pixels, and for what a progressive JPEG takes. */
static void print_pixels(tnd_picture_size_t largest, FILE *out)
{
    uint64_t pixels = tnd_picture_size_pixels(largest);
    char bytes[TND_QUANTITY_SIZE];
    if (pixels > TND_PICTURE_PIXELS_DEFAULT)
        fprintf(out,
                "          max_pixels: %" PRIu64
                "  # the largest has %u x %u; each worker reserves "
                "%s for one\n",
                pixels, largest.width, largest.height,
                tnd_quantity_size(pixels * TND_PICTURE_PIXEL_BYTES, bytes));
}

void tnd_picture_lines_print(const char *column, uint32_t side, tnd_picture_size_t largest,
                             bool validates, FILE *out)
{
    fprintf(out,
            "      - decode_image:  # to pictures of one shape, u8; tundish help images\n"
            "          column: %s\n",
            column);
    print_pixels(largest, out);
    if (validates)
        fprintf(out, "          then: [{resize: {size: %u}}]\n", side);
    else
        fprintf(out,
                "          then: [{random_resized_crop: {size: %u}}]  # to train\n"
                "          # then: [{resize: {size: %u}}]  # to test\n"
                "      # - {random_flip: {column: %s}}\n",
                side, side, column);
    fprintf(out,
            "      # - {scale: {column: %s, to: f32, range: [0, 1]}}  # 0 to 255 become 0 to 1\n",
            column);
}
