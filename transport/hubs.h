/*  transport/hubs.h - the implementations of runtime/interface/link.h.
 *
 *  Threads: const tables; any.
 */
#ifndef TND_TRANSPORT_HUBS_H
#define TND_TRANSPORT_HUBS_H

#include "runtime/interface/link.h"

/*  inproc://, ipc:// and tcp://.  `context` of tnd_hub_open is a tnd_context_t. */
extern const tnd_hub_ops_t tnd_hub_zmq;

/*  sim://NAME.  `context` of tnd_hub_open is a tnd_sim_network_t (net.h). */
extern const tnd_hub_ops_t tnd_hub_sim;

#endif
