/*  tests/support/nccl/meeting.c - a file without a name, which other processes open by /proc. */
#include "tests/support/nccl/meeting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAD = 1 << 16 };

static const size_t meeting_bytes = HEAD + (size_t)2 * MEETING_RANKS * MEETING_AREA;

_Static_assert(sizeof(meeting_head_t) <= HEAD, "areas follow the head");

struct meeting {
    uint8_t *memory;
};

bool meeting_make(tnd_nccl_id_t *id)
{
    int file = memfd_create("nccl", MFD_CLOEXEC);
    if (file < 0)
        return false;
    if (ftruncate(file, (off_t)meeting_bytes) != 0)
        abort();
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "/proc/%d/fd/%d", (int)getpid(), file);
    return true;
}

meeting_t *meeting_open(const tnd_nccl_id_t *id)
{
    if (memchr(id->internal, '\0', sizeof id->internal) == NULL ||
        strncmp(id->internal, "/proc/", 6) != 0)
        return NULL;
    int file = open(id->internal, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    meeting_t *self = calloc(1, sizeof *self);
    self->memory = mmap(NULL, meeting_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (self->memory == MAP_FAILED)
        abort();
    return self;
}

void meeting_close(meeting_t *self)
{
    munmap(self->memory, meeting_bytes);
    free(self);
}

meeting_head_t *meeting_head(const meeting_t *self)
{
    return (meeting_head_t *)(void *)self->memory;
}

uint8_t *meeting_area(const meeting_t *self, unsigned rank, uint64_t number)
{
    return self->memory + HEAD + (rank * 2 + number % 2) * (size_t)MEETING_AREA;
}
