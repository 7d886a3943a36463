/*  transport/hub/sim.h - a simulated network: one thread, one virtual clock, faults by script.
 *
 *  The hubs of a network (tnd_network_sim) take turns in one thread.  A wait advances the clock to
 *  the next event.  Endpoints are "sim://NAME".
 *
 *  Failures have the measured effects that they have with libzmq.  Sends over a half-open
 *  connection succeed and are lost.  A connection that breaks loses all messages in flight.  The
 *  close of an actor is noticed at once, after its messages.  No hub reconnects by itself.
 *
 *  Lifecycle: all hubs are closed before the network is destroyed.
 *
 *  Threads: one. */
#ifndef TND_TRANSPORT_HUB_SIM_H
#define TND_TRANSPORT_HUB_SIM_H

#include "runtime/interface/link.h"

typedef struct tnd_sim_network tnd_sim_network_t;

/*  Loses messages from `from` to `to` on the connections that exist now. */
void tnd_sim_network_cut(tnd_sim_network_t *self, tnd_actor_id_t from, tnd_actor_id_t to);
/*  Ends the connections between the two; both notice. */
void tnd_sim_network_break(tnd_sim_network_t *self, tnd_actor_id_t one, tnd_actor_id_t other);

#endif
