/*  tests/support/shrink.c - a file that shrinks between the moment when its pages are brought in
 *  and the moment when they are read.
 *
 *  Loaded before the program.  $SHRINK is "COUNT BYTES PATH": when pages of a mapping have been
 *  asked for COUNT times, the file is cut to BYTES.  The thread that asked then stops at its next
 *  look at the file, so that another one has to find out. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { POPULATE_READ = 22 };

typedef int madvise_t(void *, size_t, int);
typedef int stat_t(const char *, struct stat *);
typedef void *mmap_t(void *, size_t, int, int, int, off_t);

static atomic_long asked;
static atomic_bool read_lost;
static _Thread_local bool waits;

static const char *wanted(long *count_p, long *bytes_p)
{
    const char *text = getenv("SHRINK");
    int used = 0;
    if (text == NULL || sscanf(text, "%ld %ld %n", count_p, bytes_p, &used) != 2)
        return NULL;
    return text + used;
}

int madvise(void *address, size_t size, int advice)
{
    static madvise_t *_Atomic next;
    long count, bytes;
    if (next == NULL)
        next = (madvise_t *)dlsym(RTLD_NEXT, "madvise");
    int status = next(address, size, advice);
    const char *path = advice == POPULATE_READ ? wanted(&count, &bytes) : NULL;
    if (path != NULL && atomic_fetch_add(&asked, 1) + 1 == count) {
        if (truncate(path, bytes) != 0)
            abort();
        waits = true;
    }
    return status;
}

int stat(const char *path, struct stat *facts)
{
    static stat_t *_Atomic next;
    long count, bytes;
    if (next == NULL)
        next = (stat_t *)dlsym(RTLD_NEXT, "stat");
    const char *shrunk = waits ? wanted(&count, &bytes) : NULL;
    while (shrunk != NULL && strcmp(path, shrunk) == 0 && !atomic_load(&read_lost))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return next(path, facts);
}

/*  Zeros are mapped over pages by the thread that read one of them, in its signal handler. */
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    static mmap_t *_Atomic next;
    if (next == NULL)
        next = (mmap_t *)dlsym(RTLD_NEXT, "mmap");
    if ((flags & MAP_FIXED) != 0 && (flags & MAP_ANONYMOUS) != 0 && atomic_load(&asked) > 0) {
        char text[64] = "lost pages were read by thread ", name[16] = "";
        prctl(PR_GET_NAME, name);
        strcat(strcat(text, name), "\n");
        (void)!write(STDERR_FILENO, text, strlen(text));
        void *mapped = next(address, size, protection, flags, file, offset);
        atomic_store(&read_lost, true);
        return mapped;
    }
    return next(address, size, protection, flags, file, offset);
}
