/*  actors/stored/record_window.c - shows the content of plain and compressed files. */
#include "actors/stored/record_window.h"

#include <stdlib.h>
#include <string.h>

/*  What is decompressed at a time. */
enum { PIECE_BYTES = 1 << 18 };

void tnd_record_window_init(tnd_record_window_t *self, tnd_content_t *content,
                            tnd_compression_t compression)
{
    *self = (tnd_record_window_t){.plain = {.content = content}};
    if (compression != TND_COMPRESSION_NONE)
        self->decompress = tnd_decompress_new(content, compression);
    self->ended = self->decompress == NULL;
    self->reached = self->ended ? content->size : 0;
}

void tnd_record_window_free(tnd_record_window_t *self)
{
    tnd_decompress_destroy(&self->decompress);
    free(self->bytes);
    self->bytes = NULL;
}

/*  Makes room for a piece, also by dropping the bytes before `at`. */
static tnd_status_t make_room(tnd_record_window_t *self, uint64_t at, tnd_error_t *error)
{
    uint64_t drop = at > self->from ? at - self->from : 0;
    drop = drop < self->count ? drop : self->count;
    self->from += drop;
    self->count -= drop;
    if (self->count > 0 && drop > 0)
        memmove(self->bytes, self->bytes + drop, self->count);
    if (self->room - self->count >= PIECE_BYTES)
        return TND_OK;
    size_t room = 2 * self->count + PIECE_BYTES;
    uint8_t *bytes = realloc(self->bytes, room);
    if (bytes == NULL)
        return tnd_fail(error, "%s: cannot allocate %zu bytes for a record",
                        self->plain.content->path, room);
    self->bytes = bytes;
    self->room = room;
    return TND_OK;
}

/*  Decompresses the next bytes; those before `at` are not needed any more.  Nothing happens at the
 *  end of the content. */
static tnd_status_t advance(tnd_record_window_t *self, uint64_t at, tnd_error_t *error)
{
    size_t got = 0;
    TND_TRY(make_room(self, at, error));
    tnd_error_t why;
    tnd_status_t status = tnd_decompress_read(self->decompress, self->bytes + self->count,
                                              self->room - self->count, &got, &why);
    if (status == TND_FAILED) {
        *error = why;
        return TND_FAILED;
    }
    self->count += got;
    uint64_t reached = self->from + self->count;
    self->reached = reached > self->reached ? reached : self->reached;
    if (got > 0)
        return TND_OK;
    self->ended = true;
    self->damaged = status == TND_REFUSED;
    self->cut = self->damaged && tnd_decompress_is_cut(self->decompress);
    if (self->damaged)
        self->why = why;
    return TND_OK;
}

tnd_status_t tnd_record_window(tnd_record_window_t *self, uint64_t at, size_t least,
                               const uint8_t **data_p, size_t *size_p, tnd_error_t *error)
{
    if (self->decompress == NULL) {
        if (at < self->plain.content->size)
            return tnd_content_window(&self->plain, at, least, data_p, size_p, error);
        *size_p = 0;
        return TND_OK;
    }
    if (at < self->from) {
        tnd_decompress_restart(self->decompress);
        self->from = self->count = 0;
    }
    uint64_t end = at + least;
    while (self->from + self->count < end &&
           !(self->ended && self->from + self->count == self->reached))
        TND_TRY(advance(self, at, error));
    uint64_t have = self->from + self->count;
    *size_p = at < have ? have - at : 0;
    *data_p = self->bytes + (*size_p > 0 ? at - self->from : 0);
    return TND_OK;
}

tnd_status_t tnd_record_window_has(tnd_record_window_t *self, uint64_t size, bool *has_p,
                                   tnd_error_t *error)
{
    while (self->reached < size && !self->ended)
        TND_TRY(advance(self, size, error));
    *has_p = size <= self->reached;
    return TND_OK;
}
