/*  tests/support/full.c - a disk that is full after $FULL writes at a place of a file.  */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

typedef ssize_t pwrite_t(int, const void *, size_t, off_t);

ssize_t pwrite(int file, const void *buffer, size_t size, off_t at)
{
    static pwrite_t *_Atomic next;
    static atomic_int done;
    const char *most = getenv("FULL");
    if (next == NULL)
        next = (pwrite_t *)dlsym(RTLD_NEXT, "pwrite");
    if (most != NULL && done++ >= atoi(most)) {
        errno = ENOSPC;
        return -1;
    }
    return next(file, buffer, size, at);
}

ssize_t pwrite64(int file, const void *buffer, size_t size, off_t at)
{
    return pwrite(file, buffer, size, at);
}
