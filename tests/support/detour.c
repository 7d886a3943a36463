/*  tests/support/detour.c - preloaded into a program, routes its tcp connections over a relay.
 *
 *  A connection to 127.0.0.2 is made to the same port of 127.0.0.3, where the relay of an
 *  end-to-end test listens. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    struct sockaddr_in other;
    if (address->sa_family == AF_INET && size >= sizeof other) {
        memcpy(&other, address, sizeof other);
        if (other.sin_addr.s_addr == htonl(0x7f000002)) {
            other.sin_addr.s_addr = htonl(0x7f000003);
            return (int)syscall(SYS_connect, fd, &other, sizeof other);
        }
    }
    return (int)syscall(SYS_connect, fd, address, size);
}
