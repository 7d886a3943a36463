/*  actors/stored/record_window.h - the content of a file of records, in pieces and from the start on.
 *
 *  Of a compressed file, offsets are those of its content.  A window on one holds the bytes that
 *  were asked for last, and begins again at the start when earlier ones are needed.
 *
 *  Lifecycle: init; any number of calls; free.  Threads: one at a time. */
#ifndef TND_ACTORS_STORED_RECORD_WINDOW_H
#define TND_ACTORS_STORED_RECORD_WINDOW_H

#include "actors/file/decompress.h"

typedef struct {
    tnd_content_window_t plain;
    tnd_decompress_t *decompress; /* NULL: the file is not compressed */
    uint8_t *bytes;               /* content [from, from + count) */
    uint64_t from;
    size_t count, room;
    uint64_t reached;  /* the content has at least so many bytes */
    bool ended;        /* it has exactly so many */
    bool damaged, cut; /* and more were compressed, but cannot be read */
    tnd_error_t why;   /* of `damaged` */
} tnd_record_window_t;

/*  Borrows the open file. */
void tnd_record_window_init(tnd_record_window_t *self, tnd_content_t *content,
                            tnd_compression_t compression);
void tnd_record_window_free(tnd_record_window_t *self);

/*  Bytes from `at` on: `least`, or fewer at the end of the content, and maybe more.  Valid until the
 *  next call.  Errors: TND_FAILED if the file cannot be read, or memory for them is missing. */
tnd_status_t tnd_record_window(tnd_record_window_t *self, uint64_t at, size_t least,
                               const uint8_t **data_p, size_t *size_p,
                               tnd_error_t *error) TND_CHECKED;

/*  Whether the content has `size` bytes.  Those before may have to be decompressed again. */
tnd_status_t tnd_record_window_has(tnd_record_window_t *self, uint64_t size, bool *has_p,
                                   tnd_error_t *error) TND_CHECKED;

/*  Whether the content is known to have fewer than `size` bytes. */
static inline bool tnd_record_window_lacks(const tnd_record_window_t *self, uint64_t size)
{
    return self->ended && size > self->reached;
}

/*  Whether the file is damaged, or cut, after the content that it has. */
static inline bool tnd_record_window_damaged(const tnd_record_window_t *self)
{
    return self->ended && self->damaged;
}

/*  Whether what the content ends with is right, though more may be missing. */
static inline bool tnd_record_window_sound(const tnd_record_window_t *self)
{
    return !tnd_record_window_damaged(self) || self->cut;
}

#endif
