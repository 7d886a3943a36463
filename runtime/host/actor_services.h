/*  runtime/host/actor_services.h - what a host offers to its actors.
 *
 *  Threads: those of the actors. */
#ifndef TND_RUNTIME_HOST_ACTOR_SERVICES_H
#define TND_RUNTIME_HOST_ACTOR_SERVICES_H

#include "runtime/checkpoint/store.h"
#include "runtime/host/host_config.h"
#include "runtime/plan/membership.h"

typedef struct tnd_host tnd_host_t;

/*  An endpoint that an actor listens at. */
typedef struct {
    uint32_t instance, port;
    tnd_transport_t transport;
    uint64_t listener; /* see tnd_terms_t */
    char endpoint[TND_ENDPOINT_SIZE];
} tnd_endpoint_t;

const tnd_host_config_t *tnd_host_config(const tnd_host_t *self);
/*  The members of the run. */
const tnd_membership_t *tnd_host_membership(const tnd_host_t *self);
/*  Text for names of inproc and ipc endpoints, unique among the hosts of this machine. */
const char *tnd_host_nonce(const tnd_host_t *self);
/*  The inproc endpoint of control; the peer is tnd_host_id. */
const char *tnd_host_control(const tnd_host_t *self);
/*  How long the peer of a connection of this run may be silent. */
uint64_t tnd_host_link_timeout(const tnd_host_t *self);
/*  Looks up where a port of a peer listens now: the caller sets instance, port and transport of
 *  `endpoint`.  False if it is not known yet. */
bool tnd_host_endpoint(tnd_host_t *self, tnd_endpoint_t *endpoint);
/*  The generation of a chain, as last announced by the leader. */
uint32_t tnd_host_generation(const tnd_host_t *self, uint32_t chain);
/*  How many of the workers after an actor may get blocks of it. */
uint32_t tnd_host_awake(const tnd_host_t *self, tnd_actor_id_t actor);
/*  Whether a silent peer is exempt from timeouts: it is inside a work hook, or in this process,
 *  where every end is announced, however long the process was stopped. */
bool tnd_host_excuses(const tnd_host_t *self, tnd_actor_id_t peer);
/*  What the run resumes from; NULL: it begins at the start.  Valid once the streams are known. */
const tnd_resume_t *tnd_host_resume(const tnd_host_t *self);
/*  What the actor named `actor` on this host hands to programs, or NULL. */
void *tnd_host_handle(tnd_host_t *self, const char *actor);
/*  Waits at most `wait_ns` for the end of the run; TND_OUTCOME_NONE: it has not ended. */
tnd_outcome_t tnd_host_wait(tnd_host_t *self, uint64_t wait_ns);
/*  Reports that the model could not be saved. */
void tnd_host_unsaved(tnd_host_t *self, const char *why);
/*  Reports that memory was leaked as an actor ended. */
void tnd_host_leaked(tnd_host_t *self, const char *why);
/*  Reports that the phase of an actor has changed. */
void tnd_host_notice(tnd_host_t *self);

#endif
