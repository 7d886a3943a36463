/*  transport/hub/hubs.h - the implementations of runtime/interface/link.h, by scheme of endpoint.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_HUB_HUBS_H
#define TND_TRANSPORT_HUB_HUBS_H

#include "runtime/interface/link.h"

#define HUB(scheme, name) extern const tnd_network_t tnd_network_##name;
#include "transport/hub/hubs.def"
#undef HUB

/*  The network that serves endpoints "SCHEME://..."; NULL if hubs.def does not list the scheme. */
const tnd_network_t *tnd_network_of(const char *scheme);

#endif
