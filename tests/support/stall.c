/*  tests/support/stall.c - a disk that stalls, or is slow, while a file exists.
 *
 *  Loaded before the program.  While $STALL holds "slow" every read of a sample's file takes a
 *  tenth of a second; the first one that finds "hang" there never returns.  While it holds "write",
 *  no write of a regular file returns. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef ssize_t pread_t(int, void *, size_t, off_t);
typedef ssize_t write_t(int, const void *, size_t);

static void wait_for(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/*  Files of /proc, from which an actor learns how long it waited for a processor, have no size. */
static bool is_sample(int file)
{
    struct stat facts;
    return fstat(file, &facts) == 0 && facts.st_size > 0;
}

/*  Whether $STALL holds this word of four letters. */
static bool holds(const char *wanted)
{
    char word[8] = "";
    const char *path = getenv("STALL");
    int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return false;
    ssize_t got = read(file, word, sizeof word - 1);
    close(file);
    return got > 0 && strncmp(word, wanted, 4) == 0;
}

static void stall(void)
{
    if (holds("slow"))
        wait_for(100);
    /* Only one reader finds it. */
    if (holds("hang") && unlink(getenv("STALL")) == 0)
        for (;;)
            wait_for(1000);
}

ssize_t pread(int file, void *buffer, size_t size, off_t at)
{
    static pread_t *_Atomic next;
    if (next == NULL)
        next = (pread_t *)dlsym(RTLD_NEXT, "pread");
    if (is_sample(file))
        stall();
    return next(file, buffer, size, at);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    static write_t *_Atomic next;
    struct stat facts;
    if (next == NULL)
        next = (write_t *)dlsym(RTLD_NEXT, "write");
    while (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && holds("writ"))
        wait_for(10);
    return next(file, bytes, size);
}

ssize_t pread64(int file, void *buffer, size_t size, off_t at)
{
    return pread(file, buffer, size, at);
}
