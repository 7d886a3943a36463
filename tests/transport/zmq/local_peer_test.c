/*  Covers transport/zmq/local_peer.h: the user at the other end of a connection of this machine. */
#include "transport/zmq/local_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

enum { OTHER_USER = 65534 };

/*  Accepts a connection that a process of `user` has made and keeps open; -1: it could not. */
static int accept_from(int family, uid_t user)
{
    struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
    socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (family == AF_INET)
        ((struct sockaddr_in *)(void *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        ((struct sockaddr_in6 *)(void *)&address)->sin6_addr = in6addr_loopback;
    int listener = socket(family, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        return -1;
    if (fork() == 0) {
        alarm(60);
        int fd = user == getuid() || setresuid(user, user, user) == 0
                     ? socket(family, SOCK_STREAM, 0)
                     : -1;
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) != 0)
            _exit(1);
        pause();
        _exit(0);
    }
    return accept(listener, NULL, NULL);
}

static void is_accepted(int family)
{
    tnd_error_t error = {.text = ""};
    int fd = accept_from(family, getuid());
    if (fd < 0)
        cr_skip_test("this machine has no such loopback");
    cr_assert_eq(tnd_local_peer_check(fd, &error), TND_OK, "%s", error.text);
}

Test(local_peer, a_process_of_the_same_user_is_accepted)
{
    is_accepted(AF_INET);
}

Test(local_peer, so_it_is_over_ipv6)
{
    is_accepted(AF_INET6);
}

static void is_refused(int family)
{
    tnd_error_t error = {.text = ""};
    if (geteuid() != 0)
        cr_skip_test("only root can be another user");
    int fd = accept_from(family, OTHER_USER);
    if (fd < 0)
        cr_skip_test("this machine has no such loopback");
    cr_assert_eq(tnd_local_peer_check(fd, &error), TND_REFUSED);
    cr_assert_not_null(strstr(error.text, "another user"), "%s", error.text);
}

Test(local_peer, a_process_of_another_user_is_refused)
{
    is_refused(AF_INET);
}

Test(local_peer, so_it_is_refused_over_ipv6)
{
    is_refused(AF_INET6);
}

Test(local_peer, what_is_not_a_connection_is_refused)
{
    int pipes[2], pair[2];
    tnd_error_t error;
    cr_assert_eq(tnd_local_peer_check(-1, &error), TND_REFUSED);
    cr_assert_eq(pipe(pipes), 0);
    cr_assert_eq(tnd_local_peer_check(pipes[0], &error), TND_REFUSED);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    cr_assert_eq(tnd_local_peer_check(pair[0], &error), TND_OK, "ipc has the same rules");
}
