/*  tools/faults/relay.h - a tcp relay between the hosts of a run, which fails on request.
 *
 *  It listens in front of every host: a connection to a port of a host's outer address is passed on
 *  to the same port of its inner address.  A fault applies to the connections that exist when it is
 *  injected; only a host that is shut off also loses later ones.
 *
 *  Threads: open, close and the faults on one thread.  The relay has a thread of its own, a CZMQ
 *  actor, which nothing that an end does can block. */
#ifndef TND_TOOLS_FAULTS_RELAY_H
#define TND_TOOLS_FAULTS_RELAY_H

#include <stdint.h>

#include "runtime/base/status.h"

typedef struct tnd_relay tnd_relay_t;

typedef enum {
    TND_RELAY_CUT,        /* close both sides */
    TND_RELAY_CUT_DIALER, /* close the side that connected; the other stays open, its bytes are lost */
    TND_RELAY_CUT_TARGET, /* close the host's side; the other stays open, its bytes are lost */
    TND_RELAY_SWALLOW     /* close nothing; bytes of both sides are lost */
} tnd_relay_fault_t;

/*  One host: addresses in the byte order of this machine, ports [first, last]. */
typedef struct {
    uint32_t outer, inner;
    uint32_t ports_first, ports_last;
} tnd_relay_host_t;

/*  Listens at every port of every host.  TND_FAILED: a port is in use, or there are too many. */
tnd_status_t tnd_relay_open(tnd_relay_t **self_p, const tnd_relay_host_t *hosts, uint32_t count,
                            tnd_error_t *error) TND_CHECKED;
void tnd_relay_close(tnd_relay_t **self_p);

/*  Injects a fault into the connections of a host: those to `port`, or if that is 0 to all ports
 *  but `except`.  Returns how many there were. */
uint32_t tnd_relay_fail(tnd_relay_t *self, uint32_t host, tnd_relay_fault_t fault, uint32_t port,
                        uint32_t except);
/*  Cuts all connections of a host, and refuses new ones until it is called with false.  Returns how
 *  many it cut. */
uint32_t tnd_relay_shut(tnd_relay_t *self, uint32_t host, bool shut);

#endif
