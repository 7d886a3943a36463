/*  tests/support/scarce.c - loaded before a program, lets the n-th call of a function fail.
 *
 *  $SCARCE_CALL is a function below, or `allocate` for all that allocate memory; $SCARCE_AT is the number
 *  of the call, from 1 on, and of $SCARCE_TIMES (1) calls from there on.  When the program ends, or calls
 *  _exit, $SCARCE_LOG has the number of calls. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static const char *wanted; /* NULL: nothing fails */
static unsigned long at, times;
static atomic_ulong calls;

static bool fails(const char *call)
{
    if (wanted == NULL || strcmp(wanted, call) != 0)
        return false;
    unsigned long number = atomic_fetch_add(&calls, 1) + 1;
    return number >= at && number - at < times;
}

void *malloc(size_t bytes)
{
    errno = ENOMEM;
    return fails("allocate") ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    errno = ENOMEM;
    return fails("allocate") ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    errno = ENOMEM;
    return fails("allocate") ? NULL : __libc_realloc(memory, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (fails("allocate"))
        return ENOMEM;
    *memory = __libc_memalign(alignment, bytes);
    return *memory != NULL ? 0 : ENOMEM;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *context)
{
    typedef int create_t(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails("pthread_create"))
        return EAGAIN;
    return ((create_t *)dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, run, context);
}

int eventfd(unsigned count, int flags)
{
    errno = EMFILE;
    return fails("eventfd") ? -1
                            : ((int (*)(unsigned, int))dlsym(RTLD_NEXT, "eventfd"))(count, flags);
}

int epoll_create1(int flags)
{
    errno = EMFILE;
    return fails("epoll_create1") ? -1 : ((int (*)(int))dlsym(RTLD_NEXT, "epoll_create1"))(flags);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    typedef void *mmap_t(void *, size_t, int, int, int, off_t);
    errno = ENOMEM;
    return fails("mmap") ? MAP_FAILED
                         : ((mmap_t *)dlsym(RTLD_NEXT, "mmap"))(address, bytes, protection, flags,
                                                                file, offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return mmap(address, bytes, protection, flags, file, offset);
}

static void report(void)
{
    const char *path = getenv("SCARCE_LOG");
    char text[32];
    int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    int size = snprintf(text, sizeof text, "%lu\n", calls);
    if (file >= 0 && write(file, text, (size_t)size) != size)
        abort();
}

__attribute__((constructor)) static void begin(void)
{
    const char *call = getenv("SCARCE_CALL"), *first = getenv("SCARCE_AT"),
               *count = getenv("SCARCE_TIMES");
    at = first != NULL ? strtoul(first, NULL, 10) : SIZE_MAX;
    times = count != NULL ? strtoul(count, NULL, 10) : 1;
    atexit(report);
    wanted = call;
}
