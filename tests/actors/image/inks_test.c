/*  Covers the JPEG files of four inks (CMYK, and YCCK, its form with luma) in actors/image/jpeg.h:
 *  libjpeg writes them from known colours, and the pictures have the colours that TensorFlow's
 *  decode_jpeg computes: r = (255 - k) * (255 - c) / 255, or k * c / 255 where Adobe's marker says that the
 *  inks are stored inverted. */
#include "actors/image/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <jpeglib.h>

#include "runtime/base/allocation.h"

enum { HEIGHT = 32, WIDTH = 64, BLOCK = 16, INKS = 4 };

typedef struct {
    const char *name;
    J_COLOR_SPACE stored;
    bool adobe;
} writer_t;

static const writer_t writers[] = {{"CMYK", JCS_CMYK, false},
                                   {"CMYK of Adobe", JCS_CMYK, true},
                                   {"YCCK of Adobe", JCS_YCCK, true}};

/*  Each block of 16 x 16 pixels has one colour, so that only rounding is lost, but for the edges
 *  between them: YCCK stores chroma at half the resolution. */
static void paint(uint32_t y, uint32_t x, uint8_t inks[INKS])
{
    uint32_t block = y / BLOCK * (WIDTH / BLOCK) + x / BLOCK;
    for (uint32_t i = 0; i < INKS; i++)
        inks[i] = (uint8_t)((block + 3) * (37 + 22 * i) % 256);
}

static bool at_edge(size_t pixel)
{
    size_t y = pixel / WIDTH % BLOCK, x = pixel % WIDTH % BLOCK;
    return y < 2 || y >= BLOCK - 2 || x < 2 || x >= BLOCK - 2;
}

static uint8_t *encode(const writer_t *writer, size_t *size_p)
{
    struct jpeg_compress_struct encoder;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    uint8_t line[WIDTH * INKS];
    JSAMPROW row = line;
    encoder.err = jpeg_std_error(&errors);
    jpeg_create_compress(&encoder);
    jpeg_mem_dest(&encoder, &bytes, &size);
    encoder.image_width = WIDTH;
    encoder.image_height = HEIGHT;
    encoder.input_components = INKS;
    encoder.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&encoder);
    jpeg_set_colorspace(&encoder, writer->stored);
    encoder.write_Adobe_marker = writer->adobe;
    jpeg_set_quality(&encoder, 100, TRUE);
    jpeg_start_compress(&encoder, TRUE);
    for (uint32_t y = 0; y < HEIGHT; y++) {
        for (uint32_t x = 0; x < WIDTH; x++)
            paint(y, x, line + (size_t)x * INKS);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    uint8_t *copy = tnd_allocate(size, 1);
    memcpy(copy, bytes, size);
    free(bytes);
    *size_p = size;
    return copy;
}

/*  The inks as libjpeg reads them, with the fast transform. */
static void read_inks(const uint8_t *bytes, size_t size, uint8_t *inks)
{
    struct jpeg_decompress_struct decoder;
    struct jpeg_error_mgr errors;
    decoder.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&decoder);
    jpeg_mem_src(&decoder, bytes, size);
    jpeg_read_header(&decoder, TRUE);
    decoder.out_color_space = JCS_CMYK;
    decoder.dct_method = JDCT_IFAST;
    jpeg_start_decompress(&decoder);
    while (decoder.output_scanline < HEIGHT) {
        JSAMPROW row = inks + (size_t)decoder.output_scanline * WIDTH * INKS;
        jpeg_read_scanlines(&decoder, &row, 1);
    }
    jpeg_finish_decompress(&decoder);
    jpeg_destroy_decompress(&decoder);
}

static int light(const writer_t *writer, uint8_t ink, uint8_t black)
{
    return writer->adobe ? black * ink / 255 : (255 - black) * (255 - ink) / 255;
}

static void decode(const uint8_t *bytes, size_t size, uint32_t channels, const tnd_window_t *part,
                   uint8_t *out)
{
    const tnd_picture_format_t format = {
        .channels = channels, .ratio = 1, .fancy = true, .pixels_max = 1 << 16};
    tnd_decoder_t *decoder = tnd_decoder_new(&format);
    tnd_error_t error;
    uint32_t height, width;
    cr_assert_eq(tnd_decoder_open(decoder, bytes, size, &height, &width, &error), TND_OK, "%s",
                 error.text);
    cr_assert(height == HEIGHT && width == WIDTH);
    cr_assert_eq(tnd_decoder_decode(decoder, part, TND_SAMPLE_U8, out, &error), TND_OK, "%s",
                 error.text);
    tnd_decoder_free(&decoder);
}

static const tnd_window_t whole = {0, 0, HEIGHT, WIDTH};

Test(inks, become_the_colours_of_tensorflow)
{
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        static uint8_t inks[HEIGHT * WIDTH * INKS], rgb[HEIGHT * WIDTH * 3],
            rgba[HEIGHT * WIDTH * 4];
        size_t size;
        uint8_t *bytes = encode(&writers[i], &size);
        read_inks(bytes, size, inks);
        decode(bytes, size, 3, &whole, rgb);
        decode(bytes, size, 4, &whole, rgba);
        for (size_t at = 0; at < (size_t)HEIGHT * WIDTH; at++)
            for (int c = 0; c < 3; c++) {
                uint8_t painted[INKS];
                paint((uint32_t)(at / WIDTH), (uint32_t)(at % WIDTH), painted);
                cr_assert_eq(rgb[at * 3 + c],
                             light(&writers[i], inks[at * INKS + c], inks[at * INKS + 3]),
                             "%s, pixel %zu", writers[i].name, at);
                cr_assert(at_edge(at) || abs(rgb[at * 3 + c] -
                                             light(&writers[i], painted[c], painted[3])) <= 4,
                          "%s, pixel %zu: %d, painted as %d", writers[i].name, at, rgb[at * 3 + c],
                          light(&writers[i], painted[c], painted[3]));
                cr_assert(rgba[at * 4 + c] == rgb[at * 3 + c] && rgba[at * 4 + 3] == 255);
            }
        free(bytes);
    }
}

Test(inks, parts_have_the_bits_of_the_whole)
{
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        static uint8_t rgb[HEIGHT * WIDTH * 3], out[HEIGHT * WIDTH * 3];
        const tnd_window_t part = {5, 19, 11, 13};
        size_t size;
        uint8_t *bytes = encode(&writers[i], &size);
        decode(bytes, size, 3, &whole, rgb);
        decode(bytes, size, 3, &part, out);
        for (uint32_t y = 0; y < part.height; y++)
            cr_assert_eq(memcmp(out + (size_t)y * part.width * 3,
                                rgb + ((size_t)(part.top + y) * WIDTH + part.left) * 3,
                                (size_t)part.width * 3),
                         0, "%s, line %u", writers[i].name, y);
        free(bytes);
    }
}

/*  TensorFlow refuses one channel of such files; here it is the luma of their colours. */
Test(inks, become_grey_by_their_luma)
{
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        static uint8_t rgb[HEIGHT * WIDTH * 3], grey[HEIGHT * WIDTH];
        size_t size;
        uint8_t *bytes = encode(&writers[i], &size);
        decode(bytes, size, 3, &whole, rgb);
        decode(bytes, size, 1, &whole, grey);
        for (size_t at = 0; at < (size_t)HEIGHT * WIDTH; at++) {
            double luma = 0.299 * rgb[at * 3] + 0.587 * rgb[at * 3 + 1] + 0.114 * rgb[at * 3 + 2];
            cr_assert_float_eq(grey[at], luma, 0.51, "%s, pixel %zu", writers[i].name, at);
        }
        free(bytes);
    }
}

/*  What ends early is a reason, not a picture. */
Test(inks, a_cut_file_is_refused)
{
    static uint8_t out[HEIGHT * WIDTH * 3];
    const tnd_picture_format_t format = {.channels = 3, .ratio = 1, .pixels_max = 1 << 16};
    size_t size;
    uint8_t *bytes = encode(&writers[2], &size);
    for (size_t cut = 0; cut < size * 3 / 4; cut += 7) {
        tnd_decoder_t *decoder = tnd_decoder_new(&format);
        tnd_error_t error = {.text = ""};
        uint32_t height, width;
        tnd_status_t status = tnd_decoder_open(decoder, bytes, cut, &height, &width, &error);
        if (status == TND_OK)
            status = tnd_decoder_decode(decoder, &whole, TND_SAMPLE_U8, out, &error);
        cr_assert_eq(status, TND_FAILED, "%zu of %zu bytes", cut, size);
        cr_assert_neq(error.text[0], '\0');
        tnd_decoder_free(&decoder);
    }
    free(bytes);
}
