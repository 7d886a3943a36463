/*  Covers actors/image/decoder.h: the pictures have the bits of TensorFlow's (tests/oracle/image.txt),
 *  every part of one has those of the whole, and what is damaged is refused. */
#include "actors/image/decoder.h"

#include <setjmp.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>
#include <zlib.h>

#include "actors/image/jpeg.h"
#include "tests/actors/image/oracle.h"

static tnd_picture_format_t format_of(const oracle_case_t *one, uint32_t first)
{
    return (tnd_picture_format_t){.channels = (uint32_t)atoi(one->words[first]),
                                  .ratio = (uint32_t)atoi(one->words[first + 1]),
                                  .fancy = strcmp(one->words[first + 2], "1") == 0,
                                  .accurate =
                                      strcmp(one->words[first + 3], "INTEGER_ACCURATE") == 0,
                                  .pixels_max = 1 << 20};
}

/*  Decodes all or a part; NULL and the reason if it is refused. */
static uint8_t *decode(const tnd_picture_format_t *format, const uint8_t *bytes, size_t size,
                       tnd_window_t *part, tnd_error_t *error)
{
    /* A copy of exactly these bytes, so that a sanitizer reports reads beyond them. */
    uint8_t *copy = tnd_allocate(size > 0 ? size : 1, 1), *out = NULL;
    if (size > 0)
        memcpy(copy, bytes, size);
    tnd_decoder_t *decoder = tnd_decoder_new(format);
    uint32_t height, width;
    if (tnd_decoder_open(decoder, copy, size, &height, &width, error) == TND_OK) {
        if (part->height == 0)
            *part = (tnd_window_t){0, 0, height, width};
        out = tnd_allocate((size_t)part->height * part->width, format->channels);
        if (tnd_decoder_decode(decoder, part, TND_SAMPLE_U8, out, error) != TND_OK) {
            free(out);
            out = NULL;
        }
    }
    tnd_decoder_free(&decoder);
    free(copy);
    return out;
}

static uint64_t sum_of(const uint8_t *bytes, size_t size)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void check_decoded(const oracle_case_t *one)
{
    bool png = strcmp(one->words[0], "decode_png") == 0;
    tnd_picture_format_t format = {.channels = 3, .ratio = 1, .fancy = true, .pixels_max = 1 << 20};
    tnd_error_t error;
    tnd_window_t part = {0};
    if (!png)
        format = format_of(one, 2);
    if (one->count > 6)
        format.recover = strcmp(one->words[6], "1") == 0;
    if (format.channels == 0)
        format.channels = one->refused ? 3 : one->shape[2];
    uint8_t *out = decode(&format, one->input->bytes, one->input->size, &part, &error);
    if (one->refused) {
        cr_assert_null(out, "%s: not refused", oracle_title(one));
        return;
    }
    cr_assert_not_null(out, "%s: %s", oracle_title(one), error.text);
    oracle_shape(one, part.height, part.width, format.channels);
    /* What TensorFlow makes of a file that is cut has noise in it. */
    cr_assert(format.recover ||
                  sum_of(out, (size_t)part.height * part.width * format.channels) == one->sum,
              "%s: other bits", oracle_title(one));
    free(out);
}

Test(decoder, pictures_have_the_bits_of_tensorflow)
{
    cr_expect_eq(oracle_each("decode_jpeg", check_decoded), 67u);
    cr_expect_eq(oracle_each("decode_png", check_decoded), 1u);
}

static void check_shape(const oracle_case_t *one)
{
    const tnd_picture_format_t format = {.channels = 3, .ratio = 1, .pixels_max = 1 << 20};
    tnd_jpeg_t *jpeg = tnd_jpeg_new(&format);
    uint32_t height, width;
    tnd_error_t error;
    cr_assert_eq(tnd_jpeg_open(jpeg, one->input->bytes, one->input->size, &height, &width, &error),
                 TND_OK);
    oracle_shape(one, height, width, tnd_jpeg_channels(jpeg));
    tnd_jpeg_free(&jpeg);
}

Test(decoder, shapes_are_those_of_tensorflow)
{
    cr_expect_eq(oracle_each("extract_jpeg_shape", check_shape), 3u);
}

/*  TensorFlow's decoder does not see the pixels to the right of a part. */
static void check_part(const oracle_case_t *one)
{
    tnd_picture_format_t format = format_of(one, 6);
    tnd_error_t error;
    tnd_window_t part = {(uint32_t)oracle_number(one, 2), (uint32_t)oracle_number(one, 3),
                         (uint32_t)oracle_number(one, 4), (uint32_t)oracle_number(one, 5)};
    if (one->refused)
        return;
    format.channels = one->shape[2];
    uint8_t *out = decode(&format, one->input->bytes, one->input->size, &part, &error);
    cr_assert_not_null(out, "%s: %s", oracle_title(one), error.text);
    size_t size, line = (size_t)part.width * format.channels;
    uint8_t *wanted = oracle_bytes(one->hex, &size);
    cr_assert_eq(size, part.height * line);
    for (size_t i = 0; i < size; i++) {
        bool last = i % line >= line - format.channels;
        cr_assert(abs(out[i] - wanted[i]) <= (last ? 4 : 0), "%s: byte %zu is %d, not %d",
                  oracle_title(one), i, out[i], wanted[i]);
    }
    free(wanted);
    free(out);
}

Test(decoder, parts_are_those_of_tensorflow)
{
    cr_expect_eq(oracle_each("decode_and_crop_jpeg", check_part), 12u);
}

static void compare_parts(const oracle_case_t *one, const tnd_picture_format_t *format)
{
    tnd_error_t error;
    tnd_window_t all = {0};
    uint8_t *whole = decode(format, one->input->bytes, one->input->size, &all, &error);
    cr_assert_not_null(whole, "%s", error.text);
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t top = i * 7 % all.height, left = i * 11 % all.width;
        tnd_window_t part = {top, left, 1 + i * 13 % (all.height - top),
                             1 + i * 5 % (all.width - left)};
        uint8_t *out = decode(format, one->input->bytes, one->input->size, &part, &error);
        cr_assert_not_null(out, "%s", error.text);
        size_t line = (size_t)part.width * format->channels;
        for (uint32_t y = 0; y < part.height; y++)
            cr_assert_eq(memcmp(out + y * line,
                                whole + ((size_t)(top + y) * all.width + left) * format->channels,
                                line),
                         0, "%s: ratio %u, %s, line %u of %u x %u from %u, %u on", one->input->name,
                         format->ratio, format->fancy ? "fancy" : "plain", y, part.height,
                         part.width, top, left);
        free(out);
    }
    free(whole);
}

static void check_parts(const oracle_case_t *one)
{
    for (uint32_t ratio = 1; ratio <= 8; ratio *= 2)
        for (uint32_t channels = 1; channels <= 4; channels += channels == 1 ? 2 : 1)
            for (int fancy = 0; fancy < 2; fancy++) {
                tnd_picture_format_t format = {.channels = channels,
                                               .ratio = ratio,
                                               .fancy = fancy == 1,
                                               .pixels_max = 1 << 20};
                compare_parts(one, &format);
            }
}

Test(decoder, a_part_has_the_bits_of_the_whole)
{
    cr_expect_eq(oracle_each("extract_jpeg_shape", check_parts), 3u);
    cr_expect_eq(oracle_each("decode_png", check_parts), 1u);
}

/*  The segment of an orientation, put after the first two bytes of a JPEG. */
static uint8_t *with_orientation(const oracle_input_t *input, uint8_t orientation, size_t *size_p)
{
    const uint8_t segment[] = {0xff, 0xe1, 0, 34, 'E', 'x',         'i', 'f', 0, 0,    'M', 'M',
                               0,    42,   0, 0,  0,   8,           0,   1,   1, 0x12, 0,   3,
                               0,    0,    0, 1,  0,   orientation, 0,   0,   0, 0,    0,   0};
    uint8_t *bytes = tnd_allocate(input->size + sizeof segment, 1);
    memcpy(bytes, input->bytes, 2);
    memcpy(bytes + 2, segment, sizeof segment);
    memcpy(bytes + 2 + sizeof segment, input->bytes + 2, input->size - 2);
    *size_p = input->size + sizeof segment;
    return bytes;
}

/*  Where pixel (y, x) of a picture of so many lines and columns is shown, as the EXIF standard
 *  draws it: what is at the left and at the top of the shown picture. */
static void shown_at(int orientation, uint32_t lines, uint32_t columns, uint32_t y, uint32_t x,
                     uint32_t *line_p, uint32_t *column_p)
{
    bool right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    uint32_t line = bottom ? lines - 1 - y : y, column = right ? columns - 1 - x : x;
    *line_p = orientation >= 5 ? column : line;
    *column_p = orientation >= 5 ? line : column;
}

static void check_orientations(const oracle_case_t *one)
{
    const tnd_picture_format_t plain = {.channels = 3, .ratio = 1, .pixels_max = 1 << 20};
    tnd_picture_format_t turned = plain;
    tnd_error_t error;
    tnd_window_t all = {0};
    turned.oriented = true;
    uint8_t *stored = decode(&plain, one->input->bytes, one->input->size, &all, &error);
    for (int orientation = 1; orientation <= 8; orientation++) {
        size_t size;
        uint8_t *bytes = with_orientation(one->input, (uint8_t)orientation, &size);
        tnd_window_t part = {0}, ignored = {0};
        uint8_t *shown = decode(&turned, bytes, size, &part, &error);
        uint8_t *as_is = decode(&plain, bytes, size, &ignored, &error);
        cr_assert(shown != NULL && as_is != NULL, "%s", error.text);
        cr_assert_eq(part.height, orientation >= 5 ? all.width : all.height);
        cr_assert_eq(memcmp(as_is, stored, (size_t)all.height * all.width * 3), 0);
        for (uint32_t y = 0; y < all.height; y++)
            for (uint32_t x = 0; x < all.width; x++) {
                uint32_t line, column;
                shown_at(orientation, all.height, all.width, y, x, &line, &column);
                cr_assert_eq(memcmp(shown + ((size_t)line * part.width + column) * 3,
                                    stored + ((size_t)y * all.width + x) * 3, 3),
                             0, "orientation %d, line %u, column %u", orientation, y, x);
            }
        free(shown);
        free(as_is);
        free(bytes);
    }
    free(stored);
}

Test(decoder, pictures_are_turned_as_cameras_say)
{
    cr_expect_eq(oracle_each("extract_jpeg_shape", check_orientations), 3u);
}

/*  Any bytes give a picture or a reason; what was cut gives a reason. */
static void check_damage(const oracle_case_t *one)
{
    const tnd_picture_format_t format = {
        .channels = 3, .ratio = 1, .fancy = true, .oriented = true, .pixels_max = 1 << 16};
    tnd_picture_format_t recovering = format;
    tnd_error_t error;
    recovering.recover = true;
    for (size_t size = 0; size < one->input->size * 2 / 3; size += 13) {
        tnd_window_t part = {0};
        uint8_t *out = decode(&format, one->input->bytes, size, &part, &error);
        cr_assert_null(out, "%s: %zu bytes are enough", one->input->name, size);
        cr_assert_neq(error.text[0], '\0');
        part = (tnd_window_t){0};
        free(decode(&recovering, one->input->bytes, size, &part, &error));
    }
    uint8_t *bytes = tnd_allocate(one->input->size, 1);
    uint64_t state = 7;
    for (int i = 0; i < 500; i++) {
        tnd_window_t part = {0};
        memcpy(bytes, one->input->bytes, one->input->size);
        for (int k = 0; k <= i % 4; k++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[(state >> 33) % one->input->size] = (uint8_t)(state >> 24);
        }
        free(decode(i % 2 == 0 ? &format : &recovering, bytes, one->input->size, &part, &error));
    }
    free(bytes);
}

Test(decoder, damage_is_refused)
{
    oracle_each("extract_jpeg_shape", check_damage);
    oracle_each("decode_png", check_damage);
}

static bool decodes(const uint8_t *bytes, size_t size)
{
    const tnd_picture_format_t format = {
        .channels = 3, .ratio = 1, .fancy = true, .pixels_max = 1 << 20};
    tnd_error_t error = {.text = ""};
    tnd_window_t part = {0};
    uint8_t *out = decode(&format, bytes, size, &part, &error);
    bool decoded = out != NULL;
    cr_assert(decoded || error.text[0] != '\0');
    free(out);
    return decoded;
}

typedef struct {
    struct jpeg_error_mgr errors;
    jmp_buf escape;
    bool warned;
} judge_t;

static void judge_error(j_common_ptr decoder)
{
    longjmp(((judge_t *)decoder->err)->escape, 1);
}

static void judge_message(j_common_ptr decoder, int level)
{
    judge_t *judge = (judge_t *)decoder->err;
    int code = decoder->err->msg_code;
    judge->warned |= level < 0 && code != JWRN_JFIF_MAJOR && code != JWRN_NOT_SEQUENTIAL;
}

/*  Whether the library itself decodes all lines to the end marker without a warning. */
static bool library_is_content(uint8_t *bytes, size_t size)
{
    struct jpeg_decompress_struct decoder;
    judge_t judge;
    uint8_t *line = NULL;
    volatile bool content = false;
    decoder.err = jpeg_std_error(&judge.errors);
    judge.errors.error_exit = judge_error;
    judge.errors.emit_message = judge_message;
    judge.warned = false;
    jpeg_create_decompress(&decoder);
    if (setjmp(judge.escape) == 0) {
        jpeg_mem_src(&decoder, bytes, size);
        jpeg_read_header(&decoder, TRUE);
        jpeg_start_decompress(&decoder);
        line =
            (*decoder.mem->alloc_small)((j_common_ptr)&decoder, JPOOL_IMAGE,
                                        decoder.output_width * (size_t)decoder.output_components);
        while (decoder.output_scanline < decoder.output_height)
            jpeg_read_scanlines(&decoder, &line, 1);
        jpeg_finish_decompress(&decoder);
        content = !judge.warned;
    }
    jpeg_destroy_decompress(&decoder);
    return content;
}

static uint32_t refused_by_library;

static void check_warnings(const oracle_case_t *one)
{
    uint8_t *bytes = tnd_allocate(one->input->size, 1);
    uint64_t state = 25;
    size_t scan = 2; /* the byte after the header of the scan */
    while (memcmp(one->input->bytes + scan, "\xff\xda", 2) != 0)
        scan++;
    scan += 2 + one->input->bytes[scan + 3];
    for (uint32_t i = 0; i < 300; i++) {
        memcpy(bytes, one->input->bytes, one->input->size);
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t at = scan + (state >> 33) % (one->input->size - 2 - scan);
        if (i % 3 == 0)
            bytes[at] ^= (uint8_t)(1u << (state >> 29) % 8);
        else
            memset(bytes + at, i % 3 == 1 ? 0 : (int)(state >> 24) & 0xff,
                   one->input->size - at < 102 ? 1 : 100);
        bool content = library_is_content(bytes, one->input->size);
        refused_by_library += !content;
        cr_assert_eq(decodes(bytes, one->input->size), content, "%s: change %u at byte %zu",
                     one->input->name, i, at);
    }
    free(bytes);
}

/*  The judge is libjpeg itself: a change that it does not warn of may be another picture. */
Test(decoder, a_jpeg_that_the_library_warns_of_is_refused)
{
    cr_expect_eq(oracle_each("extract_jpeg_shape", check_warnings), 3u);
    cr_expect_gt(refused_by_library, 400u);
}

static void check_end(const oracle_case_t *one)
{
    size_t size = one->input->size;
    uint8_t *bytes = tnd_allocate(size + 100, 1);
    memcpy(bytes, one->input->bytes, size);
    memset(bytes + size, 'x', 100);
    cr_expect(decodes(bytes, size + 100), "%s: bytes after the end", one->input->name);
    cr_expect_not(decodes(bytes, size - 2), "%s: no end marker", one->input->name);
    memset(bytes + size - 2, 'x', 20); /* more than the library reads ahead */
    memcpy(bytes + size + 18, "\xff\xd9", 2);
    cr_expect_not(decodes(bytes, size + 20), "%s: bytes between scan and end", one->input->name);
    /* As TensorFlow, between the first two segments. */
    memcpy(bytes, one->input->bytes, 2 + 18);
    memcpy(bytes + 20, "xy", 2);
    memcpy(bytes + 22, one->input->bytes + 20, size - 20);
    cr_expect(decodes(bytes, size + 2), "%s: bytes between segments", one->input->name);
    free(bytes);
}

/*  As TensorFlow, which stops at the end marker. */
Test(decoder, bytes_after_the_end_of_a_jpeg_change_nothing)
{
    cr_expect_eq(oracle_each("extract_jpeg_shape", check_end), 3u);
}

/*  Appends a chunk of PNG; returns the byte after it. */
static uint8_t *add_chunk(uint8_t *at, const char *type, const uint8_t *data, size_t size)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(size >> (24 - 8 * i));
    memcpy(at + 4, type, 4);
    memcpy(at + 8, data, size);
    uint32_t crc = (uint32_t)crc32(0, at + 4, (uInt)size + 4);
    for (int i = 0; i < 4; i++)
        at[8 + size + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    return at + 12 + size;
}

enum { SIDE = 40 };

/*  A grey picture whose pixels are in chunks of `piece` bytes, with a text and a colour that is
 *  transparent. */
static size_t make_png(uint8_t *out, size_t piece)
{
    static const uint8_t header[] = {0, 0, 0, SIDE, 0, 0, 0, SIDE, 8, 0, 0, 0, 0};
    uint8_t lines[SIDE * (SIDE + 1)], packed[4096];
    uLongf size = sizeof packed;
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = i % (SIDE + 1) == 0 ? 0 : (uint8_t)(i * i * 7 >> 3);
    cr_assert_eq(compress2(packed, &size, lines, sizeof lines, 9), Z_OK);
    memcpy(out, "\x89PNG\r\n\x1a\n", 8);
    uint8_t *at = add_chunk(out + 8, "IHDR", header, sizeof header);
    at = add_chunk(at, "tEXt", (const uint8_t *)"Title\0x", 7);
    at = add_chunk(at, "tRNS", (const uint8_t *)"\0\x05", 2);
    for (size_t done = 0; done < size; done += piece)
        at = add_chunk(at, "IDAT", packed + done, size - done < piece ? size - done : piece);
    at = add_chunk(at, "IEND", (const uint8_t *)"", 0);
    return (size_t)(at - out);
}

/*  By the specification of PNG every bit of a file is in a CRC-32, or is the magic number. */
Test(decoder, each_changed_bit_of_a_png_is_refused)
{
    static uint8_t bytes[16384];
    for (size_t piece = 1; piece <= 4096; piece *= 16) {
        size_t size = make_png(bytes, piece);
        cr_assert(decodes(bytes, size), "%zu bytes per chunk", piece);
        for (size_t bit = 0; bit < 8 * size; bit += piece < 256 ? 37 : 5) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            cr_assert_not(decodes(bytes, size), "%zu bytes per chunk: bit %zu", piece, bit);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        for (size_t cut = 1; cut < size; cut += 11)
            cr_assert_not(decodes(bytes, size - cut), "%zu bytes left", size - cut);
        cr_assert(decodes(bytes, size + 20), "bytes after the end");
    }
}

Test(decoder, what_is_no_picture_is_described_by_its_first_bytes)
{
    static const struct {
        size_t size;
        const char *text;
    } cases[] = {{0, "no bytes"},
                 {1, "1 byte, ff"},
                 {2, "2 bytes, ff 00"},
                 {3, "3 bytes that begin with ff 00 61"}};
    static const uint8_t bytes[] = {0xff, 0, 'a'};
    const tnd_picture_format_t format = {.channels = 3, .ratio = 1, .pixels_max = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnd_error_t error;
        tnd_window_t part = {0};
        cr_assert_null(decode(&format, bytes, cases[i].size, &part, &error));
        cr_expect(strstr(error.text, cases[i].text) != NULL, "%s", error.text);
    }
}

/*  Its size follows the marker ffc0, or ffc2 if it is progressive. */
static void check_bomb(const oracle_case_t *one)
{
    const tnd_picture_format_t format = {.channels = 3, .ratio = 1, .pixels_max = 16777216};
    tnd_error_t error;
    tnd_window_t part = {0};
    uint8_t *bytes = tnd_allocate(one->input->size, 1);
    memcpy(bytes, one->input->bytes, one->input->size);
    for (size_t i = 0; i + 9 < one->input->size; i++)
        if (bytes[i] == 0xff && (bytes[i + 1] == 0xc0 || bytes[i + 1] == 0xc2))
            memcpy(bytes + i + 5, "\xff\xdc\xff\xdc", 4);
    cr_assert_null(decode(&format, bytes, one->input->size, &part, &error));
    cr_expect_str_eq(error.text, "the picture has 65500 x 65500 pixels (height x width), more than "
                                 "`max_pixels` (16777216)");
    free(bytes);
}

Test(decoder, a_decompression_bomb_is_refused_by_its_header)
{
    oracle_each("extract_jpeg_shape", check_bomb);
}
