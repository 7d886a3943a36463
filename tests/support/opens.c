/*  tests/support/opens.c - loaded before a program, counts how often it opens files of a folder.
 *
 *  An open of a path that begins with $OPENS_ROOT, also to make a file there, waits until $OPENS_TOGETHER of them are in progress, or have been; after
 *  ten seconds none waits any more.  When the program ends, $OPENS_LOG has two numbers: how many there
 *  were, and how many at most at the same time. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int open_t(const char *, int, ...);

enum { POLLS = 10000 };

static atomic_uint calls, now, most, polls;

static void wait_for_others(void)
{
    const char *together = getenv("OPENS_TOGETHER");
    unsigned wanted = together != NULL ? (unsigned)strtoul(together, NULL, 10) : 0;
    while (most < wanted && atomic_fetch_add(&polls, 1) < POLLS)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int open_counted(open_t *next, const char *path, int flags, mode_t mode)
{
    const char *root = getenv("OPENS_ROOT");
    if (root == NULL || path == NULL || strncmp(path, root, strlen(root)) != 0)
        return next(path, flags, mode);
    unsigned together = atomic_fetch_add(&now, 1) + 1, before = most;
    atomic_fetch_add(&calls, 1);
    while (before < together && !atomic_compare_exchange_weak(&most, &before, together))
        ;
    wait_for_others();
    int file = next(path, flags, mode);
    atomic_fetch_sub(&now, 1);
    return file;
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_counted((open_t *)dlsym(RTLD_NEXT, "open"), path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_counted((open_t *)dlsym(RTLD_NEXT, "open64"), path, flags, mode);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("OPENS_LOG");
    FILE *log = path != NULL ? fopen(path, "w") : NULL;
    if (log == NULL)
        return;
    fprintf(log, "%u %u\n", calls, most);
    fclose(log);
}
