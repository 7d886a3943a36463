/*  actors/file/decompress.c - reads the content of compressed files by zlib and libzstd. */
#include "actors/file/decompress.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <zlib.h>
#include <zstd.h>

#include "runtime/base/allocation.h"

/*  Compressed bytes that are looked at together, so that pages that are lost are noticed. */
enum { PIECE_BYTES = 1 << 18 };

struct tnd_decompress {
    tnd_content_window_t window;
    tnd_compression_t compression;
    z_stream zlib;
    ZSTD_DStream *zstd;
    size_t at;   /* the next compressed byte */
    bool inside; /* a member, stream or frame has begun */
    bool ended, refused, cut;
    tnd_error_t why; /* of `refused` */
};

/*  What one call of a library did. */
typedef struct {
    const uint8_t *in;
    size_t have, used;
    uint8_t *out;
    size_t room, got;
    bool over;       /* the member, stream or frame is complete */
    const char *bad; /* why the bytes are damaged; NULL: they are not */
} piece_t;

const char *tnd_compression_name(tnd_compression_t compression)
{
    static const char *const names[] = {"none", "gzip", "zlib", "zstd", "auto"};
    return names[compression];
}

const char *tnd_decompress_zstd_version(void)
{
    return ZSTD_versionString();
}

static bool is_gzip(const uint8_t *data, size_t size)
{
    return size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

/*  RFC 1950: method 8, a window of at most 32 KiB, a checksum of both bytes, no dictionary. */
static bool is_zlib(const uint8_t *data, size_t size)
{
    return size >= 2 && (data[0] & 0x0f) == 8 && data[0] >> 4 <= 7 && (data[1] & 0x20) == 0 &&
           (data[0] * 256 + data[1]) % 31 == 0;
}

/*  RFC 8878: a frame, or one to be skipped. */
static bool is_zstd(const uint8_t *data, size_t size)
{
    static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd}, skipped[] = {0x2a, 0x4d, 0x18};
    return size >= 4 && (memcmp(data, frame, 4) == 0 ||
                         (data[0] >> 4 == 5 && memcmp(data + 1, skipped, 3) == 0));
}

tnd_compression_t tnd_compression_of(const uint8_t *data, size_t size)
{
    return is_gzip(data, size)   ? TND_COMPRESSION_GZIP
           : is_zstd(data, size) ? TND_COMPRESSION_ZSTD
           : is_zlib(data, size) ? TND_COMPRESSION_ZLIB
                                 : TND_COMPRESSION_NONE;
}

tnd_compression_t tnd_compression_named(const char *path)
{
    static const struct {
        const char *ending;
        tnd_compression_t compression;
    } named[] = {{".gz", TND_COMPRESSION_GZIP},  {".zlib", TND_COMPRESSION_ZLIB},
                 {".zz", TND_COMPRESSION_ZLIB},  {".z", TND_COMPRESSION_ZLIB},
                 {".zst", TND_COMPRESSION_ZSTD}, {".zstd", TND_COMPRESSION_ZSTD}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof named / sizeof named[0]; i++)
        if (strcasecmp(dot, named[i].ending) == 0)
            return named[i].compression;
    return TND_COMPRESSION_NONE;
}

tnd_status_t tnd_compression_refuse_name(const char *path, tnd_error_t *error)
{
    tnd_compression_t named = tnd_compression_named(path);
    if (named == TND_COMPRESSION_NONE)
        return TND_OK;
    return tnd_fail(error,
                    "%s: is named as a file compressed by %s, but does not begin as one; if it is "
                    "damaged, fetch it again, and if it is not compressed, write `compression: "
                    "none`",
                    path, tnd_compression_name(named));
}

tnd_decompress_t *tnd_decompress_new(tnd_content_t *content, tnd_compression_t compression)
{
    assert(compression != TND_COMPRESSION_NONE && compression != TND_COMPRESSION_AUTO);
    tnd_decompress_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->window.content = content;
    self->compression = compression;
    if (compression == TND_COMPRESSION_ZSTD) {
        self->zstd = tnd_require_memory(ZSTD_createDStream());
        return self;
    }
    int outcome =
        inflateInit2(&self->zlib, compression == TND_COMPRESSION_GZIP ? 16 + MAX_WBITS : MAX_WBITS);
    if (outcome == Z_MEM_ERROR)
        abort();
    assert(outcome == Z_OK);
    return self;
}

void tnd_decompress_destroy(tnd_decompress_t **self_p)
{
    tnd_decompress_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    if (self->zstd != NULL)
        ZSTD_freeDStream(self->zstd);
    else
        inflateEnd(&self->zlib);
    free(self);
}

void tnd_decompress_restart(tnd_decompress_t *self)
{
    self->at = 0;
    self->inside = self->ended = self->refused = self->cut = false;
    if (self->zstd != NULL)
        (void)ZSTD_DCtx_reset(self->zstd, ZSTD_reset_session_only);
}

bool tnd_decompress_is_cut(const tnd_decompress_t *self)
{
    return self->cut;
}

/*  Remembers why nothing follows what was read so far. */
static void refuse(tnd_decompress_t *self, const char *why, const char *hint)
{
    self->refused = true;
    (void)tnd_fail(&self->why, "the %s stream %s at byte %zu of the compressed file%s",
                   tnd_compression_name(self->compression), why, self->at, hint);
}

static void call_zlib(tnd_decompress_t *self, piece_t *piece)
{
    z_stream *stream = &self->zlib;
    stream->next_in = (uint8_t *)(uintptr_t)piece->in;
    stream->avail_in = (uInt)piece->have;
    stream->next_out = piece->out;
    stream->avail_out = (uInt)piece->room;
    int outcome = inflate(stream, Z_NO_FLUSH);
    piece->used = piece->have - stream->avail_in;
    piece->got = piece->room - stream->avail_out;
    piece->over = outcome == Z_STREAM_END;
    if (outcome != Z_STREAM_END && outcome != Z_OK && outcome != Z_BUF_ERROR)
        piece->bad = stream->msg != NULL ? stream->msg : "it needs a dictionary";
}

static void call_zstd(tnd_decompress_t *self, piece_t *piece)
{
    ZSTD_outBuffer out = {.dst = piece->out, .size = piece->room};
    ZSTD_inBuffer in = {.src = piece->in, .size = piece->have};
    size_t outcome = ZSTD_decompressStream(self->zstd, &out, &in);
    piece->used = in.pos;
    piece->got = out.pos;
    piece->over = outcome == 0;
    if (ZSTD_isError(outcome))
        piece->bad = ZSTD_getErrorName(outcome);
}

/*  Begins the next member, stream or frame at the bytes, which are not inside of one; false: there
 *  is none. */
static bool begin(tnd_decompress_t *self, const uint8_t *data, size_t have)
{
    bool gzip = self->compression == TND_COMPRESSION_GZIP;
    bool fits = gzip                 ? is_gzip(data, have)
                : self->zstd != NULL ? is_zstd(data, have)
                                     : is_zlib(data, have);
    if (!fits) {
        refuse(self, self->at == 0 ? "does not begin" : "is followed by unknown bytes",
               self->at == 0 ? "; is `compression:` right?" : "");
        return false;
    }
    if (self->zstd == NULL)
        (void)inflateReset(&self->zlib);
    self->inside = true;
    return true;
}

/*  Bytes of the compressed file at self->at, without the padding between streams. */
static tnd_status_t look(tnd_decompress_t *self, const uint8_t **data_p, size_t *have_p,
                         tnd_error_t *error)
{
    size_t size = self->window.content->size, zeros = 1;
    *have_p = 0;
    while (self->at < size && zeros > 0) {
        TND_TRY(tnd_content_window(&self->window, self->at, PIECE_BYTES, data_p, have_p, error));
        *have_p = *have_p < PIECE_BYTES ? *have_p : PIECE_BYTES;
        for (zeros = 0; !self->inside && self->at > 0 && zeros < *have_p && (*data_p)[zeros] == 0;)
            zeros++;
        self->at += zeros;
        *have_p -= zeros;
    }
    return TND_OK;
}

/*  One call of the library; *got_p bytes were written. */
static tnd_status_t step(tnd_decompress_t *self, uint8_t *out, size_t room, size_t *got_p,
                         tnd_error_t *error)
{
    const uint8_t *data = NULL;
    size_t have;
    *got_p = 0;
    TND_TRY(look(self, &data, &have, error));
    if (!self->inside && have == 0)
        self->ended = true;
    if (self->ended || (!self->inside && !begin(self, data, have)))
        return TND_OK;
    static const uint8_t nothing[1];
    piece_t piece = {.in = have > 0 ? data : nothing,
                     .have = have,
                     .out = out,
                     .room = room < PIECE_BYTES ? room : PIECE_BYTES};
    if (self->zstd != NULL)
        call_zstd(self, &piece);
    else
        call_zlib(self, &piece);
    TND_TRY(tnd_content_intact(self->window.content, error));
    self->at += piece.used;
    *got_p = piece.got;
    self->inside = !piece.over;
    if (piece.bad != NULL) {
        char why[128];
        snprintf(why, sizeof why, "is damaged (%s)", piece.bad);
        refuse(self, why, "; rows of this file before it may be wrong; fetch it again");
    } else if (!piece.over && have == 0 && piece.got == 0) {
        self->cut = true;
        refuse(self, "is cut", "; fetch it again");
    }
    return TND_OK;
}

tnd_status_t tnd_decompress_read(tnd_decompress_t *self, uint8_t *out, size_t room, size_t *got_p,
                                 tnd_error_t *error)
{
    *got_p = 0;
    while (*got_p == 0 && !self->ended && !self->refused)
        TND_TRY(step(self, out, room, got_p, error));
    if (*got_p > 0 || !self->refused)
        return TND_OK;
    *error = self->why;
    return TND_REFUSED;
}
