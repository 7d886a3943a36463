/*  actors/stored/chunk_hashes.c - hashes of the bytes of stored files. */
#include "actors/stored/chunk_hashes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "actors/stored/npy_column.h"
#include "actors/stored/npy_file.h"
#include "runtime/base/allocation.h"

/* --- writing ---------------------------------------------------------------------------------- */

/*  A file without bytes changes nothing, so that it need not be looked at. */
static uint64_t add_hashes(uint64_t all, const void *hashes, size_t count)
{
    return count > 0 ? XXH3_64bits_withSeed(hashes, count * sizeof(uint64_t), all) : all;
}

bool tnd_chunk_hashes_write(int file, tnd_chunk_hasher_t *const *hashers, size_t count)
{
    static const tnd_column_t column = {.dtype = TND_U64};
    uint64_t all = 0;
    tnd_npy_column_t out;
    tnd_npy_column_init(&out, &column);
    tnd_npy_column_collect(&out);
    out.file = file;
    bool written = true;
    for (size_t i = 0; i < count; i++) {
        size_t hashes;
        const uint64_t *items = tnd_chunk_hasher_end(hashers[i], &hashes);
        all = add_hashes(all, items, hashes);
        for (size_t at = 0; at < hashes && written; at++)
            written = tnd_npy_column_add(&out, &items[at], sizeof items[at], 0);
    }
    written =
        written && tnd_npy_column_add(&out, &all, sizeof all, 0) && tnd_npy_column_complete(&out);
    tnd_npy_column_free(&out);
    return written;
}

uint64_t tnd_chunk_hashes_bytes(uint64_t bytes)
{
    return (bytes / TND_CHUNK_BYTES + 2) * sizeof(uint64_t);
}

/* --- reading ---------------------------------------------------------------------------------- */

tnd_status_t tnd_chunk_list_open(tnd_chunk_list_t *self, const char *path, int file,
                                 tnd_error_t *error)
{
    if (file < 0 && access(path, F_OK) != 0 && errno == ENOENT)
        return tnd_fail(error, "%s: is missing, so an earlier version made the files beside it",
                        path);
    tnd_status_t status = tnd_npy_adopt(&self->stored, path, file, error);
    self->at = self->all = 0;
    if (status != TND_OK || (self->stored.dtype == TND_U64 && self->stored.rank == 0))
        return status;
    tnd_stored_close(&self->stored);
    return tnd_fail(error, "%s: does not have hashes", path);
}

static const uint8_t *item_at(const tnd_chunk_list_t *self, uint64_t at)
{
    return tnd_mapping_data(self->stored.content.mapping) + self->stored.offset +
           at * sizeof(uint64_t);
}

static size_t chunks_of(size_t bytes)
{
    return bytes / TND_CHUNK_BYTES + (bytes % TND_CHUNK_BYTES > 0);
}

static tnd_status_t fail_list(const tnd_chunk_list_t *self, tnd_error_t *error)
{
    return tnd_fail(error, "%s: its hashes are not those of the files beside it",
                    self->stored.path);
}

tnd_status_t tnd_chunk_list_take(tnd_chunk_list_t *self, tnd_chunk_hashes_t *hashes,
                                 const char *path, const char *advice, size_t begin, size_t end,
                                 tnd_error_t *error)
{
    size_t count = begin < end ? chunks_of(end - begin) : 0;
    if (count >= self->stored.rows - self->at)
        return fail_list(self, error);
    *hashes = (tnd_chunk_hashes_t){.path = path,
                                   .advice = advice,
                                   .hashes = item_at(self, self->at),
                                   .seen = tnd_allocate_zeroed(count / 8 + 1, 1),
                                   .begin = begin,
                                   .end = end};
    self->all = add_hashes(self->all, hashes->hashes, count);
    self->at += count;
    return TND_OK;
}

tnd_status_t tnd_chunk_list_end(const tnd_chunk_list_t *self, tnd_error_t *error)
{
    uint64_t all = 0;
    if (self->at + 1 == self->stored.rows)
        memcpy(&all, item_at(self, self->at), sizeof all);
    TND_TRY(tnd_content_intact(&self->stored.content, error));
    if (self->at + 1 == self->stored.rows && all == self->all)
        return TND_OK;
    return fail_list(self, error);
}

void tnd_chunk_list_close(tnd_chunk_list_t *self)
{
    tnd_stored_close(&self->stored);
}

void tnd_chunk_hashes_free(tnd_chunk_hashes_t *self)
{
    free((void *)(uintptr_t)self->seen);
    *self = (tnd_chunk_hashes_t){0};
}

/*  The hash of bytes of the file. */
static tnd_status_t hash_bytes(const tnd_content_t *content, size_t offset, size_t size,
                               uint64_t *hash_p, tnd_error_t *error)
{
    if (content->mapping != NULL) {
        TND_TRY(tnd_mapping_populate(content->mapping, offset, size, error));
        *hash_p = XXH3_64bits(tnd_mapping_data(content->mapping) + offset, size);
        return tnd_content_intact(content, error);
    }
    uint8_t *bytes = tnd_allocate(size, 1);
    tnd_status_t status = tnd_content_read(content, offset, size, bytes, error);
    if (status == TND_OK)
        *hash_p = XXH3_64bits(bytes, size);
    free(bytes);
    return status;
}

static tnd_status_t check_chunk(const tnd_chunk_hashes_t *self, const tnd_content_t *content,
                                size_t chunk, tnd_error_t *error)
{
    size_t offset = self->begin + chunk * TND_CHUNK_BYTES, left = self->end - offset;
    size_t size = left < TND_CHUNK_BYTES ? left : TND_CHUNK_BYTES;
    uint64_t hash = 0, wanted;
    TND_TRY(hash_bytes(content, offset, size, &hash, error));
    memcpy(&wanted, self->hashes + chunk * sizeof wanted, sizeof wanted);
    if (hash != wanted)
        return tnd_fail(error,
                        "%s: is damaged: bytes %zu to %zu are not those that were written; %s",
                        self->path, offset, offset + size, self->advice);
    atomic_fetch_or_explicit(&self->seen[chunk / 8], (uint8_t)(1 << chunk % 8),
                             memory_order_relaxed);
    return TND_OK;
}

tnd_status_t tnd_chunk_hashes_check(const tnd_chunk_hashes_t *self, const tnd_content_t *content,
                                    size_t offset, size_t size, tnd_error_t *error)
{
    if (size == 0)
        return TND_OK;
    size_t chunk = (offset - self->begin) >> TND_CHUNK_BITS;
    size_t last = (offset + size - 1 - self->begin) >> TND_CHUNK_BITS;
    for (; chunk <= last; chunk++)
        if ((atomic_load_explicit(&self->seen[chunk / 8], memory_order_relaxed) & 1 << chunk % 8) ==
            0)
            TND_TRY(check_chunk(self, content, chunk, error));
    return TND_OK;
}
