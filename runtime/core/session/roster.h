/*  runtime/core/session/roster.h - the processes that a launcher has started, as they come to rank 0.
 *
 *  Every host computes the same plan, so addresses and devices must be known first.  Each process
 *  tells rank 0 its rank and facts; when all have come, the roster is closed, and each gets the list.
 *  At the end of the time it is also closed if only hosts of the range `[*]` are missing and enough
 *  of them are here.  A process whose connection is lost before that may come again.
 *
 *  Processes of another job may ask at the same port; they are sent elsewhere.  Without the name of a
 *  job, one with another graph or size is taken for another job.  In the same job these differ only by
 *  mistake, which ends the meeting, for both sides with its reason.  A process that looks for a leader
 *  of another life has read an old file, and is sent elsewhere too.
 *
 *  A process that cannot take part, because it cannot read a file for example, comes to say why, and knows
 *  no graph.  That ends the meeting too, unless the run can do without the process.  If it is rank 0, all
 *  that come are told.
 *
 *  Threads: one.  The caller provides the memory.  Units: nanoseconds of the caller's clock. */
#ifndef TND_RUNTIME_CORE_SESSION_ROSTER_H
#define TND_RUNTIME_CORE_SESSION_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/core/protocol/role.h"

enum { TND_ROSTER_MAX = 4096, TND_ROSTER_TEXT = 64, TND_ROSTER_JOB = 128, TND_ROSTER_WHY = 256 };

typedef struct {
    uint32_t rank;
    char address[TND_ROSTER_TEXT]; /* "": not known */
    char machine[TND_ROSTER_TEXT]; /* equal on one machine; "": not known */
    char name[TND_ROSTER_TEXT];    /* of the machine, for people; "": not known */
    char device[16];               /* the kind that `auto` takes there; "": the processor */
    uint32_t device_count;         /* that the process sees */
    char
        visible[TND_ROSTER_TEXT]; /* which of them were left to it: CUDA_VISIBLE_DEVICES; "": all */
} tnd_roster_process_t;

/*  The processes of a run in the order of its hosts. */
typedef struct tnd_roster_list {
    const tnd_roster_process_t *processes; /* NULL: nothing but their number is known */
    uint32_t count;
    uint32_t port; /* of the leader; 0: not known */
    uint64_t
        number; /* of the roster: the sessions of others do not let its processes in; 0: none met */
    const struct tnd_roster_request *own; /* what this process has said; NULL: none met */
    struct tnd_liveness *liveness; /* of the processes (meeting/liveness.h); NULL: not known */
} tnd_roster_list_t;

/*  What a process says when it comes. */
typedef struct tnd_roster_request {
    tnd_roster_process_t process;
    char reached[TND_ROSTER_TEXT]; /* the leader's address as this process uses it */
    uint32_t size;                 /* number of processes that were started */
    uint64_t graph[2];
    uint64_t life;                 /* of the leader that it looks for; 0: of any */
    char job[TND_ROSTER_JOB];      /* "": not told */
    char declines[TND_ROSTER_WHY]; /* why the process cannot take part; "": it can */
} tnd_roster_request_t;

typedef struct {
    bool is_here;
    bool is_listed, has_list; /* the roster was closed with it; and it has said that it knows */
    tnd_actor_id_t peer;      /* its connection */
    tnd_roster_process_t process;
    char reached[TND_ROSTER_TEXT];
} tnd_roster_seat_t;

typedef struct {
    tnd_roster_request_t own; /* of rank 0 */
    /*  The hosts of `[*]`, of which `least` are enough at the end. */
    uint32_t rest_first, rest_count, least;
    tnd_roster_seat_t *seats; /* by rank */
    uint64_t until_ns;
    bool is_closed;
} tnd_roster_t;

typedef enum {
    TND_ROSTER_TAKEN,
    TND_ROSTER_ELSEWHERE, /* of another job */
    TND_ROSTER_DOUBLED,   /* another process has its rank */
    TND_ROSTER_LATE,      /* the roster is closed */
    TND_ROSTER_SPARED,    /* it cannot take part, and the run can do without it */
    /*  These end the meeting. */
    TND_ROSTER_OTHER_SIZE,
    TND_ROSTER_OTHER_GRAPH,
    TND_ROSTER_DECLINED /* it cannot take part, or rank 0 cannot */
} tnd_roster_verdict_t;

size_t tnd_roster_bytes(uint32_t size);
/*  `own` is what rank 0 says of itself; `memory` is zeroed. */
void tnd_roster_init(tnd_roster_t *self, void *memory, const tnd_roster_request_t *own,
                     uint64_t until_ns);

/*  After the roster was closed, a process that is on it may come again for the list. */
tnd_roster_verdict_t tnd_roster_come(tnd_roster_t *self, const tnd_roster_request_t *request,
                                     tnd_actor_id_t peer);
/*  The same once the run is under way, of which `own` is what rank 0 has said: never TAKEN. */
tnd_roster_verdict_t tnd_roster_come_late(const tnd_roster_request_t *own,
                                          const tnd_roster_request_t *request);
/*  The connection of a process is lost.  Returns whether it was here. */
bool tnd_roster_leave(tnd_roster_t *self, tnd_actor_id_t peer);
/*  A process has the list, and waits no longer. */
void tnd_roster_told(tnd_roster_t *self, tnd_actor_id_t peer);
/*  Whether a process is on the list and was lost before it has said that it has it. */
bool tnd_roster_is_doubtful(const tnd_roster_t *self, uint32_t rank);

/*  Whether the roster can be closed now. */
bool tnd_roster_is_complete(const tnd_roster_t *self, uint64_t now);
/*  Whether the time is over and it cannot. */
bool tnd_roster_is_late(const tnd_roster_t *self, uint64_t now);
/*  How many others are here. */
uint32_t tnd_roster_count(const tnd_roster_t *self);
/*  Closes it: later processes are refused.  Fills `processes`, of which there is room for the size,
 *  and returns how many there are.  The leader gets an address that others reach, and processes of
 *  its machine that know only a loopback address get the same. */
uint32_t tnd_roster_close(tnd_roster_t *self, tnd_roster_process_t *processes);

/*  The listener that a session of the roster of that number has for its hosts, and that they mean
 *  (tnd_end_is_meant): a process of an earlier roster is not let in.  `has_places`: processes that are on
 *  no roster may ask for a place, so the session asks for none (0). */
uint64_t tnd_roster_listener(uint64_t number, bool has_places);

#endif
