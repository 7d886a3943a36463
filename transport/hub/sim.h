/*  transport/hub/sim.h - a network that is simulated: one thread, one virtual clock, faults by
 * script.
 *
 *  Hubs opened on it (tnd_network_sim) live in one thread and take turns.  Waiting moves the clock to
 *  what comes next; nothing ever sleeps.  Endpoints are "sim://NAME".
 *
 *  It fails as libzmq was measured to fail: sends over a half-open connection succeed and arrive
 *  nowhere; a connection that breaks takes along what was in flight; an actor that closes is
 *  noticed at once, after what it had sent; nobody reconnects by himself.
 *
 *  Lifecycle: hubs are closed before the net is destroyed.
 *
 *  Threads: one.
 */
#ifndef TND_TRANSPORT_HUB_SIM_H
#define TND_TRANSPORT_HUB_SIM_H

#include "runtime/interface/link.h"

typedef struct tnd_sim_network tnd_sim_network_t;

/*  Every message takes `latency_ns` from send to arrival. */
tnd_sim_network_t *tnd_sim_network_new(uint64_t latency_ns);
void tnd_sim_network_destroy(tnd_sim_network_t **self_p);

uint64_t tnd_sim_network_now(const tnd_sim_network_t *self);

/*  What is sent from `from` to `to` over the connections that exist now arrives nowhere. */
void tnd_sim_network_cut(tnd_sim_network_t *self, tnd_actor_id_t from, tnd_actor_id_t to);
/*  The connections between the two end, and both notice. */
void tnd_sim_network_break(tnd_sim_network_t *self, tnd_actor_id_t one, tnd_actor_id_t other);

#endif
