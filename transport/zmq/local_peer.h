/*  transport/zmq/local_peer.h - which user of this machine is at the other end of a connection.
 *
 *  For ipc the kernel keeps the user of the other end.  For tcp it knows the user of every socket
 *  of this machine and network namespace (sock_diag(7)), so the other end of a connection is found
 *  there unless it is elsewhere.  Where the kernel does not answer such questions, /proc/net/tcp is
 *  read (connection_table.h).
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_ZMQ_LOCAL_PEER_H
#define TND_TRANSPORT_ZMQ_LOCAL_PEER_H

#include "runtime/core/protocol/admission.h"

/*  What the system knows of the process at the other end of the connection `fd`.  Call it when the
 *  other process has spoken: before it has accepted a connection, the system knows no user.  While
 *  nothing more can be opened, the connection counts as ended, so that the peer dials again. */
tnd_peer_t tnd_local_peer(int fd);

#endif
