/*  tools/cli/output.c - writes a file completely or not at all. */
#include "tools/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"
#include "runtime/data/file_lock.h"

/*  A file in the folder of `path` without a name, which disappears if the process is killed; -1 if
 *  the file system cannot create one. */
static int open_nameless(const char *path)
{
    char *folder = tnd_copy_string(path);
    int file = open(dirname(folder), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    free(folder);
    return file;
}

/*  Gives a nameless file the temporary name. */
static bool give_name(const tnd_output_t *self)
{
    char file[64];
    snprintf(file, sizeof file, "/proc/self/fd/%d", fileno(self->out));
    return linkat(AT_FDCWD, file, AT_FDCWD, self->temporary, AT_SYMLINK_FOLLOW) == 0;
}

enum { PROBE_BYTES = 4096 };

tnd_status_t tnd_output_probe(int file, const char *path, tnd_error_t *error)
{
    struct stat is;
    if (fstat(file, &is) != 0 || !S_ISREG(is.st_mode))
        return TND_OK;
    int code = posix_fallocate(file, is.st_size, PROBE_BYTES);
    if (code == 0 && ftruncate(file, is.st_size) == 0)
        return TND_OK;
    if (code != ENOSPC && code != EDQUOT)
        return TND_OK; /* some file systems cannot reserve space */
    return tnd_fail(error, "%s: cannot be written: %s; %s", path, strerror(code),
                    tnd_folder_advice(code));
}

tnd_status_t tnd_output_lock(int file, const char *path, tnd_error_t *error)
{
    pid_t holder;
    if (tnd_file_lock(file, &holder))
        return TND_OK;
    return tnd_fail(error,
                    "%s: cannot be written: process %d writes it: end that run first, or give this "
                    "one another file",
                    path, (int)holder);
}

/*  Whether the file at the path, if there is one, may be replaced: a run may write its metrics to it. */
static tnd_status_t check_unused(const char *path, tnd_error_t *error)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return TND_OK;
    tnd_status_t status = tnd_output_lock(file, path, error);
    close(file);
    return status;
}

tnd_status_t tnd_output_open(tnd_output_t *self, const char *path, tnd_error_t *error)
{
    *self = (tnd_output_t){.path = path};
    struct stat is;
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode))
        return tnd_fail(error, "%s: cannot be written: it is a directory", path);
    bool plain = lstat(path, &is) != 0 || S_ISREG(is.st_mode);
    if (plain)
        TND_TRY(check_unused(path, error));
    if (plain)
        self->temporary = tnd_format_string("%s.%d.tmp", path, (int)getpid());
    int file = plain ? open_nameless(path) : -1;
    self->nameless = file >= 0;
    if (plain && file < 0)
        file = open(self->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (!plain)
        file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    self->out = file >= 0 ? fdopen(file, "w") : NULL;
    tnd_status_t status = self->out != NULL ? tnd_output_probe(file, path, error)
                                            : tnd_fail(error, "%s: cannot be written: %s; %s", path,
                                                       strerror(errno), tnd_folder_advice(errno));
    if (status == TND_OK)
        return TND_OK;
    if (self->out != NULL) {
        tnd_output_abandon(self);
        return status;
    }
    free(self->temporary);
    *self = (tnd_output_t){0};
    return status;
}

void tnd_output_abandon(tnd_output_t *self)
{
    if (self->out != NULL)
        fclose(self->out);
    if (self->temporary != NULL && !self->nameless)
        unlink(self->temporary);
    free(self->temporary);
    *self = (tnd_output_t){0};
}

tnd_status_t tnd_output_close(tnd_output_t *self, tnd_error_t *error)
{
    if (self->temporary != NULL && check_unused(self->path, error) != TND_OK) {
        tnd_output_abandon(self);
        return TND_FAILED;
    }
    bool bad = ferror(self->out) != 0 || fflush(self->out) != 0;
    /* Devices and pipes have nothing to synchronize. */
    bad = bad || (self->temporary != NULL && fsync(fileno(self->out)) != 0);
    if (self->nameless && !bad) {
        bad = !give_name(self);
        self->nameless = bad;
    }
    bad = fclose(self->out) != 0 || bad;
    self->out = NULL;
    bad = bad || (self->temporary != NULL &&
                  (rename(self->temporary, self->path) != 0 || !tnd_folder_sync_of(self->path)));
    tnd_status_t status = TND_OK;
    if (bad) {
        status =
            tnd_fail(error, "%s: could not be written completely: %s", self->path, strerror(errno));
    } else {
        free(self->temporary);
        self->temporary = NULL;
    }
    tnd_output_abandon(self);
    return status;
}
