/*  runtime/core/session/members.h - the hosts and actors of a run: which are up, lost or due to be restarted.
 *
 *  Part of the leader (leader.h).  It records what the leader is told and answers questions about
 *  it; the leader decides what follows.
 *
 *  Threads: one.  The caller provides the memory.  Units: nanoseconds of the caller's clock. */
#ifndef TND_RUNTIME_CORE_SESSION_MEMBERS_H
#define TND_RUNTIME_CORE_SESSION_MEMBERS_H

#include <stddef.h>

#include "runtime/core/protocol/restart.h"
#include "runtime/core/protocol/role.h"

/*  An actor. */
typedef struct {
    tnd_actor_id_t id;
    tnd_role_t role;
    uint32_t host;
    uint32_t lane;    /* of a worker: how many caches its rows pass before it */
    const char *name; /* for messages */
} tnd_member_t;

/*  What the death of a host means, in addition to what its actors imply. */
enum {
    TND_HOST_FINAL = 1, /* it is not started again: its death ends the run */
    TND_HOST_SPARE = 2  /* the run does not wait for it: it may come and go at any time */
};

typedef struct {
    const tnd_member_t *members; /* the caller keeps them alive */
    uint32_t member_count;
    const char *const *hosts;  /* names; the caller keeps them alive */
    const uint8_t *host_flags; /* by host: TND_HOST_*; likewise; NULL: none */
    uint32_t host_count, lanes;
    tnd_limits_t restarts; /* of one actor or host; max 0: any death ends the run */
} tnd_members_config_t;

typedef struct {
    tnd_restart_policy_t policy;
    bool up, restart_due, restart_sent;
    bool asked;      /* the restart was requested, so the actor may work */
    bool owed;       /* that was requested where the stream was fed before, and not done */
    tnd_life_t life; /* of a replica, as far as it is known; 0: it is not */
    tnd_life_t gone; /* of a replica: the life that was lost with its host; 0: none was */
    bool gone_told;  /* to the holder of its parameters */
    uint64_t restart_ns;
} tnd_actor_state_t;

typedef struct {
    tnd_restart_policy_t policy;
    bool up, came;
    bool soft;         /* it has no actor that commits, and may be started again */
    bool needed;       /* it has a reader, a batcher, or an actor that commits */
    bool lost, spare;  /* spare: the run does not wait for it */
    uint64_t until_ns; /* a lost host must be back by then */
    char why[160];     /* why it is lost */
} tnd_host_state_t;

typedef struct {
    tnd_members_config_t config;
    tnd_actor_state_t *actors;
    tnd_host_state_t *hosts;
    uint32_t restarts_due;
    bool has_values; /* a holder of parameters has committed a step, so it needs no first values */
} tnd_members_t;

size_t tnd_members_bytes(const tnd_members_config_t *config);
/*  `memory` is zeroed. */
void tnd_members_init(tnd_members_t *self, void *memory, const tnd_members_config_t *config);

/*  The index of an actor that exists. */
uint32_t tnd_members_find(const tnd_members_t *self, tnd_actor_id_t id);
/*  Whether the loss of such an actor loses messages that only a rewind brings back. */
bool tnd_members_is_ordered(tnd_role_t role);
/*  Whether each step waits for its COMMIT.  The run ends with such an actor: no other one has its state. */
static inline bool tnd_members_commits(tnd_role_t role)
{
    return role == TND_ROLE_FEEDER || role == TND_ROLE_PARAMETERS;
}
bool tnd_members_has_feeder(const tnd_members_t *self, uint32_t host);

/*  The life of a replica, before any other actor can hear of it. */
void tnd_members_born(tnd_members_t *self, uint32_t index, tnd_life_t life);
/*  The lives of the replicas on that host are over, whether or not it returns. */
void tnd_members_lose_replicas(tnd_members_t *self, uint32_t host);
/*  The next replica whose life is over and of which the holder of its parameters was not told; it then counts
 *  as told.  Returns false if there is none. */
bool tnd_members_next_gone(tnd_members_t *self, uint32_t *index_p);
/*  What the holder was told may be lost. */
void tnd_members_repeat_gone(tnd_members_t *self);
/*  Whether the life of an actor is one that was lost with its host, so that others have its steps. */
static inline bool tnd_members_is_gone(const tnd_actor_state_t *actor)
{
    return actor->gone != 0 && actor->gone == actor->life;
}

/*  Returns whether the stream must rewind: a host that it needs has come back. */
bool tnd_members_host_up(tnd_members_t *self, uint32_t host, uint64_t now);
void tnd_members_host_lost(tnd_members_t *self, uint32_t host, const char *why, uint64_t until_ns);
/*  The host and its actors are down. */
void tnd_members_host_down(tnd_members_t *self, uint32_t host);
void tnd_members_actor_up(tnd_members_t *self, uint32_t index, uint64_t now);
/*  The actor is due to be restarted; returns false if it died too often. */
bool tnd_members_actor_died(tnd_members_t *self, uint32_t index, uint64_t now);
/*  The actor, which works, is due to be restarted on request. */
void tnd_members_ask_restart(tnd_members_t *self, uint32_t index, uint64_t now);
/*  Extends the deadlines of lost hosts. */
void tnd_members_excuse(tnd_members_t *self, uint64_t away_ns);

/*  The next actor to restart, which then counts as restarted; returns false if there is none. */
bool tnd_members_restart(tnd_members_t *self, uint64_t now, uint32_t *index_p);
/*  Whether all hosts are up that the start waits for. */
bool tnd_members_all_here(const tnd_members_t *self);
/*  Whether all members are up that the stream needs: before it has started, all. */
bool tnd_members_complete(const tnd_members_t *self, bool started);
/*  Whether the stream stops while that host is away. */
bool tnd_members_matter(const tnd_members_t *self, uint32_t host);
/*  A lost host for which the stream has waited too long, or host_count. */
uint32_t tnd_members_overdue(const tnd_members_t *self, uint64_t now);
/*  When a restart is due, or (once started) a lost host must be back; UINT64_MAX: never. */
uint64_t tnd_members_deadline(const tnd_members_t *self, bool started);
/*  Fills `hosts` with those that the run waits for; returns how many there are. */
uint32_t tnd_members_missing(const tnd_members_t *self, bool started, uint32_t *hosts,
                             uint32_t room);
/*  The names of the hosts that did not take part in the start, or of their actors. */
void tnd_members_absent(const tnd_members_t *self, char *text, size_t room);

#endif
