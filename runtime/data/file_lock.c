/*  runtime/data/file_lock.c - one process at a time writes a file. */
#include "runtime/data/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 200, NAP_NS = 10000000 };

bool tnd_file_lock(int file, pid_t *holder_p)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *holder_p = 0;
    for (int tries = TRIES; fcntl(file, F_SETLK, &whole) != 0; tries--) {
        if (errno != EACCES && errno != EAGAIN)
            return true;
        if (tries == 0) {
            if (fcntl(file, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK && whole.l_pid > 0)
                *holder_p = whole.l_pid;
            return false;
        }
        nanosleep(&nap, NULL);
    }
    return true;
}
