/*  tools/faults/relay.h - a tcp relay between the hosts of a run, which fails on request.
 *
 *  It stands in front of every host: whoever connects to a port of a host's outer address is
 *  connected to the same port of its inner one.  What it does to the connections of now it does not
 *  do to later ones, except while a host is shut off.
 *
 *  Threads: its own, which nothing that an end does or leaves undone can hold up; the functions on
 *  one thread.
 */
#ifndef TUNDISH_TOOLS_RELAY_H
#define TUNDISH_TOOLS_RELAY_H

#include <stdint.h>

#include "runtime/base/status.h"

typedef struct tnd_relay tnd_relay_t;

typedef enum {
    TND_RELAY_CUT,        /* close both sides */
    TND_RELAY_CUT_DIALER, /* close towards who connected; the other side stays, and goes nowhere */
    TND_RELAY_CUT_TARGET, /* close towards the host; the other side stays, and goes nowhere */
    TND_RELAY_SWALLOW     /* close nothing; what is sent either way arrives nowhere */
} tnd_relay_fault_t;

/*  One host: addresses in the byte order of this machine, ports [first, last]. */
typedef struct {
    uint32_t outer, inner;
    uint32_t ports_first, ports_last;
} tnd_relay_door_t;

/*  Listens at every port of every door.  TND_FAILED: one of them is taken, or there are too many.
 */
tnd_status_t tnd_relay_open(tnd_relay_t **self_p, const tnd_relay_door_t *doors, uint32_t count,
                            tnd_error_t *error) TND_CHECKED;
void tnd_relay_close(tnd_relay_t **self_p);

/*  Does this to the connections through a door, those to `port` (0: to all but `except`); how many
 *  there were.
 */
uint32_t tnd_relay_fail(tnd_relay_t *self, uint32_t door, tnd_relay_fault_t fault, uint32_t port,
                        uint32_t except);
/*  Cuts all connections through a door, and all to come until it is opened again. */
uint32_t tnd_relay_shut(tnd_relay_t *self, uint32_t door, bool shut);
/*  Bytes that were passed on so far. */
uint64_t tnd_relay_bytes(tnd_relay_t *self);

#endif
