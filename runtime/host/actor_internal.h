/*  runtime/host/actor_internal.h - the state of an actor, shared by actor.c and actor_links.c. */
#ifndef TND_RUNTIME_HOST_ACTOR_INTERNAL_H
#define TND_RUNTIME_HOST_ACTOR_INTERNAL_H

#include "runtime/core/session/refusal_log.h"
#include "runtime/host/actor.h"

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/interface/control_batch.h"
#include "runtime/observe/run_page.h"
#include "runtime/observe/tap.h"

/*  Outlets are ports 0 ... 3, inlets 4 ... 7, control is 8. */
enum { PORT_INLETS = TND_PORT_MAX, PORT_CONTROL = 2 * TND_PORT_MAX, NO_PORT = 255 };

/*  The longest sleep of an actor; also the longest delay after a missed wake-up. */
#define TND_ACTOR_SLEEP_NS UINT64_C(200000000)

/*  A peer that this actor connects to. */
typedef struct {
    const tnd_edge_t *edge;
    uint64_t listener; /* the listener it is connected to (tnd_terms_t); 0: not connected */
} dial_t;

/*  What this actor knows of another. */
typedef struct {
    uint8_t port;        /* that leads there, or NO_PORT */
    bool is_dialled;     /* this actor connects to it */
    bool up;             /* connected */
    uint32_t violations; /* messages that were refused */
    tnd_edge_end_t *end; /* this end of the edge to it; NULL: none */
} tnd_actor_peer_t;

/*  The processor time of the thread, as it was last read. */
typedef struct {
    uint64_t used_ns, ready_ns, read_ns; /* read_ns: when */
    int schedstat;                       /* of the thread; -1: not available */
} tnd_actor_processor_t;

/*  Why what the actor opens cannot be used. */
typedef struct {
    tnd_diagnostic_code_t code; /* TND_DIAGNOSTIC_CODES: it can */
    tnd_mark_t mark;
    const char *help;
} tnd_actor_unusable_t;

struct tnd_actor {
    tnd_actor_config_t config;
    const tnd_plan_t *plan;
    tnd_actor_id_t id;
    tnd_life_t life, birth;
    tnd_hub_t *hub;
    void *state;
    tnd_actor_peer_t *peers; /* by instance */
    uint64_t round_trips_ns; /* when round trips were recorded */
    dial_t *dials;
    uint32_t dial_count;
    void *validator_memory;
    tnd_validator_t *validator;
    pthread_t thread;
    _Atomic bool stopping, over, moved; /* moved: an endpoint of a peer may have changed */
    bool unnamed_refusal_logged;
    tnd_refusal_log_t refusals;
    tnd_actor_processor_t processor;
    uint64_t round_ns; /* when the current round of the loop began */
    tnd_recorder_t recorder;
    tnd_tap_source_t tap;
    tnd_control_batch_t control;
    tnd_error_t lost; /* rows that could not be sent; "": none */

    pthread_mutex_t lock; /* guards the rest, and `hub` against tnd_hub_wake after its end */
    pthread_cond_t changed;
    tnd_actor_phase_t phase;
    bool go, joined, refused;
    tnd_actor_unusable_t unusable;
    tnd_error_t error;
    tnd_endpoint_t endpoints[TND_ACTOR_ENDPOINTS_MAX];
    uint32_t endpoint_count;
};

/*  Opens the hub, connects to the host and binds the ports. */
tnd_status_t tnd_actor_open_links(tnd_actor_t *self, tnd_error_t *error);
/*  Connects to every peer at its last announced endpoint; again whenever endpoints changed. */
tnd_status_t tnd_actor_connect_peers(tnd_actor_t *self, tnd_error_t *error);
/*  The text of a refusal by a peer that this actor connected to. */
void tnd_actor_say_refused(const tnd_actor_t *self, const tnd_arrival_t *arrival,
                           tnd_error_t *error);

/*  Writes the options of this actor. */
void tnd_actor_record_options(tnd_actor_t *self);
/*  Finds this actor's ends of its edges. */
void tnd_actor_find_ends(tnd_actor_t *self);
/*  Counts a message with rows, values or credit that was sent to `peer`, or received from it. */
void tnd_actor_count_edge(const tnd_actor_t *self, tnd_actor_id_t peer, const tnd_msg_t *msg);
/*  Records once a second what round trips to the peers take. */
void tnd_actor_record_round_trips(tnd_actor_t *self);
/*  Records that the connection to `peer` is up or was lost. */
void tnd_actor_record_link(const tnd_actor_t *self, tnd_actor_id_t peer, bool up);

#endif
