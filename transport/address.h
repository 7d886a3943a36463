/*  transport/address.h - endpoints: inproc://NAME, ipc://PATH, tcp://HOST:PORT.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_ADDRESS_H
#define TND_TRANSPORT_ADDRESS_H

#include "runtime/base/status.h"

enum { TND_ADDRESS_SIZE = 256 };

/*  Errors: TND_FAILED if it exceeds TND_ADDRESS_SIZE or has another scheme.  `name` is its owner,
 *  for the error text. */
tnd_status_t tnd_address_check(const char *address, const char *name,
                               tnd_error_t *error) TND_CHECKED;
bool tnd_address_is_inproc(const char *address);
/*  Writes the endpoint with a number instead of a name, and brackets around an IPv6 address: libzmq
 *  looks names up only where it connects, and then only their IPv4 addresses.  An IPv4 address of
 *  the name is preferred, and for an endpoint that `listens` one of this machine.  Endpoints without
 *  a name, and * instead of one, are copied.  Waits for the resolver of names.  Errors: TND_FAILED
 *  if the name has no address, or none of this machine. */
tnd_status_t tnd_address_resolve(const char *address, bool listens, const char *name,
                                 char resolved[TND_ADDRESS_SIZE], tnd_error_t *error) TND_CHECKED;
/*  Whether the host part is an IPv6 address in brackets. */
bool tnd_address_is_ipv6(const char *address);
/*  Whether a process listens at this ipc path; false for other schemes.  libzmq would remove the
 *  file of a socket that is in use. */
bool tnd_address_is_served(const char *address);
/*  Fails with the reason, by the errno of zmq_bind, and what to do. */
tnd_status_t tnd_address_unbound(const char *address, const char *name, int number,
                                 tnd_error_t *error);

#endif
