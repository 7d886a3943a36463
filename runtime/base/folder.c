/*  runtime/base/folder.c - makes names durable, and removes folders. */
#include "runtime/base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <stdio.h>
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

static int remove_one(const char *path, const struct stat *is, int type, struct FTW *place)
{
    (void)is, (void)type, (void)place;
    return remove(path);
}

void tnd_folder_remove(const char *folder)
{
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
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
