/*  tools/rows/png.c - writes a picture as PNG. */
#include "tools/rows/png.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

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

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/*  A chunk: length, type, content, checksum. */
static void write_chunk(FILE *out, const char *type, const uint8_t *content, size_t size)
{
    uint8_t length[4], sum[4];
    uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)type, 4);
    put_u32(length, (uint32_t)size);
    put_u32(sum, (uint32_t)(size > 0 ? crc32_z(crc, content, size) : crc));
    fwrite(length, 1, sizeof length, out);
    fwrite(type, 1, 4, out);
    fwrite(content, 1, size, out);
    fwrite(sum, 1, sizeof sum, out);
}

void tnd_png_write(const tnd_png_t *self, FILE *out)
{
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    enum { DEPTH = 8, GREY = 0, RGB = 2, PIECE = 1 << 16 };
    uint8_t header[13] = {[8] = DEPTH, [9] = self->channels == 3 ? RGB : GREY};
    put_u32(header, self->width);
    put_u32(header + 4, self->height);
    fwrite(signature, 1, sizeof signature, out);
    write_chunk(out, "IHDR", header, sizeof header);

    z_stream stream = {0};
    uint8_t *piece = tnd_allocate(1, PIECE), filter = 0;
    if (deflateInit(&stream, Z_DEFAULT_COMPRESSION) != Z_OK)
        abort();
    size_t line = (size_t)self->width * self->channels;
    stream.next_out = piece;
    stream.avail_out = PIECE;
    /* Each line starts with its filter type, which is 0 (none). */
    for (uint32_t part = 0; part <= 2 * self->height; part++) {
        bool end = part == 2 * self->height;
        stream.next_in = part % 2 == 0 ? &filter : self->pixels + part / 2 * line;
        stream.avail_in = end ? 0 : part % 2 == 0 ? 1 : (uInt)line;
        for (int state = Z_OK; stream.avail_in > 0 || (end && state != Z_STREAM_END);) {
            state = deflate(&stream, end ? Z_FINISH : Z_NO_FLUSH);
            if (stream.avail_out > 0 && !(end && state == Z_STREAM_END))
                continue;
            write_chunk(out, "IDAT", piece, PIECE - stream.avail_out);
            stream.next_out = piece;
            stream.avail_out = PIECE;
        }
    }
    deflateEnd(&stream);
    free(piece);
    write_chunk(out, "IEND", header, 0);
}
