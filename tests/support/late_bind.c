/*  tests/support/late_bind.c - a process that stops before it listens again.
 *
 *  Loaded before the program.  The second time that it binds an address of IPv4 with a port to a stream
 *  socket it makes the file $LATE_BIND, and the call never returns. */
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef int bind_t(int, const struct sockaddr *, socklen_t);

static bool is_listener(int file, const struct sockaddr *address)
{
    int type = 0;
    socklen_t size = sizeof type;
    struct sockaddr_in four;
    if (address->sa_family != AF_INET || getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
        type != SOCK_STREAM)
        return false;
    memcpy(&four, address, sizeof four);
    return four.sin_port != 0;
}

int bind(int file, const struct sockaddr *address, socklen_t size)
{
    static _Atomic int listeners;
    const char *path = getenv("LATE_BIND");
    bind_t *next;
    *(void **)&next = dlsym(RTLD_NEXT, "bind");
    if (path != NULL && is_listener(file, address) && atomic_fetch_add(&listeners, 1) == 1) {
        (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        while (true)
            pause();
    }
    return next(file, address, size);
}
