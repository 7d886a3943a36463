/*  runtime/meeting/meeting_place.h - where processes of a launcher meet, and by which address each is known.
 *
 *  Threads: any; names are resolved, which may take time. */
#ifndef TND_RUNTIME_MEETING_MEETING_PLACE_H
#define TND_RUNTIME_MEETING_MEETING_PLACE_H

#include "runtime/core/session/roster.h"
#include "runtime/launch/launch.h"
#include "runtime/plan/placement.h"

enum { TND_MEETING_PORTS = 16 };

typedef struct {
    char leader[TND_ROSTER_TEXT]; /* address of rank 0, a number, IPv6 in brackets */
    bool is_local;                /* all processes are on this machine */
    uint32_t ports[TND_MEETING_PORTS], port_count;
    char job[TND_ROSTER_JOB]; /* "": not told */
} tnd_meeting_place_t;

/*  `number` counts the meetings of this process.
 *  Errors: TND_FAILED says what to write. */
tnd_status_t tnd_meeting_place_find(tnd_meeting_place_t *self, const tnd_launch_t *launch,
                                    const tnd_plan_t *plan, const char *leader, unsigned number,
                                    tnd_error_t *error) TND_CHECKED;

/*  What this process tells of itself.  `devices`: it finds them.
 *  Errors: TND_FAILED if no interface is in the plan's network. */
tnd_status_t tnd_meeting_place_facts(const tnd_meeting_place_t *self, const tnd_launch_t *launch,
                                     const tnd_plan_t *plan, tnd_roster_request_t *facts,
                                     tnd_error_t *error) TND_CHECKED;

#endif
