/*  runtime/base/folder.c - makes and removes folders, and makes names durable. */
#include "runtime/base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

bool tnd_folder_make(const char *folder)
{
    char *path = tnd_copy_string(folder);
    struct stat is;
    bool good = true;
    for (char *at = path; good && *at != '\0'; *at = '/') {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        char after = *at;
        *at = '\0';
        good = mkdir(path, 0777) == 0 || errno == EEXIST;
        if (after == '\0')
            break;
    }
    int reason = errno;
    free(path);
    errno = reason;
    if (!good || stat(folder, &is) != 0)
        return false;
    errno = ENOTDIR;
    return S_ISDIR(is.st_mode);
}

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

const char *tnd_folder_advice(int code)
{
    if (code == ENOSPC || code == EDQUOT)
        return "make room, or choose another folder";
    if (code == EACCES || code == EPERM)
        return "choose a folder that this user may write";
    return "choose another folder";
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

uint64_t tnd_folder_bytes(const char *folder)
{
    uint64_t bytes = 0;
    DIR *list = opendir(folder);
    struct stat is;
    for (struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;)
        if (fstatat(dirfd(list), entry->d_name, &is, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(is.st_mode))
            bytes += (uint64_t)is.st_size;
    if (list != NULL)
        closedir(list);
    return bytes;
}
