/*  tools/events/event_watch.h - what the commands that watch events have in common: a bounded time,
 *  a run that may end, what was missed.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_EVENTS_EVENT_WATCH_H
#define TND_TOOLS_EVENTS_EVENT_WATCH_H

#include "tools/cli/command.h"
#include "tools/events/event_stream.h"

/*  The options of such a command. */
typedef struct {
    const char *duration; /* NULL: not given */
    uint64_t count;       /* 0: not given */
    bool last;
} tnd_event_options_t;

typedef struct {
    const char *command;
    const tnd_request_t *request;
    const tnd_event_options_t *options;
    const char *run; /* NULL: the only one */
    bool past;       /* begins with the events that are in the rings */
    /*  Whether an event is taken; NULL: all are. */
    bool (*wants)(const void *context, const tnd_event_entry_t *entry);
    uint64_t limit; /* events to take at most; with --last, the last ones; 0: no limit */
    /*  Called with each of them; returns false to end.  NULL: events are not read. */
    bool (*take)(void *context, const tnd_event_entry_t *entry);
    /*  Called once, before events, with the stream; returns an exit code, or -1 to go on. */
    int (*begin)(void *context, const tnd_event_stream_t *stream);
    /*  Called again and again, and once at the end, with the stream; returns false to end.  NULL:
     *  never called. */
    bool (*look)(void *context, const tnd_event_stream_t *stream, bool last);
    void *context;
    /*  Set when it returns. */
    uint64_t taken;  /* events */
    uint64_t missed; /* events that were replaced before they could be read */
} tnd_event_watch_t;

/*  Runs until `take` ends it, --duration (by default 10 s) has passed, the run has ended, or SIGINT.
 *  With --last it takes the events that are there.  Returns an exit code. */
int tnd_event_watch(tnd_event_watch_t *self);

/*  An edge "A..B" or "A->B" in two names, which may be empty; false: it is one name, copied to
 *  `from`. */
bool tnd_event_edge(const char *text, char from[64], char to[64]);
/*  Complains if the run has no actor of that name, and returns false; also if its events are on
 *  another machine, or its process is stopped. */
bool tnd_event_check_name(const char *command, const tnd_event_stream_t *stream, const char *name);
/*  Complains if the process of an actor of that name is stopped; NULL: of any actor. */
void tnd_event_check_stopped(const char *command, const tnd_event_stream_t *stream,
                             const char *name);

#endif
