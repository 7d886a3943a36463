/*  transport/connection_table.h - the users of tcp sockets, as in /proc/net/tcp and tcp6.
 *
 *  The table has every socket of this machine in this network namespace.  Reading it takes long on
 *  a machine with many connections.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_CONNECTION_TABLE_H
#define TND_TRANSPORT_CONNECTION_TABLE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
} tnd_socket_address_t;

/*  The user of the socket at `own` that is connected to `other`; false: there is none. */
bool tnd_connection_table_find(const tnd_socket_address_t *own, const tnd_socket_address_t *other,
                               uint32_t *user_p);

/*  The user of a socket that listens at a port; false: there is none. */
bool tnd_connection_table_listener(uint32_t port, uint32_t *user_p);

#endif
