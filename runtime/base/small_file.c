/*  runtime/base/small_file.c - the start of a small file, by one call. */
#include "runtime/base/small_file.h"

#include <fcntl.h>
#include <unistd.h>

bool tnd_small_file_read(const char *path, char *text, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, room - 1) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}
