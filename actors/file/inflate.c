/*  actors/file/inflate.c - decompresses a gzip file in memory, in pieces of known size. */
#include "actors/file/inflate.h"

#include <assert.h>

enum { GZIP_ONLY = 16 + MAX_WBITS, MAGIC_0 = 0x1f, MAGIC_1 = 0x8b };

/*  zlib counts in unsigned int. */
static const size_t piece_max = (size_t)1 << 30;

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool tnd_inflate_fits(const uint8_t *data, size_t size)
{
    return size >= 2 && data[0] == MAGIC_0 && data[1] == MAGIC_1;
}

void tnd_inflate_init(tnd_inflate_t *self, const char *path, const uint8_t *data, size_t size)
{
    *self = (tnd_inflate_t){.path = path, .data = data, .size = size};
    int outcome = inflateInit2(&self->stream, GZIP_ONLY);
    assert(outcome == Z_OK);
}

void tnd_inflate_fini(tnd_inflate_t *self)
{
    inflateEnd(&self->stream);
}

static tnd_status_t fail_truncated(const tnd_inflate_t *self, tnd_error_t *error)
{
    return tnd_fail(error,
                    "%s: is truncated: the compressed data ends at byte %zu, after %llu bytes of "
                    "content; fetch it again",
                    self->path, self->size, (unsigned long long)self->produced);
}

/*  Calls zlib once on the remaining input; the call may complete the member. */
static tnd_status_t step(tnd_inflate_t *self, uint8_t *out, size_t room, size_t *got_p,
                         tnd_error_t *error)
{
    z_stream *stream = &self->stream;
    size_t in = lesser(self->size - self->at, piece_max);
    stream->next_in = (uint8_t *)(uintptr_t)(self->data + self->at);
    stream->avail_in = (uInt)in;
    stream->next_out = out;
    stream->avail_out = (uInt)room;
    int outcome = inflate(stream, Z_NO_FLUSH);
    self->at += in - stream->avail_in;
    *got_p = room - stream->avail_out;
    self->produced += *got_p;
    if (outcome == Z_STREAM_END) {
        self->ended = true;
        return TND_OK;
    }
    if (outcome == Z_OK)
        return TND_OK;
    if (outcome == Z_BUF_ERROR)
        return self->at == self->size ? fail_truncated(self, error) : TND_OK;
    return tnd_fail(
        error, "%s: is damaged near byte %zu of the compressed file: %s; fetch it again",
        self->path, self->at, stream->msg != NULL ? stream->msg : "it is not gzip data");
}

/*  Continues with the next member.  Returns false at the end of the content. */
static bool next_member(tnd_inflate_t *self)
{
    if (!tnd_inflate_fits(self->data + self->at, self->size - self->at))
        return false;
    int outcome = inflateReset(&self->stream);
    assert(outcome == Z_OK);
    self->ended = false;
    return true;
}

tnd_status_t tnd_inflate_read(tnd_inflate_t *self, void *out, size_t size, tnd_error_t *error)
{
    uint8_t *to = out;
    while (size > 0) {
        if (self->ended && !next_member(self))
            return tnd_fail(error,
                            "%s: is truncated: its content ends after %llu bytes, but %zu more "
                            "were expected; fetch it again",
                            self->path, (unsigned long long)self->produced, size);
        size_t got = 0;
        TND_TRY(step(self, to, lesser(size, piece_max), &got, error));
        to += got;
        size -= got;
    }
    return TND_OK;
}

static tnd_status_t fail_longer(const tnd_inflate_t *self, tnd_error_t *error)
{
    return tnd_fail(error,
                    "%s: its content continues after the %llu bytes that its header declares; it "
                    "is damaged or has another format",
                    self->path, (unsigned long long)self->produced);
}

tnd_status_t tnd_inflate_finish(tnd_inflate_t *self, tnd_error_t *error)
{
    uint64_t expected = self->produced;
    do
        while (!self->ended) {
            uint8_t more;
            size_t got = 0;
            TND_TRY(step(self, &more, sizeof more, &got, error));
            if (self->produced != expected) {
                self->produced = expected;
                return fail_longer(self, error);
            }
        }
    while (next_member(self));
    for (size_t i = self->at; i < self->size; i++)
        if (self->data[i] != 0)
            return tnd_fail(error, "%s: unknown data follows the compressed data at byte %zu",
                            self->path, i);
    return TND_OK;
}
