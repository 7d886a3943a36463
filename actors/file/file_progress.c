/*  actors/file/file_progress.c - reports how far several files are read while a source opens. */
#include "actors/file/file_progress.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"

void tnd_file_progress_init(tnd_file_progress_t *self, const tnd_source_scope_t *scope,
                            size_t count, uint64_t bytes_all)
{
    *self = (tnd_file_progress_t){.scope = scope,
                                  .files = tnd_allocate_zeroed(count, sizeof *self->files),
                                  .count = count,
                                  .bytes_all = bytes_all};
    tnd_file_progress_restart(self);
}

void tnd_file_progress_restart(tnd_file_progress_t *self)
{
    self->bytes = self->ended = 0;
    for (size_t i = 0; i < self->count; i++)
        self->files[i] = (tnd_file_seen_t){.all = self};
}

void tnd_file_progress_free(tnd_file_progress_t *self)
{
    free(self->files);
    *self = (tnd_file_progress_t){0};
}

static void on_bytes(void *watcher, size_t at)
{
    tnd_file_seen_t *file = watcher;
    tnd_file_progress_t *self = file->all;
    uint64_t more = at > file->seen ? at - file->seen : 0;
    file->seen += more;
    uint64_t done = atomic_fetch_add(&self->bytes, more) + more;
    if (more > 0)
        tnd_source_progress(self->scope, done, self->bytes_all, "bytes");
}

void tnd_file_progress_begin(tnd_file_progress_t *self, size_t i, const char *doing,
                             tnd_content_t *content)
{
    tnd_source_doing(self->scope, doing, content->path);
    /* One file is shown by its name. */
    if (self->count > 1)
        tnd_source_progress(self->scope, atomic_load(&self->ended), self->count, "files");
    content->watch = on_bytes;
    content->watcher = &self->files[i];
}

void tnd_file_progress_end(tnd_file_progress_t *self, size_t i, tnd_content_t *content,
                           uint64_t size)
{
    content->watch = NULL;
    on_bytes(&self->files[i], size);
    uint64_t ended = atomic_fetch_add(&self->ended, 1) + 1;
    if (self->count > 1)
        tnd_source_progress(self->scope, ended, self->count, "files");
}
