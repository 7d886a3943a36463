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
/*  Whether the host part is an IPv6 address. */
bool tnd_address_is_ipv6(const char *address);
/*  Whether a process listens at this ipc path; false for other schemes.  libzmq would remove the
 *  file of a socket that is in use. */
bool tnd_address_is_served(const char *address);
/*  Fails with the reason, by the errno of zmq_bind, and what to do. */
tnd_status_t tnd_address_unbound(const char *address, const char *name, int number,
                                 tnd_error_t *error);

#endif
