/*  runtime/observe/event_reader.h - reads the event rings of a process on this machine.
 *
 *  It reads the statistics file of an inspected process, without help from the process, also when
 *  the process is stopped or was killed.  The contents are untrusted: events of unknown kinds are
 *  left out.
 *
 *  Ownership: the caller destroys a reader.  Threads: one. */
#ifndef TND_RUNTIME_OBSERVE_EVENT_READER_H
#define TND_RUNTIME_OBSERVE_EVENT_READER_H

#include "runtime/observe/event_ring.h"
#include "runtime/observe/inspection.h"

typedef struct tnd_event_reader tnd_event_reader_t;

/*  Returns NULL if the file is gone, which happens when the process ends. */
tnd_event_reader_t *tnd_event_reader_new(const tnd_inspected_t *process);
void tnd_event_reader_destroy(tnd_event_reader_t **self_p);

/*  Copies to `events` (room for TND_RING_EVENTS) the events of a ring since the last call for it,
 *  oldest first.  Adds to `*missed_p` those that were replaced before they could be read. */
size_t tnd_event_reader_read(tnd_event_reader_t *self, uint32_t ring, tnd_event_t *events,
                             uint64_t *missed_p);
/*  Skips the events that are there: later calls return new ones only. */
void tnd_event_reader_skip(tnd_event_reader_t *self, uint32_t ring);

#endif
