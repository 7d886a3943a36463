/*  tests/fuzz/scratch.h - bytes as a file in memory with a path.
 *
 *  Ownership: until the process ends.  Threads: one. */
#ifndef TND_TESTS_FUZZ_SCRATCH_H
#define TND_TESTS_FUZZ_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

typedef struct {
    int file; /* 0: not made yet */
    char path[32];
} scratch_t;

static inline const char *scratch_fill(scratch_t *self, const uint8_t *bytes, size_t size)
{
    if (self->file == 0) {
        self->file = memfd_create("fuzz", MFD_CLOEXEC);
        if (self->file <= 0)
            abort();
        snprintf(self->path, sizeof self->path, "/proc/self/fd/%d", self->file);
    }
    if (ftruncate(self->file, 0) != 0 || pwrite(self->file, bytes, size, 0) != (ssize_t)size)
        abort();
    return self->path;
}

#endif
