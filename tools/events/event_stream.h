/*  tools/events/event_stream.h - the events of a run on this machine, merged by time.
 *
 *  Reads the event rings of all processes of a run, without help from them.  Processes that start
 *  later are added.
 *
 *  Ownership: the caller destroys a stream, and with it all names.  Threads: one. */
#ifndef TND_TOOLS_EVENTS_EVENT_STREAM_H
#define TND_TOOLS_EVENTS_EVENT_STREAM_H

#include "runtime/observe/event_reader.h"

typedef struct {
    const char *host;
    const char *actor;  /* the instance: "prep.0" */
    const char *family; /* the actor of the topology: "prep" */
    const char *kind;   /* "preprocessor" */
    const char *peer;   /* an instance; NULL: the event has none */
    const char *peer_family;
    uint32_t instance; /* of the plan */
    uint32_t chain;    /* likewise */
    uint32_t device;   /* 0: the actor's thread, otherwise its device thread, from 1 */
    int process;
    uint64_t thread; /* as the system's tools show it; 0: not known */
    tnd_event_t event;
} tnd_event_entry_t;

typedef struct tnd_event_stream tnd_event_stream_t;

/*  The events of the run named `run`, or of any name if it is NULL: the only one that lives, or the
 *  one that was killed last.  `past`: begins with those that are in the rings; otherwise only later
 *  ones are returned.  Returns NULL and sets the error if such a run does not exist, or if several
 *  live. */
tnd_event_stream_t *tnd_event_stream_new(const char *run, bool past, tnd_error_t *error);
void tnd_event_stream_destroy(tnd_event_stream_t **self_p);

/*  Returns the next events, ordered by their end; valid until the next call.  Call it again after
 *  2 to 5 ms, before rings wrap.  `last`: returns also those that ended just now, which may be out of
 *  order with later ones. */
size_t tnd_event_stream_poll(tnd_event_stream_t *self, bool last,
                             const tnd_event_entry_t **entries_p);
/*  Looks for new processes without reading events, where none are wanted; does nothing most of the
 *  time. */
void tnd_event_stream_look(tnd_event_stream_t *self);
/*  Whether a process of the run was alive when it was last checked: 0.25 s ago, or longer where
 *  the machine has hundreds of processes of runs. */
bool tnd_event_stream_lives(const tnd_event_stream_t *self);
/*  The most new events that one ring had at the last poll. */
size_t tnd_event_stream_fullest(const tnd_event_stream_t *self);
/*  Events that were replaced before they could be read. */
uint64_t tnd_event_stream_missed(const tnd_event_stream_t *self);

/*  Whether an edge of the run goes from one instance or actor to the other. */
bool tnd_event_stream_linked(const tnd_event_stream_t *self, const char *from, const char *to);
/*  An instance of that name (NULL: of any) whose process was stopped by a signal when it was first
 *  seen, or NULL; `*process_p`: its number. */
const char *tnd_event_stream_stopped(const tnd_event_stream_t *self, const char *name,
                                     int *process_p);

/*  An entry for an event of an actor of a process, or of one of its devices.  NULL: none. */
tnd_event_entry_t tnd_event_entry_of(const tnd_inspected_t *process, uint32_t instance,
                                     uint32_t device, const tnd_event_t *event);
/*  Orders entries by the end of their events. */
void tnd_event_entries_sort(tnd_event_entry_t *entries, size_t count);

/*  The name of the run, and whether a process is of it. */
const char *tnd_event_stream_run(const tnd_event_stream_t *self);
bool tnd_event_stream_is_of(const tnd_event_stream_t *self, const tnd_inspected_t *process);
/*  An entry without an event for the actor of a page of such a process; false: its names are not
 *  known. */
bool tnd_event_stream_name(const tnd_event_stream_t *self, const tnd_inspected_t *process,
                           const tnd_statistics_t *page, tnd_event_entry_t *entry);

/*  Whether an instance or actor of that name exists in the run. */
bool tnd_event_stream_has(const tnd_event_stream_t *self, const char *name);
/*  An instance of that name that runs on another machine, or NULL; `*host_p`: where. */
const char *tnd_event_stream_elsewhere(const tnd_event_stream_t *self, const char *name,
                                       const char **host_p);
/*  Whether `name` is the instance `actor` or its family. */
bool tnd_event_names(const char *name, const char *actor, const char *family);

#endif
