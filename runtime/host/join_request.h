/*  runtime/host/join_request.h - a place in a run that is under way.
 *
 *  Who wants to help and has nothing but the files asks the leader which host of a range is free
 *  (`--host pool+`), and then runs that host like any other.  A place is kept for whoever asked for
 *  a few seconds.
 *
 *  Threads: any; blocks for up to the plan's start_timeout.
 */
#ifndef TND_RUNTIME_HOST_JOIN_REQUEST_H
#define TND_RUNTIME_HOST_JOIN_REQUEST_H

#include "runtime/plan/placement.h"
#include "runtime/interface/link.h"

/*  Who asks for a place has an id of these: no actor and no host has. */
enum { TND_NEWCOMER_FIRST = 0x40000000, TND_NEWCOMER_COUNT = 0x10000000 };

static inline bool tnd_is_newcomer(tnd_actor_id_t id)
{
    return id - (tnd_actor_id_t)TND_NEWCOMER_FIRST < TND_NEWCOMER_COUNT;
}

/*  Of the range `pool` ("pool" of `pool[0-9]`) of a whole plan: the index of a host that nobody
 *  runs.  TND_REFUSED: the leader has none, or does not want us; TND_FAILED: it is not there.
 */
tnd_status_t tnd_join_request(const tnd_network_t *network, const tnd_plan_t *plan,
                              const char *pool, uint32_t *host_p, tnd_error_t *error) TND_CHECKED;

#endif
