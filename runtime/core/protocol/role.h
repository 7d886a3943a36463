/*  runtime/core/protocol/role.h - who takes part in a run: instances of actors, their lives and roles. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_ROLE_H
#define TND_RUNTIME_CORE_PROTOCOL_ROLE_H

#include <stdint.h>

/*  An actor instance in the plan of the run: the same number on every host. */
typedef uint32_t tnd_actor_id_t;
#define TND_LEADER ((tnd_actor_id_t)0xfffffffe) /* the session's leader */
#define TND_NOBODY ((tnd_actor_id_t)0xffffffff)

/*  One life of one actor, unique in a run; a later life of an actor is greater.  It is the time of
 *  day.  If the clock went back, the peer answers STALE and the actor raises its life. */
typedef uint64_t tnd_life_t;

/*  The part that an actor plays in the protocol: which messages it sends and receives
 *  (messages.def), and what follows from its loss (members.h).  Every kind declares one, and
 *  several kinds may play the same.  A CACHE is a reader for the actors after it and a join for those
 *  before it. */
typedef enum {
    TND_ROLE_NONE,    /* a kind that forgot to declare its role; every message of it is refused */
    TND_ROLE_READER,  /* sends the rows that tickets ask for (kind: reader) */
    TND_ROLE_CACHE,   /* answers tickets from its store, or passes them on (kind: cache) */
    TND_ROLE_WORKER,  /* makes blocks of blocks; any instance can take any (preprocessor) */
    TND_ROLE_JOIN,    /* puts the blocks of a lane in order and cuts batches (batcher) */
    TND_ROLE_FEEDER,  /* gives batches to replicas and commits steps (feeder) */
    TND_ROLE_REDUCER, /* combines what replicas post (reducer) */
    TND_ROLE_REPLICA, /* gives whole batches to replicas without state (feeder, `deal: whole`) */
    TND_ROLE_PARAMETERS, /* keeps the state of replicas and commits steps (parameters) */
    TND_ROLE_OBSERVER    /* takes no part in the stream; a run continues without it (no kind yet) */
} tnd_role_t;

#endif
