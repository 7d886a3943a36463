/*  runtime/meeting/meeting_place.h - where processes of a launcher meet, and by which address each is known.
 *
 *  Threads: any; names are resolved, which may take time. */
#ifndef TND_RUNTIME_MEETING_MEETING_PLACE_H
#define TND_RUNTIME_MEETING_MEETING_PLACE_H

#include "runtime/core/session/roster.h"
#include "runtime/launch/launch.h"
#include "runtime/plan/placement.h"

enum { TND_MEETING_PORTS = 16 };

/*  Where rank 0 is, as the user says; NULL: see TUNDISH_LEADER and TUNDISH_MEET, else the launcher tells. */
typedef struct {
    const char *leader; /* "ADDRESS[:PORT]" */
    const char *folder; /* that all processes share; `leader` comes before it */
    bool again;         /* the run starts again: rank 0 may still have to end the session before */
    /*  Whether this process was asked to end, which it tells the others; NULL: it never is. */
    bool (*is_ended)(void);
} tnd_meeting_wish_t;

/*  How a meeting ends. */
typedef enum {
    TND_MEETING_HELD,     /* or not needed */
    TND_MEETING_PLACE,    /* it is not known where rank 0 is, or that is wrong */
    TND_MEETING_TOPOLOGY, /* the topology does not fit the processes; see tnd_graph_errors too */
    TND_MEETING_PORT,     /* rank 0 has no port */
    TND_MEETING_MISSED,   /* a process did not come, or was refused */
    TND_MEETING_ENDED     /* a process was asked to end; see tnd_meeting_wish_t */
} tnd_meeting_end_t;

typedef struct {
    char leader
        [TND_ROSTER_TEXT]; /* address of rank 0, a number, IPv6 in brackets; "": see `folder` */
    char name[256]; /* of rank 0, if another machine may get it while others look for it; "" */
    bool is_local;  /* all processes are on this machine */
    char own_name
        [256]; /* of rank 0, if its address here is one that only this machine reaches, as that
                           of Debian's own host name, 127.0.1.1; else "" */
    uint32_t ports[TND_MEETING_PORTS], port_count;
    char job[TND_ROSTER_JOB];       /* "": not told */
    const char *folder;             /* where rank 0 writes its address; NULL: it is known */
    char file[TND_ROSTER_JOB + 40]; /* its name there */
} tnd_meeting_place_t;

/*  `number` counts the meetings of this process.  The wish must outlive *self.
 *  A name that appears late is looked for as long as a start may take.
 *  Errors: TND_FAILED says what to write; TND_AGAIN if such a name did not appear, or the process was
 *  asked to end. */
tnd_status_t tnd_meeting_place_find(tnd_meeting_place_t *self, const tnd_launch_t *launch,
                                    const tnd_plan_t *plan, const tnd_meeting_wish_t *wish,
                                    unsigned number, tnd_error_t *error) TND_CHECKED;

/*  Whether the name of rank 0 has got another address, which `leader` then has: that of a pod which
 *  takes the place of an earlier one.  May take time. */
bool tnd_meeting_place_renew(tnd_meeting_place_t *self);

/*  What this process tells of itself.  `devices`: it finds them.
 *  Errors: TND_FAILED if no interface is in the plan's network. */
tnd_status_t tnd_meeting_place_facts(const tnd_meeting_place_t *self, const tnd_launch_t *launch,
                                     const tnd_plan_t *plan, tnd_roster_request_t *facts,
                                     tnd_error_t *error) TND_CHECKED;
/*  Adds by which address this process reaches the leader, and is known there.
 *  Errors: TND_FAILED without a route. */
tnd_status_t tnd_meeting_place_reach(const tnd_plan_t *plan, const char *leader,
                                     tnd_roster_request_t *facts, tnd_error_t *error) TND_CHECKED;
/*  The addresses of this machine for other machines: of IPv4, else of IPv6, else loopback.  Returns
 *  how many there are, at most `room`. */
uint32_t tnd_meeting_place_addresses(char (*addresses)[TND_ROSTER_TEXT], uint32_t room);

#endif
