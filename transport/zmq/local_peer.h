/*  transport/zmq/local_peer.h - which user of this machine is at the other end of a connection.
 *
 *  Every user of a machine can connect to its ports.  The system's table of connections
 *  (/proc/net/tcp) has the user of each socket, so the other end of a connection is found there if
 *  it is on this machine and in the same network namespace.  For ipc, the kernel knows it.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_ZMQ_LOCAL_PEER_H
#define TND_TRANSPORT_ZMQ_LOCAL_PEER_H

#include "runtime/base/status.h"

/*  Whether the other end of the connection `fd` may look at what this process does: it is a process
 *  of the same user or of root, or on another machine.
 *  Errors: TND_REFUSED with the reason, also if the user cannot be found. */
tnd_status_t tnd_local_peer_check(int fd, tnd_error_t *error) TND_CHECKED;

#endif
