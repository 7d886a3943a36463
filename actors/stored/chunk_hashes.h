/*  actors/stored/chunk_hashes.h - hashes of the bytes of stored files, compared when they are first
 *  used.
 *
 *  The files of a store that were written together have one file of hashes beside them: a .npy file
 *  of u64 with the hash of each 64 KiB of each file, one file after the other, and last a hash of all
 *  of these.  Each chunk is compared once per run, so that reading from a store stays as fast as
 *  memory.
 *
 *  Threads: tnd_chunk_hashes_check on any number at once; the rest one at a time. */
#ifndef TND_ACTORS_STORED_CHUNK_HASHES_H
#define TND_ACTORS_STORED_CHUNK_HASHES_H

#include "actors/stored/chunk_hasher.h"
#include "actors/stored/stored.h"

/* --- writing ---------------------------------------------------------------------------------- */

/*  Writes the hashes of `count` files, which are complete.  Errors: returns false, with the reason in
 *  errno. */
bool tnd_chunk_hashes_write(int file, tnd_chunk_hasher_t *const *hashers, size_t count);
/*  Bytes of the hashes of `bytes` bytes, on the disk and in memory. */
uint64_t tnd_chunk_hashes_bytes(uint64_t bytes);

/* --- reading ---------------------------------------------------------------------------------- */

/*  The hashes of one file. */
typedef struct {
    const char *path, *advice;
    const uint8_t *hashes; /* in the mapped file */
    _Atomic uint8_t *seen; /* a bit of each chunk: it is right */
    size_t begin, end;     /* the bytes that have hashes; `end`: of the file */
} tnd_chunk_hashes_t;

/*  The file of hashes while its parts are taken. */
typedef struct {
    tnd_stored_t stored;
    uint64_t at, all; /* the next hash; a hash of those before it */
} tnd_chunk_list_t;

/*  Opens a file of hashes, or takes the descriptor `file` of it if that is not -1.  `path` is borrowed.
 *  Errors: TND_FAILED if it is missing or damaged. */
tnd_status_t tnd_chunk_list_open(tnd_chunk_list_t *self, const char *path, int file,
                                 tnd_error_t *error) TND_CHECKED;
/*  Takes the hashes of the next file, of its bytes [begin, end).  `path` and `advice`, which says what
 *  to do if it is damaged, are borrowed. */
tnd_status_t tnd_chunk_list_take(tnd_chunk_list_t *self, tnd_chunk_hashes_t *hashes,
                                 const char *path, const char *advice, size_t begin, size_t end,
                                 tnd_error_t *error) TND_CHECKED;
/*  Whether the rest of the files have no bytes. */
static inline bool tnd_chunk_list_is_at_end(const tnd_chunk_list_t *self)
{
    return self->at + 1 >= self->stored.rows;
}
/*  Errors: TND_FAILED if the hashes that were taken are not all that there are, or are damaged. */
tnd_status_t tnd_chunk_list_end(const tnd_chunk_list_t *self, tnd_error_t *error) TND_CHECKED;
/*  What was taken cannot be used afterwards. */
void tnd_chunk_list_close(tnd_chunk_list_t *self);
void tnd_chunk_hashes_free(tnd_chunk_hashes_t *self);

/*  Compares the hashes of bytes [offset, offset + size) of the file where that was not done.
 *  Errors: TND_FAILED if they differ, with path, bytes and advice, or the file cannot be read. */
tnd_status_t tnd_chunk_hashes_check(const tnd_chunk_hashes_t *self, const tnd_content_t *content,
                                    size_t offset, size_t size, tnd_error_t *error) TND_CHECKED;

#endif
