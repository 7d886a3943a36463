/*  actors/source/sample/tar_spool.c - compressed archives, kept decompressed in a folder. */
#include "actors/source/sample/tar_spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/file/decompress.h"
#include "actors/stored/draft.h"
#include "actors/stored/npy_column.h"
#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"
#include "runtime/text/quantity.h"

enum { PIECE = 1 << 20 };

/*  The archive while it is decompressed. */
typedef struct {
    tnd_tar_spool_t *folder;
    tnd_content_t *archive;
    tnd_draft_t draft, hashes;
    tnd_chunk_hasher_t *hasher;
    uint64_t written; /* bytes */
} making_t;

static tnd_status_t fail_write(const making_t *self, tnd_error_t *error)
{
    return tnd_fail(error, "spool %s: %s cannot be written there: %s; %s",
                    self->folder->options->dir, self->archive->path, strerror(errno),
                    tnd_folder_advice(errno));
}

/*  Counts bytes that are about to be written. */
static tnd_status_t claim(making_t *self, uint64_t size, tnd_error_t *error)
{
    char text[TND_QUANTITY_SIZE];
    uint64_t limit = self->folder->options->limit;
    self->written += size;
    if (atomic_fetch_add(&self->folder->used, size) + size > limit)
        return tnd_fail(error,
                        "spool %s: with %s the folder would be larger than `limit: %s`; raise it, "
                        "or remove files there that are not used any more",
                        self->folder->options->dir, self->archive->path,
                        tnd_quantity_size(limit, text));
    return TND_OK;
}

static tnd_status_t write_piece(making_t *self, const uint8_t *piece, size_t size,
                                tnd_error_t *error)
{
    TND_TRY(claim(self, size, error));
    tnd_chunk_hasher_add(self->hasher, piece, size);
    for (size_t done = 0; done < size;) {
        ssize_t some = write(self->draft.file, piece + done, size - done);
        if (some < 0 && errno != EINTR)
            return fail_write(self, error);
        done += some > 0 ? (size_t)some : 0;
    }
    uint64_t written = atomic_fetch_add(&self->folder->written, size) + size;
    tnd_source_progress(self->folder->scope, written, TND_UNKNOWN, "bytes");
    return TND_OK;
}

/*  A damaged archive is refused, because the samples that follow the damage would be lost in silence. */
static tnd_status_t write_all(making_t *self, tnd_decompress_t *stream, uint8_t *piece,
                              tnd_error_t *error)
{
    tnd_error_t why;
    size_t size;
    for (;;) {
        tnd_status_t status = tnd_decompress_read(stream, piece, PIECE, &size, &why);
        if (status == TND_REFUSED)
            return tnd_fail(error,
                            "%s: %s; a damaged archive is not spooled, without `spool` its samples "
                            "are read in order up to there",
                            self->archive->path, why.text);
        if (status != TND_OK) {
            *error = why;
            return status;
        }
        if (size == 0)
            return TND_OK;
        TND_TRY(write_piece(self, piece, size, error));
    }
}

static tnd_status_t publish(making_t *self, tnd_error_t *error)
{
    TND_TRY(claim(self, TND_NPY_COLUMN_HEADER + tnd_chunk_hashes_bytes(self->written), error));
    if (!tnd_chunk_hashes_write(self->hashes.file, &self->hasher, 1) ||
        !tnd_draft_publish(&self->hashes) || !tnd_draft_publish(&self->draft))
        return fail_write(self, error);
    return TND_OK;
}

static tnd_status_t make(making_t *self, const tnd_tar_spooled_t *spooled, tnd_error_t *error)
{
    const uint8_t *head;
    if (!tnd_draft_open(&self->draft, spooled->path) ||
        !tnd_draft_open(&self->hashes, spooled->hashes_path))
        return fail_write(self, error);
    TND_TRY(tnd_content_view(self->archive, 0, 4, &head, error));
    tnd_decompress_t *stream =
        tnd_decompress_new(self->archive, tnd_compression_of(head, self->archive->size));
    uint8_t *piece = tnd_allocate(PIECE, 1);
    tnd_source_doing(self->folder->scope, "spooling", self->archive->path);
    tnd_status_t status = write_all(self, stream, piece, error);
    free(piece);
    tnd_decompress_destroy(&stream);
    TND_TRY(status);
    TND_TRY(tnd_content_intact(self->archive, error));
    return publish(self, error);
}

/*  Descriptors of files that were just written; -1: they are to be opened. */
typedef struct {
    int archive, hashes;
} handles_t;

static void close_handles(handles_t *self)
{
    if (self->archive >= 0)
        close(self->archive);
    if (self->hashes >= 0)
        close(self->hashes);
    *self = (handles_t){-1, -1};
}

/*  Both, or none, where another process has published one of them. */
static handles_t take_handles(making_t *self)
{
    handles_t files = {tnd_draft_take(&self->draft), tnd_draft_take(&self->hashes)};
    if (files.archive < 0 || files.hashes < 0)
        close_handles(&files);
    return files;
}

static tnd_status_t open_hashes(tnd_tar_spooled_t *self, handles_t *files, tnd_error_t *error)
{
    struct stat is;
    int hashes = files->hashes;
    if (stat(self->path, &is) != 0)
        return tnd_fail(error, "%s: %s", self->path, strerror(errno));
    files->hashes = -1;
    TND_TRY(tnd_chunk_list_open(&self->list, self->hashes_path, hashes, error));
    tnd_status_t status =
        tnd_chunk_list_take(&self->list, &self->hashes, self->path,
                            "remove it, and it is made again", 0, (size_t)is.st_size, error);
    if (status == TND_OK)
        status = tnd_chunk_list_end(&self->list, error);
    if (status == TND_OK)
        return TND_OK;
    tnd_chunk_hashes_free(&self->hashes);
    tnd_chunk_list_close(&self->list);
    return status;
}

void tnd_tar_spooled_free(tnd_tar_spooled_t *self)
{
    if (self->hashes.seen != NULL)
        tnd_chunk_list_close(&self->list);
    tnd_chunk_hashes_free(&self->hashes);
    free(self->path);
    free(self->hashes_path);
    *self = (tnd_tar_spooled_t){0};
}

tnd_status_t tnd_tar_spooled_check(const tnd_tar_spooled_t *self, const tnd_content_t *content,
                                   size_t offset, size_t size, tnd_error_t *error)
{
    return tnd_chunk_hashes_check(&self->hashes, content, offset, size, error);
}

void tnd_tar_spool_init(tnd_tar_spool_t *self, const tnd_spool_options_t *options,
                        const tnd_source_scope_t *scope)
{
    self->options = options;
    self->scope = scope;
    atomic_init(&self->used, options != NULL ? tnd_folder_bytes(options->dir) : 0);
    atomic_init(&self->written, 0);
}

/*  What was there and does not fit is removed first. */
static tnd_status_t make_files(tnd_tar_spool_t *self, tnd_content_t *archive,
                               const tnd_tar_spooled_t *spooled, handles_t *files,
                               tnd_error_t *error)
{
    making_t making = {.folder = self,
                       .archive = archive,
                       .draft.file = -1,
                       .hashes.file = -1,
                       .hasher = tnd_chunk_hasher_new()};
    if (spooled->again) {
        (void)unlink(spooled->path);
        (void)unlink(spooled->hashes_path);
    }
    tnd_status_t status = make(&making, spooled, error);
    if (status != TND_OK)
        atomic_fetch_sub(&self->used, making.written);
    else
        *files = take_handles(&making);
    tnd_draft_close(&making.draft);
    tnd_draft_close(&making.hashes);
    tnd_chunk_hasher_destroy(&making.hasher);
    return status;
}

tnd_status_t tnd_tar_spool(tnd_tar_spool_t *self, tnd_content_t *archive, uint64_t identity,
                           tnd_tar_spooled_t *spooled, int *file_p, tnd_error_t *error)
{
    handles_t files = {-1, -1};
    const tnd_indexed_file_t indexed = {archive->path, identity, archive->size,
                                        archive->modified_ns};
    tnd_error_t why;
    char *index = tnd_index_path(self->options->dir, &indexed, "tar");
    index[strlen(index) - strlen(".npy")] = '\0';
    *spooled = (tnd_tar_spooled_t){.path = tnd_format_string("%s.tar", index),
                                   .hashes_path = tnd_format_string("%s.hashes.npy", index)};
    free(index);
    *file_p = -1;
    if (access(spooled->path, R_OK) == 0) {
        if (open_hashes(spooled, &files, &why) == TND_OK)
            return TND_OK;
        spooled->again = !self->scope->unread;
    }
    if (self->scope->unread) {
        tnd_tar_spooled_free(spooled);
        return TND_END;
    }
    TND_TRY(make_files(self, archive, spooled, &files, error));
    tnd_status_t status = open_hashes(spooled, &files, &why);
    if (status != TND_OK) {
        /* Another process has removed it, because what was there before did not fit. */
        close_handles(&files);
        TND_TRY(make_files(self, archive, spooled, &files, error));
        status = open_hashes(spooled, &files, error);
    }
    if (status == TND_OK)
        *file_p = files.archive;
    else
        close_handles(&files);
    return status;
}
