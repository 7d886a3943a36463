/*  actors/stored/stored.c - one file of records of one size. */
#include "actors/stored/stored.h"

void tnd_stored_close(tnd_stored_t *self)
{
    tnd_buffer_drop(&self->buffer);
    tnd_content_close(&self->content);
}

tnd_status_t tnd_stored_open(tnd_stored_t *self, const char *path,
                             const tnd_stored_opener_t *opener, const tnd_source_scope_t *scope,
                             tnd_error_t *error)
{
    return tnd_stored_adopt(self, path, -1, opener, scope, error);
}

tnd_status_t tnd_stored_adopt(tnd_stored_t *self, const char *path, int file,
                              const tnd_stored_opener_t *opener, const tnd_source_scope_t *scope,
                              tnd_error_t *error)
{
    *self = (tnd_stored_t){.path = path};
    TND_TRY(tnd_content_adopt(&self->content, path, file, scope, error));
    self->content.watch = opener->watch;
    self->content.watcher = opener->watcher;
    tnd_status_t status = opener->open(self, opener->context, error);
    self->content.watch = NULL;
    if (status == TND_OK)
        status = tnd_content_identity(&self->content, &self->identity, error);
    /* If pages were lost, what looks invalid was not in the file. */
    tnd_error_t lost;
    if (tnd_content_intact(&self->content, &lost) != TND_OK)
        status = tnd_fail(error, "%s", lost.text);
    if (status != TND_OK) {
        tnd_stored_close(self);
        return status;
    }
    self->size = self->content.size;
    self->modified_ns = self->content.modified_ns;
    tnd_content_forget(&self->content);
    if (self->buffer != NULL)
        tnd_content_close(&self->content);
    else
        tnd_content_rest(&self->content);
    if (self->content.mapping != NULL)
        self->buffer = tnd_mapping_buffer(self->content.mapping);
    return TND_OK;
}
