/*  runtime/meeting/join_request.h - asks for a free host of a running run.
 *
 *  A process that wants to join asks the leader which host of a range is free (`--host pool+`), and
 *  then runs that host like any other.  The leader reserves the host for some seconds.
 *
 *  Threads: any; blocks for up to the plan's start_timeout. */
#ifndef TND_RUNTIME_MEETING_JOIN_REQUEST_H
#define TND_RUNTIME_MEETING_JOIN_REQUEST_H

#include "runtime/interface/link.h"
#include "runtime/plan/placement.h"

/*  Ids of processes that ask; they differ from those of actors and hosts. */
enum { TND_NEWCOMER_FIRST = 0x40000000, TND_NEWCOMER_COUNT = 0x10000000 };

static inline bool tnd_is_newcomer(tnd_actor_id_t id)
{
    return id - (tnd_actor_id_t)TND_NEWCOMER_FIRST < TND_NEWCOMER_COUNT;
}

/*  An id that no other process that asks has, in all likelihood. */
tnd_actor_id_t tnd_newcomer_id(uint64_t life);

/*  Ids of processes of a launcher that look for a meeting (meeting.h). */
enum { TND_ATTENDEE_FIRST = 0x60000000, TND_ATTENDEE_COUNT = 0x10000000 };

static inline bool tnd_is_attendee(tnd_actor_id_t id)
{
    return id - (tnd_actor_id_t)TND_ATTENDEE_FIRST < TND_ATTENDEE_COUNT;
}

tnd_actor_id_t tnd_attendee_id(uint64_t life);

/*  Finds a free host of the range `pool` ("pool" for `pool[0-9]`) of a whole plan.  Errors:
 *  TND_REFUSED if no host is free or the leader refuses; TND_FAILED if the leader does not answer.
 */
tnd_status_t tnd_join_request(const tnd_network_t *network, const tnd_plan_t *plan,
                              const char *pool, uint32_t *host_p, tnd_error_t *error) TND_CHECKED;

#endif
