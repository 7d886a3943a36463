/*  runtime/observe/event_reader.c - reads the event rings of a process on this machine. */
#include "runtime/observe/event_reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

struct tnd_event_reader {
    int file;
    uint32_t count;
    uint64_t at;    /* offset of the first ring */
    uint64_t *from; /* by ring: the number of the next event */
    tnd_event_ring_t copy;
};

tnd_event_reader_t *tnd_event_reader_new(const tnd_inspected_t *process)
{
    int file = open(process->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return NULL;
    tnd_event_reader_t *self =
        tnd_allocate_aligned(_Alignof(tnd_event_reader_t), sizeof(tnd_event_reader_t));
    self->file = file;
    self->count = process->record.shape.rings;
    self->at = process->rings_at;
    self->from = tnd_allocate_zeroed(self->count + (size_t)1, sizeof *self->from);
    return self;
}

void tnd_event_reader_destroy(tnd_event_reader_t **self_p)
{
    tnd_event_reader_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    close(self->file);
    free(self->from);
    free(self);
}

static off_t offset_of(const tnd_event_reader_t *self, uint32_t ring)
{
    return (off_t)(self->at + (uint64_t)ring * sizeof(tnd_event_ring_t));
}

/*  How many events a ring has had; false: the file was cut. */
static bool read_next(const tnd_event_reader_t *self, uint32_t ring, uint64_t *next_p)
{
    return ring < self->count &&
           pread(self->file, next_p, sizeof *next_p, offset_of(self, ring)) == sizeof *next_p;
}

size_t tnd_event_reader_read(tnd_event_reader_t *self, uint32_t ring, tnd_event_t *events,
                             uint64_t *missed_p)
{
    uint64_t before, after;
    if (!read_next(self, ring, &before) || before == self->from[ring])
        return 0;
    if (pread(self->file, &self->copy, sizeof self->copy, offset_of(self, ring)) !=
        sizeof self->copy)
        return 0;
    /* The count that was copied with the events may be later than some of them. */
    self->copy.next = before;
    return read_next(self, ring, &after)
               ? tnd_event_ring_take(&self->copy, after, &self->from[ring], events, missed_p)
               : 0;
}

void tnd_event_reader_skip(tnd_event_reader_t *self, uint32_t ring)
{
    uint64_t next;
    if (read_next(self, ring, &next))
        self->from[ring] = next;
}
