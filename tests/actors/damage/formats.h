/*  tests/actors/damage/formats.h - small files of every format that sources and operations read.
 *
 *  They are written here by their specifications, or by the libraries of their formats.  Each maker
 *  writes a whole file of ROWS rows, or of one picture. */
#ifndef TND_TESTS_ACTORS_DAMAGE_FORMATS_H
#define TND_TESTS_ACTORS_DAMAGE_FORMATS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <isa-l.h>
#include <jpeglib.h>
#include <zlib.h>
#include <zstd.h>

#include "actors/file/decompress.h"

enum { ROWS = 12, SIDE = 12 };

typedef struct {
    uint8_t bytes[1 << 16];
    size_t size;
} content_t;

static inline void put(content_t *self, const void *bytes, size_t size)
{
    cr_assert(self->size + size <= sizeof self->bytes);
    if (size > 0)
        memcpy(self->bytes + self->size, bytes, size);
    self->size += size;
}

static inline void put_byte(content_t *self, unsigned byte)
{
    put(self, &(uint8_t){(uint8_t)byte}, 1);
}

/*  The most significant byte comes first. */
static inline void put_number(content_t *self, uint64_t number, unsigned bytes)
{
    while (bytes-- > 0)
        put_byte(self, (unsigned)(number >> 8 * bytes) & 0xff);
}

/*  ------------------------------------------------------------------------------------- records */

static inline uint32_t masked_crc(const uint8_t *bytes, size_t size)
{
    uint32_t crc = ~crc32_iscsi((uint8_t *)(uintptr_t)bytes, (int)size, UINT32_MAX);
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

static inline void put_record(content_t *self, const uint8_t *bytes, uint64_t size)
{
    uint32_t crc = masked_crc((const uint8_t *)&size, sizeof size);
    put(self, &size, sizeof size);
    put(self, &crc, sizeof crc);
    put(self, bytes, size);
    crc = masked_crc(bytes, size);
    put(self, &crc, sizeof crc);
}

static inline void make_records(content_t *self)
{
    uint8_t bytes[256];
    for (unsigned row = 0; row < ROWS; row++) {
        for (unsigned i = 0; i < 10 + 7 * row; i++)
            bytes[i] = (uint8_t)(row * 31 + i * i);
        put_record(self, bytes, 10 + 7 * row);
    }
}

/*  A tf.Example of a feature `x` with two integers and a feature `s` with the bytes `word`. */
static inline size_t put_example(uint8_t *out, unsigned row)
{
    static const uint8_t fixed[] = {0x0a, 30,   0x0a, 12,   0x0a, 1,    'x', 0x12, 7,   0x1a, 5,
                                    0x0a, 3,    0x80, 1,    5,    0x0a, 14,  0x0a, 1,   's',  0x12,
                                    9,    0x0a, 7,    0x0a, 5,    'w',  'o', 'r',  'd', '0'};
    memcpy(out, fixed, sizeof fixed);
    out[13] = (uint8_t)(0x80 + row);
    out[sizeof fixed - 1] = (uint8_t)('a' + row);
    return sizeof fixed;
}

static inline void make_examples(content_t *self)
{
    uint8_t bytes[256];
    for (unsigned row = 0; row < ROWS; row++)
        put_record(self, bytes, put_example(bytes, row));
}

static inline void make_example(content_t *self)
{
    self->size = put_example(self->bytes, 3);
}

static inline void make_lines(content_t *self, const char *format)
{
    char line[128];
    for (unsigned row = 0; row < ROWS; row++)
        put(self, line, (size_t)snprintf(line, sizeof line, format, row, row * 0.25, 'A' + row));
}

static inline void make_text(content_t *self)
{
    make_lines(self, "line %u of %g grüße MJ*-%c\n");
}

static inline void make_csv(content_t *self)
{
    make_lines(self, "%u,%g,\"a, \"\"%c\"\"\nb\"\n");
}

static inline void make_json(content_t *self)
{
    make_lines(self, "{\"n\": %u, \"x\": %g, \"s\": \"é %c\"}\n");
}

/*  -------------------------------------------------------------------------------------- arrays */

static inline void make_array(content_t *self, const char *header)
{
    char text[118];
    snprintf(text, sizeof text, "%-117s", header);
    put(self, "\x93NUMPY\x01\x00\x76\x00", 10);
    put(self, text, sizeof text - 1);
    put_byte(self, '\n');
    for (unsigned i = 0; i < ROWS * 3 * 4; i++)
        put_byte(self, i * 7);
}

static inline void make_npy(content_t *self)
{
    make_array(self, "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 3), }");
}

static inline void make_raw(content_t *self)
{
    for (unsigned i = 0; i < ROWS * 4; i++)
        put_byte(self, i * 5);
}

static inline void make_idx(content_t *self)
{
    put_number(self, 0x00000802, 4);
    put_number(self, ROWS, 4);
    put_number(self, 4, 4);
    make_raw(self);
}

/*  ------------------------------------------------------------------------------------- pictures */

static inline void put_chunk(content_t *self, const char *name, const uint8_t *bytes, size_t size)
{
    put_number(self, size, 4);
    size_t at = self->size;
    put(self, name, 4);
    put(self, bytes, size);
    put_number(self, crc32(0, self->bytes + at, (uInt)(size + 4)), 4);
}

/*  The data are in two chunks. */
static inline void make_picture(content_t *self, unsigned bits)
{
    uint8_t head[13] = {0, 0, 0, SIDE, 0, 0, 0, SIDE, (uint8_t)bits, 2};
    uint8_t lines[SIDE * (1 + SIDE * 6)], packed[2048];
    size_t line = 1 + SIDE * 3 * bits / 8;
    uLongf size = sizeof packed;
    for (size_t i = 0; i < SIDE * line; i++)
        lines[i] = (uint8_t)(i % line == 0 ? i / line % 5 : i * i * 37);
    cr_assert_eq(compress(packed, &size, lines, SIDE * line), Z_OK);
    put(self, "\x89PNG\r\n\x1a\n", 8);
    put_chunk(self, "IHDR", head, sizeof head);
    put_chunk(self, "IDAT", packed, size / 2);
    put_chunk(self, "IDAT", packed + size / 2, size - size / 2);
    put_chunk(self, "IEND", NULL, 0);
}

static inline void make_png(content_t *self)
{
    make_picture(self, 8);
}

static inline void make_deep_png(content_t *self)
{
    make_picture(self, 16);
}

static inline void make_jpeg(content_t *self)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    unsigned long size = 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &out, &size);
    jpeg.image_width = jpeg.image_height = SIDE;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (unsigned y = 0; y < SIDE; y++) {
        uint8_t line[SIDE * 3];
        for (unsigned i = 0; i < sizeof line; i++)
            line[i] = (uint8_t)(i * 7 + y * y * 5);
        (void)jpeg_write_scanlines(&jpeg, &(JSAMPROW){line}, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    put(self, out, size);
    free(out);
}

/*  ------------------------------------------------------------------------------------- archives */

/*  POSIX.1-1988: the checksum is the sum of the header with spaces in its place. */
static inline void put_member(content_t *self, const char *name, const uint8_t *bytes, size_t size)
{
    char head[512] = "";
    unsigned sum = 0;
    snprintf(head, 100, "%s", name);
    memcpy(head + 100, "0000644\0000000000\0000000000", 24);
    snprintf(head + 124, 12, "%011zo", size);
    memcpy(head + 136, "00000000000\0        0", 21);
    memcpy(head + 257, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof head; i++)
        sum += (uint8_t)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    put(self, head, sizeof head);
    put(self, bytes, size);
    while (self->size % 512 != 0)
        put_byte(self, 0);
}

static inline void make_members(content_t *self, const char *extension,
                                void (*make)(content_t *self))
{
    static content_t member;
    char name[32], label[8];
    member.size = 0;
    make(&member);
    for (unsigned row = 0; row < ROWS; row++) {
        snprintf(name, sizeof name, "train/%03u.%s", row, extension);
        put_member(self, name, member.bytes, member.size);
        snprintf(name, sizeof name, "train/%03u.cls", row);
        put_member(self, name, (uint8_t *)label,
                   (size_t)snprintf(label, sizeof label, "%u", row % 10));
    }
    for (unsigned i = 0; i < 1024; i++)
        put_byte(self, 0);
}

static inline void make_tar(content_t *self)
{
    make_members(self, "txt", make_text);
}

static inline void make_webdataset(content_t *self)
{
    make_members(self, "png", make_png);
}

/*  ---------------------------------------------------------------------------------- compression */

static inline void pack_zlib(content_t *self, const content_t *from, int window)
{
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)from->bytes,
                       .avail_in = (uInt)from->size,
                       .next_out = self->bytes,
                       .avail_out = sizeof self->bytes};
    cr_assert_eq(deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    self->size = stream.total_out;
    deflateEnd(&stream);
}

/*  With the checksum that the command zstd writes. */
static inline void pack_zstd(content_t *self, const content_t *from)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    self->size = ZSTD_compress2(context, self->bytes, sizeof self->bytes, from->bytes, from->size);
    cr_assert_not(ZSTD_isError(self->size));
    ZSTD_freeCCtx(context);
}

static inline void pack(content_t *self, const content_t *from, tnd_compression_t compression)
{
    if (compression == TND_COMPRESSION_NONE)
        *self = *from;
    else if (compression == TND_COMPRESSION_ZSTD)
        pack_zstd(self, from);
    else
        pack_zlib(self, from, compression == TND_COMPRESSION_GZIP ? 16 + MAX_WBITS : MAX_WBITS);
}

#endif
