/*  transport/address.h - an endpoint as it is written: inproc://NAME, ipc://PATH, tcp://HOST:PORT.
 *
 *  Threads: any.
 */
#ifndef TND_TRANSPORT_ADDRESS_H
#define TND_TRANSPORT_ADDRESS_H

#include "runtime/base/status.h"

enum { TND_ADDRESS_SIZE = 256 };

/*  TND_FAILED: it does not fit into TND_ADDRESS_SIZE, or begins like none of the three.  `name`
 * says in the text whose it is.
 */
tnd_status_t tnd_address_check(const char *address, const char *name,
                               tnd_error_t *error) TND_CHECKED;
bool tnd_address_is_inproc(const char *address);
/*  Whether its host is written as a number of IPv6. */
bool tnd_address_is_ipv6(const char *address);
/*  Whether somebody listens at this path; of other than ipc false.  libzmq removes the file of a
 *  listening neighbour without asking.
 */
bool tnd_address_is_served(const char *address);
/*  Fails with why nobody can listen there, by the errno of zmq_bind, and what to do. */
tnd_status_t tnd_address_unbound(const char *address, const char *name, int number,
                                 tnd_error_t *error);

#endif
