/*  tools/watch/peer_user.h - which user of this machine is at the other end of a TCP connection.
 *
 *  The kernel knows the user of every socket of this machine (sock_diag(7)).
 *
 *  Threads: any. */
#ifndef TND_TOOLS_WATCH_PEER_USER_H
#define TND_TOOLS_WATCH_PEER_USER_H

#include <stdbool.h>
#include <sys/types.h>

/*  Finds the user of the other end of a connected socket; false if it is on another machine, was
 *  closed, or if the kernel does not tell. */
bool tnd_peer_user(int socket, uid_t *user_p);

#endif
