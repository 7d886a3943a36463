/*  runtime/core/host/barriers.h - the barriers of the start, as the process of one host passes them.
 *
 *  A process opens its data and says what it has found.  The leader then says what the streams are
 *  (STREAM, run_start.h).  If they fit this host, it makes its actors, which bind, and says where they
 *  listen.  Once it hears where all listen (TABLE), its actors run, and it says that they do.  A TABLE
 *  that comes before its actors are made is ignored: the leader sends another one when it has heard
 *  where these listen.
 *
 *  What was said on a connection that ended may be lost, so it is said again.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_HOST_BARRIERS_H
#define TND_RUNTIME_CORE_HOST_BARRIERS_H

#include <stdbool.h>

/*  Zeroed but for `reads`: a process that has begun. */
typedef struct {
    bool reads;    /* it has data to open */
    bool opened;   /* its data, if it has any */
    bool streams;  /* the leader has said what the streams are, and they were not checked yet */
    bool checking; /* whether they fit */
    bool fits;     /* they do */
    bool made;     /* the actors are */
    bool goes;     /* the actors were told to run */
    bool facts_said, endpoints_said, ready_said;
} tnd_barriers_t;

/*  What the process must do. */
typedef enum {
    TND_BARRIERS_WAIT,      /* nothing, now */
    TND_BARRIERS_FACTS,     /* tell the leader what it has found in its data */
    TND_BARRIERS_CHECK,     /* check whether the streams fit: tnd_barriers_fit, or the run ends */
    TND_BARRIERS_MAKE,      /* make the actors */
    TND_BARRIERS_ENDPOINTS, /* tell the leader where they listen */
    TND_BARRIERS_READY      /* tell the leader that they run */
} tnd_barriers_step_t;

/*  What is known of the actors of this host, and of its connection. */
typedef struct {
    bool bound;   /* all of them have */
    bool run;     /* all of them do */
    bool reaches; /* the leader can be told */
} tnd_barriers_facts_t;

/*  What a TABLE means to the actors of this host. */
typedef enum {
    TND_TABLE_IGNORED, /* nothing */
    TND_TABLE_GO,      /* they may run */
    TND_TABLE_LOOK     /* their peers may listen elsewhere */
} tnd_table_use_t;

/*  Its data is open.  A process whose data cannot be opened ends the run, and never calls it. */
void tnd_barriers_open(tnd_barriers_t *self);
/*  STREAM has come.  Returns whether it is news. */
bool tnd_barriers_stream(tnd_barriers_t *self);
/*  The streams fit this host. */
void tnd_barriers_fit(tnd_barriers_t *self);
/*  TABLE has come. */
tnd_table_use_t tnd_barriers_table(tnd_barriers_t *self);
/*  The leader is connected, perhaps again. */
void tnd_barriers_greet(tnd_barriers_t *self);
/*  An actor was made again, and listens elsewhere. */
void tnd_barriers_move(tnd_barriers_t *self);
/*  Whether the next step depends on what the actors have reached. */
bool tnd_barriers_await_actors(const tnd_barriers_t *self);
/*  Call it until it returns WAIT, and whenever something may have changed. */
tnd_barriers_step_t tnd_barriers_next(tnd_barriers_t *self, const tnd_barriers_facts_t *facts);

#endif
