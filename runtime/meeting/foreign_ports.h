/*  runtime/meeting/foreign_ports.h - whether other programs have all ports at which a leader may listen.
 *
 *  Threads: any; blocks for at most 600 ms. */
#ifndef TND_RUNTIME_MEETING_FOREIGN_PORTS_H
#define TND_RUNTIME_MEETING_FOREIGN_PORTS_H

#include <stdbool.h>
#include <stdint.h>

/*  Whether each port of an address, IPv6 in brackets, accepts a connection on which no peer of ZeroMQ
 *  greets.  At most 16 ports. */
bool tnd_foreign_ports_are_all(const char *address, const uint32_t *ports, uint32_t count);

#endif
