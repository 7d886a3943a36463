/*  runtime/meeting/attendance.h - one process at a meeting: what rank 0 and the others have in common.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_MEETING_ATTENDANCE_H
#define TND_RUNTIME_MEETING_ATTENDANCE_H

#include "runtime/interface/link.h"
#include "runtime/meeting/liveness.h"
#include "runtime/meeting/meeting_file.h"
#include "runtime/meeting/meeting_place.h"
#include "runtime/meeting/roster_text.h"

/*  Rank 0 has the id that it will have in the run, which also answers those that come late. */
#define TND_MEETING_LEADS tnd_host_id(0)

typedef struct {
    const tnd_network_t *network;
    void *context;
    tnd_hub_t *hub;
    const tnd_plan_t *plan;
    tnd_meeting_place_t *place;
    tnd_roster_request_t own;
    tnd_actor_id_t id;
    uint64_t until_ns;
    uint64_t return_ns;       /* until when a process that was lost may come again */
    tnd_roster_list_t list;   /* the result; its processes are allocated */
    tnd_liveness_t *liveness; /* of the others, or of this process; NULL: none */
    char last[200];           /* why a connection came to nothing, for the error at the end */
    char warning[200];        /* of rank 0: about a process that was refused; "": none was */
    tnd_meeting_file_t file;  /* with --meet: as rank 0 has written it; no addresses: not yet */
    uint32_t turn;            /* the address of it that is dialled */
    uint64_t turn_ns;         /* until when, unless it answers */
    bool probes;              /* it looks for another leader, and wants no list */
    uint32_t unanswered;      /* of a probe: leaders that are connected and have not answered */
    uint64_t probe_ns;        /* until when it looks, if there is none of them */
    bool is_answered;         /* rank 0 refused this process */
    bool is_reached;          /* a leader was connected */
    uint64_t foreign_ns;      /* when to look whose the ports are; UINT64_MAX: not again */
    bool (*is_ended)(void);   /* of the wish */
    uint64_t ended_ns;        /* when this process knew it; 0: it does not */
    bool end_told;            /* to rank 0 */
    bool all_end;             /* rank 0 says so */
    uint32_t seat;            /* the port by which rank 0 knows this process */
    tnd_error_t *error;
} tnd_attendance_t;

/*  Sets the error, and returns `end`. */
tnd_meeting_end_t tnd_attendance_end(tnd_attendance_t *self, tnd_meeting_end_t end,
                                     const char *text);
tnd_status_t tnd_attendance_open(tnd_attendance_t *self, bool leads) TND_CHECKED;
tnd_terms_t tnd_attendance_terms(void);
/*  Whether this process was asked to end. */
bool tnd_attendance_is_ended(const tnd_attendance_t *self);
/*  Waits for an arrival, but looks now and then whether this process was asked to end. */
tnd_status_t tnd_attendance_wait(tnd_attendance_t *self, uint64_t until_ns) TND_CHECKED;

/*  What rank 0 does, until all have the list. */
tnd_meeting_end_t tnd_attendance_lead(tnd_attendance_t *self);
/*  What the others do, and rank 0 that looks for another leader. */
tnd_meeting_end_t tnd_attendance_follow(tnd_attendance_t *self);

#endif
