/*  tests/support/disk.c - loaded before a program, logs what it asks of the disk.
 *
 *  $DISK_LOG gets a line for each call that concerns files below $DISK_ROOT, fields divided by
 *  tabs:
 *
 *      KIND INODE COPY PATH [OTHER PATH]
 *
 *  COPY numbers a copy of the file as it is after the call, $DISK_LOG.COPY; - where there is none.
 *  What stdio writes is not logged by itself: it shows in the copy of the next call.
 *
 *  A rename to a path that ends in $DISK_HOLDS waits until the file $DISK_UNTIL exists.
 *
 *  $DISK_KILLS is a KIND: the process is killed at call number $DISK_KILLS_AT of it, from 1. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static bool is_watched(const char *path)
{
    const char *root = getenv("DISK_ROOT");
    return root != NULL && strncmp(path, root, strlen(root)) == 0;
}

/*  Where a descriptor's file is; "" if that is nowhere. */
static void path_of(int file, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    path[size > 0 ? size : 0] = '\0';
}

static void copy_to(const char *copy, const char *path)
{
    char bytes[1 << 16];
    int in = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    int out =
        (int)syscall(SYS_openat, AT_FDCWD, copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    for (long got; in >= 0 && out >= 0 && (got = syscall(SYS_read, in, bytes, sizeof bytes)) > 0;)
        (void)!syscall(SYS_write, out, bytes, got);
    syscall(SYS_close, in);
    syscall(SYS_close, out);
}

static void kill_at(const char *kind)
{
    static int calls;
    const char *kills = getenv("DISK_KILLS"), *at = getenv("DISK_KILLS_AT");
    if (kills != NULL && strcmp(kind, kills) == 0 && ++calls == (at != NULL ? atoi(at) : 1))
        raise(SIGKILL);
}

/*  `at`: where the file can be read now, which has the name `path`; `other` may be NULL. */
static void note(const char *kind, const char *at, const char *path, const char *other)
{
    static unsigned copies;
    const char *log = getenv("DISK_LOG");
    if (log == NULL || (!is_watched(path) && (other == NULL || !is_watched(other))))
        return;
    int reason = errno;
    char line[2 * PATH_MAX + 64], copy[PATH_MAX], number[16] = "-";
    struct stat is = {.st_ino = 0};
    pthread_mutex_lock(&lock);
    if (stat(at, &is) == 0 && S_ISREG(is.st_mode)) {
        snprintf(number, sizeof number, "%u", copies++);
        snprintf(copy, sizeof copy, "%s.%s", log, number);
        copy_to(copy, at);
    }
    int size = snprintf(line, sizeof line, "%s\t%lu\t%s\t%s%s%s\n", kind, (unsigned long)is.st_ino,
                        number, path, other != NULL ? "\t" : "", other != NULL ? other : "");
    int out =
        (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    (void)!syscall(SYS_write, out, line, size);
    syscall(SYS_close, out);
    kill_at(kind);
    pthread_mutex_unlock(&lock);
    errno = reason;
}

static void note_file(const char *kind, int file)
{
    char path[PATH_MAX], at[64];
    path_of(file, path);
    snprintf(at, sizeof at, "/proc/self/fd/%d", file);
    note(kind, at, path, NULL);
}

static int opened(const char *path, int flags, mode_t mode)
{
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (file >= 0 && (flags & (O_WRONLY | O_RDWR)) != 0)
        note_file("open", file);
    return file;
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return opened(path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    ssize_t put = NEXT(write)(file, bytes, size);
    note_file("write", file);
    return put;
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    ssize_t put = NEXT(pwrite)(file, bytes, size, at);
    note_file("write", file);
    return put;
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off_t at)
{
    return pwrite(file, bytes, size, at);
}

int ftruncate(int file, off_t size)
{
    int failed = NEXT(ftruncate)(file, size);
    note_file("write", file);
    return failed;
}

int fsync(int file)
{
    int failed = NEXT(fsync)(file);
    note_file("sync", file);
    return failed;
}

int fdatasync(int file)
{
    int failed = NEXT(fdatasync)(file);
    note_file("sync", file);
    return failed;
}

int mkdir(const char *path, mode_t mode)
{
    int failed = NEXT(mkdir)(path, mode);
    if (failed == 0)
        note("mkdir", path, path, NULL);
    return failed;
}

static void hold(const char *path)
{
    const char *holds = getenv("DISK_HOLDS"), *until = getenv("DISK_UNTIL");
    size_t size = holds != NULL ? strlen(holds) : 0, length = strlen(path);
    while (size > 0 && length >= size && strcmp(path + length - size, holds) == 0 &&
           until != NULL && access(until, F_OK) != 0)
        usleep(1000);
}

int rename(const char *from, const char *to)
{
    hold(to);
    int failed = NEXT(rename)(from, to);
    if (failed == 0)
        note("rename", to, from, to);
    return failed;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    int failed = NEXT(linkat)(from_folder, from, to_folder, to, flags);
    if (failed == 0)
        note("link", to, to, NULL);
    return failed;
}

int unlink(const char *path)
{
    int failed = NEXT(unlink)(path);
    if (failed == 0)
        note("unlink", path, path, NULL);
    return failed;
}

int unlinkat(int folder, const char *name, int flags)
{
    char path[PATH_MAX];
    path_of(folder, path);
    int failed = NEXT(unlinkat)(folder, name, flags);
    size_t used = strlen(path);
    if (failed == 0 && name[0] != '/' && used + strlen(name) + 2 < sizeof path) {
        snprintf(path + used, sizeof path - used, "/%s", name);
        note("unlink", path, path, NULL);
    }
    return failed;
}

int rmdir(const char *path)
{
    int failed = NEXT(rmdir)(path);
    if (failed == 0)
        note("unlink", path, path, NULL);
    return failed;
}
