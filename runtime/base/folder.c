/*  runtime/base/folder.c - the names in a folder, made durable. */
#include "runtime/base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

bool tnd_folder_sync(const char *folder)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return errno == EACCES;
    bool good = fsync(file) == 0 || errno == EINVAL;
    int reason = errno;
    close(file);
    errno = reason;
    return good;
}

bool tnd_folder_sync_of(const char *path)
{
    char *copy = tnd_copy_string(path);
    bool good = tnd_folder_sync(dirname(copy));
    int reason = errno;
    free(copy);
    errno = reason;
    return good;
}
