/*  actors/stored/draft.c - files that get their names when they are complete. */
#include "actors/stored/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"

/*  A file without a name in a folder, which is made if it is missing.  *made_p: it is there. */
static int open_unnamed(const char *folder, bool *made_p)
{
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    *made_p = file >= 0 || errno != ENOENT || tnd_folder_make(folder);
    return file >= 0 || !*made_p ? file : open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
}

bool tnd_draft_open(tnd_draft_t *self, const char *path)
{
    char *folder = tnd_copy_string(path);
    char *slash = strrchr(folder, '/');
    const char *place = slash == NULL ? "." : slash == folder ? "/" : folder;
    if (slash != NULL)
        *slash = '\0';
    bool made;
    *self = (tnd_draft_t){.file = open_unnamed(place, &made), .path = tnd_copy_string(path)};
    if (made && self->file < 0) {
        self->name = tnd_format_string("%s.%d.draft", path, (int)gettid());
        self->file = open(self->name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    int code = errno;
    free(folder);
    errno = code;
    return self->file >= 0;
}

bool tnd_draft_publish(tnd_draft_t *self)
{
    char by_number[64];
    if (fdatasync(self->file) != 0)
        return false;
    snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", self->file);
    self->named = self->name != NULL
                      ? rename(self->name, self->path) == 0
                      : linkat(AT_FDCWD, by_number, AT_FDCWD, self->path, AT_SYMLINK_FOLLOW) == 0;
    /* Another process may have published the same. */
    return self->named || (self->name == NULL && errno == EEXIST);
}

int tnd_draft_take(tnd_draft_t *self)
{
    int file = self->named ? self->file : -1;
    if (self->named)
        self->file = -1;
    return file;
}

void tnd_draft_close(tnd_draft_t *self)
{
    int code = errno;
    if (self->file >= 0)
        close(self->file);
    if (self->name != NULL)
        (void)unlink(self->name);
    free(self->name);
    free(self->path);
    *self = (tnd_draft_t){.file = -1};
    errno = code;
}
