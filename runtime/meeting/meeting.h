/*  runtime/meeting/meeting.h - the processes of a launcher meet before the plan.
 *
 *  A topology with a range such as `node[*]` does not know how many hosts it has, nor their addresses
 *  and devices.  Each process asks rank 0 for the list of all (runtime/core/session/roster.h).  Where
 *  rank 0 is, the launcher tells, or the user, or a file of rank 0 (meeting_file.h).  It takes the first free port of `port:`, or of 16
 *  that derive from the job, and the others try them all.
 *
 *  Threads: any; holding a meeting blocks for up to the plan's start_timeout.  One at a time. */
#ifndef TND_RUNTIME_MEETING_MEETING_H
#define TND_RUNTIME_MEETING_MEETING_H

#include "runtime/interface/link.h"
#include "runtime/launch/launch.h"
#include "runtime/meeting/meeting_place.h"
#include "runtime/plan/graph.h"

/*  Tells the graph, before its check, how many processes were started. */
void tnd_meeting_expect(tnd_graph_t *graph, const tnd_launch_t *launch);

/*  Holds the meeting if the graph, which has been checked, has such a range and several processes
 *  were started, and checks the graph again with what they told.  If processes are missing
 *  that the run can do without, `launch` gets the new rank and size.
 *  Errors: text in `error`; "" if the graph has it. */
tnd_meeting_end_t tnd_meeting_hold(const tnd_network_t *network, tnd_graph_t *graph,
                                   tnd_launch_t *launch, const tnd_meeting_wish_t *wish,
                                   tnd_error_t *error) TND_CHECKED;

/*  The check of the graph has failed: tells the processes that wait for this one, if it can find them within
 *  two seconds and their run has a name that differs from those of others. */
void tnd_meeting_decline(const tnd_network_t *network, tnd_graph_t *graph,
                         const tnd_launch_t *launch, const tnd_meeting_wish_t *wish);

/*  Both for a program: reads what a launcher tells, checks the graph where that was not done, and holds
 *  the meeting.
 *  Errors: TND_FAILED; TND_STOPPED if a process was asked to end; see tnd_graph_errors. */
tnd_status_t tnd_meeting_attend(const tnd_network_t *network, tnd_graph_t *graph,
                                tnd_launch_t *launch) TND_CHECKED;

#endif
