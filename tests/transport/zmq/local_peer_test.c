/*  Covers transport/zmq/local_peer.h and transport/connection_table.h: the user at the other end of a
 *  connection of this machine. */
#include "transport/zmq/local_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "transport/connection_table.h"

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
        int fd = user == getuid() || setresuid(user, user, user) == 0
                     ? socket(family, SOCK_STREAM, 0)
                     : -1;
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) != 0)
            _exit(1);
        char end; /* the test ends, and closes its end */
        (void)!read(fd, &end, 1);
        _exit(0);
    }
    return accept(listener, NULL, NULL);
}

static void is_found(int family, uid_t user)
{
    if (user != getuid() && geteuid() != 0)
        cr_skip_test("only root can be another user");
    int fd = accept_from(family, user);
    if (fd < 0)
        cr_skip_test("this machine has no such loopback");
    tnd_peer_t peer = tnd_local_peer(fd);
    cr_assert_eq(peer.place, TND_PEER_LOCAL);
    cr_assert_eq(peer.user, user, "%u", peer.user);
}

Test(local_peer, a_process_of_the_same_user_is_found)
{
    is_found(AF_INET, getuid());
}

Test(local_peer, so_it_is_over_ipv6)
{
    is_found(AF_INET6, getuid());
}

Test(local_peer, a_process_of_another_user_is_found)
{
    is_found(AF_INET, OTHER_USER);
}

Test(local_peer, so_it_is_found_over_ipv6)
{
    is_found(AF_INET6, OTHER_USER);
}

static void table_has(int family)
{
    tnd_socket_address_t far = {0}, near = {0};
    socklen_t far_size = sizeof far, near_size = sizeof near;
    uint32_t user = 1;
    if (geteuid() != 0)
        cr_skip_test("only root can be another user");
    int fd = accept_from(family, OTHER_USER);
    if (fd < 0)
        cr_skip_test("this machine has no such loopback");
    cr_assert_eq(getpeername(fd, &far.any, &far_size), 0);
    cr_assert_eq(getsockname(fd, &near.any, &near_size), 0);
    cr_assert(tnd_connection_table_find(&far, &near, &user));
    cr_assert_eq(user, OTHER_USER, "%u", user);
    cr_assert(tnd_connection_table_find(&near, &far, &user));
    cr_assert_eq(user, 0, "the near end is this process's: %u", user);
}

Test(local_peer, a_kernel_that_does_not_answer_has_a_table)
{
    table_has(AF_INET);
}

Test(local_peer, the_table_has_ipv6)
{
    table_has(AF_INET6);
}

Test(local_peer, an_ipc_peer_is_found)
{
    int pair[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    tnd_peer_t peer = tnd_local_peer(pair[0]);
    cr_assert_eq(peer.place, TND_PEER_LOCAL);
    cr_assert_eq(peer.user, getuid());
}

Test(local_peer, what_is_not_a_connection_has_gone)
{
    int pipes[2];
    cr_assert_eq(pipe(pipes), 0);
    cr_assert_eq(tnd_local_peer(-1).place, TND_PEER_GONE);
    cr_assert_eq(tnd_local_peer(pipes[0]).place, TND_PEER_GONE);
}

/*  Makes a connection of this process with itself. */
static void connect_self(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(ends[0], (struct sockaddr *)&address, size), 0);
    ends[1] = listener;
}

Test(local_peer, a_peer_that_closed_has_gone)
{
    int ends[2];
    connect_self(ends);
    int accepted = accept(ends[1], NULL, NULL);
    cr_assert_eq(tnd_local_peer(accepted).place, TND_PEER_LOCAL);
    close(ends[0]);
    cr_assert_eq(tnd_local_peer(accepted).place, TND_PEER_GONE);
}

Test(local_peer, a_connection_that_was_not_accepted_is_of_no_user)
{
    int ends[2];
    connect_self(ends);
    cr_assert_eq(tnd_local_peer(ends[0]).place, TND_PEER_UNKNOWN);
}

Test(local_peer, a_listener_has_a_user)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    uint32_t user = 1;
    int ends[2];
    connect_self(ends);
    cr_assert_eq(getsockname(ends[1], (struct sockaddr *)&address, &size), 0);
    cr_assert(tnd_connection_table_listener(ntohs(address.sin_port), &user));
    cr_assert_eq(user, getuid());
}
