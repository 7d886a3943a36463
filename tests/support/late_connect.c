/*  tests/support/late_connect.c - a process that has met the others and does not reach the run.
 *
 *  Loaded before the program.  Once it has connected a stream socket to a port of IPv4 other than
 *  $LATE_CONNECT_PORT, by which rank 0 notices its end, its next connection to that port makes the file
 *  $LATE_CONNECT, and the call never returns. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef int connect_t(int, const struct sockaddr *, socklen_t);

/*  The port of IPv4 that a stream socket is to be connected to; 0: another kind. */
static int port_of(int file, const struct sockaddr *address)
{
    int type = 0;
    socklen_t size = sizeof type;
    struct sockaddr_in four;
    if (address->sa_family != AF_INET || getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
        type != SOCK_STREAM)
        return 0;
    memcpy(&four, address, sizeof four);
    return ntohs(four.sin_port);
}

int connect(int file, const struct sockaddr *address, socklen_t size)
{
    static _Atomic bool has_met;
    const char *path = getenv("LATE_CONNECT"), *wanted = getenv("LATE_CONNECT_PORT");
    int port = port_of(file, address);
    connect_t *next;
    *(void **)&next = dlsym(RTLD_NEXT, "connect");
    if (path == NULL || wanted == NULL || port == 0)
        return next(file, address, size);
    if (port == atoi(wanted) && atomic_load(&has_met)) {
        (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        while (true)
            pause();
    }
    atomic_store(&has_met, atomic_load(&has_met) || port != atoi(wanted));
    return next(file, address, size);
}
